"""What the runs' verdicts tell beyond the metrics table: comparisons, rates, traits of tasks, variants."""

from collections.abc import Sequence

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.report.charts import MOST_COLOURS, ScorePoint
from bigcodeflow.report.comparison import PAIR_COLUMNS, comparison_sections, not_compared, pair_rows
from bigcodeflow.report.points import POINT_COLUMNS, point_rows, score_point, slice_chart
from bigcodeflow.report.sections import Cell, Column, Section
from bigcodeflow.report.selection import ReportedRun
from bigcodeflow.results.comparison import By, ComparedRun, Comparison, Method, RunRef, compare, load_runs
from bigcodeflow.results.comparison.common_tasks import slices_of
from bigcodeflow.results.comparison.pairs import compare_pairs
from bigcodeflow.results.comparison.run_metrics import Rates, rates_of, scores_of
from bigcodeflow.results.comparison.text_tables import rates_table

#: Slices that a report compares runs on; libraries are too many to be drawn.
_COMPARED_BY = (By.subset, By.domain, By.libraries, By.length)
_TRAITS = {By.subset: "{}", By.libraries: "libraries: {}", By.length: "prompt length, quarter {}"}


def lead_sides(runs: Sequence[ReportedRun]) -> list[ComparedRun]:
    """Each run in its first variant and sanitizer, which stands for it in charts.

    Raises:
        ArtifactError: an artifact that a run recorded is gone or cannot be read.
    """
    return load_runs([RunRef(run.recorded, run.label, *run.kinds[0]) for run in runs])


def compared(runs: Sequence[ReportedRun], sides: Sequence[ComparedRun]) -> Comparison | ArtifactError | None:
    """The comparison of the runs of one board, or why there is none; None for a single run.

    Runs come in the order of their scores. Slices are compared for as many runs as colours can tell apart.
    """
    if len(sides) < 2:  # noqa: PLR2004 - a comparison
        return None
    k = sorted({row["k"] for run in runs for row in run.of_lead("pass@k")}) or [1]
    try:
        return compare(_ordered(sides), k=k, by=_COMPARED_BY if len(sides) <= MOST_COLOURS else ())
    except ArtifactError as error:
        return error


def sections_of(found: Comparison | ArtifactError | None) -> list[Section]:
    """The comparison as parts of the overview."""
    if found is None:
        return []
    return [not_compared(str(found))] if isinstance(found, ArtifactError) else comparison_sections(found)


def rates(sides: Sequence[ComparedRun], comparison: Comparison | None) -> Section:
    """How often answers were cut off or refused, and samples timed out, tampered or were not judged."""
    known: dict[tuple[str, int], Rates] = {
        (row.label, row.n_samples): row for row in (comparison.rates if comparison else ())
    }
    # A comparison that was made before need not be paid for twice; its sides may be others of the same name.
    found = [known.get((side.label, sum(task.n_given for task in side.tasks.values()))) for side in sides]
    unknown = iter(rates_of([side for row, side in zip(found, sides, strict=True) if row is None]))
    table = rates_table([row or next(unknown) for row in found])
    columns = [Column("run"), *(Column(column.heading, "number") for column in table.columns[1:])]
    lead = (
        "Truncated: the token limit cut the answer off. Refused: the provider or the model declined. Shares of all "
        "samples of the run; - is not known."
    )
    return Section("rates", "Cut off, refused, timed out", lead, columns, [list(row) for row in table.texts()])


def traits(runs: Sequence[ReportedRun], sides: Sequence[ComparedRun]) -> Section | None:
    """Scores by Hard and the rest, number of libraries, and length of the prompt."""
    k = min((row["k"] for run in runs for row in run.of_lead("pass@k")), default=1)
    points: list[ScorePoint] = []
    for by, words in _TRAITS.items():
        for side in sides:
            every = list(side.tasks.values())
            for name, task_ids in slices_of(every, by):
                [score] = scores_of(side, task_ids, [k])
                if score.n_tasks and len(task_ids) < len(every):
                    ends = (score.interval.low, score.interval.high) if score.interval else None
                    points.append(score_point(words.format(name), side.label, score.value, ends, score.n_tasks))
    if not points:
        return None
    names = list(dict.fromkeys(point["name"] for point in points))
    chart = slice_chart(points, title=f"pass@{k}, %", names=names, runs=[side.label for side in _ordered(sides)])
    lead = (
        "Scores by the tasks' traits: BigCodeBench-Hard against the rest, number of libraries, and quarters of the "
        "tasks by the length of their prompt, 1 being the shortest."
    )
    return Section("traits", "Hard, libraries, length", lead, POINT_COLUMNS, point_rows(points), chart)


def variants(runs: Sequence[ReportedRun]) -> Section | None:
    """How far a run's variants and sanitizers differ on the same samples, for runs that have several."""
    method = Method()
    rows: list[list[Cell]] = []
    for run in runs:
        if len(run.kinds) > 1:
            named = [f"{run.label} · {variant} · {sanitizer}" for variant, sanitizer in run.kinds]
            sides = load_runs([RunRef(run.recorded, name, *kind) for name, kind in zip(named, run.kinds, strict=True)])
            k = min((row["k"] for row in run.of_lead("pass@k")), default=1)
            tasks = [task_id for task_id in sides[0].tasks if task_id not in run.recorded.excluded]
            names = {name: ", ".join(kind) for name, kind in zip(named, run.kinds, strict=True)}
            pairs = compare_pairs(sides, [("all", tasks)], kind="all", k=k, method=method)
            rows += [[run.label, *row] for row in pair_rows(pairs, names)]
    if not rows:
        return None
    lead = (
        "The same answers judged in several ways. Calibrated less raw is what omitted imports and constants cost, "
        "robust less parity what the original's sanitizer loses. p (Holm) counts the pairs of one run."
    )
    return Section("variants", "Variants", lead, (Column("run"), *PAIR_COLUMNS), rows)


def _ordered(sides: Sequence[ComparedRun]) -> list[ComparedRun]:
    """The best first, by the share of samples that pass."""

    def share(side: ComparedRun) -> float:
        scores = [task.share for task in side.tasks.values() if task.n_judged]
        return sum(scores) / len(scores) if scores else 0.0

    return sorted(sides, key=lambda side: (-share(side), side.label))
