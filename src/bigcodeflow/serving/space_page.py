"""The space's web page, and the original evaluator's endpoint /predict, which converts a sample file to results.

Both evaluate a sample file as a run whose backend is the space itself.
"""

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import gradio
import pyarrow as pa
from gradio.utils import get_upload_folder

from bigcodeflow import results
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError
from bigcodeflow.core.progress import NO_STATUS, Progress, StageProgress, Status
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.remote.original_space import SpaceQuestion
from bigcodeflow.recording import perform_and_record
from bigcodeflow.store import ArtifactRef

#: Most rows that a browser can scroll through; verdicts.parquet has all rows.
_MAX_ROWS = 2000
_ABOUT = """# bigcodeflow
Judges sample files of BigCodeBench: upload one, say what it answers, and take the results home. Programs run in this
machine's sandboxes, in the environment {name} (sha {sha})."""

#: Data sets that clients may choose; a path would give them access to this machine's files.
DATASETS = ("starter", "bigcode/bigcodebench")

#: Outputs of the page: progress, summary, table, files.
_Shown = tuple[Any, Any, Any, Any]


class EvaluationResult(NamedTuple):
    """Scores, verdicts and result files of one evaluation."""

    summary: str
    verdicts: pa.Table
    files: tuple[Path, ...]
    """Paths of *_eval_results.json, *_pass_at_k.json, verdicts.parquet and metrics.parquet."""


class RunProgress:
    """Progress of an evaluation: a listener of its stages, written by the evaluation's thread and read by the page."""

    def __init__(self) -> None:
        self.stages: dict[str, str] = {}  # state by title

    def begin(self, title: str) -> Progress:
        """Note that a stage begins, and return its progress callback."""
        self.stages[title] = "begins"

        state = StageProgress(title)

        def move(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            state.update(finished, total, note, status)
            self.stages[title] = f"{finished:,} of {total:,}" + (f" ({state.remark})" if state.remark else "")

        return move

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Note that a stage's artifact is complete."""
        self.stages[title] = f"{ref.rows:,} rows" + (", known before" if reused else "")


class Evaluations:
    """Evaluations, executed in sequence; one whose client left continues, so that a later equal request is fast.

    ``store`` keeps artifacts; ``service`` is ``execution.service`` of the space itself, so that all share its cores.
    """

    def __init__(self, environment: str, store: str, service: Mapping[str, Any]) -> None:
        self._environment, self._store, self._service = environment, store, dict(service)
        self._pool = ThreadPoolExecutor(1, "evaluate")

    @contextmanager
    def begun(
        self,
        samples: Path,
        dataset: Mapping[str, str],
        progress: RunProgress,
        *,
        calibrated: bool,
        k: Sequence[int] = (1, 5, 10),
        limits: Mapping[str, int] | None = None,
    ) -> Iterator["Future[EvaluationResult]"]:
        """Queue an evaluation, which begins when the previous one has ended; its files exist until the block ends."""
        if dataset["source"] not in DATASETS:
            raise ConfigError(f"dataset {dataset['source']!r} is none of {', '.join(DATASETS)}")
        given: dict[str, Any] = {
            "name": re.sub(r"[^\w.\-+]", "-", samples.name.partition(".jsonl")[0])[:120] or "space",
            "store": self._store,
            "dataset": dict(dataset),
            "samples": {"source": str(samples)},
            "sanitizing": {"mode": "none"},
            "execution": {
                "backend": "gradio",
                "service": self._service,
                "environment": self._environment,
                "variants": ["calibrated" if calibrated else "raw"],
                "limits": dict(limits or {}),
            },
            "aggregation": {"k": list(k)},
        }
        config = load_settings(given, "space")
        folder = Path(tempfile.mkdtemp(prefix="bigcodeflow-space-"))
        running = self._pool.submit(_evaluate, config.model_copy(update={"out": str(folder)}), progress)
        try:
            yield running
        finally:  # delete later if the client left: then the evaluation still writes to the folder
            running.add_done_callback(lambda _: shutil.rmtree(folder, ignore_errors=True))


def _evaluate(config: RunConfig, progress: RunProgress) -> EvaluationResult:
    from rich.console import Console

    _, store, artifacts, outputs = perform_and_record(config, progress)
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    console = Console(file=StringIO(), width=100, no_color=True)
    with console.capture() as summary:
        console.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=config.name))
    return EvaluationResult(summary.get(), store.read(artifacts.execution), outputs.files)


def add_page(evaluations: Evaluations, environment: InstalledEnvironment) -> None:
    """Add the page to the current blocks."""
    gradio.Markdown(_ABOUT.format(name=environment.name, sha=environment.environment_sha[:12]))
    with gradio.Row():
        with gradio.Column(scale=1):
            # In the order of _evaluation's parameters.
            choices = [
                upload_field("Samples (JSONL or JSONL.gz)", file_types=[".jsonl", ".gz"]),
                gradio.Dropdown(list(DATASETS), value=fitting_dataset(environment), label="Tasks"),
                gradio.Dropdown([environment.name], value=environment.name, label="Environment"),
                gradio.Radio(["complete", "instruct"], value="complete", label="Split"),
                gradio.Radio(["full", "hard"], value="full", label="Subset"),
                gradio.Textbox(label="Only these tasks", placeholder="all, or numbers such as 1,5-9"),
                gradio.Checkbox(value=True, label="Calibrated: code_prompt in front of each solution"),
            ]
            begin = gradio.Button("Evaluate", variant="primary")
        with gradio.Column(scale=2):
            headers = ["task", "sample", "status", "cause", "tests passed", "wall seconds"]
            shown = [
                gradio.Markdown("Nothing is evaluated yet."),
                gradio.Markdown(elem_classes="summary"),
                gradio.Dataframe(headers=headers, label="Verdicts", interactive=False, max_height=420),
                gradio.Files(label="Results: JSON in the original's formats, and Parquet", interactive=False),
            ]

    async def evaluate(*chosen: Any) -> AsyncIterator[_Shown]:
        async for one in _evaluation(evaluations, *chosen):
            yield one

    begin.click(evaluate, choices, shown, api_visibility="private", concurrency_limit=8, show_progress_on=shown[2])


def fitting_dataset(environment: InstalledEnvironment) -> str:
    """Return the data set for which an environment is made."""
    return "starter" if environment.name == "starter" else "bigcode/bigcodebench"


async def _evaluation(evaluations: Evaluations, samples: str | None, *chosen: Any) -> AsyncIterator[_Shown]:
    """Evaluate a sample file; yield the page's outputs during the evaluation and at its end."""
    if not samples:
        raise gradio.Error("choose a sample file first", print_exception=False)
    source, _, split, subset, ids, calibrated = chosen
    dataset = {"source": source, "split": split, "subset": subset, "ids": ids.strip()}
    progress, file = RunProgress(), uploaded(samples)
    try:
        with evaluations.begun(file, dataset, progress, calibrated=calibrated) as begun:
            running = asyncio.wrap_future(begun)
            while not running.done():
                yield _progress_text(progress), "", None, None
                await asyncio.wait([running], timeout=0.5)
            done = running.result()
            files = [str(path) for path in done.files]
            yield _progress_text(progress), f"```text\n{done.summary}\n```", _rows(done.verdicts), files
    except BigCodeFlowError as error:
        reason = str(error).replace(f"{file.parent}/", "")
        raise gradio.Error(reason, print_exception=False, duration=None) from error


def _progress_text(progress: RunProgress) -> str:
    lines = [f"- **{title}**: {text}" for title, text in list(progress.stages.items())]
    return "\n".join(lines) or "Begins as soon as the evaluation before it has ended."


def _rows(verdicts: pa.Table) -> list[list[Any]]:
    """Return the rows of the page's table, failed samples first, at most `_MAX_ROWS`."""
    columns = ["task_id", "sample_index", "status", "failure_kind", "tests", "wall_seconds"]
    rows = sorted(verdicts.select(columns).to_pylist(), key=lambda row: row["status"] == "pass")[:_MAX_ROWS]
    for row in rows:
        passed = sum(test["outcome"] == "pass" for test in row["tests"])
        row |= {"tests": f"{passed} of {len(row['tests'])}", "wall_seconds": round(row["wall_seconds"], 2)}
    return [list(row.values()) for row in rows]


def add_predict(evaluations: Evaluations, dataset: str) -> None:
    """Add the endpoint of ``bigcodebench.evaluate --execution gradio`` to the current blocks."""

    # Gradio takes parameter names from the function; clients of the original use these names.
    async def predict(  # noqa: PLR0917
        split: str,
        subset: str,
        samples: str | None,
        pass_k: str,
        parallel: float,  # noqa: ARG001 - the space decides how much runs at once
        min_time_limit: float,  # noqa: ARG001 - below what every sample has
        max_as_limit: float,
        max_data_limit: float,  # noqa: ARG001 - the same as the address space's
        max_stack_limit: float,  # noqa: ARG001 - that of the sandbox
        calibrated: bool,  # noqa: FBT001
        check_gt_only: bool,  # noqa: FBT001
        no_gt: bool,  # noqa: ARG001, FBT001 - they are known, or are executed once
        selective_evaluate: str,
    ) -> tuple[Any, Any]:
        if not samples or check_gt_only:
            raise gradio.Error("give a sample file; ground truths alone are not checked here", print_exception=False)
        if not re.fullmatch(r"\s*\d{1,4}(\s*,\s*\d{1,4})*\s*", str(pass_k)):
            raise gradio.Error(f"pass_k {pass_k!r} is no list of numbers such as 1,5,10", print_exception=False)
        view = {"source": dataset, "split": split, "subset": subset, "ids": selective_evaluate or ""}
        k = [int(part) for part in str(pass_k).split(",")]
        limits = {"address_space_mib": int(max_as_limit)}
        try:
            with evaluations.begun(
                uploaded(samples), view, RunProgress(), calibrated=calibrated, k=k, limits=limits
            ) as begun:
                files = (await asyncio.wrap_future(begun)).files
                eval_results, pass_at_k = (
                    next(json.loads(file.read_text(encoding="utf-8")) for file in files if file.name.endswith(ending))
                    for ending in ("_eval_results.json", "_pass_at_k.json")
                )
        except BigCodeFlowError as error:
            raise gradio.Error(str(error), print_exception=False) from error
        return eval_results, pass_at_k

    with gradio.Row(visible=False):
        inputs = [_input(name, value) for name, value in asdict(SpaceQuestion(subset="hard")).items()]
        inputs.insert(2, upload_field("samples"))  # where the original has it
        answers = [gradio.JSON(label="results"), gradio.JSON(label="pass_at_k")]
        gradio.Button("predict").click(
            predict,
            inputs,
            answers,
            api_name="predict",
            api_description="Evaluate a sample file as the original's evaluator does; returns both of its files.",
            concurrency_limit=8,
        )


def _input(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return gradio.Checkbox(value=value, label=name)
    return gradio.Textbox(value, label=name) if isinstance(value, str) else gradio.Number(value, label=name)


def upload_field(label: str, **options: Any) -> gradio.File:
    """Make a field for one file that accepts only uploaded files.

    Before Gradio handles a call, it copies the file that the call names into its upload folder: any file that this
    process can read, or the content of a URL. For a mounted app it does not check the path, so it is checked here.
    """
    field = gradio.File(label=label, type="filepath", **options)
    move = field.async_move_resource_to_block_cache

    async def move_uploaded(path: str | Path | None) -> str | None:
        return await move(path and uploaded(path))

    field.async_move_resource_to_block_cache = move_uploaded  # type: ignore[method-assign, assignment]
    return field


def uploaded(path: str | Path) -> Path:
    """Return the resolved path of an uploaded file; refuse paths outside of the upload folder, links followed.

    Calls that name a file as a stream need this check too: Gradio passes such a path on unchanged.
    """
    folder, file = Path(get_upload_folder()).resolve(), Path(path).resolve()
    if not (file.is_relative_to(folder) and file.is_file()):
        reason = "this file was not uploaded to the space: upload it, then name the path that comes back"
        raise gradio.Error(reason, print_exception=False)
    return file
