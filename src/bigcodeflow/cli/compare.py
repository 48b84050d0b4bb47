"""`bigcodeflow compare` and `plan`: compare runs, and compute how many tasks and samples detect a difference."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from bigcodeflow.cli.console import notice, out, print_line
from bigcodeflow.cli.options import RecordedSanitizer, RecordedStore, RecordedVariant, TableFormat, whole_numbers
from bigcodeflow.config import View
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.table import Column, Table
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.results import planning
from bigcodeflow.results.comparison import comparison as library
from bigcodeflow.results.comparison.common_tasks import By
from bigcodeflow.results.comparison.comparison import Comparison, to_csv, to_json
from bigcodeflow.results.comparison.pairs import Method
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.comparison.text_tables import tables, to_markdown
from bigcodeflow.results.published import N_TASKS
from bigcodeflow.results.verified import judged_alike

_MORE = (
    "Every test, the ratings without ties, settings, rates and costs: --all. Everything, names in full: --format json, "
    "or --html FILE with each sample."
)
#: Smallest difference and smallest probability that can be asked for, as shares; smaller values overflow.
_LEAST = 1e-6
_MOST_TASKS = 10_000_000


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN [RUN ...]",
            help="Runs of the store by record, name, title or model, or 'latest'; RUN@raw or RUN@robust chooses a "
            "variant or sanitizer of one run.",
            show_default=False,
        ),
    ],
    store: RecordedStore = "results/store",
    variant: RecordedVariant = "calibrated",
    sanitizer: RecordedSanitizer = None,
    k: Annotated[str, typer.Option(help="Compare pass@k for these k, as far as there are samples.")] = "1,5,10",
    view: Annotated[
        View, typer.Option(help="Compare on all tasks, or on those whose verdicts hold in the verified view.")
    ] = "original",
    by: Annotated[
        list[By] | None,
        typer.Option(help="Also compare by domain, library, number of libraries, prompt length or subset; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap; the same seed gives the same digits.")] = 0,
    rounds: Annotated[
        int, typer.Option(min=100, max=1_000_000, help="Rounds of the bootstrap and of the sign-flip test.")
    ] = 10_000,
    mid_p: Annotated[bool, typer.Option("--mid-p", help="Take McNemar's mid-p instead of the exact p.")] = False,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="Also list the tasks that only one run solves, that all or none solve.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Print every table: each pair's test, ratings without ties, settings, rates, usage."
        ),
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write the comparison, with every sample, as one HTML file.")
    ] = None,
    output: Annotated[TableFormat, typer.Option("--format", help="Format of the comparison.")] = "table",
) -> None:
    """Compare runs on the tasks that they share: differences with 95 % intervals, tests, ratings, costs.

    Runs of different subsets are compared but not ranked; runs of different splits or benchmarks are refused.

    Every number comes from the store: nothing is executed. docs/statistics.md says how each number is computed.
    """
    compared = open_runs(store, runs, variant=variant, sanitizer=sanitizer or "")
    if view == "verified":
        compared = [one.on_tasks(judged_alike(one.recorded.path("dataset"))) for one in compared]
        notice("compared on tasks whose verdicts hold in the verified view")
    method = Method(seed=seed, rounds=rounds, mid_p=mid_p)
    found = library.compare(
        compared, k=whole_numbers("--k", k, positive=True), by=tuple(dict.fromkeys(by or ())), method=method
    )
    if html:
        recorded = select_runs(store, [run.recorded.record for run in found.runs])
        written = write_report(recorded, html, comparison=found)
        notice(f"wrote {written.path} ({written.size_bytes / 1e6:.1f} MB)")
    _print_comparison(found, output, tasks=tasks, everything=everything)


def _print_comparison(found: Comparison, output: TableFormat, *, tasks: bool, everything: bool) -> None:
    if output == "json":
        typer.echo(to_json(found))
    elif output == "markdown":
        typer.echo(to_markdown(found, tasks=tasks))
    elif output == "csv":
        for note in found.notes:  # a CSV file has no place for them
            notice(note)
        typer.echo(to_csv(found), nl=False)
    else:
        for note in found.notes:
            out.print(Text(note, style="yellow"))
        for table in tables(found, tasks=tasks, brief=not everything):
            out.print(table)
        if not everything:
            out.print(Text(_MORE, style="dim"))


def plan(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN [RUN]]",
            help="Recorded runs to take variances from: of both models, or of one; RUN@raw or RUN@robust chooses a "
            "variant or sanitizer.",
            show_default="variances are assumed",
        ),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Difference of pass@1 that is to be found, in points, such as 3.",
            show_default="the smallest that can be found",
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option(
            min=2, max=_MOST_TASKS, help="Number of tasks.", show_default="those of the full and the hard benchmark"
        ),
    ] = None,
    samples: Annotated[str, typer.Option(help="Samples a task to show.")] = "1,2,5,10,20,50,100",
    power: Annotated[float, typer.Option(help="Probability of detecting the difference, a share.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Level of the two-sided test, a share.")] = 0.05,
    store: RecordedStore = "results/store",
    variant: RecordedVariant = "calibrated",
    sanitizer: RecordedSanitizer = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Compute how many tasks and samples detect a difference of two models in pass@1, or what difference they detect.

    Both models answer the same tasks, and `compare` tests the difference. docs/statistics.md explains the computation.
    """
    share = None if difference is None else difference / 100
    if share is not None and not _LEAST <= share < 1:
        raise ConfigError(f"--difference {difference}: must be 0.0001 to 99.9 percentage points")
    if not _LEAST <= alpha < power <= 1 - _LEAST:
        raise ConfigError(f"--power {power}, --alpha {alpha}: need {_LEAST:g} <= alpha < power <= {1 - _LEAST:g}")
    numbers = sorted(set(whole_numbers("--samples", samples, positive=True, most=planning.MOST_SAMPLES)))
    compared = open_runs(store, runs, variant=variant, sanitizer=sanitizer or "", fewest=1) if runs else []
    basis = planning.basis_of(compared)
    question = planning.Question(basis.variances, power, alpha)
    benchmarks = {"given": tasks} if tasks else {str(name): number for name, number in N_TASKS.items()}
    found = _plan_figures(question, basis, share, benchmarks, [*numbers, math.inf])
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _show_plan(found, benchmarks)


def _plan_figures(
    question: planning.Question,
    basis: planning.Basis,
    difference: float | None,
    benchmarks: dict[str, int],
    sizes: Sequence[float],
) -> dict[str, Any]:
    """Return the plan as `--json` prints it; a value None means unlimited samples, or that no number is sufficient."""
    rows = []
    for n_samples in sizes:  # math.inf gives the best value that any number of samples can reach
        limited = math.isfinite(n_samples)
        row: dict[str, Any] = {"samples": int(n_samples) if limited else None}
        if difference is not None:
            row["tasks"] = planning.tasks_needed(question, difference, n_samples)
            row["samples_in_all"] = row["tasks"] * int(n_samples) if limited else None
        smallest = {
            name: planning.smallest_difference(question, n_tasks, n_samples) for name, n_tasks in benchmarks.items()
        }
        row["smallest_difference_points"] = {name: share and 100 * share for name, share in smallest.items()}
        rows.append(row)
    found: dict[str, Any] = {
        "difference_points": None if difference is None else 100 * difference,
        "power": question.power,
        "alpha": question.alpha,
        "variance_between_tasks": question.variances.between,
        "variance_within_tasks": question.variances.within,
        "estimated_from_tasks": basis.n_tasks,
        "notes": list(basis.notes),
        "rows": rows,
    }
    if difference is not None:
        found["fewest_tasks"] = planning.tasks_needed(question, difference, math.inf)
        found["benchmarks"] = [
            {"name": name, "tasks": n_tasks, "samples": planning.samples_needed(question, difference, n_tasks)}
            for name, n_tasks in benchmarks.items()
        ]
    return found


def _show_plan(found: dict[str, Any], benchmarks: dict[str, int]) -> None:
    for note in found["notes"]:
        print_line(note)
    between, within = found["variance_between_tasks"], found["variance_within_tasks"]
    print_line(f"Variance of a task's difference with n samples: {between:.4f} + {within:.4f} / n")
    points = found["difference_points"]
    wanted = "Smallest difference" if points is None else f"{points:g} points"
    level = f"found with power {found['power']:g}, two-sided alpha {found['alpha']:g}, paired"
    out.print(f"{wanted} {level}", style="bold", highlight=False)
    for benchmark in found.get("benchmarks", ()):
        n_tasks, n_samples = benchmark["tasks"], benchmark["samples"]
        name = f"{n_tasks:,} tasks" if benchmark["name"] == "given" else f"{benchmark['name']}, {n_tasks:,} tasks"
        if n_samples is None:
            print_line(f"{name}: not by any number of samples; it takes {found['fewest_tasks']:,} tasks or more")
        else:
            several = "s" if n_samples > 1 else ""
            print_line(f"{name}: {n_samples:,} sample{several} a task, {n_samples * n_tasks:,} a model")
    rows = []
    for row in found["rows"]:
        cells = {"samples a task": "any number" if row["samples"] is None else row["samples"]}
        if points is not None:
            cells |= {"tasks needed": row["tasks"], "samples a model": row["samples_in_all"]}
        for number, smallest in zip(benchmarks.values(), row["smallest_difference_points"].values(), strict=True):
            cells[f"{number:,} tasks find"] = "none" if smallest is None else f"{smallest:.1f} points"
        rows.append(cells)
    out.print(Table.of_records(rows, columns=[Column(heading, align="right") for heading in list(rows[0])[1:]]))
