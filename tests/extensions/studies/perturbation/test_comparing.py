"""The gap between a run on tasks and a run on their variants, from verdicts that are known."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig, SamplesConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.table import Cell
from bigcodeflow.results.runs import RecordedRun, recorded_run
from bigcodeflow.store import Store, open_store
from bigcodeflow.studies import recorded_studies
from bigcodeflow_leaderboard.measured_entries import entry_of, measured_entries
from bigcodeflow_studies.perturbation.comparing import (
    compare_runs,
    perturbed_run,
    require_answers,
)
from bigcodeflow_studies.perturbation.tables import gaps, tables
from tests.report.conftest import RecordedStore


def run_of(
    store: Store, name: str, verdicts: list[tuple[str, str]], variant: str = "calibrated", **more: Any
) -> RecordedRun:
    """A run with one verdict for each task id and status."""
    recorded, counts = RecordedStore(store.root), Counter[str]()
    tables = recorded.tables()
    for task_id, status in verdicts:
        if not counts[task_id]:
            tables.task(task_id)
        tables.sample(task_id, status, index=counts[task_id], variants=(variant,))
        counts[task_id] += 1
    given = {"model": f"{name}-model", "scored": False, **more}
    return recorded_run(store, recorded.record(tables, run=name, **given))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def test_tasks_are_paired_and_variants_of_a_task_are_averaged(store: Store) -> None:
    """Of 40 solved tasks half the variants fail; samples that could not be judged do not count."""
    tasks = [f"Own/{number}" for number in range(40)]
    original = run_of(store, "a", [*((one, "pass") for one in tasks), ("Own/40", "pass")])
    variants = [
        *((f"{one}~function.1", "pass") for one in tasks),
        *((f"{one}~function.2", "fail") for one in tasks),
        *((f"{one}~data.1", "pass") for one in tasks[:10]),
        ("Own/0~function.3", "infra_error"),
        ("Elsewhere/1~function.1", "fail"),
    ]
    ref = compare_runs(store, original, run_of(store, "b", variants))
    rows = store.read(ref).to_pylist()
    function, data, every = gaps(rows)
    assert (function.kind, function.n_tasks, function.n_variants) == ("function", 40, 80)
    assert (function.original, function.perturbed, function.difference) == (1.0, 0.5, 0.5)
    assert function.interval.low > 0.3
    assert function.p < 0.01
    assert function.kept == 0.5
    assert (data.n_tasks, data.difference) == (10, 0.0)
    assert (every.kind, every.n_tasks, every.n_variants) == ("all kinds", 40, 90)
    assert every.difference == pytest.approx((10 * 0.25 + 30 * 0.5) / 40)
    assert rows[0]["failed_variants"] == ["Own/0~function.2"]
    summary, lost = tables(store.read(ref))
    assert summary.rows[0][5] == Cell("+50.0", "bad")
    assert lost.rows[0] == ("Own/0", "function", "1 of 1", "1 of 2", ["Own/0~function.2"])
    [record] = recorded_studies(store)
    assert record.models == ("a-model",)
    assert compare_runs(store, original, run_of(store, "b", variants)) == ref


def test_a_run_without_variants_is_refused(store: Store) -> None:
    """Two runs on the same tasks have nothing to compare."""
    first, second = (run_of(store, key, [("Own/1", "pass")]) for key in "ab")
    with pytest.raises(
        ArtifactError, match=r"b-model.* has no judged variants of the tasks of a-model.*: run the model on a"
    ):
        compare_runs(store, first, second)


def test_a_variant_of_solutions_that_was_not_judged_is_named(store: Store) -> None:
    """With those that the run has."""
    raw = run_of(store, "a", [("Own/1", "pass")], "raw")
    changed = run_of(store, "b", [("Own/1~function.1", "pass")], "raw")
    with pytest.raises(ArtifactError, match=r"has no verdicts of calibrated; it has: raw, .* Choose with --variant"):
        compare_runs(store, raw, changed)
    assert compare_runs(store, raw, changed, variant="raw").rows == 1


def test_recorded_answers_cannot_answer_variants(tmp_path: Path) -> None:
    """Refused before anything is executed; the run on variants has a name and a folder of its own."""
    run = RunConfig(name="mine", out="results/mine", samples=SamplesConfig(source="oracle"))
    require_answers(run)
    changed = perturbed_run(run, tmp_path / "variants.parquet")
    assert (changed.name, changed.out, changed.dataset.ids) == ("mine-perturbed", "results/mine-perturbed", "")
    with pytest.raises(ConfigError, match=r"samples.source 'answers.jsonl' has answers to the original tasks only"):
        require_answers(run.model_copy(update={"samples": SamplesConfig(source="answers.jsonl")}))


@pytest.mark.parametrize(
    ("mark", "kind", "warning"),
    [
        ("task_variants", "variants of tasks", "are variants of others"),
        ("contradicted_tasks", "contradicted tests", "show tests that contradict them"),
    ],
)
def test_a_run_on_other_tasks_is_named_so(store: Store, mark: str, kind: str, warning: str) -> None:
    """Its board is one of its own, its report says so, and the leaderboard neither takes nor refuses it unasked."""
    run = run_of(store, "a", [("Own/1", "pass")], scored=True, **{mark: 1})
    assert run.title == f"a-model · full · complete · {kind}"
    assert run.board == f"full · complete · {kind}"
    text = RecordedStore(store.root).report(run.record).path.read_text()
    assert f"its tasks {warning}; the numbers are no scores." in text
    assert measured_entries(store.root) == ((), ())
    with pytest.raises(ArtifactError, match=warning.rpartition(" ")[0]):
        entry_of(run)


@pytest.mark.parametrize(
    ("model", "split", "source", "refused"),
    [
        ("a", "complete", "model", ""),
        ("b", "complete", "model", "its model is b, that of .* is a: name two runs of the same model"),
        ("a", "instruct", "model", "its split is instruct"),
        ("b", "complete", "b.jsonl", ""),
    ],
)
def test_a_gap_is_one_model_s(store: Store, model: str, split: str, source: str, refused: str) -> None:
    """Of two models, or of two splits, it would tell nothing of variants; a file's name is no model's."""
    configs = ({"dataset": {"split": one}, "samples": {"source": source}} for one in ("complete", split))
    first = run_of(store, "first", [("Own/1", "pass")], model="a", config=next(configs))
    second = run_of(store, "second", [("Own/1~data.1", "pass")], model=model, config=next(configs))
    with pytest.raises(ArtifactError, match=refused) if refused else nullcontext():
        compare_runs(store, first, second)
