"""`bigcodeflow inspect`: look at the samples of a recorded run, one by one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bigcodeflow.cli.console import notice, out
from bigcodeflow.cli.options import RecordedStore, TableFormat
from bigcodeflow.config import Variant
from bigcodeflow.core.errors import ConfigError

if TYPE_CHECKING:
    from bigcodeflow.results.inspection import Filters, InspectedRun
    from bigcodeflow.results.models import Row


def inspect(
    run: Annotated[str, typer.Argument(help="Name of a run, a model or a record, or 'latest'.")],
    task: Annotated[str, typer.Argument(help="One task's number or id: tell its samples' whole stories.")] = "",
    status: Annotated[
        list[str] | None, typer.Option(help="Only this status, or 'all'; repeatable.", show_default="all but pass")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind, such as wrong_api; repeatable.")] = None,
    library: Annotated[list[str] | None, typer.Option(help="Only tasks that use this library; repeatable.")] = None,
    domain: Annotated[list[str] | None, typer.Option(help="Only tasks of this domain; repeatable.")] = None,
    text: Annotated[
        str, typer.Option(help="Only samples with this text in program, traceback or output; case does not matter.")
    ] = "",
    variant: Annotated[
        Variant | None, typer.Option(help="Only this variant.", show_default="all that the run has")
    ] = None,
    sample: Annotated[int | None, typer.Option(min=0, help="Only the sample of this number, from 0.")] = None,
    store: RecordedStore = "results/store",
    output: Annotated[TableFormat, typer.Option("--format", help="How to print what is found.")] = "table",
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
    """List the samples of a recorded run that failed, or tell the whole story of a task's samples.

    A story goes from prompt and raw answer over what the sanitizer changed and the executed program to failing tests,
    output and ground truth. With --rerun, exit code 1 when the status is another one than recorded; nothing is stored.
    """
    from bigcodeflow.results import inspection
    from bigcodeflow.results.runs import find_run

    filters = inspection.Filters(
        statuses=tuple(status or (["all"] if task else [])),
        kinds=tuple(kind or ()),
        libraries=tuple(library or ()),
        domains=tuple(domain or ()),
        variants=(variant,) if variant else (),
        text=text,
        task=task,
        sample_index=sample,
    )
    if rerun and not task:
        raise ConfigError(
            "--rerun executes one sample: name its task too, such as `bigcodeflow inspect RUN 12 --rerun`"
        )
    with inspection.inspect_run(find_run(store, run)) as found:
        rows = found.samples(filters)
        if rerun:
            _rerun(found, rows, output, environment=environment, allow_unisolated=allow_unisolated)
        elif export:
            n_tasks = inspection.export_folder(found, rows, export)
            notice(f"wrote {len(rows):,} samples of {n_tasks:,} tasks to {export}")
        else:
            _show(found, rows, output, filters)


def _show(found: "InspectedRun", rows: Sequence["Row"], output: TableFormat, filters: "Filters") -> None:
    from bigcodeflow.results import inspection

    if output == "csv":
        _write(inspection.samples_csv(rows))
    elif not filters.task:
        writers: dict[str, Callable[[Any], str]] = {
            "json": inspection.samples_json,
            "markdown": inspection.samples_markdown,
        }
        _write(writers[output](rows)) if output in writers else out.print(inspection.samples_table(rows))
    else:
        _show_details(found, rows, output)
    notice(f"{found.run.title}, record {found.run.record}: samples that fit: {len(rows):,}")
    suspects = sum(row["quarantined"] for row in rows)
    if suspects:
        notice(f"of tasks in quarantine, whose own solution does not always pass: {suspects:,}")
    if found.absent:
        notice(f"the store does not hold its {', '.join(found.absent)}")


def _show_details(found: "InspectedRun", rows: Sequence["Row"], output: TableFormat) -> None:
    """All stories for programs; for people the first one, failures first, and a list of the others."""
    from bigcodeflow.results import inspection

    if output == "json":
        _write(inspection.details_json(found.details(rows)))
    elif output == "markdown":
        _write("\n".join(inspection.detail_markdown(detail) for detail in found.details(rows)))
    elif rows:
        first = next((row for row in rows if row["status"] != "pass"), rows[0])
        if len(rows) > 1:
            out.print(inspection.samples_table(rows))
            notice("shown is the first that failed; --sample and --variant choose another")
        # Unwrapped, so that what is copied from the terminal is what the store holds.
        out.print(inspection.render_detail(*found.details([first])), soft_wrap=True)


def _rerun(
    found: "InspectedRun",
    rows: Sequence["Row"],
    output: TableFormat,
    *,
    environment: str,
    allow_unisolated: bool,
) -> None:
    from bigcodeflow.pipeline.rerun import rerun_sample
    from bigcodeflow.results import inspection

    if len(rows) != 1:
        raise ConfigError(f"--rerun executes one sample, and {len(rows):,} fit: choose it with --sample and --variant")
    place = {name: rows[0][name] for name in ("task_id", "sample_index", "variant", "sanitizer")}
    done = rerun_sample(found.run, **place, environment=environment, allow_unisolated=allow_unisolated)
    [detail] = found.details(rows)
    if output == "json":
        _write(inspection.reruns_json(done.recorded, done.again))
    elif output == "table":
        out.print(inspection.render_reruns(detail, done.recorded, done.again))
    else:
        raise ConfigError("--rerun prints a table or JSON: choose one of these with --format")
    if done.recorded["environment_sha"] != done.again["environment_sha"]:
        notice("the environment is not the one of the recorded verdict: a difference may come from there")
    if not done.same:
        raise typer.Exit(1)


def _write(text: str) -> None:
    """Print as it is, unwrapped, for other programs."""
    typer.echo(text, nl=False)
