"""How scores are worded, in the terminal and in the Prefect UI alike; rows are those of a METRICS table."""

import math
from collections.abc import Iterator, Sequence

from bigcodeflow.results.models import Row

#: Metrics of several samples a task in the order in which they are shown, each with its name.
_SEVERAL_SAMPLES = {
    "avg@n": "avg@N",
    "bayes@n": "Bayes@N, credible interval",
    "pass^k": "pass^{k}",
    "g_pass@k_0.5": "G-Pass@{k}, τ 0.5",
    "g_pass@k_0.75": "G-Pass@{k}, τ 0.75",
    "mg_pass@k": "mG-Pass@{k}",
}


def overall(rows: Sequence[Row], metric: str) -> Iterator[Row]:
    """Rows of one metric over all tasks."""
    return (row for row in rows if row["slice_kind"] == "all" and row["metric"] == metric)


def identity(row: Row) -> tuple[str, str, int]:
    """What a score is of: variant, sanitizer and k."""
    return row["variant"], row["sanitizer"], row["k"]


def several_samples(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Scores over all tasks that need several samples a task, each with its name; none where there is one a task."""
    for metric, name in _SEVERAL_SAMPLES.items():
        for row in overall(rows, metric):
            yield name.format(k=row["k"]), row


def score_of(row: Row | None) -> str:
    """A score with the number of tasks behind it; empty where there is none."""
    return f"{percent(row['value'])} of {row['n_tasks']:,}" if row else ""


def interval(row: Row) -> str:
    """Both ends of the 95 % interval in percent; empty where there is none."""
    if row["ci_low"] is None or row["ci_high"] is None:
        return ""
    return f"{100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f}"


def percent(share: float) -> str:
    """A share in percent; NaN is the share of nothing."""
    return "none judged" if math.isnan(share) else f"{100 * share:.1f} %"


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """What a reader has to know beside the scores: quarantined tasks, and what executing again has shown."""
    for row in overall(rows, "excluded_task_count"):
        yield f"{_tasks(row)} not reliable here and left out of every score ({_kind(row)}){_beside(rows, row)}."
    for row in overall(rows, "quarantined_task_count"):
        yield f"{_tasks(row)} not reliable here and part of every score ({_kind(row)}){_beside(rows, row)}."
    for row in overall(rows, "flaky_count"):
        again = next(other["value"] for other in overall(rows, "rerun_count") if _kind(other) == _kind(row))
        yield (
            f"Reruns: {again:,.0f} of {row['n_samples']:,} samples ({_kind(row)}) were executed more than once; "
            f"{row['value']:,.0f} of them came out differently and count as flaky."
        )


def flaky_ground_truths(rows: Sequence[Row]) -> str:
    """How many ground truths passed only when they were executed again; empty where none did."""
    row = next(overall(rows, "ground_truth_flaky_count"), None)
    return f", {row['value']:,.0f} of them not in every execution" if row else ""


def _tasks(row: Row) -> str:
    count = row["value"]
    return f"Quarantine: {count:,.0f} of {row['n_tasks']:,} tasks {'is' if count == 1 else 'are'}"


def _beside(rows: Sequence[Row], row: Row) -> str:
    """The score that quarantined tasks make different: without them where they count, with them where they do not."""
    for metric, word in (("pass@k_unquarantined", "without"), ("pass@k_with_quarantined", "with")):
        scores = [other for other in overall(rows, metric) if _kind(other) == _kind(row)]
        if scores:
            told = (f"pass@{score['k']} {percent(score['value'])} of {score['n_tasks']:,}" for score in scores)
            return f"; {word} them: {', '.join(told)}"
    return ""


def _kind(row: Row) -> str:
    return f"{row['variant']}, {row['sanitizer']}"
