"""Comparisons and details of runs whose store is a bucket."""

import shlex

import pytest

from bigcodeflow.results.comparison.comparison import compare
from bigcodeflow.results.comparison.pairs import Method
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.inspection.samples import Filters, inspect_run
from bigcodeflow.results.runs import find_run
from tests.results.comparison.conftest import Runs, judged_by
from tests.store.s3 import new_bucket


@pytest.fixture
def bucket(s3_endpoint, tmp_path, monkeypatch, outcomes):
    """URL of a store with two runs, seen from a machine that has nothing of it yet."""
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "writer"))
    runs = Runs(f"s3://{new_bucket()}/some/prefix")
    for name, line, version in (("a", "+++-", 2), ("b", "-+--", 1)):
        runs.add(name, outcomes(line), settings=judged_by(version))
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "reader"))
    return runs.root


@pytest.mark.slow
def test_comparisons_and_stories_read_from_the_bucket(bucket):
    """Differences and harness versions are those that the runs were published with."""
    found = compare(open_runs(bucket, ["a", "b"]), method=Method(rounds=100))
    assert found.pairs[0].difference == pytest.approx(0.5)
    assert [run.harness_version for run in found.runs] == [2, 1]
    assert (found.solved_by_all, found.unsolved_by_all) == (("Demo/1",), ("Demo/3",))
    # A story's command names the store as it was given, and no folder of this machine.
    with inspect_run(find_run(bucket, "a")) as found:
        [detail] = found.details(found.samples(Filters()))
    words = shlex.split(detail.rerun_command)
    assert words[words.index("--store") + 1] == bucket
