"""The space's page for people: a sample file in, its progress, scores, verdicts and result files out."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import gradio
import pyarrow as pa

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.serving.space_runs import DATASETS, Runs, Told, Wish
from bigcodeflow.serving.space_uploads import upload_field, uploaded

CSS = ".summary pre { font-size: 0.85rem; }"
_LOOK_SECONDS = 0.5
#: Rows that a browser can still scroll through; all are in verdicts.parquet.
_MOST_ROWS = 2000
_COLUMNS = ("task", "sample", "status", "cause", "tests passed", "wall seconds")
_ABOUT = """# bigcodeflow
Judges sample files of BigCodeBench: upload one, say what it answers, and take the results home. Programs run in this
machine's sandboxes, in the environment {name} (sha {sha})."""

#: Progress, summary, table, files.
_Shown = tuple[Any, Any, Any, Any]


def theme() -> gradio.themes.Default:
    """Fonts that every machine has: a page that fetches none works without the internet."""
    return gradio.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def add_page(runs: Runs, environment: InstalledEnvironment) -> None:
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
        async for one in _evaluation(runs, *chosen):
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


async def _evaluation(runs: Runs, samples: str | None, *chosen: Any) -> AsyncIterator[_Shown]:
    """What is to be shown while a sample file is evaluated, and when it is."""
    if not samples:
        raise gradio.Error("choose a sample file first", print_exception=False)
    dataset, _, split, subset, ids, calibrated = chosen
    told = Told()
    wish = Wish(uploaded(samples), dataset, split=split, subset=subset, ids=ids.strip(), calibrated=calibrated)
    try:
        with runs.begun(wish, told) as begun:
            running = asyncio.wrap_future(begun)
            while not running.done():
                yield _progress(told), "", None, None
                await asyncio.wait([running], timeout=_LOOK_SECONDS)
            done = running.result()
            files = [str(file) for file in done.files]
            yield _progress(told), f"```text\n{done.summary}\n```", _rows(done.verdicts), files
    except BigCodeFlowError as error:
        told_plainly = str(error).replace(f"{wish.samples.parent}/", "")
        raise gradio.Error(told_plainly, print_exception=False, duration=None) from error


def _progress(told: Told) -> str:
    lines = [f"- **{title}**: {text}" for title, text in told.stages()]
    return "\n".join(lines) or "Begins as soon as the evaluation before it has ended."


def _rows(verdicts: pa.Table) -> list[list[Any]]:
    """What did not pass stands first."""
    columns = ["task_id", "sample_index", "status", "failure_kind", "tests", "wall_seconds"]
    rows = verdicts.select(columns).to_pylist()
    rows.sort(key=lambda row: row["status"] == "pass")
    shown = []
    for row in rows[:_MOST_ROWS]:
        passed = sum(test["outcome"] == "pass" for test in row["tests"])
        told = [row["task_id"], row["sample_index"], row["status"], row["failure_kind"]]
        shown.append([*told, f"{passed} of {len(row['tests'])}", round(row["wall_seconds"], 2)])
    return shown
