"""Judging without a sandbox: reports that lie, break off or repeat themselves never become a pass."""

import sys
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.execution.reruns import worth_another_round
from bigcodeflow.judge.host.base import NOT_STARTED, READ_FROM_DISK, Outcome, Turn
from bigcodeflow.judge.host.bubblewrap import ColdProcess
from bigcodeflow.judge.host.observation import observe
from bigcodeflow.judge.verdicts import blocked_verdict, lost_verdict, verdict, worth_repeating

from .conftest import LIMITS, RIGHT, TEST, item

NAMES = ("test_answer", "test_nothing")


def _test(name: str, outcome: str = "pass") -> dict[str, Any]:
    return {
        "event": "test",
        "name": name,
        "outcome": outcome,
        "seconds": 0.1,
        "exception": "AssertionError",
        "trace": "",
    }


LOADED = {"event": "loaded", "tests": list(NAMES)}
IMPORTED = {"event": "imported"}
HONEST = [{"event": "started"}, IMPORTED, LOADED, _test(NAMES[0]), _test(NAMES[1]), {"event": "end"}]


def _judge(frames: list[dict[str, Any]], **outcome: Any) -> dict[str, Any]:
    observed = Outcome(frames=frames, **({"exit": "exit 0"} | outcome))
    return verdict(item(RIGHT), observed, backend="local", environment_sha="sha")


def test_an_honest_report_passes() -> None:
    """The frames of an untouched harness are a pass, so the cases below are about what they change."""
    found = _judge(HONEST)
    assert (found["status"], found["failure_kind"], found["tests_run"]) == ("pass", "", 2)


OTHERS = [_test("test_answer", "fail"), _test("other"), _test("test_answer", "skip")]


@given(st.lists(st.sampled_from([*HONEST, *OTHERS, {"event": "tampering", "what": "x"}]), max_size=7))
def test_no_other_report_passes(frames: list[dict[str, Any]]) -> None:
    """Only the whole honest sequence is a pass: dropping, repeating or adding a frame never is."""
    if _judge(frames)["status"] == "pass":
        assert [frame for frame in frames if frame["event"] == "test"] in (HONEST[3:5], HONEST[4:2:-1])
        assert frames[-1] == {"event": "end"}
        assert {"event": "started"} in frames


def test_a_protocol_violation_is_tampering() -> None:
    """Even when every frame that was accepted says pass."""
    found = _judge(HONEST, violations=["a frame was forged or damaged"])
    assert (found["status"], found["tampering"]) == ("tampered", ["a frame was forged or damaged"])


def test_a_report_that_was_ended_at_a_failure_is_that_failure() -> None:
    """Where the item asked for that; elsewhere a report without its end is a crash, whoever ended it."""
    seen = [*HONEST[:4], _test(NAMES[1], "error") | {"exception": "KeyError", "trace": "KeyError: 1"}]
    outcome = Outcome(frames=seen, killed_for="tests", exit="exit 137")
    found = verdict(replace(item(RIGHT), fail_fast=True), outcome, backend="local", environment_sha="sha")
    assert (found["status"], found["failure_kind"], worth_repeating(outcome)) == ("fail", "exception", False)
    assert _judge(seen, killed_for="tests")["status"] == "crash"
    forged = replace(outcome, violations=["a frame was forged or damaged"])
    found = verdict(replace(item(RIGHT), fail_fast=True), forged, backend="local", environment_sha="sha")
    assert found["status"] == "tampered"


def test_an_empty_task_never_passes() -> None:
    """With nothing to fail, nothing would fail."""
    work = item(RIGHT, "import unittest\nclass TestCases(unittest.TestCase): pass\n", expected=())
    loaded = {"event": "loaded", "tests": []}
    observed = Outcome(frames=[{"event": "started"}, IMPORTED, loaded, {"event": "end"}], exit="exit 0")
    found = verdict(work, observed, backend="local", environment_sha="sha")
    assert (found["status"], found["failure_kind"]) == ("fail", "no_tests")


def test_a_skip_that_the_task_asks_for_is_no_tampering() -> None:
    """It is still no pass: the test said nothing about the solution."""
    work = item(RIGHT, TEST + "# unittest.skipIf\n")
    frames = [*HONEST[:3], _test(NAMES[0], "skip"), *HONEST[4:]]
    found = verdict(work, Outcome(frames=frames, exit="exit 0"), backend="local", environment_sha="sha")
    assert (found["status"], found["failure_kind"], found["tampering"]) == ("fail", "no_tests", [])


@pytest.mark.parametrize(
    ("outcome", "repeat", "status"),
    [
        (Outcome(exit="exit 1"), True, "infra_error"),
        (Outcome(exit="not started: no host"), False, "infra_error"),
        (Outcome(frames=HONEST[:2], exit="exit 137"), True, "crash"),
        (Outcome(frames=HONEST[:2], exit="signal 9"), True, "infra_error"),
        (Outcome(frames=HONEST[:2], exit="exit 139"), False, "crash"),
        (Outcome(frames=HONEST[:2], exit="signal 9", killed_for="wall time"), False, "timeout"),
        (Outcome(frames=HONEST[:2], exit="signal 9", killed_for="tests"), False, "crash"),
        (Outcome(frames=HONEST[:1], exit="signal 9", killed_for="memory"), False, "out_of_memory"),
        (Outcome(exit="signal 9", killed_for="wall time"), False, "timeout"),
        (Outcome(frames=HONEST, exit="signal 9"), False, "pass"),
        (Outcome(frames=HONEST, exit="exit 0"), False, "pass"),
    ],
)
def test_what_was_ended_from_outside_is_repeated(outcome: Outcome, *, repeat: bool, status: str) -> None:
    """A kill that nobody here sent says nothing about the program until it happens again."""
    assert worth_repeating(outcome) is repeat
    assert verdict(item(RIGHT), outcome, backend="local", environment_sha="sha")["status"] == status


def test_what_never_ran_says_why() -> None:
    """A blocked sample is a fail with its reason; a lost one is never the model's failure."""
    blocked = blocked_verdict(
        item(RIGHT), "blocked: os.system", "safety_policy", backend="local", environment_sha="sha"
    )
    lost = lost_verdict(item(RIGHT), "worker lost", backend="local", environment_sha="sha")
    assert (blocked["status"], blocked["failure_kind"]) == ("fail", "safety_policy")
    assert blocked["module_trace"] == "blocked: os.system"
    assert (lost["status"], lost["failure_kind"], lost["exit"]) == ("infra_error", "infrastructure", "worker lost")
    assert [test["outcome"] for test in blocked["tests"]] == ["missing", "missing"]


_REPORTER = """
import hashlib, json, os, sys
job = json.loads(os.read(0, 1 << 20))
def raw(data):
    os.write(0, data)
def say(number, event, key=job["nonce"]):
    frame = {"event": event, "number": number, "cpu_seconds": 0, "max_rss_mib": 0}
    payload = json.dumps(frame).encode()
    raw(hashlib.blake2b(payload, key=key.encode(), digest_size=16).hexdigest().encode() + b" " + payload + b"\\n")
"""


def _reported(script: str) -> Outcome:
    """Run a script in the harness's place, on the real pipe."""
    with closing(ColdProcess([sys.executable, "-c", _REPORTER + script])) as process:
        return observe(process, {"nonce": "secret"}, item(RIGHT, seconds=10), LIMITS, Turn())


@pytest.mark.parametrize(
    ("script", "violated"),
    [
        ("say(0, 'started'); say(1, 'end')", False),
        ("say(0, 'started', 'guess')", True),
        ("say(1, 'started')", True),
        ("say(0, 'started'); say(0, 'started')", True),
        ("say(0, 'started'); say(1, 'end'); say(2, 'test')", True),
        ("raw(b'nonsense\\n')", True),
        ("raw(b'[1]\\n')", True),
        ("raw(b'{')", True),
        ("raw(bytes(3_000_000))", True),
    ],
)
def test_the_report_is_read_closed(script: str, *, violated: bool) -> None:
    """Whatever is not exactly the next frame, with the right nonce and number, is a violation."""
    outcome = _reported(script)
    assert bool(outcome.violations) is violated, outcome


def test_an_endless_report_is_ended() -> None:
    """Flooding the report neither fills the executor's memory nor runs to the time limit."""
    outcome = _reported("while True: raw(b'x' * 1000)")
    assert outcome.killed_for == "report"
    assert outcome.wall_seconds < 5


def test_reading_from_the_disk_is_repeated_by_the_sandbox_alone() -> None:
    """Another round would read again; a sandbox that did not start may start."""
    rows = [{"status": "infra_error", "exit": text} for text in (f"{READ_FROM_DISK} in each", NOT_STARTED, "exit 0")]
    assert [worth_another_round(row) for row in rows] == [False, True, False]
