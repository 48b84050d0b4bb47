"""The space's web page, and the original evaluator's endpoint /predict, which converts a sample file to results.

Both evaluate a sample file as a run whose backend is the space itself.
"""

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import gradio
from gradio import events
from gradio.utils import get_upload_folder
from rich.console import Console

from bigcodeflow import results
from bigcodeflow.config import load_settings
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError
from bigcodeflow.core.progress import Progress, StageProgress
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.recording import FinishedRun, perform_and_record
from bigcodeflow.store import ArtifactRef

#: Most rows that a browser can scroll through; verdicts.parquet has all rows.
_MAX_ROWS = 2000
_COLUMNS = ["task_id", "sample_index", "status", "failure_kind", "tests", "wall_seconds"]
_ABOUT = """# bigcodeflow
Judges sample files of BigCodeBench: upload one, say what it answers, and take the results home. Programs run in this
machine's sandboxes, in the environment {name} (sha {sha})."""

#: Data sets that clients may choose; a path would give them access to this machine's files.
DATASETS = ("starter", "bigcode/bigcodebench")

#: Values of the page's outputs: progress, summary, table, files.
_Shown = tuple[Any, Any, Any, Any]
_Move = Callable[[str | Path | None], Awaitable[str | None]]


class RunProgress:
    """Progress of an evaluation's stages: the evaluation's thread updates the progress, and the page shows it."""

    def __init__(self) -> None:
        self._stages: dict[str, StageProgress] = {}

    def begin(self, title: str) -> Progress:
        self._stages[title] = state = StageProgress(title)
        return state.update

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        self.begin(title)(ref.rows, ref.rows, "known before" if reused else "")

    def __str__(self) -> str:
        lines = [f"- {state.line}" for state in list(self._stages.values())]
        return "\n".join(lines) or "Begins as soon as the evaluation before it has ended."


class Evaluations:
    """Queue of evaluations, executed one after the other; if a client leaves, its evaluation still runs to its end.

    ``store`` is the folder of artifacts. ``service`` holds settings ``execution.service`` that name the space itself,
    so that all evaluations share the space's cores.
    """

    def __init__(self, environment: InstalledEnvironment, store: str, service: Mapping[str, Any]) -> None:
        self.environment, self._store, self._service = environment, store, dict(service)
        self.dataset = "starter" if environment.name == "starter" else "bigcode/bigcodebench"
        self._pool = ThreadPoolExecutor(1, "evaluate")

    @contextmanager
    def begun(
        self,
        upload: str,
        dataset: Mapping[str, str],
        progress: RunProgress,
        *,
        calibrated: bool,
        k: Sequence[int] = (1, 5, 10),
        limits: Mapping[str, int] | None = None,
    ) -> Iterator["Future[FinishedRun]"]:
        """Queue an evaluation and yield its future; the files of the evaluation exist until the block ends."""
        samples = uploaded(upload)
        given: dict[str, Any] = {
            "name": re.sub(r"[^\w.\-+]", "-", samples.name.partition(".jsonl")[0])[:120] or "space",
            "store": self._store,
            "dataset": dict(dataset),
            "samples": {"source": str(samples)},
            "sanitizing": {"mode": "none"},
            "execution": {
                "backend": "gradio",
                "service": self._service,
                "environment": self.environment.name,
                "variants": ["calibrated" if calibrated else "raw"],
                "limits": dict(limits or {}),
            },
            "aggregation": {"k": list(k)},
        }
        try:
            if dataset["source"] not in DATASETS:
                raise ConfigError(f"dataset {dataset['source']!r} is unknown: choose {', '.join(DATASETS)}")
            config = load_settings(given, "space")
            folder = Path(tempfile.mkdtemp(prefix="bigcodeflow-space-"))
            running = self._pool.submit(perform_and_record, config.model_copy(update={"out": str(folder)}), progress)
            try:
                yield running
            finally:  # delete later if the client left: then the evaluation still writes to the folder
                running.add_done_callback(lambda _: shutil.rmtree(folder, ignore_errors=True))
        except BigCodeFlowError as error:
            reason = str(error).replace(f"{samples.parent}/", "")
            raise gradio.Error(reason, print_exception=False, duration=None) from error


def add_page(evaluations: Evaluations) -> None:
    environment = evaluations.environment
    gradio.Markdown(_ABOUT.format(name=environment.name, sha=environment.environment_sha[:12]))
    with gradio.Row():
        with gradio.Column(scale=1):
            # In the order of _evaluation's parameters.
            choices = [
                gradio.File(label="Samples (JSONL or JSONL.gz)", type="filepath", file_types=[".jsonl", ".gz"]),
                gradio.Dropdown(list(DATASETS), value=evaluations.dataset, label="Tasks"),
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
    begin.click(
        partial(_evaluation, evaluations),
        choices,
        shown,
        api_visibility="private",
        concurrency_limit=8,
        show_progress_on=shown[2],
    )


async def _evaluation(evaluations: Evaluations, samples: str | None, *chosen: Any) -> AsyncIterator[_Shown]:
    """Evaluate a sample file; yield the page's outputs during the evaluation and at its end."""
    if not samples:
        raise gradio.Error("there is no sample file: choose a sample file first", print_exception=False)
    source, _, split, subset, ids, calibrated = chosen
    dataset = {"source": source, "split": split, "subset": subset, "ids": ids.strip()}
    progress = RunProgress()
    with evaluations.begun(samples, dataset, progress, calibrated=calibrated) as begun:
        running = asyncio.wrap_future(begun)
        while not running.done():
            yield str(progress), "", None, None
            await asyncio.wait([running], timeout=0.5)
        yield str(progress), *await asyncio.to_thread(_results, running.result())


def _results(run: FinishedRun) -> tuple[str, list[list[Any]], list[str]]:
    """Return the scores as the command line prints them, rows of verdicts (_COLUMNS), and paths of the result files.

    Failed samples come first; there are at most _MAX_ROWS rows.
    """
    store, artifacts = run.store, run.artifacts
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    console = Console(file=StringIO(), width=100, no_color=True)
    with console.capture() as printed:
        metrics = store.read(artifacts.aggregation)
        console.print(results.render_summary(metrics, failures=failures, title=run.config.name))
    verdicts = store.read(artifacts.execution, _COLUMNS).select(_COLUMNS).to_pylist()
    rows = sorted(verdicts, key=lambda row: row["status"] == "pass")[:_MAX_ROWS]
    for row in rows:
        passed = sum(test["outcome"] == "pass" for test in row["tests"])
        row |= {"tests": f"{passed} of {len(row['tests'])}", "wall_seconds": round(row["wall_seconds"], 2)}
    files = [str(path) for path in run.outputs.files]
    return f"```text\n{printed.get()}\n```", [list(row.values()) for row in rows], files


def add_predict(evaluations: Evaluations) -> None:
    """Add the endpoint /predict, which ``bigcodebench.evaluate --execution gradio`` calls, to the current page."""

    # Gradio takes names, types and defaults from the function; clients of the original use these names.
    async def predict(
        split: str = "complete",
        subset: str = "hard",
        samples: dict[str, Any] | None = None,
        pass_k: str = "1,5,10",  # noqa: S107 - no password
        parallel: float = -1,  # noqa: ARG001 - the space decides how much runs at once
        min_time_limit: float = 1,  # noqa: ARG001 - below what every sample has
        max_as_limit: float = 30 * 1024,
        max_data_limit: float = 30 * 1024,  # noqa: ARG001 - the same as the address space's
        max_stack_limit: float = 10,  # noqa: ARG001 - that of the sandbox
        calibrated: bool = True,
        check_gt_only: bool = False,
        no_gt: bool = False,  # noqa: ARG001 - they are known, or are executed once
        selective_evaluate: str = "",
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if not samples or check_gt_only:
            raise gradio.Error("samples must be a file, and check_gt_only must be false", print_exception=False)
        if not re.fullmatch(r"\s*\d{1,4}(\s*,\s*\d{1,4})*\s*", str(pass_k)):
            raise gradio.Error(f"pass_k is {pass_k!r}, but it must be numbers such as 1,5,10", print_exception=False)
        view = {"source": evaluations.dataset, "split": split, "subset": subset, "ids": selective_evaluate or ""}
        k = [int(part) for part in str(pass_k).split(",")]
        limits = {"address_space_mib": int(max_as_limit)}
        progress, upload = RunProgress(), str(samples.get("path", ""))
        with evaluations.begun(upload, view, progress, calibrated=calibrated, k=k, limits=limits) as begun:
            files = (await asyncio.wrap_future(begun)).outputs.files
            eval_results, pass_at_k = (
                next(json.loads(file.read_text(encoding="utf-8")) for file in files if file.name.endswith(ending))
                for ending in ("_eval_results.json", "_pass_at_k.json")
            )
        return eval_results, pass_at_k

    description = "Evaluate a sample file as the original's evaluator does; returns both of its files."
    events.api(predict, api_name="predict", api_description=description, concurrency_limit=8)


def accept_only_uploads(blocks: gradio.Blocks) -> None:
    """Restrict all functions of ``blocks`` to uploaded files, whichever parameter names the file.

    Before Gradio handles a call, it copies each file that the call names into its upload folder: any file that this
    process can read, or the content of a URL. In a mounted app Gradio does not check the path, so this function does.
    """
    for field in (field for function in blocks.fns.values() for field in function.inputs):
        move = field.async_move_resource_to_block_cache

        async def move_uploaded(path: str | Path | None, move: _Move = move) -> str | None:
            return await move(path and uploaded(path))

        field.async_move_resource_to_block_cache = move_uploaded  # type: ignore[method-assign, assignment]


def uploaded(path: str | Path) -> Path:
    """Return the resolved path of an uploaded file; raise gradio.Error for a path outside the upload folder.

    Calls that name a file as a stream also need this check, because Gradio does not change such a path.
    """
    folder, file = Path(get_upload_folder()).resolve(), Path(path).resolve()
    if not (file.is_relative_to(folder) and file.is_file()):
        reason = "this file was not uploaded to the space: upload it, and use the path that the upload returns"
        raise gradio.Error(reason, print_exception=False)
    return file
