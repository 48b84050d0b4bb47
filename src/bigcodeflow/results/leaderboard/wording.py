"""How entries are worded, in the terminal, in Markdown and in HTML alike; what is unknown is an empty text."""

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.leaderboard.changes import Change
from bigcodeflow.results.leaderboard.entries import Entry
from bigcodeflow.results.titles import title_of

_SHOWN_SHA = 12


def score(share: float | None) -> str:
    """A share in percent with one decimal, as published figures have it."""
    return "" if share is None else f"{100 * share:.1f}"


def points(difference: float | None) -> str:
    """A difference in points of 100, with its sign."""
    return "" if difference is None else f"{round(difference, 1) + 0.0:+.1f}"  # no -0.0


def interval_of(entry: Entry) -> str:
    """Both ends of the 95 % interval in percent."""
    if entry.ci_low is None or entry.ci_high is None:
        return ""
    return f"{100 * entry.ci_low:.1f} to {100 * entry.ci_high:.1f}"


def judged_by(entry: Entry) -> str:
    """Sanitizer and environment."""
    if entry.origin == "published":
        return ""
    sha = (entry.environment_sha or "")[:_SHOWN_SHA]
    environment = " ".join(filter(None, (entry.environment, sha))) or f"environment {UNKNOWN}"
    return f"sanitizer {entry.sanitizer or UNKNOWN}, {environment}"


def day(entry: Entry) -> str:
    """Day of the evaluation, UTC."""
    return entry.evaluated_at.strftime("%Y-%m-%d") if entry.evaluated_at else ""


def entry_line(entry: Entry) -> str:
    """An entry in one line."""
    setting = f" ({entry.setting})" if entry.setting else ""
    title = title_of(entry.title, entry.subset, entry.split)
    return f"{title}{setting}, {entry.origin}: {score(entry.pass_at_1)}"


def change_line(change: Change) -> str:
    """A change in one line: both scores, their difference in points, its interval, and what else is different."""
    told = f"{entry_line(change.before)} → {score(change.after.pass_at_1)} ({points(100 * change.difference)} points"
    if change.interval is None:
        told += "; tasks not compared, verdicts of both runs are not there"
    else:
        low, high = (points(100 * end) for end in change.interval)
        told += f", paired 95 % interval {low} to {high}"
    return f"{told})" + (f"; {change.cause}" if change.cause else "")
