"""`bigcodeflow sanitize` and `syncheck`: the programs in a file of raw answers, and which of them do not compile."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, notices, print_table
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.table import Table
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import write_atomically


@settings_options(options.SAMPLES, options.DATASET, options.IDS)
def sanitize(
    given: dict[str, Any],
    out_file: Annotated[Path, typer.Option("--out", help="JSONL or JSONL.gz file to write.")],
    mode: Annotated[
        Literal["parity", "robust"],
        typer.Option(help="parity: exactly the original's result. robust: keeps what the original loses."),
    ] = "parity",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Put code_prompt in front, as a calibrated evaluation runs it.")
    ] = False,
) -> None:
    """Write a sample file whose `solution` is the program in each answer, ready for `bigcodeflow evaluate`."""
    config = load_config(None, (), {**given, "sanitizing.mode": mode})
    lines = _sanitized_lines(config, calibrated=calibrate)
    write_atomically(out_file, "".join(lines).encode(), compress=out_file.suffix == ".gz")
    notice(f"wrote {len(lines):,} solutions to {out_file}")


@settings_options(options.SAMPLES, options.DATASET, options.IDS)
def syncheck(given: dict[str, Any]) -> None:
    """List the solutions that are no valid Python, with message and line. Exit code 1 when there are any."""
    from bigcodeflow import sanitizing

    config = load_config(None, (), {**given, "sanitizing.mode": "none", "sanitizing.safety_policy": "off"})
    tasks, answers = _inputs(config)
    rows = sanitizing.sanitize_samples(answers, tasks, config.sanitizing).to_pylist()
    broken = [row for row in rows if not row["syntax_ok"]]
    rows_shown = [(row["task_id"], row["sample_index"], row["syntax_error"]) for row in broken]
    print_table(Table.of(("task", "sample", "syntax error"), rows_shown))
    notices.print(f"{len(rows) - len(broken):,} of {len(rows):,} solutions compile")
    if broken:
        raise typer.Exit(1)


def _sanitized_lines(config: RunConfig, *, calibrated: bool) -> list[str]:
    """The samples with their solutions, one JSON line each, in the original's format."""
    from bigcodeflow import sanitizing

    tasks, answers = _inputs(config)
    with progress_listener() as listener:
        solutions = sanitizing.sanitize_samples(
            answers, tasks, config.sanitizing, progress=listener.begin("sanitizing")
        )
    prompts = {task["task_id"]: task["code_prompt"] for task in tasks.select(["task_id", "code_prompt"]).to_pylist()}
    lines = []
    for answer, row in zip(answers.to_pylist(), solutions.to_pylist(), strict=True):
        solution = row["solution"]
        if calibrated:
            solution = executed_program(
                code_prompt=prompts[row["task_id"]],
                solution=solution,
                variant="calibrated",
                sanitizer=config.sanitizing.mode,
            )
        line = {"task_id": row["task_id"], "solution": solution, "raw_solution": answer["raw_text"]}
        lines.append(json.dumps(line) + "\n")
    return lines


def _inputs(config: RunConfig) -> tuple[pa.Table, pa.Table]:
    """TASKS and SAMPLES tables as the configuration names them; tasks may lack samples."""
    from bigcodeflow import datasets, generation

    resolved = datasets.resolve(config.dataset)
    tasks = datasets.load_tasks(config.dataset, resolved)
    known = datasets.known_task_ids(config.dataset, resolved)
    return tasks, generation.load_samples(config.samples, tasks, known_task_ids=known, selection=True)
