"""`bigcodeflow inspect`: show the samples of a recorded run, one by one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow.cli.console import notice, out, print_table
from bigcodeflow.cli.options import RecordedStore, TableFormat
from bigcodeflow.config import Variant
from bigcodeflow.core.difficulty import parse_difficulty, tasks_of
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.pipeline.rerun import rerun_sample
from bigcodeflow.results.inspection import output as inspection
from bigcodeflow.results.inspection.samples import Filters, InspectedRun, inspect_run
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import find_run


def inspect(
    run: Annotated[str, typer.Argument(help="Name of a run, a model or a record, or 'latest'.")],
    task: Annotated[str, typer.Argument(help="Number or id of a task: show its samples in full.")] = "",
    status: Annotated[
        list[str] | None, typer.Option(help="Only this status, or 'all'; repeatable.", show_default="all but pass")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind, such as wrong_api; repeatable.")] = None,
    library: Annotated[list[str] | None, typer.Option(help="Only tasks that use this library; repeatable.")] = None,
    domain: Annotated[list[str] | None, typer.Option(help="Only tasks of this domain; repeatable.")] = None,
    difficulty: Annotated[
        str, typer.Option(help="Only tasks that published models solve so often: hard, medium, easy, or as in 0-0.2.")
    ] = "",
    text: Annotated[
        str, typer.Option(help="Only samples with this text in program, traceback or output; case does not matter.")
    ] = "",
    variant: Annotated[
        Variant | None, typer.Option(help="Only this variant.", show_default="in a table, raw only where it differs")
    ] = None,
    sample: Annotated[int | None, typer.Option(min=0, help="Only the sample of this number, from 0.")] = None,
    store: RecordedStore = "results/store",
    output: Annotated[TableFormat, typer.Option("--format", help="Format of the output.")] = "table",
    limit: Annotated[int, typer.Option(min=0, help="Most lines of the table; 0: all.")] = 15,
    export: Annotated[
        Path | None, typer.Option(help="New folder to write: lists in all formats, and the original's folder a task.")
    ] = None,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Execute the one sample again, in the run's environment, and compare.")
    ] = False,
    environment: Annotated[str, typer.Option(help="With --rerun: another sandbox environment than the run's.")] = "",
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="With --rerun: do without bubblewrap. Risks this machine.")
    ] = False,
) -> None:
    """List the samples of a recorded run that failed, or show everything about a task's samples.

    The details are prompt, raw answer, changes by the sanitizer, executed program, failing tests, output and ground
    truth. With --rerun, exit code 1 if the status differs from the recorded status; nothing is stored.
    """
    filters = Filters(
        statuses=tuple(status or (["all"] if task else [])),
        kinds=tuple(kind or ()),
        libraries=tuple(library or ()),
        domains=tuple(domain or ()),
        variants=(variant,) if variant else (),
        text=text,
        task=task,
        task_ids=_tasks_of(difficulty) if difficulty else None,
        sample_index=sample,
    )
    if rerun and not task:
        raise ConfigError("--rerun executes one sample: name its task too, as in `bigcodeflow inspect RUN 12 --rerun`")
    with inspect_run(find_run(store, run)) as found:
        rows = found.samples(filters)
        if rerun:
            _rerun(found, rows, output, environment=environment, allow_unisolated=allow_unisolated)
        elif export:
            n_tasks = inspection.export_folder(found, rows, export)
            notice(f"wrote {len(rows):,} samples of {n_tasks:,} tasks to {export}")
        else:
            _show(found, rows, output, in_detail=bool(task), limit=limit, both_variants=variant is not None)


def _tasks_of(difficulty: str) -> frozenset[str]:
    try:
        return tasks_of(parse_difficulty(difficulty))
    except ValueError as error:
        raise ConfigError(f"--difficulty: {error}") from None


def _show(
    found: InspectedRun, rows: Sequence[Row], output: TableFormat, *, in_detail: bool, limit: int, both_variants: bool
) -> None:
    """Print a list of samples or, if ``in_detail``, all details; a table has only the first failed sample's."""
    text = ""
    if output == "csv":
        text = inspection.samples_csv(rows)
    elif output == "json":
        text = inspection.details_json(found.details(rows)) if in_detail else inspection.samples_json(rows)
    elif output == "markdown" and in_detail:
        text = "\n".join(inspection.detail_markdown(detail) for detail in found.details(rows))
    elif output == "markdown":
        text = inspection.samples_markdown(rows)
    else:
        rows, every = rows if both_variants else inspection.without_repeats(rows), rows
        if in_detail and rows:
            _print_detail(found, rows)
        else:
            _print_list(rows, limit)
        if len(rows) < len(every):
            notice(f"raw verdicts equal to the calibrated ones: {len(every) - len(rows):,}; --variant raw shows them")
    typer.echo(text, nl=False)
    notice(f"{found.run.title}, record {found.run.record}: matching samples: {len(rows):,}")
    if suspects := sum(row["quarantined"] for row in rows):
        notice(f"samples of tasks in quarantine, whose own solution does not always pass: {suspects:,}")
    if found.absent:
        notice(f"the store lacks artifacts of this run: {', '.join(found.absent)}")


def _print_list(rows: Sequence[Row], limit: int) -> None:
    shown = rows[: limit or None]
    print_table(inspection.outcomes_table(rows))
    print_table(inspection.samples_table(shown))
    if len(shown) < len(rows):
        notice(f"shown are {len(shown):,} of {len(rows):,}: --limit 0 shows all, --kind and --library choose")
    if rows:
        notice(f"name a task to see its samples in full, such as {rows[0]['task_id'].rpartition('/')[2]}")


def _print_detail(found: InspectedRun, rows: Sequence[Row]) -> None:
    first = next((row for row in rows if row["status"] != "pass"), rows[0])
    if len(rows) > 1:
        out.print(inspection.samples_table(rows))
        notice("details of the first failed sample; --sample and --variant choose another")
    # Not wrapped, so that text copied from the terminal equals the text in the store.
    out.print(inspection.render_detail(*found.details([first])), soft_wrap=True)


def _rerun(
    found: InspectedRun, rows: Sequence[Row], output: TableFormat, *, environment: str, allow_unisolated: bool
) -> None:
    if output not in {"json", "table"}:
        raise ConfigError("--rerun prints a table or JSON: choose one of these with --format")
    if len(rows) != 1:
        raise ConfigError(
            f"--rerun executes one sample, but {len(rows):,} match: choose one with --sample and --variant"
        )
    place = {name: rows[0][name] for name in ("task_id", "sample_index", "variant", "sanitizer")}
    done = rerun_sample(found.run, **place, environment=environment, allow_unisolated=allow_unisolated)
    [detail] = found.details(rows)
    if output == "json":
        typer.echo(inspection.reruns_json(done.recorded, done.again), nl=False)
    else:
        out.print(inspection.render_reruns(detail, done.recorded, done.again))
    if done.recorded["environment_sha"] != done.again["environment_sha"]:
        notice("the environment is not the one of the recorded verdict, which may explain a different result")
    if not done.same:
        raise typer.Exit(1)
