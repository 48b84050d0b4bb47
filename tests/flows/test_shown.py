"""What people see of a run in the Prefect UI."""

import json
import logging
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId, ArtifactFilterKey
from prefect.flow_engine import run_flow

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.progress import OpenItem, Status
from bigcodeflow.core.schemas import METRICS
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.recording import Outputs
from bigcodeflow.results import GroundTruthFailure
from bigcodeflow.store import ArtifactRef, open_store
from flows.benchmark import benchmark
from tasks.artifacts import failure_rows, library_rows, result_page, score_rows
from tasks.progress import ProgressBar, RunListener, open_samples
from tasks.stages import STAGE_TASKS
from tests.flows.observed import ObservedRun, kind_of

OUTPUTS = Outputs((Path("out") / "x_pass_at_k.json",), Path("store") / "results.duckdb", "20260301T120000-x")


def metric(name: str, value: float, **others: Any) -> dict[str, Any]:
    """A row over all tasks of a run with ten tasks."""
    place = {"split": "complete", "subset": "full", "variant": "calibrated", "sanitizer": "parity"}
    behind = {"slice_kind": "all", "slice": "all", "n_tasks": 10, "n_samples": 10}
    return {**place, **behind, "metric": name, "value": value, **others}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=METRICS)


SCORE = metric("pass@k", 0.6, k=1, ci_low=0.3126, ci_high=0.8318)


@pytest.mark.flow
def test_a_finished_run_is_found_by_score_tags_and_progress(finished_run: ObservedRun) -> None:
    """The list of runs shows the score as the state's message; six finished progress bars stand beside the result."""
    assert re.fullmatch(r"\d+\.\d % \(\d+\.\d to \d+\.\d\) pass@1", finished_run.state.message)
    known = finished_run.client.read_flow_run(finished_run.id)
    assert known.state.message == finished_run.state.message
    assert {"samples=oracle", "split=complete", "subset=full"} <= set(known.tags)
    shown = finished_run.shown()
    bars = {key: data for key, data in shown.items() if key.endswith("-progress")}
    stages = ["aggregation", "dataset", "execution", "generation", "ground-truth", "sanitizing"]
    assert bars == {f"{stage}-progress": 100.0 for stage in stages}
    assert set(shown) - set(bars) == {"scores", "result"}


@pytest.mark.slow
@pytest.mark.flow
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("my own name", "my own name"),
        ("gpt-4o", "gpt-4o"),
        ("fine-crow", "{title}"),
        ("kappa747-talos-reach", "{title}"),
        ("chi-nimbus", "{title} (chi-nimbus)"),
        ("Rustic-Bat", "{title} (Rustic-Bat)"),
    ],
)
def test_a_name_that_somebody_typed_is_kept(
    prefect_client: SyncPrefectClient, tmp_path: Path, given: str, shown: str
) -> None:
    """One that Prefect made up gives way to what the run is; one that may be either stands behind it."""
    config = load_config("starter", (f"store={tmp_path}", "name=mine", "execution.environment=no-such"))
    parameters = {"config": config.model_dump(mode="json")}
    made = prefect_client.create_flow_run(benchmark, name=given, parameters=parameters)
    run_flow(benchmark, flow_run=made, parameters={"config": config}, return_type="state")
    expected = shown.format(title="starter · full · complete · mine")
    assert prefect_client.read_flow_run(made.id).name == expected


@pytest.mark.flow
def test_result_states_score_ground_truths_and_files(finished_run: ObservedRun) -> None:
    """The table holds the score beside its interval; the page also the ground truths, files and report, which is there."""
    shown = finished_run.shown()
    [row] = json.loads(shown["scores"])
    assert (row["score"], row["value"], row["tasks"]) == ("pass@1", "100.0 %", "3")
    assert row["95 % interval"].endswith("to 100.0")
    chosen = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[finished_run.id]))
    own = [one for one in finished_run.client.read_artifacts(artifact_filter=chosen) if kind_of(one.key) != one.key]
    assert {kind_of(one.key) for one in own} == {"scores", "result"}
    assert all((one.description or "").startswith("100.0 % (") for one in own)
    assert "3 of 3 pass (100.0 %)" in shown["result"]
    assert "`oracle--bigcodebench-complete_pass_at_k.json`" in shown["result"]
    report = Path(finished_run.config.out) / "report.html"
    assert f"`{report}`" in shown["result"]
    assert f"oracle · full · complete · 3 of 45 tasks: report {report}" in finished_run.log("report")
    assert "Starter/0" in report.read_text()
    names = {path.name for path in Path(finished_run.config.out).iterdir()}
    assert {"metrics.parquet", "verdicts.parquet", "oracle--bigcodebench-complete_eval_results.json"} <= names
    [record] = [json.loads(path.read_text()) for path in (finished_run.store.root / "runs").iterdir()]
    assert record["artifacts"] == {name: ref.key for name, ref in finished_run.artifacts.by_stage.items()}


@pytest.mark.flow
def test_runs_and_tasks_have_names_that_tell_them_apart(finished_run: ObservedRun) -> None:
    """Flow and task runs are named after what they work on."""
    assert finished_run.client.read_flow_run(finished_run.id).name == "oracle · full · complete"
    names = {run.name for run in finished_run.task_runs()}
    assert names == {
        "dataset: starter, complete, full",
        "generation: oracle · full · complete",
        "sanitizing: oracle · full · complete (none)",
        "ground truth: starter, full (in starter)",
        "execution: oracle · full · complete (in starter)",
        "aggregation: oracle · full · complete",
    }
    messages = finished_run.log("aggregation: finished")
    assert any(message.startswith("execution: finished, 3 rows, distinct executions 3") for message in messages)


@pytest.mark.flow
def test_progress_is_updated_at_most_once_a_second(prefect_client: SyncPrefectClient) -> None:
    """Reports within a second of the last one are not sent; the next one after it is, and the end always.

    A stage without any unit of work ends as finished.
    """
    clock = [0.0]
    seen: list[float] = []

    def look(key: str) -> None:
        chosen = ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
        seen.extend(artifact.data for artifact in prefect_client.read_artifacts(artifact_filter=chosen))

    @flow
    def watched() -> None:
        listener = RunListener(seconds_now=lambda: clock[0])
        progress = listener.begin("slow stage")
        for clock[0], finished in ((0.5, 10), (1.1, 20), (1.9, 30), (2.2, 40)):
            progress(finished, 80)
            look("slow-stage-progress")
        listener.end("slow stage", ArtifactRef(stage="s", key="k", rows=80, sha256=""), reused=False)
        look("slow-stage-progress")
        listener.begin("empty stage")(0, 0)
        listener.end("empty stage", ArtifactRef(stage="s", key="k", rows=0, sha256=""), reused=False)
        look("empty-stage-progress")

    watched()
    assert seen == [0.0, 25.0, 25.0, 50.0, 100.0, 100.0]


@pytest.mark.flow
def test_a_stage_gives_signs_of_life(prefect_client: SyncPrefectClient, caplog: pytest.LogCaptureFixture) -> None:
    """The artifact says what is open and what takes longest; the log does at each tenth, and each minute in between."""
    clock = [0.0]
    longest = [OpenItem("BigCodeBench/7", datetime.now(UTC) - timedelta(seconds=43), 241.0)]
    described: list[str] = []

    @flow
    def watched() -> None:
        logger = logging.getLogger("tests.signs")
        logger.setLevel(logging.INFO)
        progress = ProgressBar("endless stage", logger, lambda: clock[0])
        progress(0, 0)
        for clock[0], finished in ((30.0, 1), (59.0, 2), (61.0, 3), (62.0, 4), (63.0, 10), (121.0, 11), (123.5, 11)):
            progress(finished, 100, "", Status(12, longest, 600.0))
            chosen = ArtifactFilter(key=ArtifactFilterKey(any_=["endless-stage-progress"]))
            described.extend(one.description or "" for one in prefect_client.read_artifacts(artifact_filter=chosen))

    watched()
    assert re.fullmatch(
        r"endless stage: 1 of 100 \(12 open, longest BigCodeBench/7: 4\d s \(limit 241 s\); about 10 min left\)",
        described[0],
    )
    lines = [message for message in caplog.messages if message.startswith("endless stage: ")]
    assert [line.split()[2] for line in lines] == ["3", "10", "11"]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"infra_errors": 0}, []),
        ({"infra_errors": 3}, ["3 samples could not be judged"]),
        ({"infra_errors": 10, "unchecked_passes": 10}, ["10 samples passed, and could not be checked"]),
        ({"infra_errors": 12, "unchecked_passes": 10}, ["2 samples could not be judged", "10 samples passed"]),
    ],
)
def test_samples_that_lack_a_check_are_not_said_to_be_unjudged(counts: dict[str, int], words: list[str]) -> None:
    """Both are done again by the next run, for different reasons."""
    assert [note.startswith(start) for note, start in zip(open_samples(counts), words, strict=True)] == [True] * len(
        words
    )


def test_score_rows_hold_one_row_a_variant_and_k() -> None:
    """Scores over all tasks make rows, slices and other metrics do not.

    The score over tasks whose ground truth passes has its own number of tasks; one without judged samples no interval.
    """
    raw, judgeable = metric("pass@k", math.nan, k=1, variant="raw"), metric("pass@k_judgeable", 0.75, k=1, n_tasks=8)
    sliced = metric("pass@k", 0.1, k=1, slice_kind="domain", slice="Network")
    rows = score_rows(table(SCORE, raw, judgeable, sliced, metric("sample_count", 10.0)))
    columns = ("variant", "score", "value", "95 % interval", "judgeable tasks only")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("calibrated", "pass@1", "60.0 %", "31.3 to 83.2", "75.0 % of 8"),
        ("raw", "pass@1", "none judged", "", ""),
    ]


def test_the_page_has_a_section_for_what_there_is() -> None:
    """Link, scores, unjudged samples, failures, ground truths, report and files by paths that hold anywhere; no others."""
    rows = [SCORE, metric("pass^k", 0.25, k=5, ci_low=0.1, ci_high=0.4), metric("infra_error_count", 2.0)]
    unjudgeable = [GroundTruthFailure(f"BigCodeBench/{number}", "fail", "assertion_failed") for number in range(52)]
    page = result_page(
        table(*rows, metric("ground_truth_rate", 0.8)),
        unjudgeable,
        OUTPUTS._replace(report=Path("/out/report.html")),
        failures=[{"variant": "calibrated", "sanitizer": "parity", "status": "fail", "samples": "2"}],
        explorer="http://127.0.0.1:4201/runs/x",
    )
    there = [
        "[Open in the explorer](http://127.0.0.1:4201/runs/x)",
        "variant calibrated; sanitizer parity.",
        "**Provisional:** 2 of 10 samples (calibrated, parity)",
        "## Several samples a task",
        "| pass^5 | 25.0 % | 10.0 to 40.0 |",
        "## Why samples did not pass\n\n| status | samples |",
        "8 of 10 pass (80.0 %).",
        "- BigCodeBench/0: assertion failed\n",
        "- and 2 more",
        "open `/out/report.html`",
        "`bigcodeflow inspect 20260301T120000-x`",
        *(f"- `{Path.cwd() / path.parent}`: `{path.name}`" for path in (*OUTPUTS.files, OUTPUTS.catalog)),
    ]
    assert [text for text in there if text not in page] == []
    assert "BigCodeBench/50" not in page
    bare = result_page(table(SCORE, metric("infra_error_count", 0.0)), [], OUTPUTS)
    absent = ("explorer", "Provisional", "Several samples", "## Why", "Ground truths", "## Report", "| calibrated |")
    assert [text for text in absent if text in bare] == []
    assert "No pass@k" in result_page(table(metric("sample_count", 10.0)), [], OUTPUTS)


def test_failures_are_counted_by_status_and_cause() -> None:
    """Passes make no row but count in the share; the most frequent failure stands first."""
    rows = [
        {"variant": "calibrated", "sanitizer": "parity", "status": status, "failure_kind": kind}
        for status, kind in [("pass", "")] * 2 + [("timeout", "wall_time")] + [("fail", "assertion_failed")] * 2
    ]
    counts = [
        (row["status"], row["cause"], row["samples"], row["share"]) for row in failure_rows(pa.Table.from_pylist(rows))
    ]
    assert counts == [("fail", "assertion failed", "2", "40.0 %"), ("timeout", "wall time", "1", "20.0 %")]


def test_libraries_are_ordered_by_the_tasks_that_they_cost() -> None:
    """A library with many failing tasks stands before one with a lower score and few; one without failure is left out."""
    library = {"slice_kind": "library", "k": 1}
    rows = [
        metric("pass@k", 0.9, **library, slice="numpy") | {"n_tasks": 50},
        metric("pass@k", 0.5, **library, slice="turtle") | {"n_tasks": 2},
        metric("pass@k", 1.0, **library, slice="math") | {"n_tasks": 9},
        metric("pass@k", 0.7, slice_kind="library", slice="numpy", k=5),
        metric("pass@k", math.nan, **library, slice="unjudged"),
    ]
    assert [(row["library"], row["tasks"], row["pass@1"]) for row in library_rows(rows)] == [
        ("numpy", "50", "90.0 %"),
        ("turtle", "2", "50.0 %"),
    ]


def test_model_s_task_runs_show_the_model() -> None:
    """A task run of a model's answers carries the model's name, not the word 'model'."""
    settings = {"samples": {"source": "model"}, "generation": {"model": "openai:gpt-9"}}
    config = RunConfig.model_validate(settings | {"dataset": {"split": "instruct"}})
    run = ResolvedRun(config, {}, open_store(config.store))
    name = STAGE_TASKS["generation"].task_run_name(parameters={"run": run})
    assert name == "generation: gpt-9 · full · instruct"


@pytest.mark.parametrize(
    ("settings", "title"),
    [
        ({}, "starter · full · complete"),
        ({"name": "gpt-9", "dataset": {"split": "instruct", "subset": "hard"}}, "starter · hard · instruct · gpt-9"),
        ({"samples": {"source": "a/my-model--bigcodebench-complete--x.jsonl"}}, "my-model · full · complete"),
    ],
)
def test_run_is_called_after_its_model(settings: dict[str, Any], title: str) -> None:
    """A run's title is the model, also of its sample file, subset and split, and the name that somebody gave it."""
    assert run_title(RunConfig.model_validate(settings)) == title
