"""The words between a client and a host that executes for it: JSON objects, one a line, in ASCII.

The client says, and the host answers:

``begin``    protocol, code_version, limits, start         → ``ready``: code_version, environment, capabilities, slots
``prepare``  number, tests, programs [text, index of test] → ``prepared``: number, starts [preload, zygote]
``item``     number, item                                  → ``outcome``: number, outcome

Unasked the host says ``alive`` every few seconds, and ``refused`` with a message before it gives up. A number is the
client's own and comes back as it was. What executes is the same everywhere, so outcomes are judged by the client.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.items import WorkItem

#: Bump when an older host would misunderstand.
PROTOCOL = 1
#: Seconds between two signs of life.
ALIVE_SECONDS = 5.0

_FRAMES: dict[str, tuple[str, ...]] = {
    "started": (),
    "imported": (),
    "loaded": ("tests",),
    "module_failed": ("exception", "phase", "trace"),
    "test": ("name", "outcome", "seconds"),
    "class_failed": ("exception", "trace"),
    "tampering": ("what",),
    "end": (),
}
_SETS = ("missing_imports", "setup_names")
_TUPLES = ("expected_tests", "preload", "zygote")


class WireError(BigCodeFlowError):
    """The other side said something that has no meaning here."""


def line(message: Mapping[str, Any]) -> bytes:
    """A message as it travels; a lone surrogate, which a model's text may hold, stays what it is."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def message_of(text: bytes) -> dict[str, Any]:
    """The message of one line; what is wrong with one is told without its content, which may be another's.

    Raises:
        WireError: it is none.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise WireError(f"a line of {len(text):,} bytes is no JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise WireError(f"a line of {len(text):,} bytes is JSON, but no message with a type")
    return message


def item_fields(item: WorkItem) -> dict[str, Any]:
    """A work item as JSON."""
    return asdict(item) | {name: sorted(getattr(item, name)) for name in _SETS}


def item_of(told: object) -> WorkItem:
    """The work item that JSON tells of.

    Raises:
        WireError: fields are missing, unknown or of another type.
    """
    own = _checked(told, _ITEM_TYPES, "item")
    for name in (*_SETS, *_TUPLES):
        if not all(isinstance(text, str) for text in own.get(name, ())):
            raise WireError(f"item.{name} is no list of texts")
    own |= {name: tuple(own[name]) for name in _TUPLES if name in own}
    own |= {name: frozenset(own[name]) for name in _SETS if name in own}
    try:
        return WorkItem(**own)
    except TypeError as error:
        raise WireError(f"an item is incomplete: {error}") from None


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON."""
    return asdict(outcome)


def outcome_of(told: object) -> Outcome:
    """The outcome that JSON tells of, whose frames have what a verdict is made from.

    Raises:
        WireError: it has another form.
    """
    own = _checked(told, _OUTCOME_TYPES, "outcome")
    if not all(isinstance(frame, dict) and _is_whole(frame) for frame in own.get("frames", ())):
        raise WireError("a frame of an outcome lacks what every such frame has")
    return Outcome(**own)


def _is_whole(frame: Mapping[str, Any]) -> bool:
    wanted = _FRAMES.get(str(frame.get("event")))
    return wanted is not None and all(name in frame for name in wanted)


def _checked(told: object, types: Mapping[str, tuple[type, ...]], what: str) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise WireError(f"an {what} is no object")
    for name, value in told.items():
        if not isinstance(value, types.get(name, ())):
            raise WireError(f"{what}.{name} is unknown here or of another type")
    return dict(told)


def _types_of(example: Outcome | WorkItem) -> dict[str, tuple[type, ...]]:
    """What JSON may hold in each field: lists for tuples and sets, whole numbers for seconds."""
    widened = {float: (float, int), tuple: (list, tuple), frozenset: (list, frozenset)}
    kinds = {field.name: type(getattr(example, field.name)) for field in fields(example)}
    return {name: widened.get(kind, (kind,)) for name, kind in kinds.items()}


_OUTCOME_TYPES = _types_of(Outcome())
_ITEM_TYPES = _types_of(WorkItem("", "", "", (), 1.0, frozenset()))
