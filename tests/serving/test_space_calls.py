"""What the space answers to machines, without its server."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.executor_pool import Workshop
from bigcodeflow.execution.worker_preflight import code_version
from bigcodeflow.serving.space_calls import Bounds, Calls
from tests.execution.conftest import LIMITS, RIGHT, item

pytestmark = pytest.mark.sandbox

BEGIN = {
    "type": "begin",
    "protocol": protocol.PROTOCOL,
    "code_version": code_version(),
    "limits": LIMITS.model_dump(),
    "start": "cold",
}
SLOW = "import time\ntime.sleep(0.6)\n" + RIGHT
Say = Callable[..., list[dict]]


@pytest.fixture(scope="module")
def calls(starter_environment: InstalledEnvironment) -> Iterator[Calls]:
    workshop = Workshop(starter_environment, cores=1, slots_per_core=2)
    yield Calls(workshop, Bounds(items=20, seconds=30, memory_mib=1000))
    workshop.close()


def _asked(number: str, work: WorkItem) -> dict:
    return {"type": "item", "number": number, "item": protocol.item_fields(work)}


@pytest.fixture
def say(calls: Calls, tmp_path: Path) -> Say:
    """Sends messages and gives the answers, as many as wanted."""

    def send(*messages: dict, most: int = 1000) -> list[dict]:
        path = tmp_path / "messages.jsonl"
        path.write_bytes(b"".join(protocol.line(message) for message in messages))

        async def ask() -> list[dict]:
            answers: list[dict] = []
            stream = calls.execute(path)
            async for piece in stream:
                answers += [protocol.message_of(line) for line in piece.encode().splitlines()]
                if len(answers) >= most:
                    break
            await stream.aclose()
            return answers

        return asyncio.run(ask())

    return send


def test_every_item_is_answered_once_and_the_end_is_told(say: Say) -> None:
    """Outcomes come in any order, each with the number that its item had."""
    answers = say(BEGIN, *[_asked(f"a{number}", item(RIGHT)) for number in range(3)])
    assert sorted(one["number"] for one in answers if one["type"] == "outcome") == ["a0", "a1", "a2"]
    assert all(protocol.outcome_of(one["outcome"]).exit == "exit 0" for one in answers if one["type"] == "outcome")
    assert [one["type"] for one in answers].count("end") == 1
    assert answers[-1]["type"] == "end"


def test_what_was_sent_is_not_kept(say: Say, tmp_path: Path) -> None:
    """A file of programs is removed once it was read."""
    say(BEGIN)
    assert not (tmp_path / "messages.jsonl").exists()


def test_an_item_that_is_sent_twice_is_executed_once(say: Say, calls: Calls) -> None:
    """A client whose stream broke asks again with the same number, and gets what there was."""
    before = calls.executions.begun
    first = say(BEGIN, _asked("twice", item(RIGHT)))
    second = say(BEGIN, _asked("twice", item(RIGHT)))
    assert first[0]["outcome"] == second[0]["outcome"]
    assert calls.executions.begun == before + 1


def test_an_item_that_is_executed_again_on_purpose_is(say: Say, calls: Calls) -> None:
    """Equal items with other numbers are other executions: a flaky one would never show otherwise."""
    before = calls.executions.begun
    say(BEGIN, _asked("once", item(RIGHT)), _asked("again", item(RIGHT)))
    assert calls.executions.begun == before + 2


def test_what_nobody_waits_for_is_not_begun(say: Say, calls: Calls) -> None:
    """A client that goes away takes with it what still waits for a slot."""
    slow = [_asked(f"gone{number}", item(SLOW)) for number in range(10)]
    say(BEGIN, *slow, most=1)
    before = calls.executions.begun
    say(BEGIN, _asked("gone9", item(RIGHT)))
    assert calls.executions.begun == before + 1  # it would be known if it had been begun, or still waited


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "starts with begin"),
        ([BEGIN | {"protocol": 0}], "protocol"),
        ([BEGIN | {"code_version": "0.0.1, harness 1"}], "install the same version"),
        ([BEGIN | {"limits": {"memory_mib": -1}}], "limits cannot be used"),
        ([BEGIN | {"start": "hot"}], "neither warm nor cold"),
        ([BEGIN | {"limits": LIMITS.model_dump() | {"memory_mib": 2000}}], "at most 1,000 MiB"),
        ([BEGIN, _asked("long", replace(item(RIGHT), time_seconds=31.0))], "at most 30 s"),
        ([BEGIN, *[_asked(f"many{number}", item(RIGHT)) for number in range(21)]], "more than the 20"),
        ([BEGIN, {"type": "item", "number": 7, "item": {}}], "number that is a text"),
        ([BEGIN, _asked("half", item(RIGHT)), {"type": "item", "number": "x", "item": {}}], "an item is incomplete"),
        ([BEGIN, _asked("other", item(RIGHT)), {"type": "dance"}], "no message of type"),
        ([BEGIN, {"type": "prepare", "tests": [], "programs": [["x", 3]]}], "prepare has tests"),
    ],
)
def test_a_file_is_refused_as_a_whole(say: Say, calls: Calls, messages: list[dict], told: str) -> None:
    """What cannot be done is said in one line, and nothing of the file is executed."""
    before = calls.executions.begun
    answers = say(*messages)
    assert [one["type"] for one in answers] == ["refused", "end"]
    assert re.search(told, answers[0]["message"]), answers[0]["message"]
    assert calls.executions.begun == before


def test_starts_are_planned_as_everywhere(say: Say) -> None:
    """Modules to preload, one plan a program."""
    programs = [["import json\n" + RIGHT, 0]] * 3
    answers = say(BEGIN, {"type": "prepare", "number": "p", "tests": [item(RIGHT).test], "programs": programs})
    assert answers[0]["type"] == "prepared"
    assert len(answers[0]["starts"]) == 3


def test_the_space_describes_itself(calls: Calls) -> None:
    """Version, environment, what its sandboxes keep out, and its bounds."""
    told = calls.info(json.dumps({"limits": LIMITS.model_dump(), "start": "cold"}))
    assert told["code_version"] == code_version()
    assert told["environment"]["name"] == "starter"
    assert told["capabilities"]["isolated"]
    assert told["bounds"]["items"] == 20
    assert "start 'x'" in calls.info('{"start": "x"}')["refused"]
    assert "no JSON object" in calls.info("[")["refused"]
