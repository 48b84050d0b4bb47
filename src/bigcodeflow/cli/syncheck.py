"""`bigcodeflow syncheck`: which solutions of a sample file do not compile."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notices, out
from bigcodeflow.cli.inputs import load_inputs
from bigcodeflow.config import load_settings


def syncheck(
    samples: Annotated[str, typer.Option(help="Sample file (JSONL, JSONL.gz) or folder.")],
    dataset: options.Dataset = "bigcode/bigcodebench",
    ids: options.Ids = "",
) -> None:
    """List the solutions that are no valid Python, with message and line. Exit code 1 when there are any."""
    from bigcodeflow import sanitizing

    given = {
        "dataset": {"source": dataset, "ids": ids},
        "samples": {"source": samples},
        "sanitizing": {"mode": "none", "safety_policy": "off"},
    }
    config = load_settings(given, "command line")
    tasks, answers = load_inputs(config)
    rows = sanitizing.sanitize_samples(answers, tasks, config.sanitizing).to_pylist()
    broken = [row for row in rows if not row["syntax_ok"]]
    if broken:
        table = Table("task", "sample", "syntax error")
        for row in broken:
            # As text: square brackets of a message are no markup.
            table.add_row(Text(row["task_id"]), str(row["sample_index"]), Text(row["syntax_error"]))
        out.print(table)
    notices.print(f"{len(rows) - len(broken):,} of {len(rows):,} solutions compile")
    if broken:
        raise typer.Exit(1)
