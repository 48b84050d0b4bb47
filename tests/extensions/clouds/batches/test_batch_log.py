"""The log of batches and the plan that is made of it: every whole line counts, and nothing is asked for twice."""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.model_api import RequestError
from bigcodeflow_clouds.batches.apis import tag_of
from bigcodeflow_clouds.batches.driver import cut
from bigcodeflow_clouds.batches.log import FILE_NAME, Batch, BatchEntry, BatchLog, PendingSamples, open_batch_log

from .driving import request

ENTRIES = [BatchEntry(f"T/{number}", "sha", (number, number + 1), None) for number in range(5)]
EVENTS = st.lists(st.sampled_from(["intend", "submit", "settle"]), max_size=12)


def test_new_samples_of_a_partly_known_request_keep_their_seeds() -> None:
    """With the whole request's seed they would repeat the samples that the other batch answers, word for word."""
    asked = replace(request(0, samples=(0, 1, 2, 3)), seed=10)
    known = frozenset(BatchEntry.of(asked).samples[:2])
    [new] = PendingSamples().add([asked], known)
    assert (new.sample_indices, new.seed) == ((2, 3), 12)


def _batch(tag: str) -> Batch:
    return Batch(tag, datetime.now(UTC), ENTRIES)


def _write(log: BatchLog, events: list[str]) -> list[dict]:
    """Do what the events say, and return what is known after each line."""
    states = [_known(log)]
    for number, event in enumerate(events):
        latest = next(reversed(log.batches.values()), None)
        if event == "intend":
            log.intend(_batch(f"bcf-{number}"))
        elif latest and event == "submit":
            log.submitted(latest, f"batch_{number}")
        elif latest and number % 5 not in latest.settled:
            log.settled(latest, [number % 5])
        else:
            continue
        states.append(_known(log))
    return states


def _known(log: BatchLog) -> dict:
    return {tag: (one.batch_id, sorted(one.settled), list(one.entries)) for tag, one in log.batches.items()}


@given(EVENTS, st.data())
def test_a_torn_line_costs_only_itself(events: list[str], data: st.DataObject) -> None:
    """Cut off at any byte, the log holds what its whole lines say, and goes on from there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_batch_log(folder) as log:
            states = _write(log, events)
        content = (folder / FILE_NAME).read_bytes()
        kept = content[: data.draw(st.integers(0, len(content)))]
        (folder / FILE_NAME).write_bytes(kept)
        with open_batch_log(folder) as log:
            assert _known(log) == states[kept.count(b"\n")]
            log.intend(_batch("bcf-later"))
            later = _known(log)
        with open_batch_log(folder) as log:
            assert _known(log) == later


@pytest.mark.parametrize(
    "line", ["no json", '{"event": "submitted", "tag": "x", "batch_id": "b"}', '{"event": "?"}', "[]"]
)
def test_a_damaged_line_stops_the_run(tmp_path: Path, line: str) -> None:
    """A line that cannot be understood may stand for money: it is named, not skipped."""
    (tmp_path / FILE_NAME).write_text(f"{line}\n")
    with pytest.raises(GenerationError, match=r"batches\.jsonl, line 1: is damaged"), open_batch_log(tmp_path):
        pass


def test_custom_ids_lead_back_to_their_entries(tmp_path: Path) -> None:
    with open_batch_log(tmp_path) as log:
        log.intend(batch := _batch("bcf-a"))
    assert [batch.position(batch.custom_id(number)) for number in range(5)] == [0, 1, 2, 3, 4]
    assert tag_of(batch.custom_id(3)) == "bcf-a"
    strangers = ["bcf-a-5", "bcf-b-0", "bcf-a", "", "bcf-a--1", "bcf-a-x", "bcf-a-²"]
    assert [batch.position(stranger) for stranger in strangers] == [None] * len(strangers)


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(1, 10), st.integers(1, 100))
def test_batches_partition_the_requests(sizes: list[int], most: int, most_bytes: int) -> None:
    """Each request is in one batch, in order, within the limits unless it alone is beyond them; none could join its
    predecessor."""
    requests = [request(number) for number in range(len(sizes))]
    size = {one.task_id: bytes_ for one, bytes_ in zip(requests, sizes, strict=True)}
    batches = list(cut(zip(requests, sizes, strict=True), most, most_bytes))
    assert [one for batch in batches for one in batch] == requests
    filled = [sum(size[one.task_id] for one in batch) for batch in batches]
    assert all(
        len(batch) <= most and (total <= most_bytes or len(batch) == 1)
        for batch, total in zip(batches, filled, strict=True)
    )
    for earlier, total, later in zip(batches, filled, batches[1:], strict=False):
        assert len(earlier) == most or total + size[later[0].task_id] > most_bytes


@given(st.sets(st.integers(0, 9)), st.lists(st.lists(st.integers(0, 9), unique=True, min_size=1), max_size=6))
def test_samples_are_new_once(known: set[int], groups: list[list[int]]) -> None:
    """Of overlapping requests every sample is new once, unless a batch holds it, and is left once."""
    requests = [request(0, samples=tuple(group)) for group in groups]
    sha = request(0).prompt_sha
    wanted = PendingSamples()
    new = wanted.add(requests, frozenset(("T/0", sha, index) for index in known))
    asked = [index for one in new for index in one.sample_indices]
    everything = {index for group in groups for index in group}
    assert sorted(asked) == sorted(everything - known)
    for one in requests:
        wanted.leave(BatchEntry.of(one), RequestError("deadline", "late"))
    left = [index for one in wanted.left for _, _, index in one.samples]
    assert sorted(left) == sorted(everything)
