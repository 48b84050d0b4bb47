"""`bigcodeflow generate`, `sanitize` and `syncheck`: generate, sanitize and check sample files."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import typer

from bigcodeflow import datasets, generation, sanitizing
from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, notices, perform_each, print_line, print_table
from bigcodeflow.cli.estimates import confirm_requests, estimates, print_estimates, tasks_of
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.errors import ConfigError, GenerationError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.settings import SettingOption
from bigcodeflow.core.table import Table
from bigcodeflow.generation.model_settings import expand_grid, request_body, resolve_settings
from bigcodeflow.pipeline import runs
from bigcodeflow.pipeline.outputs import write_sample_files
from bigcodeflow.pipeline.preflight import require_model
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.sanitizing.samples import sanitize_samples

_MISSING_SHOWN = 20


@settings_options(
    *options.MODEL,
    options.DATASET,
    *options.TASKS,
    "name",
    SettingOption("out", default="results/samples", shown="results/samples", help="Folder for the sample files."),
    "store",
)
def generate(
    given: dict[str, Any],
    settings: options.Overrides = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count requests, tokens and cost; ask no model.")] = False,
    yes: options.Yes = False,
    show_prompt: Annotated[
        str, typer.Option(help="Print exactly what would be sent for this task number or id, and end.", metavar="ID")
    ] = "",
) -> None:
    """Ask a model for programs and write them as a sample file, ready for `bigcodeflow evaluate`.

    Writes the original's file name and format (task_id, solution, raw_solution), and the samples table as Parquet.
    Each answer is kept at once: the same command later asks only for missing answers. See docs/generation.md.
    """
    require_model(given.get("generation.model", ""), given.get("generation.base_url", ""))
    given["samples.source"] = "model"
    if show_prompt:
        given["dataset.ids"] = show_prompt
    config = load_config(None, tuple(settings or ()), given)
    if config.generation.rounds > 1:
        raise ConfigError(
            f"generation.rounds {config.generation.rounds}: further rounds need verdicts, and `generate` executes "
            "nothing: use `bigcodeflow run`, or leave the setting at 1"
        )
    if show_prompt:
        _print_prompt(config)
    elif dry_run:
        print_estimates(estimates(expand_grid(config)))
    else:
        confirm_requests(expand_grid(config), yes=yes)
        perform_each(expand_grid(config), _generate, GenerationError, name=lambda setting: f"{setting.name}: ")


def _print_prompt(config: RunConfig) -> None:
    settings = expand_grid(config)[0].generation
    chosen = resolve_settings(settings, config.dataset.split, sends=False)
    request = next(chosen.requests(tasks_of(config)), None)
    if request is None:
        raise ConfigError(f"--show-prompt {config.dataset.ids}: {config.dataset.source} has no such id: correct it")
    body = asyncio.run(request_body(settings, request))
    for line in chosen.notes:
        notice(f"note: {line}")
    for message in request.prompt.messages:
        notice(f"── {message.role}")
        print_line(message.text)
    if request.prompt.text:
        print_line(request.prompt.text)
    notice(f"── request (prompt sha256 {request.prompt_sha})")
    print_line(json.dumps(body, indent=2, ensure_ascii=False))


def _generate(config: RunConfig) -> None:
    with progress_listener() as listener:
        found = runs.perform_up_to("sanitizing", config, listener)
    files = write_sample_files(config, found["generation"], found["sanitizing"])
    statistics = found["generation"].statistics
    for name, what in (("cut_off", "cut off at max_tokens"), ("refused", "refused"), ("empty", "empty")):
        if statistics.get(name):
            notices.print(f"[yellow]![/yellow] {statistics[name]:,} answers are {what}")
    if "cost_usd" in statistics:
        notices.print(f"cost of these answers: ${statistics['cost_usd']:,.4f}")
    for path in files:
        notice(f"wrote {path}")


@settings_options(options.SAMPLES, options.DATASET, "dataset.ids")
def sanitize(
    given: dict[str, Any],
    out_file: Annotated[Path, typer.Option("--out", help="JSONL or JSONL.gz file to write.")],
    mode: Annotated[
        Literal["parity", "robust", "fenced"],
        typer.Option(
            help="parity: exactly the original's result. robust: keeps what the original loses. fenced: the last code "
            "block."
        ),
    ] = "parity",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Put code_prompt in front, as a calibrated evaluation runs it.")
    ] = False,
) -> None:
    """Write a sample file whose `solution` is the program in each answer, ready for `bigcodeflow evaluate`.

    Other keys of a line, such as model, finish_reason and cost_usd, are copied.
    """
    config = load_config(None, (), {**given, "sanitizing.mode": mode})
    tasks, answers = _samples(config)
    with progress_listener() as listener:
        solutions = sanitize_samples(answers, tasks, config.sanitizing, progress=listener.begin("sanitizing"))
    prompts = {task["task_id"]: task["code_prompt"] for task in tasks.select(["task_id", "code_prompt"]).to_pylist()}
    variant, lines, given_lines = "calibrated" if calibrate else "raw", [], generation.sample_lines(config.samples)
    for answer, row in zip(answers.to_pylist(), solutions.to_pylist(), strict=True):
        task_id, prompt = row["task_id"], prompts[row["task_id"]]
        program = executed_program(code_prompt=prompt, solution=row["solution"], variant=variant)
        line = {"task_id": task_id, "solution": program, "raw_solution": answer["raw_text"]}
        others = given_lines[task_id][row["sample_index"]] if given_lines[task_id] else {}
        lines.append(json.dumps({**line, **others, **line}) + "\n")
    write_atomically(out_file, "".join(lines).encode(), compress=out_file.suffix == ".gz")
    notice(f"wrote {len(lines):,} solutions to {out_file}")


@settings_options(options.SAMPLES, options.DATASET, "dataset.subset", "dataset.ids")
def syncheck(given: dict[str, Any]) -> None:
    """List the solutions that are not valid Python, with message and line. Exit code 1 if there are such solutions.

    Solutions without code or without their entry point are listed separately, also with exit code 1. Tasks without a
    sample are listed too, but do not change the exit code.
    """
    config = load_config(None, (), {**given, "sanitizing.mode": "none", "sanitizing.safety_policy": "off"})
    tasks, answers = _samples(config)
    rows = sanitize_samples(answers, tasks, config.sanitizing).to_pylist()
    broken = [row for row in rows if not row["syntax_ok"]]
    shown = [(row["task_id"], row["sample_index"], row["syntax_error"]) for row in broken]
    print_table(Table.of(("task", "sample", "syntax error"), shown))
    entry_points = {task["task_id"]: task["entry_point"] for task in tasks.to_pylist()}
    lacking = [
        (row["task_id"], row["sample_index"], problem)
        for row in rows
        if row["syntax_ok"] and (problem := sanitizing.missing_program(row["solution"], entry_points[row["task_id"]]))
    ]
    print_table(Table.of(("task", "sample", "problem"), lacking))
    sound = len(rows) - len(broken) - len(lacking)
    rest = f"; {len(lacking):,} compile, but are empty or do not define it" if lacking else ""
    notices.print(f"{sound:,} of {len(rows):,} solutions compile and define their entry point{rest}")
    if missing := [task_id for task_id in entry_points if task_id not in {row["task_id"] for row in rows}]:
        named = ", ".join([*missing[:_MISSING_SHOWN], *["…"][: len(missing) - _MISSING_SHOWN]])
        notice(f"{len(missing):,} of {len(entry_points):,} tasks have no sample: {named}")
    if broken or lacking:
        raise typer.Exit(1)


def _samples(config: RunConfig) -> tuple[pa.Table, pa.Table]:
    """Return the TASKS and SAMPLES tables that the configuration selects; some tasks may have no samples."""
    resolved = datasets.resolve(config.dataset)
    tasks = datasets.load_tasks(config.dataset, resolved)
    known = datasets.known_task_ids(config.dataset, resolved)
    return tasks, generation.load_samples(config.samples, tasks, known_task_ids=known, selection=True)
