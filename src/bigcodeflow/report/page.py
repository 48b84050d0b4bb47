"""The page: assets, charting library and data put into one HTML file that asks nothing of any network."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from bigcodeflow.core.paths import cache_folder
from bigcodeflow.report.samples import PackedSamples
from bigcodeflow.store import write_atomically

_ASSETS = Path(__file__).with_name("assets")
#: Read as one script, each after what it uses.
_SCRIPTS = ("dom.js", "data.js", "code.js", "overview.js", "detail.js", "samples.js", "main.js")
_VEGA_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def render_page(summary: Mapping[str, Any], packed: PackedSamples, library: str) -> bytes:
    """The whole file as UTF-8.

    Untrusted text is in it as JSON whose markup characters are escaped, or inside base64. The content security policy
    forbids requests, and every script but the two whose hashes it names; the page's own scripts set text, not markup.

    Args:
        summary: all that the overview shows, able to be JSON.
        packed: the samples.
        library: as :func:`charting_library` gives it.
    """
    style, script = asset("report.css"), _own_script()
    packs = [_data_element("index", packed.listed)]
    packs += [_data_element(f"task-{place}", pack) for place, pack in enumerate(packed.tasks)]
    return _fill(
        asset("page.html"),
        policy=_policy((library, script), style),
        title=html.escape(f"{summary['title']} · bigcodeflow report"),
        style=style,
        summary=_embedded_json(summary),
        packs="\n".join(packs),
        library=library,
        script=script,
    ).encode()


def asset(name: str) -> str:
    """Text of one of the page's files."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def charting_library() -> str:
    """Vega, Vega-Lite and Vega-Embed (BSD 3-Clause) as one script, fit to stand inside a script element.

    Bundling takes 2 s of CPU, so the script is kept in the user's cache for the next report.
    """
    of = hashlib.sha256(f"{metadata.version('vl-convert-python')} {_VEGA_SNIPPET}".encode()).hexdigest()
    kept = cache_folder() / "charts" / f"vega-{of[:16]}.js"
    try:
        return _script(kept.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        pass
    import vl_convert  # costs 0.2 s

    bundle = vl_convert.javascript_bundle(_VEGA_SNIPPET)
    with suppress(OSError):  # a cache that cannot be written costs time, and nothing else
        write_atomically(kept, bundle.encode())
    return _script(bundle)


def _own_script() -> str:
    return _script("\n".join(asset(name) for name in _SCRIPTS))


def _script(source: str) -> str:
    """The source with names of its own, and without the texts that end or change a script element.

    Those occur in strings and patterns only, where an escape means the same.
    """
    inside = re.sub(r"<(?=/script|!--)", r"\\x3c", source, flags=re.IGNORECASE)
    return f"(() => {{\n'use strict';\n{inside}\n}})();"


def _policy(scripts: tuple[str, ...], style: str) -> str:
    hashes = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types default"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded_json(content: Mapping[str, Any]) -> str:
    """JSON in ASCII without a markup character, so that no value can end the element that it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data_element(name: str, pack: str) -> str:
    return f'<script type="text/plain" id="{name}">{pack}</script>'


def _fill(template: str, **values: str) -> str:
    """The template with each ``{{name}}`` replaced, in one pass: what is put in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: values[mark.group(1)], template)
