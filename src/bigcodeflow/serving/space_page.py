"""The space's page for people, and the original evaluator's endpoint /predict: a sample file in, results out."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import gradio
import pyarrow as pa
from gradio.utils import get_upload_folder

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.serving.evaluations import DATASETS, EvaluationRequest, Evaluations, RunProgress

CSS = ".summary pre { font-size: 0.85rem; }"
_REFRESH_SECONDS = 0.5
#: Rows that a browser can still scroll through; all are in verdicts.parquet.
_MAX_ROWS = 2000
_COLUMNS = ("task", "sample", "status", "cause", "tests passed", "wall seconds")
_ABOUT = """# bigcodeflow
Judges sample files of BigCodeBench: upload one, say what it answers, and take the results home. Programs run in this
machine's sandboxes, in the environment {name} (sha {sha})."""

#: Parameters in the original's order and with its defaults.
_PREDICT_DEFAULTS: dict[str, Any] = {
    "split": "complete",
    "subset": "hard",
    "samples": None,
    "pass_k": "1,5,10",
    "parallel": -1,
    "min_time_limit": 1,
    "max_as_limit": 30 * 1024,
    "max_data_limit": 30 * 1024,
    "max_stack_limit": 10,
    "calibrated": True,
    "check_gt_only": False,
    "no_gt": False,
    "selective_evaluate": "",
}

#: Progress, summary, table, files.
_Shown = tuple[Any, Any, Any, Any]


def theme() -> gradio.themes.Default:
    """Fonts that every machine has: a page that fetches none works without the internet."""
    return gradio.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def add_page(evaluations: Evaluations, environment: InstalledEnvironment) -> None:
    """Put the page into the blocks that are being made."""
    gradio.Markdown(_ABOUT.format(name=environment.name, sha=environment.environment_sha[:12]))
    with gradio.Row():
        with gradio.Column(scale=1):
            choices = _choices(environment)
            begin = gradio.Button("Evaluate", variant="primary")
        with gradio.Column(scale=2):
            shown = [
                gradio.Markdown("Nothing is evaluated yet."),
                gradio.Markdown(elem_classes="summary"),
                gradio.Dataframe(headers=list(_COLUMNS), label="Verdicts", interactive=False, max_height=420),
                gradio.Files(label="Results: JSON in the original's formats, and Parquet", interactive=False),
            ]

    async def evaluate(*chosen: Any) -> AsyncIterator[_Shown]:
        async for one in _evaluation(evaluations, *chosen):
            yield one

    begin.click(evaluate, choices, shown, api_visibility="private", concurrency_limit=8, show_progress_on=shown[2])


def _choices(environment: InstalledEnvironment) -> list[Any]:
    """What people choose, in the order in which an evaluation takes it."""
    samples = upload_field("Samples (JSONL or JSONL.gz)", file_types=[".jsonl", ".gz"])
    names = [environment.name]
    return [
        samples,
        gradio.Dropdown(list(DATASETS), value=fitting_dataset(environment), label="Tasks"),
        gradio.Dropdown(names, value=environment.name, label="Environment"),
        gradio.Radio(["complete", "instruct"], value="complete", label="Split"),
        gradio.Radio(["full", "hard"], value="full", label="Subset"),
        gradio.Textbox(label="Only these tasks", placeholder="all, or numbers such as 1,5-9"),
        gradio.Checkbox(value=True, label="Calibrated: code_prompt in front of each solution"),
    ]


def fitting_dataset(environment: InstalledEnvironment) -> str:
    """The tasks that an environment is made for."""
    return "starter" if environment.name == "starter" else "bigcode/bigcodebench"


async def _evaluation(evaluations: Evaluations, samples: str | None, *chosen: Any) -> AsyncIterator[_Shown]:
    """What is to be shown while a sample file is evaluated, and when it is."""
    if not samples:
        raise gradio.Error("choose a sample file first", print_exception=False)
    dataset, _, split, subset, ids, calibrated = chosen
    progress = RunProgress()
    request = EvaluationRequest(
        uploaded(samples), dataset, split=split, subset=subset, ids=ids.strip(), calibrated=calibrated
    )
    try:
        with evaluations.begun(request, progress) as begun:
            running = asyncio.wrap_future(begun)
            while not running.done():
                yield _progress_text(progress), "", None, None
                await asyncio.wait([running], timeout=_REFRESH_SECONDS)
            done = running.result()
            files = [str(file) for file in done.files]
            yield _progress_text(progress), f"```text\n{done.summary}\n```", _rows(done.verdicts), files
    except BigCodeFlowError as error:
        reason = str(error).replace(f"{request.samples.parent}/", "")
        raise gradio.Error(reason, print_exception=False, duration=None) from error


def _progress_text(progress: RunProgress) -> str:
    lines = [f"- **{title}**: {text}" for title, text in list(progress.stages.items())]
    return "\n".join(lines) or "Begins as soon as the evaluation before it has ended."


def _rows(verdicts: pa.Table) -> list[list[Any]]:
    """What did not pass stands first."""
    columns = ["task_id", "sample_index", "status", "failure_kind", "tests", "wall_seconds"]
    rows = verdicts.select(columns).to_pylist()
    rows.sort(key=lambda row: row["status"] == "pass")
    shown = []
    for row in rows[:_MAX_ROWS]:
        passed = sum(test["outcome"] == "pass" for test in row["tests"])
        cells = [row["task_id"], row["sample_index"], row["status"], row["failure_kind"]]
        shown.append([*cells, f"{passed} of {len(row['tests'])}", round(row["wall_seconds"], 2)])
    return shown


def add_predict(evaluations: Evaluations, dataset: str) -> None:
    """Put the endpoint of ``bigcodebench.evaluate --execution gradio`` into the blocks that are being made."""

    # Gradio takes the names of parameters from the function, and clients of the original say these.
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
        chosen = {"split": split, "subset": subset, "calibrated": calibrated, "ids": selective_evaluate or ""}
        chosen |= {"k": _k_of(str(pass_k)), "limits": {"address_space_mib": int(max_as_limit)}}
        return await _predicted(evaluations, samples, dataset, chosen)

    with gradio.Row(visible=False):
        inputs = [_input(name, value) for name, value in _PREDICT_DEFAULTS.items()]
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
    if value is None:
        return upload_field(name)
    if isinstance(value, bool):
        return gradio.Checkbox(value=value, label=name)
    return gradio.Textbox(value, label=name) if isinstance(value, str) else gradio.Number(value, label=name)


def _k_of(pass_k: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\s*\d{1,4}(\s*,\s*\d{1,4})*\s*", pass_k):
        raise gradio.Error(f"pass_k {pass_k!r} is no list of numbers such as 1,5,10", print_exception=False)
    return tuple(int(part) for part in pass_k.split(","))


async def _predicted(evaluations: Evaluations, samples: str, dataset: str, chosen: dict[str, Any]) -> tuple[Any, Any]:
    request = EvaluationRequest(uploaded(samples), dataset, **chosen)
    try:
        with evaluations.begun(request, RunProgress()) as begun:
            done = await asyncio.wrap_future(begun)
            texts = {file.name: file.read_text() for file in done.files if file.suffix == ".json"}
    except BigCodeFlowError as error:
        raise gradio.Error(str(error), print_exception=False) from error
    return (
        next(json.loads(text) for name, text in texts.items() if name.endswith("_eval_results.json")),
        next(json.loads(text) for name, text in texts.items() if name.endswith("_pass_at_k.json")),
    )


def upload_field(label: str, **options: Any) -> gradio.File:
    """A field for one file, which takes uploads only.

    Gradio copies what a call names into its upload folder before the call is answered: any file that this process can
    read, or the content of an address. A mounted app is not asked where the file lies, so it is asked here.
    """
    field = gradio.File(label=label, type="filepath", **options)
    move = field.async_move_resource_to_block_cache

    async def move_uploaded(path: str | Path | None) -> str | None:
        return await move(path and uploaded(path))

    field.async_move_resource_to_block_cache = move_uploaded  # type: ignore[method-assign, assignment]
    return field


def uploaded(path: str | Path) -> Path:
    """The file at a path, once links are followed.

    Raises:
        gradio.Error: it is none of the upload folder's files; also for what a call names as a stream, which Gradio
            passes on as it is.
    """
    folder, file = Path(get_upload_folder()).resolve(), Path(path).resolve()
    if not (file.is_relative_to(folder) and file.is_file()):
        reason = "this file was not uploaded to the space: upload it, then name the path that comes back"
        raise gradio.Error(reason, print_exception=False)
    return file
