"""What a run is called wherever people meet one: model · subset · split, and what tells the runs of a table apart."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bigcodeflow.core.display_text import ELLIPSIS

_BETWEEN = " · "
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_OWNER_NAME_REVISION = 3


class Model(NamedTuple):
    """A model's name, and its revision where that is not the main one."""

    name: str
    revision: str | None

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}" if self.revision else self.name


def named_model(text: str) -> Model:
    """The model of its file name form ORGANISATION--NAME--REVISION, of which the ends may be absent."""
    parts = text.split("--")
    revised = len(parts) > 1 and (
        len(parts) >= _OWNER_NAME_REVISION or parts[-1] == "main" or _COMMIT.fullmatch(parts[-1]) is not None
    )
    if not revised:
        return Model("/".join(parts), None)
    return Model("/".join(parts[:-1]), None if parts[-1] == "main" else parts[-1])


def board_title(subset: str, split: str) -> str:
    """What scores must share to be ranked, such as 'hard · instruct'."""
    return _BETWEEN.join(filter(None, (subset, split)))


def title_of(model: str, subset: str, split: str, *details: str) -> str:
    """Such as 'gpt-4o · hard · instruct', and further details behind.

    Args:
        model: the model in any form; the name that a sweep gives a control, oracle-instruct-hard, counts as oracle.
        subset: full or hard.
        split: complete or instruct.
        details: what else is worth reading; empty ones are left out.
    """
    name, _, setting = model.partition(f"-{split}-{subset}")
    own = name if name and setting[:1] in ("", "-", "+") else model
    rest = setting.lstrip("-+") if own == name else ""
    told = _BETWEEN.join(filter(None, (str(named_model(own)), board_title(subset, split), rest, *details)))
    # A result file from elsewhere names its model: no terminal may obey that.
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in told)


def told_apart(titles: Sequence[str], details: Sequence[Sequence[str]]) -> list[str]:
    """The titles, those that several share followed by the first details that tell them apart.

    Args:
        titles: one a run.
        details: one list a kind of detail, the most telling first; each has a text a run.
    """
    found = list(titles)
    for texts in details:
        shared: dict[str, list[int]] = {}
        for place, title in enumerate(found):
            shared.setdefault(title, []).append(place)
        for places in shared.values():
            if len({texts[place] for place in places}) > 1:
                for place in places:
                    found[place] = _BETWEEN.join(filter(None, (found[place], texts[place])))
    return found


def without_board(title: str, subset: str, split: str) -> str:
    """The title as it reads where subset and split stand above it."""
    return title.replace(f"{_BETWEEN}{board_title(subset, split)}", "", 1)


def fits(wanted: str, text: str) -> bool:
    """Whether a text is the wanted one, also as a table has elided it."""
    head, cut, tail = wanted.partition(ELLIPSIS)
    if not cut or not head or not tail:
        return wanted == text
    return len(text) > len(wanted) - len(cut) and text.startswith(head) and text.endswith(tail)
