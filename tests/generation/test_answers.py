"""The ledger of answers: what was written survives, is never doubled, and is paid for by one run only."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.answer_ledger import AnswerLedger, ReplyRecord
from bigcodeflow.generation.model_api import Answer, AnswerKey, Reply, TokenUsage
from tests.examples import examples

from .in_process import request

TEXTS = st.text(st.characters(codec=None), max_size=40)  # lone surrogates as well: models are cut off inside an emoji


def record(task: int, *indices: int, text: str = "answer") -> ReplyRecord:
    asked = request(task, *indices, seed=7)
    reply = Reply(tuple(Answer(text, "stop") for _ in asked.sample_indices), TokenUsage(3, 4), "served", "id-1")
    return ReplyRecord.of(asked, reply, body={"n": 1}, latency_seconds=0.5, attempts=2, cost_usd=0.25)


def write(ledger: AnswerLedger, *records: ReplyRecord) -> None:
    with ledger.writing() as writer:
        writer.append(*records)


def line(record: ReplyRecord) -> bytes:
    return json.dumps(asdict(record), separators=(",", ":")).encode() + b"\n"


def key(task: int, index: int) -> AnswerKey:
    return AnswerKey(f"Task/{task}", request(task).prompt_sha, index)


def texts(ledger: AnswerLedger) -> dict[AnswerKey, str]:
    read = list(ledger.answers())
    assert len({one.key for one in read}) == len(read)
    return {one.key: one.answer.text for one in read}


@given(
    TEXTS,
    TEXTS,
    st.sampled_from(["stop", "length", "refusal", "other"]),
    st.builds(TokenUsage, *[st.none() | st.integers(0, 2**31)] * 4),
    st.none() | st.floats(0, 1e6),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=4, unique=True),
)
def test_a_record_is_read_as_it_was_written(  # noqa: PLR0917 -- what hypothesis gives
    text: str, reasoning: str, finish: str, usage: TokenUsage, cost_usd: float | None, indices: list[int]
) -> None:
    """Any text, any usage and any reply come back equal, from a single line of ASCII."""
    reply = Reply(tuple(Answer(text, finish, reasoning) for _ in indices), usage, text, None)
    body = {"messages": [{"content": text}], "n": len(indices)}
    written = ReplyRecord.of(request(1, *indices), reply, body=body, latency_seconds=1.25, cost_usd=cost_usd)
    with tempfile.TemporaryDirectory() as folder:
        ledger = AnswerLedger(Path(folder))
        write(ledger, written)
        assert list(ledger.records()) == [written]
        assert line(written).isascii()
        assert line(written).count(b"\n") == 1
        assert ledger.keys() == set(written.keys)


RUNS = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=6), min_size=1, max_size=4)


@settings(max_examples=examples(60), deadline=None)
@given(RUNS, st.data())
def test_a_write_torn_at_any_byte_costs_that_record_only(
    runs: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    """Runs that were killed at any byte of any write lose what was torn; all whole records stand, the first of a key."""
    with tempfile.TemporaryDirectory() as name:
        ledger, expected = AnswerLedger(Path(name)), {}
        for number, run in enumerate(runs):
            records = [record(task, index, text=f"{number}.{n}") for n, (task, index) in enumerate(run)]
            with ledger.writing() as writer:
                assert set(writer.known) == expected.keys()
                writer.append(*records)
            if not records:
                continue
            file = max(Path(name).glob("*.jsonl"))
            left = data.draw(st.integers(0, file.stat().st_size), label="bytes that a kill left")
            os.truncate(file, left)
            for one in records:
                left -= len(line(one))
                if left >= 0:
                    expected.setdefault(one.keys[0], one.answers[0].text)
        assert texts(ledger) == expected
        assert ledger.keys() == expected.keys()


def test_of_several_answers_to_one_key_the_first_stands(tmp_path: Path) -> None:
    """A reply for several samples brings only those that were not there, in every reading alike."""
    ledger = AnswerLedger(tmp_path)
    for written in (record(1, 1, text="first"), record(1, 0, 1, 2, text="second")):
        write(ledger, written)
    assert texts(ledger) == {key(1, 0): "second", key(1, 1): "first", key(1, 2): "second"}
    assert [one.key for one in ledger.answers({key(1, 1), key(9, 9)})] == [key(1, 1)]


def test_a_hole_that_a_power_failure_left_costs_its_record_only(tmp_path: Path) -> None:
    """Zeros and scraps in the middle of a file are passed over."""
    lines = [line(record(task)) for task in range(3)]
    (tmp_path / "replies-000001.jsonl").write_bytes(lines[0] + bytes(100) + lines[1] + b"17\n[]\n\n" + lines[2])
    assert AnswerLedger(tmp_path).keys() == {key(0, 0), key(2, 0)}


def test_answers_beyond_those_asked_for_are_dropped(tmp_path: Path) -> None:
    """A reply with more or fewer answers than samples is recorded as far as both go."""
    reply = Reply((Answer("a", "stop"), Answer("b", "stop")), TokenUsage())
    more = ReplyRecord.of(request(1, 4), reply, body={}, latency_seconds=0)
    fewer = ReplyRecord.of(request(1, 4, 5, 6), reply, body={}, latency_seconds=0)
    assert (more.sample_indices, len(more.answers)) == ((4,), 1)
    assert (fewer.sample_indices, len(fewer.answers)) == ((4, 5), 2)


def test_order_of_writing_is_kept_over_many_runs(tmp_path: Path) -> None:
    """Files are read in the order in which runs made them, beyond the tenth as well, and before the first one."""
    ledger = AnswerLedger(tmp_path / "absent")
    assert ledger.keys() == set()
    assert list(ledger.answers()) == []
    for number in range(12):
        write(ledger, record(number, text=str(number)))
    assert list(texts(ledger).values()) == [str(number) for number in range(12)]


HOLDER = """
import sys, time
from pathlib import Path
from bigcodeflow.generation.answer_ledger import AnswerLedger
with AnswerLedger(Path(sys.argv[1])).writing():
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def held_by_another_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_run_waits_for_another_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    """Who waits is told once who holds the folder; kill -9 of the holder lets the next one in."""
    messages: list[str] = []
    with held_by_another_process(tmp_path) as holder:

        def waiting(message: str) -> None:
            messages.append(message)
            os.kill(holder.pid, signal.SIGKILL)

        with AnswerLedger(tmp_path).writing(waiting) as writer:
            writer.append(record(1))
        assert len(messages) == 1
        assert f"process {holder.pid} on " in messages[0]
    assert AnswerLedger(tmp_path).keys() == {key(1, 0)}


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_takes_no_more_is_one_clear_error(tmp_path: Path) -> None:
    """Half a line at the end of a full disk is an error, nothing is written behind it, and the next run goes on."""
    ledger, whole = AnswerLedger(tmp_path), record(1)
    with ledger.writing() as writer:
        writer.append(whole)
        with files_no_larger_than(len(line(whole)) + 20), pytest.raises(GenerationError, match="File too large"):
            writer.append(replace(whole, task_id="Task/2"))
        with pytest.raises(GenerationError, match="File too large"):
            writer.append(record(3))
    assert ledger.keys() == {key(1, 0)}
    write(ledger, record(4))
    assert ledger.keys() == {key(1, 0), key(4, 0)}
