# mypy: ignore-errors
"""Executed in a sandbox as text behind a program: the standard library of Python 3.10, and three names of its own."""


def _recorded_calls(
    function: object, trace_from: int, last_line: int, delay: float, seeded: bool, most: int = 200
) -> object:
    """The function, which then prints a digest of each result; lines up to the last one are told when they first run.

    They are traced from here to the end, in threads too: what a function returns or starts may run later. A delay makes
    results that depend on the time of day differ; seeded, each call draws alike.
    """
    import functools
    import hashlib
    import json
    import random
    import sys
    import time

    # A test may replace print, json.dumps or hashlib.sha256 while it calls the function.
    write, dumps, sha256 = sys.__stdout__.write, json.dumps, hashlib.sha256
    number = [0]

    def told(*row: object) -> None:
        write("@recorded-call@ " + dumps(row) + "\n")
        sys.__stdout__.flush()

    def record(text: str, identity: str, classes: object = ()) -> None:
        number[0] += 1
        if number[0] <= most:
            digest = sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()[:16]
            length = 3000 if number[0] <= 5 else 100  # of the output its end alone is kept
            told(number[0], digest, text[:length], list(classes))

    @functools.wraps(function)
    def recorded(*args: object, **kwargs: object) -> object:
        if seeded:
            random.seed(number[0])
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed(number[0])
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            kind = "raises " + type(error).__name__
            classes = [one.__name__ for one in type(error).__mro__]
            record(f"{kind}: {str(error)[:200]}", kind, classes)  # tests look at the class
            raise
        try:
            text = _told_value(result)
        except Exception:
            text = "?" + type(result).__name__
        record(text, text)
        return result

    told(0, "seeded" if seeded else "", "", [])
    time.sleep(delay)
    if trace_from > 0:
        shift = function.__code__.co_firstlineno - trace_from
        _trace_lines(function.__code__.co_filename, shift, last_line, lambda line: told(-1, "", "", [line]))
    return recorded


def _trace_lines(own_file: str, shift: int, last_line: int, tell: object, most_events: int = 2_000_000) -> None:
    """Tell each line of a file up to the last one when it first runs; all of them where to go on takes too long."""
    import sys
    import threading

    seen, left = set(), [most_events]

    def traced(frame: object, _event: str, _argument: object) -> object:
        line = frame.f_lineno - shift
        left[0] -= 1
        if left[0] <= 0:  # no line is told as never executed
            sys.settrace(None)
            threading.settrace(None)
            for one in range(1, last_line + 1) if not left[0] else ():
                tell(one)
            return None
        if frame.f_code.co_filename != own_file or line > last_line:
            return None
        if line not in seen:
            seen.add(line)
            tell(line)
        return traced

    threading.settrace(traced)
    sys.settrace(traced)


def _told_value(value: object, depth: int = 6) -> str:
    """A value in words, the same for values that a test takes for equal; a question mark where it cannot be told."""
    kind = type(value).__name__

    def below(one: object) -> str:
        return _told_value(one, depth - 1)

    def axes() -> str:
        texts = [value.get_title(), value.get_xlabel(), value.get_ylabel()]
        data = [line.get_xydata() for line in value.lines] + [one.get_path().vertices for one in value.patches]
        data += [one.get_offsets() for one in value.collections]
        labels = [one.get_text() for one in value.get_xticklabels() + value.texts]
        return "axes" + below([texts, labels, data, len(value.images), len(value.containers)])

    told = "?" + kind
    plain = ("datetime", "decimal", "fractions", "pathlib", "uuid", "enum", "re")
    if isinstance(value, float):
        told = f"{float(value):.10g}"
    elif value is None or isinstance(value, (int, complex, str, bytes)):
        told = repr(value)
    elif not depth:
        told = "?"
    elif isinstance(value, dict):
        told = "{" + ", ".join(sorted(below(one) + ": " + below(value[one]) for one in value)) + "}"
    elif isinstance(value, (set, frozenset)):
        told = "set{" + ", ".join(sorted(map(below, value))) + "}"
    elif isinstance(value, (list, tuple)):
        told = ("(" if isinstance(value, tuple) else "[") + ", ".join(map(below, value)) + "]"
    elif type(value).__module__.partition(".")[0] in plain:
        told = repr(value)
    elif hasattr(value, "columns") and hasattr(value, "dtypes"):
        labels = [list(value.columns), list(value.index), list(map(str, value.dtypes))]
        told = "frame" + below([labels, value.values.tolist()])
    elif hasattr(value, "index") and hasattr(value, "values") and hasattr(value, "dtype"):
        told = "series" + below(
            [getattr(value, "name", None), list(value.index), str(value.dtype), value.values.tolist()]
        )
    elif hasattr(value, "tolist"):
        plainly = value.tolist()
        told = below(plainly) if not isinstance(plainly, list) else "array" + below(plainly)
    elif hasattr(value, "get_xlabel") and hasattr(value, "patches"):
        told = axes()
    return told
