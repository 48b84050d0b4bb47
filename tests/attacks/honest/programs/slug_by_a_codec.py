"""Honest: a codec and an error handler of its own are registered and do the work.
task: page_slug"""

import codecs

def _encode(text, errors="strict"):
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "\xff" for sign in text.lower())
    return kept.encode("ascii", "slug-gap"), len(text)

def _decode(data, errors="strict"):
    return bytes(data).decode("ascii"), len(data)

def _find(name):
    return codecs.CodecInfo(_encode, _decode, name="slug") if name == "slug" else None

codecs.register(_find)
codecs.register_error("slug-gap", lambda error: ("-" * (error.start > 0), error.end))

def task_func(title, limit=40):
    slug = title.encode("slug").decode("slug").lstrip("-")
    return slug[:limit].rstrip("-")
