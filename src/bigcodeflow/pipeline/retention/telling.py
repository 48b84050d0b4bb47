"""What goes, or went, in words and rows."""

from collections import Counter
from collections.abc import Iterable

from bigcodeflow.pipeline.retention.things import ORDER, Removable

_UNIT = 1024


def removed_rows(found: Iterable[Removable]) -> list[dict[str, str]]:
    """One row of texts a thing, as tables show it: the largest first."""
    return [
        {
            "kind": one.kind,
            "what": one.name,
            "size": size_text(one.size_bytes),
            "last used": one.last_used_at.strftime("%Y-%m-%d"),
            "why": one.reason,
        }
        for one in sorted(found, key=lambda one: -one.size_bytes)
    ]


def totals(found: Iterable[Removable]) -> str:
    """How many of each kind, and their size together."""
    things = list(found)
    counts = Counter(one.kind for one in things)
    told = ", ".join(f"{counts[kind]:,} x {kind}" for kind in ORDER if counts[kind]) or "nothing"
    return f"{told}, {size_text(sum(one.size_bytes for one in things))}" if things else told


def size_text(size_bytes: int) -> str:
    """A size in the unit that suits it."""
    size, units = float(size_bytes), ["B", "KiB", "MiB", "GiB"]
    while size >= _UNIT and len(units) > 1:
        size /= _UNIT
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if units[0] == "B" else f"{size:,.1f} {units[0]}"
