"""Unfinished work on S3: another machine goes on where the first one was lost, and nothing is counted twice."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.execution.verdicts import Ledger
from bigcodeflow.generation.answer_ledger import AnswerLedger, ReplyRecord
from bigcodeflow.generation.batch_log import FILE_NAME, open_batch_log
from bigcodeflow.generation.model_api import Answer, TokenUsage
from bigcodeflow.store import LogFiles, Store
from bigcodeflow.store.log_sync import LogSync

from .conftest import Machine
from .s3 import FaultyProxy, variables


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


_WRITER = """
import sys, time
from bigcodeflow.store import LogFiles, open_store
from bigcodeflow.execution.verdicts import Ledger
store = open_store(sys.argv[1])
folder = store.workspace("execution", "key")
with store.synchronized(folder, LogFiles.VERDICTS):
    ledger = Ledger(folder)
    for number in range(100_000):
        ledger.append({"verdict_key": f"{number:06}", "status": "pass"})
        time.sleep(0.002)
"""


def _assert_lost_machine_goes_on(s3_machine: Machine, observer: Store) -> None:
    """Another machine has the lines of all segments, the lost one has all that it wrote, and brings them."""
    _log_sync(observer).restore()
    restored = _keys(observer.workspace("execution", "key"))
    assert restored == [f"{number:06}" for number in range(len(restored))]
    assert restored
    same = s3_machine("lost")
    with same.synchronized(same.workspace("execution", "key"), LogFiles.VERDICTS):
        kept = _keys(same.workspace("execution", "key"))
    assert kept == [f"{number:06}" for number in range(len(kept))]
    assert len(kept) >= len(restored)
    _log_sync(observer).restore()
    assert _keys(observer.workspace("execution", "key")) == kept


def test_a_machine_that_is_lost_costs_what_it_wrote_last(s3_machine: Machine) -> None:
    """Lines after its last segment come when it goes on."""
    lost = s3_machine("lost")
    folder = lost.workspace("execution", "key")
    for number in range(4):
        _append(folder, f"{number:06}")
        if number < 3:
            _log_sync(lost).save()
    observer = s3_machine("observer")
    _log_sync(observer).restore()
    assert len(_keys(observer.workspace("execution", "key"))) == 3
    _assert_lost_machine_goes_on(s3_machine, observer)


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_goes_on(
    s3_machine: Machine, s3_endpoint: str, tmp_path: Path
) -> None:
    """The same after kill -9 of a process whose segments are saved by a thread."""
    observer = s3_machine("observer")
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, observer.location], env=os.environ | variables(s3_endpoint, tmp_path / "lost")
    )
    deadline = time.monotonic() + 120
    while len(observer.bucket.objects("execution/key.partial")) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.wait()
    _assert_lost_machine_goes_on(s3_machine, observer)


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
        with open_batch_log(mine) as log:
            log.path.write_text('{"event": "x"}\n')
        journal.save()
    _log_sync(other, LogFiles.BATCHES, theirs).restore()
    assert (theirs / FILE_NAME).read_text() == '{"event": "x"}\n'
    _log_sync(other, LogFiles.BATCHES, theirs).save()
    assert len(other.bucket.objects("answers/setting/batches")) == 1


def test_a_network_that_is_down_stops_no_work(
    s3_machine: Machine, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lines stay on this machine, with a warning, and are copied as soon as the store can be reached."""
    monkeypatch.setattr("bigcodeflow.store.bucket._PAUSES_SECONDS", ())
    store = s3_machine("one")
    folder = store.workspace("execution", "key")
    proxy.fault = lambda _method, _path: "unavailable" if down else "pass"
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
