"""`bigcodeflow sanitize`: take the programs out of a file of raw answers."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notices, progress_listener
from bigcodeflow.cli.inputs import load_inputs
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.calibration import executed_program
from bigcodeflow.store import write_atomically


class Mode(StrEnum):
    """How to sanitize."""

    parity = "parity"
    robust = "robust"


def sanitize(
    samples: Annotated[Path, typer.Option(help="Sample file (JSONL, JSONL.gz) or folder of raw answers.")],
    out: Annotated[Path, typer.Option(help="JSONL or JSONL.gz file to write.")],
    dataset: options.Dataset = "bigcode/bigcodebench",
    mode: Annotated[
        Mode, typer.Option(help="parity: exactly the original's result. robust: keeps what the original loses.")
    ] = Mode.parity,
    ids: options.Ids = "",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Put code_prompt in front, as a calibrated evaluation runs it.")
    ] = False,
) -> None:
    """Write a sample file whose `solution` is the program in each answer, ready for `bigcodeflow evaluate`."""
    given: dict[str, Any] = {
        "dataset": {"source": dataset, "ids": ids},
        "samples": {"source": str(samples)},
        "sanitizing": {"mode": mode.value},
    }
    config = load_settings(given, "command line")
    lines = sanitized_lines(config, calibrated=calibrate)
    write_atomically(out, "".join(lines).encode(), compress=out.suffix == ".gz")
    notices.print(f"wrote {len(lines):,} solutions to {out}", soft_wrap=True)


def sanitized_lines(config: RunConfig, *, calibrated: bool) -> list[str]:
    """The samples with their solutions, one JSON line each, in the original's format."""
    from bigcodeflow import sanitizing

    tasks, answers = load_inputs(config)
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
