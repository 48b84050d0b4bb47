"""`bigcodeflow env check`: what an environment can judge, whether its judgement can be trusted, and how reliably."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notices, out, progress_listener

if TYPE_CHECKING:
    from bigcodeflow.pipeline.environment_check import EnvironmentCheck


def check(
    name: Annotated[str, typer.Argument(help="Name of the environment: bigcodebench or starter.")],
    dataset: Annotated[
        str, typer.Option(help="Tasks whose ground truths are executed. [default: the environment's own]")
    ] = "",
    subset: Annotated[str, typer.Option(help="full or hard")] = "full",
    ids: Annotated[str, typer.Option(help="Only these task numbers or ids, such as 1,5-9.")] = "",
    repeat: Annotated[
        int,
        typer.Option(
            min=0,
            max=1000,
            help="Execute every ground truth so many times afresh, and put tasks that fail any of them in quarantine.",
        ),
    ] = 0,
    controls: Annotated[
        bool,
        typer.Option(help="Judge a stub and a cheat for every task too, which must never pass."),
    ] = True,
    workers: options.Workers = 0,
    store: Annotated[
        Path, typer.Option(help="Folder or URL (s3://bucket/prefix) of cached artifacts.", envvar="BIGCODEFLOW_STORE")
    ] = Path("results/store"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, such as execution.limits.time_seconds=60.")
    ] = None,
) -> None:
    """Say what an environment can judge, and whether its verdicts can be trusted.

    Imports the libraries; executes the ground truths and says which tasks cannot be judged, and why; judges the
    controls: canonical solutions must pass, stubs and cheats must not, and exactly the expected tests must run; says of
    how many tests there is a contradiction, with which passes are checked. All is cached. With --repeat, ground truths
    are executed afresh and counted in the environment's quarantine list, which every run then takes note of
    (execution.quarantine); stopped, the same command goes on where it was.

    Exit code 1 when a library or a task is wanting, or a control does not hold.
    """
    from bigcodeflow.core.settings import validated
    from bigcodeflow.pipeline.environment_check import EnvironmentCheck, EnvironmentCheckConfig, check_settings

    given = {"environment": name, "dataset": dataset, "subset": subset, "ids": ids, "workers": workers}
    given |= {"store": str(store), "overrides": settings or ()}
    config = check_settings(validated(EnvironmentCheckConfig, given, "command line"))
    sound = [_report_imports(name)]
    with progress_listener() as listener:
        checked = EnvironmentCheck(config, listener)
        sound.append(_report_ground_truths(checked, name))
        sound.append(_report_controls(checked, adversaries=controls))
        if controls:
            _report_contradictions(checked)
        if repeat:
            _report_repetitions(checked, repeat)
    if not all(sound):
        raise typer.Exit(1)


def _report_imports(name: str) -> bool:
    from bigcodeflow.pipeline.environment_check import check_imports

    imports = check_imports(name)
    for module, error in imports.failures.items():
        out.print(f"{module} cannot be imported: {error}", markup=False, soft_wrap=True)
    notices.print(f"{imports.modules - len(imports.failures)} of {imports.modules} libraries can be imported")
    return not imports.failures


def _report_ground_truths(checked: "EnvironmentCheck", name: str) -> bool:
    """Name the tasks that cannot be judged; true where there are none."""
    unjudgeable = checked.unjudgeable()
    _print_table(
        ("task", "status", "needs", "told"),
        [(task.task_id, task.status, task.reason, task.evidence) for task in unjudgeable],
    )
    notices.print(f"{checked.n_tasks - len(unjudgeable):,} of {checked.n_tasks:,} tasks can be judged in {name}")
    return not unjudgeable


def _report_controls(checked: "EnvironmentCheck", *, adversaries: bool) -> bool:
    """One line a control; true where all hold. The oracle's failures are the tasks that cannot be judged."""
    from bigcodeflow.execution.environment_check import wording

    results = checked.controls(adversaries=adversaries)
    for result in results:
        for line in wording(result):
            out.print(line, markup=False, soft_wrap=True)
    return not any(result.offences for result in results)


def _report_contradictions(checked: "EnvironmentCheck") -> None:
    """Say how many tasks and test methods can be contradicted, and name the tasks whose passes cannot be checked."""
    found = checked.contradictions()
    tests, contradicted = sum(one.tests for one in found), sum(one.contradicted for one in found)
    without = [one for one in found if one.reason]
    rows = [(one.task_id, str(one.tests), one.reason) for one in without]
    _print_table(("task", "tests", "why its passes cannot be checked"), rows)
    counted = f"{len(found) - len(without):,} of {len(found):,} tasks, {contradicted:,} of {tests:,} test methods"
    out.print(f"contradictions: {counted}")
    separated = sum(one.separated for one in found)
    out.print(f"separated: {sum(one.separated > 0 for one in found):,} tasks, {separated:,} test methods")


def _report_repetitions(checked: "EnvironmentCheck", times: int) -> None:
    """Execute the ground truths afresh, and show the tasks in quarantine."""
    repeated = checked.repeat(times)
    _print_table(
        ("task", "passes", "statuses", "needs", "told"),
        [
            (
                row["task_id"],
                f"{row['passes']:,} of {row['executions']:,}",
                ", ".join(row["statuses"]),
                row["reason"],
                row["evidence"],
            )
            for row in repeated.suspects
        ],
    )
    told = (
        f"{len(repeated.suspects):,} of {len(repeated.rows):,} tasks, after {repeated.executions:,} executions in all"
    )
    out.print(f"quarantine: {told}")
    notices.print(f"list       {repeated.path}", soft_wrap=True)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        return
    table = Table(*headings)
    for row in rows:
        table.add_row(*row)
    out.print(table)
