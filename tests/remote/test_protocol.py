"""What travels between a client and a host arrives as it was sent, and what is no message is refused."""

import io
import json
from dataclasses import asdict, fields
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.host import Host

# Lone surrogates are legal in what a model wrote.
TEXTS = st.text(st.characters(codec=None))
NAMES = st.lists(TEXTS, max_size=3).map(tuple)
MODULES = st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,20}", fullmatch=True), max_size=3).map(tuple)
SECONDS = st.floats(0, 1e6)
BY_TYPE = {str: TEXTS, float: SECONDS, bool: st.booleans(), int: st.integers(0, 1_000_000), tuple[str, ...]: NAMES}


def any_of(kind: type, **special: st.SearchStrategy) -> st.SearchStrategy:
    """Objects with any values in all fields."""
    return st.builds(kind, **{one.name: BY_TYPE[one.type] for one in fields(kind) if one.type in BY_TYPE} | special)


TEXT_SETS = st.frozensets(TEXTS, max_size=3)
ITEMS = any_of(
    WorkItem,
    time_seconds=st.floats(0.001, 86_400),
    long_after_seconds=st.floats(0.001, 86_400),
    missing_imports=TEXT_SETS,
    setup_names=TEXT_SETS,
    preload=MODULES,
    zygote=st.lists(MODULES, max_size=3).map(tuple),
)
FRAMES = st.fixed_dictionaries(
    {"event": st.just("test"), "name": TEXTS, "outcome": TEXTS, "seconds": SECONDS, "number": st.integers()}
)
OUTCOMES = any_of(Outcome, frames=st.lists(FRAMES, max_size=3), violations=st.lists(TEXTS, max_size=2))


def travelled(message: dict) -> dict:
    sent = protocol.line(message)
    assert sent.isascii()
    assert sent.count(b"\n") == 1
    return protocol.message_of(sent)


@given(ITEMS)
def test_an_item_arrives_as_it_was(item: WorkItem) -> None:
    """Whatever a model wrote; what its verdict needs stays with the client."""
    message = travelled({"type": "item", "number": 0, "item": protocol.item_fields(item, name="0")})
    found = protocol.work_item_of(protocol.Item.model_validate(message["item"], strict=True), 1.0)
    kept = {
        "verdict_key",
        "expected_tests",
        "missing_imports",
        "setup_names",
        "expected_seconds",
        "expected_cpu_seconds",
    }
    names = [field.name for field in fields(WorkItem) if field.name not in kept]
    assert [getattr(found, name) for name in names] == [getattr(item, name) for name in names]


@given(OUTCOMES)
def test_an_outcome_arrives_as_it_was(outcome: Outcome) -> None:
    """Whatever a program printed."""
    message = travelled({"type": "outcome", "number": 0, "outcome": asdict(outcome)})
    assert protocol.parse_outcome(message["outcome"]) == outcome


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"3", b'{"number": 1}', b'{"type": 3}', b"[" * 100_000, b"\xff"])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    """A host that says nonsense is not believed."""
    with pytest.raises(protocol.ProtocolError):
        protocol.message_of(line)


OUTCOME = asdict(Outcome(exit="exit 0"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        OUTCOME | {"frames": {}},
        OUTCOME | {"frames": ["end"]},
        OUTCOME | {"frames": [{"event": "test", "name": "test_a"}]},
        OUTCOME | {"frames": [{"event": "applause"}]},
        OUTCOME | {"exit": 0},
        OUTCOME | {"cpu_seconds": "much"},
        OUTCOME | {"verdict": "pass"},
    ],
    ids=json.dumps,
)
def test_an_outcome_of_another_form_is_refused(value: object) -> None:
    """Before a verdict is made of it."""
    with pytest.raises(protocol.ProtocolError):
        protocol.parse_outcome(value)


ITEM = protocol.item_fields(WorkItem("key", "x = 1", "", ("test_a",), 1.0, frozenset({"os"})), name="0")


@pytest.mark.parametrize(
    "value",
    [
        None,
        {name: value for name, value in ITEM.items() if name != "program"},
        ITEM | {"program": 3},
        ITEM | {"preload": [3]},
        ITEM | {"zygote": "os"},
        ITEM | {"zygote": ["os"]},
        ITEM | {"zygote": [["os"]] * 41},
        ITEM | {"shell": "true"},
    ],
    ids=json.dumps,
)
def test_an_item_of_another_form_is_refused(value: object) -> None:
    """Before anything is executed: the host says so and ends."""
    output = io.BytesIO()
    assert Host(Mock(), output).serve([protocol.line({"type": "item", "number": 0, "item": value})]) == 1
    assert protocol.message_of(output.getvalue())["type"] == "refused"


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(ITEMS, max_size=8), st.integers(1, 2000))
def test_plans_are_asked_for_in_portions(items: list[WorkItem], max_bytes: int) -> None:
    """Each program once, in order, beside its test; no portion is larger than allowed unless it holds one program."""
    requests = list(protocol.prepare_requests(items, max_bytes))
    texts = [text for one in requests for text in protocol.programs_of(protocol.PrepareRequest.model_validate(one))]
    assert texts == [(item.program, item.test) for item in items]
    assert all(len(one["programs"]) <= 1 or len(json.dumps(one)) <= max_bytes + 100 for one in requests)
