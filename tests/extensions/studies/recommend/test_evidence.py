"""Which runs of a store count: one of each model, on the tasks that they have in common."""

import json

import duckdb
import numpy as np
import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results.catalog.building import CATALOG_NAME, rebuild_catalog
from bigcodeflow_studies.recommend.evidence import common_tasks, evidence_of_store, strongest
from bigcodeflow_studies.recommend.ranking import Outcomes
from tests.extensions.studies.recommend.conftest import record


def models(store, *selection):
    return models_of(evidence_of_store(store.root, *selection))


def models_of(evidence):
    return [run.model for run in evidence.runs]


def test_shares_costs_and_libraries_are_read(recorded):
    """A task with several samples counts as its share; cost and time are means and medians of answers.

    Neither a task whose own solution failed in that run nor an infra_error is an outcome.
    """
    usage = {"cost_usd": 0.25, "latency_seconds": 3.0}
    record(recorded, "a", "1011", usage=usage, n_samples=2)
    record(recorded, "b", "0x11", unjudgeable={3})
    found = evidence_of_store(recorded.root)
    assert models_of(found) == ["a", "b"]
    assert found.outcomes.task_ids == ["Demo/0", "Demo/2"]
    assert found.outcomes.libraries == [frozenset({"pandas"}), frozenset({"json"})]
    np.testing.assert_array_equal(found.outcomes.shares, [[1, 1], [0, 1]])
    assert [(run.cost_usd, run.latency_seconds) for run in found.runs] == [(0.25, 3.0), (None, None)]
    assert found.notes == ()


def test_a_model_stands_once(recorded):
    """In its run with most tasks, of several the latest; the form of its name does not matter."""
    record(recorded, "org--a--main", "1111", run="long")
    last = record(recorded, "org--a", "0000", run="long again")
    record(recorded, "org--a", "00", run="short")
    record(recorded, "b", "1111")
    found = evidence_of_store(recorded.root)
    assert [run.model for run in found.runs] == ["b", "org/a"]
    assert found.runs[1].record == last
    assert found.notes == ()
    record(recorded, "b", "1100", source="b--bigcodebench-complete--vllm-0.8-1.jsonl")
    notes = evidence_of_store(recorded.root).notes
    assert notes == ("Of models with runs in several settings one run counts, that of most tasks: b (vllm-0.8-1).",)


@pytest.mark.slow
def test_controls_and_mismatched_and_contradicted_runs_do_not_count(recorded):
    """The latter are named."""
    for name in ("a", "b"):
        record(recorded, name, "10")
    record(recorded, "oracle", "11", source="oracle")
    wrong = record(recorded, "wrong", "11")
    shown = record(recorded, "shown", "11")
    path = rebuild_catalog(recorded.root)
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE runs SET split_mismatch = true WHERE record = ?", [wrong])
        connection.execute("UPDATE runs SET contradicted = true WHERE record = ?", [shown])
    found = evidence_of_store(recorded.root)
    assert models_of(found) == ["a", "b"]
    assert [name in note for name, note in zip((wrong, shown), found.notes, strict=True)] == [True, True]


def test_models_are_ranked_on_the_tasks_that_they_have_in_common(recorded):
    """Those of the run that gives most outcomes; a run of other or of few tasks is named, and not ranked."""
    record(recorded, "a", "110101")
    record(recorded, "b", "011010")
    record(recorded, "few", "11")
    record(recorded, "far", "xxxxxxx1")
    found = evidence_of_store(recorded.root)
    assert models_of(found) == ["a", "b"]
    assert found.outcomes.task_ids == [f"Demo/{number}" for number in range(6)]
    assert found.notes == ("Not ranked, as they were not judged on the 6 tasks of the others: far (1), few (2).",)


def test_the_same_answers_have_the_same_rank_on_a_part_of_the_tasks(recorded):
    """A run of the hard tasks alone is set beside the others on these tasks, or not at all."""
    answers = "10" * 20
    record(recorded, "all", answers)
    record(recorded, "hard alone", "".join(one if not place % 3 else "x" for place, one in enumerate(answers)))
    record(recorded, "other", "1" * 40)
    assert models(recorded) == ["all", "other"]
    found = evidence_of_store(recorded.root, "", "hard")
    assert models_of(found) == ["all", "hard alone", "other"]
    np.testing.assert_array_equal(*found.outcomes.shares[:2])


def test_raw_programs_are_not_set_beside_calibrated_ones(recorded):
    """They lack imports that calibration adds; where all are raw they are ranked."""
    raw = [record(recorded, name, "1111", variants=("raw",)) for name in ("r", "s")]
    assert models(recorded) == ["r", "s"]
    for name in ("a", "b"):
        record(recorded, name, "1010")
    found = evidence_of_store(recorded.root)
    assert models_of(found) == ["a", "b"]
    assert found.notes == (f"Left out, as they were judged raw alone: {', '.join(raw)}.",)


def test_a_model_that_lacks_few_verdicts_is_ranked():
    """Samples that could not be judged take a run out of no ranking; nor is the task lost to the others."""
    shares = np.ones((40, 100))
    shares[3, :4] = np.nan
    shares[7, :6] = np.nan
    ranked, tasks = common_tasks(Outcomes(range(100), shares, [frozenset()] * 100))
    assert set(range(40)) - set(ranked) == {7}
    assert tasks == list(range(100))


def test_of_very_many_models_those_that_pass_most_are_taken():
    """By their shares of the tasks that they were judged on, in the order in which they stood."""
    shares = np.array([[1, 0, np.nan], [1, np.nan, np.nan], [0, 0, 0], [0, 1, 1]])
    assert strongest(shares, [0, 1, 2, 3], 2) == ([1, 3], [0, 2])
    assert strongest(shares, [0, 2], 2) == ([0, 2], [])


@pytest.mark.slow
def test_split_and_subset_choose(recorded):
    """Without a word the split of most models counts; 'hard' takes the hard tasks of all runs."""
    for name in ("a", "b"):
        record(recorded, name, "1010", split="instruct")
    record(recorded, "a", "1111")
    record(recorded, "c", "1111")
    record(recorded, "d", "1111")
    assert models(recorded) == ["a", "c", "d"]
    assert models(recorded, "instruct") == ["a", "b"]
    assert evidence_of_store(recorded.root, "", "hard").outcomes.task_ids == ["Demo/0", "Demo/3"]
    with pytest.raises(ConfigError, match="use split complete or instruct"):
        models(recorded, "both")


@pytest.mark.slow
def test_the_order_of_runs_does_not_matter(tmp_path):
    """The same runs, recorded in another order, are the same evidence."""
    from tests.report.conftest import RecordedStore

    found = []
    for folder, names in (("one", "abc"), ("two", "cba")):
        (tmp_path / folder).mkdir()
        store = RecordedStore(tmp_path / folder)
        for name in names:
            record(store, name, {"a": "1010", "b": "0110", "c": "111"}[name])
        found.append(evidence_of_store(store.root))
    assert models_of(found[0]) == models_of(found[1])
    np.testing.assert_array_equal(*(one.outcomes.shares for one in found))


@pytest.mark.slow
def test_fewer_than_two_models_are_one_line_until_a_second_is_copied_there(recorded, tmp_path):
    """So are a store that is not there and an empty one; each says what to do."""
    with pytest.raises(ArtifactError, match="there is no store"):
        evidence_of_store(tmp_path / "nothing")
    # On different tasks, two models are as good as one.
    for there, *next_run in (("none", "a", "11"), (r"a \(2\)", "far", "xx11"), (r"a \(2\), far \(2\)", "b", "10")):
        with pytest.raises(ArtifactError, match=f"common tasks, but full · complete has {there}: run") as raised:
            evidence_of_store(recorded.root)
        assert "\n" not in str(raised.value)
        record(recorded, *next_run)
    # A run that was copied into the store counts at once; a catalog that has all runs is not built again.
    path = recorded.root / CATALOG_NAME
    assert models(recorded) == ["a", "b"]
    built = path.stat().st_mtime_ns
    assert models(recorded) == ["a", "b"]
    assert path.stat().st_mtime_ns == built
    record(recorded, "c", "10")
    assert models(recorded) == ["a", "b", "c"]
    path.write_bytes(b"no database")
    assert models(recorded) == ["a", "b", "c"]
    assert json.loads((recorded.root / "runs" / f"{evidence_of_store(recorded.root).runs[0].record}.json").read_text())
