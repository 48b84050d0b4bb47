"""`bigcodeflow plan`: how many tasks and samples a difference needs, before they are paid for."""

import json
import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bigcodeflow.cli.console import out
from bigcodeflow.cli.options import RecordedSanitizer, RecordedStore, RecordedVariant
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.table import Column, Table

if TYPE_CHECKING:
    from bigcodeflow.results.planning import Basis, Question

#: The smallest difference and the smallest chance that can be asked for, shares; beyond it numbers overflow.
_LEAST = 1e-6
_MOST_TASKS = 10_000_000


class _Plan(NamedTuple):
    """What was asked and all that follows from it; differences are shares in 0..1."""

    question: "Question"
    basis: "Basis"
    difference: float | None
    benchmarks: dict[str, int]
    """Numbers of tasks by name."""
    samples: list[float]
    """Samples a task, a row each; infinite is the best that any number can do."""


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
            min=2,
            max=_MOST_TASKS,
            help="Number of tasks.",
            show_default="those of the full and the hard benchmark",
        ),
    ] = None,
    samples: Annotated[str, typer.Option(help="Samples a task to show.")] = "1,2,5,10,20,50,100",
    power: Annotated[float, typer.Option(help="How surely the difference is to be found, a share.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Level of the two-sided test, a share.")] = 0.05,
    store: RecordedStore = "results/store",
    variant: RecordedVariant = "calibrated",
    sanitizer: RecordedSanitizer = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Tell how many tasks and samples a difference of two models in pass@1 needs, or which one they can find.

    Both models answer the same tasks, and `compare` tests the difference. docs/statistics.md says how it is computed.
    """
    from bigcodeflow.leaderboard.entries import N_TASKS
    from bigcodeflow.results.comparison import open_runs
    from bigcodeflow.results.planning import Question, basis_of

    _require(difference is None or _LEAST <= difference / 100 < 1, f"--difference {difference}: needs 0.0001 to 99.9")
    needs = f"needs {_LEAST:g} <= alpha < power <= {1 - _LEAST:g}"
    _require(_LEAST <= alpha < power <= 1 - _LEAST, f"--power {power}, --alpha {alpha}: {needs}")
    names = runs or []
    compared = open_runs(store, names, variant=variant, sanitizer=sanitizer or "", fewest=1) if names else []
    basis = basis_of(compared)
    made = _Plan(
        question=Question(basis.variances, power, alpha),
        basis=basis,
        difference=None if difference is None else difference / 100,
        benchmarks={"given": tasks} if tasks else {str(name): number for name, number in N_TASKS.items()},
        samples=[*_numbers(samples), math.inf],
    )
    if as_json:
        typer.echo(json.dumps(_content(made), indent=2))
    else:
        _show(made)


def _show(made: _Plan) -> None:
    found = _content(made)
    for note in found["notes"]:
        out.print(note, markup=False, highlight=False)
    between, within = found["variance_between_tasks"], found["variance_within_tasks"]
    out.print(f"Variance of a task's difference with n samples: {between:.4f} + {within:.4f} / n", highlight=False)
    level = f"found with power {made.question.power:g}, two-sided alpha {made.question.alpha:g}, paired"
    wanted = "Smallest difference" if made.difference is None else f"{100 * made.difference:g} points"
    out.print(f"{wanted} {level}", style="bold", highlight=False)
    for benchmark in found.get("benchmarks", ()):
        out.print(_answer(benchmark, found["fewest_tasks"]), markup=False, highlight=False)
    out.print(_table(made, found["rows"]))


def _table(made: _Plan, rows: list[dict[str, Any]]) -> Table:
    needed = ("tasks needed", "samples a model") if made.difference is not None else ()
    headings = (*needed, *(f"{number:,} tasks find" for number in made.benchmarks.values()))
    cells = [
        [
            "any number" if row["samples"] is None else row["samples"],
            *([row["tasks"], row["samples_in_all"]] if needed else []),
            *(
                "none" if points is None else f"{points:.1f} points"
                for points in row["smallest_difference_points"].values()
            ),
        ]
        for row in rows
    ]
    return Table.of(["samples a task", *(Column(heading, align="right") for heading in headings)], cells)


def _content(made: _Plan) -> dict[str, Any]:
    """The plan as `--json` prints it: unlimited samples and what cannot be reached are null."""
    from bigcodeflow.results import planning

    question, difference = made.question, made.difference
    found: dict[str, Any] = {
        "difference_points": None if difference is None else 100 * difference,
        "power": question.power,
        "alpha": question.alpha,
        "variance_between_tasks": question.variances.between,
        "variance_within_tasks": question.variances.within,
        "estimated_from_tasks": made.basis.n_tasks,
        "notes": list(made.basis.notes),
        "rows": [_row(made, n_samples) for n_samples in made.samples],
    }
    if difference is not None:
        found["fewest_tasks"] = planning.tasks_needed(question, difference, math.inf)
        found["benchmarks"] = [
            {"name": name, "tasks": n_tasks, "samples": planning.samples_needed(question, difference, n_tasks)}
            for name, n_tasks in made.benchmarks.items()
        ]
    return found


def _row(made: _Plan, n_samples: float) -> dict[str, Any]:
    from bigcodeflow.results import planning

    limited = math.isfinite(n_samples)
    row: dict[str, Any] = {"samples": int(n_samples) if limited else None}
    if made.difference is not None:
        row["tasks"] = planning.tasks_needed(made.question, made.difference, n_samples)
        row["samples_in_all"] = row["tasks"] * int(n_samples) if limited else None
    smallest = {
        name: planning.smallest_difference(made.question, n_tasks, n_samples)
        for name, n_tasks in made.benchmarks.items()
    }
    row["smallest_difference_points"] = {name: share and 100 * share for name, share in smallest.items()}
    return row


def _answer(benchmark: dict[str, Any], fewest_tasks: int) -> str:
    n_tasks, n_samples = benchmark["tasks"], benchmark["samples"]
    name = f"{n_tasks:,} tasks" if benchmark["name"] == "given" else f"{benchmark['name']}, {n_tasks:,} tasks"
    if n_samples is None:
        return f"{name}: not by any number of samples; it takes {fewest_tasks:,} tasks or more"
    return f"{name}: {n_samples:,} sample{'s' if n_samples > 1 else ''} a task, {n_samples * n_tasks:,} a model"


def _numbers(text: str) -> list[int]:
    from bigcodeflow.results.planning import MOST_SAMPLES

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    fit = bool(numbers) and min(numbers) > 0 and max(numbers) <= MOST_SAMPLES
    _require(fit, f"--samples {text!r}: needs whole numbers from 1 to {MOST_SAMPLES:,}, as in 1,5,10")
    return sorted(set(numbers))


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)
