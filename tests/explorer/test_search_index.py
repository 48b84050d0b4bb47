"""The index of samples by itself: what it holds, and what becomes of it when files are gone, damaged or shared."""

import os
from pathlib import Path

import duckdb
import pytest

from bigcodeflow.explorer.search_index import SampleIndex, SampleQuery
from tests.results.conftest import Tables


@pytest.fixture
def files(tmp_path):
    """Files of verdicts of three runs by key, each with a pass and a failure that names its number."""
    found = {}
    for number in range(3):
        tables = Tables(tmp_path / "store" / f"key-{number}")
        for task, status in (("Demo/1", "pass"), ("Demo/10", "fail")):
            trace = f"Traceback (most recent call last):\n  x\nValueError: {number}\nof two lines\n"
            test = {"name": "test_a", "outcome": "error", "seconds": 0.1, "trace": trace}
            kind = "" if status == "pass" else "exception"
            tables.sample(task, status, kind=kind, tests=[test] if status == "fail" else [])
        found[f"key-{number}"] = str(tables.paths()["verdicts"])
    return found


@pytest.fixture
def opened(tmp_path):
    """Opens indexes in one cache folder; they are closed in the end."""
    made = []

    def opening():
        made.append(SampleIndex("a store", tmp_path / "cache"))
        return made[-1]

    yield opening
    for index in made:
        index.close()


def filled(index, files):
    index.refresh(files)
    index.wait()
    return index


def query(files, **more):
    return SampleQuery([(key, 0) for key in files], **more)


def test_each_sample_has_the_cause_of_its_failure(opened, files):
    """The first failing test with its exception; a pass has none."""
    found = filled(opened(), files).search(query(files))
    assert [(row["number"], row["task_id"], row["cause"]) for row in found.rows[:2]] == [
        (0, "Demo/1", ""),
        (0, "Demo/10", "test_a: ValueError: 0"),
    ]
    assert (found.total, found.statuses, found.kinds) == (6, {"fail": 3, "pass": 3}, {"exception": 3})


@pytest.mark.parametrize(
    ("more", "total"),
    [
        ({"words": ["valueerror", "2"]}, 1),
        ({"words": ["demo/1 "]}, 3),
        ({"words": ["demo/1"]}, 6),
        ({"words": ["100%"]}, 0),
        ({"status": "!pass"}, 3),
        ({"status": "pass"}, 3),
        ({"kind": "exception", "status": "pass"}, 0),
        ({"variant": "raw"}, 0),
        ({"tasks": {"Demo/1": 0}}, 3),
        ({"words": ["numpy"], "tasks": {"Demo/1": 1, "Demo/10": 0}}, 3),
    ],
)
def test_words_and_filters_must_all_fit(opened, files, more, total):
    """A word may stand in the sample, or be a trait of its task."""
    found = filled(opened(), files).search(query(files, **more))
    assert (found.total, len(found.rows)) == (total, total)


def test_a_word_may_be_a_trait_of_the_run(opened, files):
    """Only samples of that run then fit."""
    index = filled(opened(), files)
    found = index.search(SampleQuery([("key-0", 0), ("key-1", 1)], words=["gpt"]))
    assert {row["artifact"] for row in found.rows} == {"key-1"}


def test_portions_follow_one_another(opened, files):
    """The runs in the order of the query, the samples in that of their files."""
    index = filled(opened(), files)
    backwards = SampleQuery([(key, 0) for key in reversed(files)])
    seen = [
        (row["artifact"], row["task_id"])
        for offset in (0, 2, 4)
        for row in index.search(backwards, offset=offset, limit=2).rows
    ]
    assert seen == [(key, task) for key in reversed(files) for task in ("Demo/1", "Demo/10")]


def test_it_is_kept_and_only_what_is_new_is_read(opened, files):
    """A second start finds the rows, whether or not the files are there still; a run that is gone is forgotten."""
    first = filled(opened(), {"key-0": files["key-0"], "key-1": files["key-1"]})
    assert first.progress == (2, 2)
    first.close()
    second = filled(opened(), {"key-0": "/gone.parquet", "key-2": files["key-2"]})
    assert second.progress == (2, 2)
    assert second.search(query(["key-0", "key-1", "key-2"])).total == 4


def test_a_file_that_cannot_be_read_costs_the_others_nothing(opened, files, tmp_path, caplog):
    """It is named once, and not tried again."""
    damaged = tmp_path / "store" / "damaged" / "verdicts.parquet"
    damaged.parent.mkdir()
    damaged.write_bytes(b"PAR1 no table")
    index = filled(opened(), {"damaged": str(damaged), **files})
    assert index.search(query(files)).total == 6
    assert index.progress == (3, 3)
    assert caplog.text.count("not searched") == 1
    filled(index, {"damaged": str(damaged), **files})
    assert caplog.text.count("not searched") == 1


def test_an_execution_that_is_judged_further_is_read_again(opened, files):
    """It keeps its key, and its file is another one: in a filled index and after a new start."""
    index = filled(opened(), files)
    Path(files["key-0"]).write_bytes(Path(files["key-1"]).read_bytes())
    assert filled(index, files).search(query(["key-0"])).total == index.search(query(["key-1"])).total
    index.close()
    os.utime(files["key-0"], (1, 1))
    again = opened()
    again.refresh(files)
    assert filled(again, files).progress == (3, 3)
    assert again.search(query(files)).total == 6


@pytest.mark.slow
@pytest.mark.parametrize("kept_bytes", [0, 12_288])
def test_a_damaged_index_is_made_anew(opened, files, tmp_path, kept_bytes):
    """It is a cache: nothing is lost with it, be it the whole file or a block that is damaged."""
    filled(opened(), files).close()
    [path] = (tmp_path / "cache").glob("*.duckdb")
    content = path.read_bytes()
    path.write_bytes(content[:kept_bytes] + b"\7" * (len(content) - kept_bytes))
    damaged = filled(opened(), files)
    filled(damaged, files)
    assert damaged.search(query(files)).total == 6
    damaged.close()
    assert filled(opened(), files).search(query(files)).total == 6


def test_an_index_that_another_process_has_is_made_in_memory(opened, files, tmp_path):
    """Both find everything."""
    filled(opened(), files).close()
    [path] = (tmp_path / "cache").glob("*.duckdb")
    with duckdb.connect(path, config={"memory_limit": "2GiB"}):  # refuses every other configuration, as a lock does
        pass
    assert filled(opened(), files).search(query(files)).total == 6


def test_an_index_that_is_not_filled_finds_nothing(opened, files):
    """Instead of failing."""
    assert opened().search(query(files)).total == 0
