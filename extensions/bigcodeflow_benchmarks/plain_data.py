"""Source text of plain data; test texts that record results hold this module as it is. Python 3.10."""

import math


def literal(value: object, most: float = math.inf) -> str:
    """Return plain data as source text; OverflowError for other values, and for more than ``most`` characters."""
    text = ""
    if isinstance(value, (str, bytes, list, tuple, set, dict)) and len(value) > most:
        raise OverflowError
    if value is None or isinstance(value, (str, bytes, bool, complex)):
        text = repr(value)
    elif isinstance(value, float) and not math.isnan(value):
        text = repr(float(value)).replace("inf", "1e999")
    elif isinstance(value, int) and value.bit_length() < min(3 * most, 14_000):  # Python prints no longer numbers
        text = repr(value)
    elif isinstance(value, dict):
        text = f"{{{', '.join(f'{literal(key, most)}: {literal(one, most)}' for key, one in value.items())}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(literal(one, most) for one in value)}]"
    elif isinstance(value, tuple):
        text = f"({''.join(f'{literal(one, most)}, ' for one in value).rstrip(' ')})"
    elif isinstance(value, set):
        text = f"{{{', '.join(sorted(literal(one, most) for one in value))}}}" if value else "set()"
    if not text or len(text) > most:
        raise OverflowError
    return text
