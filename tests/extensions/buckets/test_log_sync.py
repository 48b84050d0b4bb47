"""Unfinished work on S3: another machine goes on where the first one was lost, and nothing is counted twice."""

import time
from pathlib import Path

import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import AppendLog
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.generation.answer_ledger import AnswerLedger, ReplyRecord
from bigcodeflow.generation.model_api import Answer, TokenUsage
from bigcodeflow.store import LogFiles, Store
from bigcodeflow_buckets.log_sync import LogSync
from tests.doubles.faulty_proxy import FaultyProxy
from tests.store.conftest import Machine


def _append(folder: Path, *keys: str) -> None:
    ledger = Ledger(folder)
    for key in keys:
        ledger.append({"verdict_key": key, "status": "pass"})


def _keys(folder: Path) -> list[str]:
    return sorted(line["verdict_key"] for line in Ledger(folder).read())


def _log_sync(store: Store, files: LogFiles = LogFiles.VERDICTS, folder: Path | None = None) -> LogSync:
    return store.synchronized(folder or store.workspace("execution", "key"), files)


def test_lines_travel_between_machines_once(s3_machine: Machine) -> None:
    """Two machines take turns: each has every line of both, once, however often they keep and restore."""
    one, other = s3_machine("one"), s3_machine("other")
    mine, theirs = one.workspace("execution", "key"), other.workspace("execution", "key")
    for turn in range(3):
        _append(mine, f"one-{turn}")
        _log_sync(one).save()
        _log_sync(one).save()
        _log_sync(other).restore()
        _append(theirs, f"other-{turn}")
        _log_sync(other).save()
        _log_sync(one).restore()
    expected = sorted(f"{name}-{turn}" for name in ("one", "other") for turn in range(3))
    assert _keys(mine) == _keys(theirs) == expected


def test_a_line_that_is_being_written_waits(s3_machine: Machine) -> None:
    """A segment ends with a whole line; the rest comes with the next one."""
    one, other = s3_machine("one"), s3_machine("other")
    folder = one.workspace("execution", "key")
    _append(folder, "aa1", "aa2")
    [file] = folder.glob("*/*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    _log_sync(one).save()
    _log_sync(other).restore()
    assert _keys(other.workspace("execution", "key")) == ["aa1"]
    file.write_bytes(whole)
    _log_sync(one).save()
    _log_sync(other).restore()
    assert _keys(other.workspace("execution", "key")) == ["aa1", "aa2"]


def test_a_machine_that_is_lost_costs_what_it_wrote_last(s3_machine: Machine) -> None:
    """Another machine has the lines of its segments; the lost one has all that it wrote, and brings them."""
    lost, observer = s3_machine("lost"), s3_machine("observer")
    folder, copies = lost.workspace("execution", "key"), observer.workspace("execution", "key")
    _append(folder, "a", "b")
    _log_sync(lost).save()
    _append(folder, "c")
    _log_sync(observer).restore()
    assert _keys(copies) == ["a", "b"]
    with lost.synchronized(folder, LogFiles.VERDICTS):
        assert _keys(folder) == ["a", "b", "c"]
    _log_sync(observer).restore()
    assert _keys(copies) == ["a", "b", "c"]


def _answer(index: int) -> ReplyRecord:
    return ReplyRecord(
        task_id="T/1", sample_indices=(index,), prompt_sha="p", template_sha="t", seed=None, body={},
        answers=(Answer("text", "stop"),), usage=TokenUsage(), served_model=None, request_id=None, latency_seconds=1.0,
        attempts=1, cost_usd=0.5, sent_at="2026-11-22T10:00:00.000+00:00",
    )  # fmt: skip


def test_paid_answers_and_sent_batches_are_known_on_another_machine(s3_machine: Machine) -> None:
    """What a model was asked on one machine is not asked again on another; new files come after restored ones."""
    one, other = s3_machine("one"), s3_machine("other")
    for store, index in ((one, 0), (other, 1), (one, 2)):
        folder = store.root / "answers" / "setting"
        with store.synchronized(folder, LogFiles.ANSWERS), AnswerLedger(folder).writing() as writer:
            assert {key.sample_index for key in writer.known} == set(range(index))
            writer.append(_answer(index))
    mine, theirs = (store.root / "answers" / "setting" / "batches" for store in (one, other))
    with _log_sync(one, LogFiles.BATCHES, mine) as journal:
        with AppendLog(mine / "batches.jsonl") as log:
            log.append({"event": "x"})
        journal.save()
    _log_sync(other, LogFiles.BATCHES, theirs).restore()
    assert (theirs / "batches.jsonl").read_text() == '{"event":"x"}\n'
    _log_sync(other, LogFiles.BATCHES, theirs).save()
    assert len(other.bucket.objects("answers/setting/batches")) == 1


@pytest.mark.slow
def test_a_network_that_is_down_stops_no_work(
    s3_machine: Machine, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lines stay on this machine, with a warning, and are copied as soon as the store can be reached."""
    monkeypatch.setattr("bigcodeflow_buckets.bucket._PAUSES_SECONDS", ())
    store = s3_machine("one")
    folder = store.workspace("execution", "key")
    proxy.fault = lambda _method, _path: "unavailable" if down else ""
    down = False
    with LogSync(store.bucket, folder, "execution/key.partial", LogFiles.VERDICTS, seconds=0.1):
        down = True
        _append(folder, "a")
        deadline = time.monotonic() + 120
        while "kept on this machine only" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "kept on this machine only" in caplog.text
        down = False
    _log_sync(s3_machine("other")).restore()
    assert _keys(s3_machine("other").workspace("execution", "key")) == ["a"]
    down = True
    with pytest.raises(ArtifactError, match="cannot be reached"), store.synchronized(folder, LogFiles.VERDICTS):
        pass
    down = False
