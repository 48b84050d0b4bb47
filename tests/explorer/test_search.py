"""The search for samples by itself: what a word may be found in, and which filters fit."""

import pytest
from starlette.datastructures import QueryParams

from bigcodeflow.explorer.catalog import Catalog
from bigcodeflow.explorer.pages import ROWS, Visit, now
from bigcodeflow.explorer.search import SampleQuery, search
from bigcodeflow.results.catalog.building import rebuild_catalog
from tests.report.conftest import RecordedStore, failing_test

TASKS = {"Demo/1": 0, "Demo/10": 0}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """Three runs, the latest first, each with a pass and a failure that names the run's number."""
    recorded = RecordedStore(tmp_path_factory.mktemp("store"))
    for number in (2, 1, 0):
        tables = recorded.tables()
        trace = f"Traceback (most recent call last):\n  x\nValueError: {number}\nof two lines\n"
        for task in TASKS:
            tables.task(task)
        tables.sample("Demo/1")
        tables.sample("Demo/10", "fail", kind="exception", tests=[failing_test("test_a", trace)])
        recorded.record(tables, run=f"run-{number}", scored=False)
    rebuild_catalog(recorded.root)
    return Catalog(recorded.root)


def searched(catalog, *, page="", tasks=TASKS, hits=(0, 0, 0), **more):
    version = catalog.version()
    visit = Visit(catalog, version, QueryParams({"page": page}), now())
    keys = (run.execution_key for run in version.runs)
    return search(visit, SampleQuery(list(zip(keys, hits, strict=True)), tasks, **more))


def test_each_sample_has_the_cause_of_its_failure(catalog):
    """The first failing test with its exception; a pass has none."""
    found = searched(catalog)
    assert [(row["number"], row["task_id"], row["cause"]) for row in found.rows[:2]] == [
        (0, "Demo/1", ""),
        (0, "Demo/10", "test_a: ValueError: 0"),
    ]
    assert [row["number"] for row in found.rows] == [0, 0, 1, 1, 2, 2]
    assert (found.portion.total, found.statuses, found.kinds) == (6, {"fail": 3, "pass": 3}, {"exception": 3})


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
        ({"words": ["gpt"], "hits": (0, 1, 0)}, 2),
        ({"words": ["demo/10", "gpt"], "hits": (0, 2, 1)}, 1),
        ({"words": ["nowhere"], "also": [("Demo/1", 0, "calibrated", "parity")]}, 3),
        ({"words": ["nowhere"], "also": [("Demo/1", 1, "calibrated", "parity")]}, 0),
    ],
)
def test_words_and_filters_must_all_fit(catalog, more, total):
    """A word may stand in the sample, or be a trait of its task or of its run."""
    found = searched(catalog, **more)
    assert (found.portion.total, len(found.rows)) == (total, total)


def test_pages_follow_one_another(nights):
    """Every sample is on one page, the runs in the order of the list and their samples in that of the tasks."""
    version = nights.catalog.version()
    keys = [(run.execution_key, 0) for run in version.runs]
    seen = []
    for page in range(1, 5):
        visit = Visit(nights.catalog, version, QueryParams({"page": str(page)}), now())
        found = search(visit, SampleQuery(keys, dict.fromkeys(version.tasks, 0)))
        assert len(found.rows) == ROWS
        seen += [(row["number"], row["task_id"]) for row in found.rows]
    assert seen == [(number, f"Demo/{task}") for number in range(10) for task in range(20)]
