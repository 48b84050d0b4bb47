"""Samples and stories in the terminal; nothing that a model wrote is taken for markup or for a control sequence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from bigcodeflow.core.display_text import one_line, visible
from bigcodeflow.results.inspection.stories import Story
from bigcodeflow.results.inspection.tables import reason_of
from bigcodeflow.results.inspection.wording import Passage, measured, passages, reason
from bigcodeflow.results.models import Row

#: Characters; colouring a million takes a quarter of a minute.
_MOST_HIGHLIGHTED = 100_000
_STYLES = {"pass": "green", "infra_error": "yellow", "tampered": "bold red"}


def render_samples(rows: Sequence[Row]) -> RenderableType:
    """One row a sample, with the reason of its failure in one line."""
    table = Table("task", "sample", "variant", "status", "kind", "failing tests", "reason")
    for row in rows:
        failing = f"{len(row['failing_tests'])} of {row['tests_expected']}" if row["failing_tests"] else ""
        table.add_row(
            Text(visible(row["task_id"]), no_wrap=True),
            str(row["sample_index"]),
            row["variant"],
            _status(row["status"]),
            row["failure_kind"].replace("_", " "),
            failing,
            Text(reason_of(row)),
        )
    return table


def render_story(story: Story) -> RenderableType:
    """The whole story, one heading a passage."""
    return Group(*(part for passage in passages(story) for part in _shown(story, passage)))


def render_reruns(story: Story, recorded: Mapping[str, Any], again: Mapping[str, Any]) -> RenderableType:
    """Both verdicts of one sample side by side, then why the new one failed.

    Args:
        story: the sample's.
        recorded: its row of the verdicts table.
        again: the verdict of today's execution.
    """
    table = Table("", "recorded", "executed again", title=Text(visible(story.title)), title_justify="left")
    for name in ("status", "failure_kind", "exit", "backend"):
        table.add_row(name.replace("_", " "), *(Text(visible(verdict[name])) for verdict in (recorded, again)))
    for name in ("wall_seconds", "cpu_seconds", "max_rss_mib"):
        table.add_row(name.replace("_", " "), *(_number(verdict[name]) for verdict in (recorded, again)))
    table.add_row("environment", *(verdict["environment_sha"][:12] for verdict in (recorded, again)))
    outcomes = [{test["name"]: test["outcome"] for test in verdict["tests"] or ()} for verdict in (recorded, again)]
    for name in dict.fromkeys([*outcomes[0], *outcomes[1]]):
        was, now = (found.get(name, "") for found in outcomes)
        table.add_row(Text(visible(name)), was, Text(now, style="" if was == now else "bold yellow"))
    return Group(table, *_new_traces(again))


def _new_traces(again: Mapping[str, Any]) -> Iterator[RenderableType]:
    told = [("the module itself", again["module_trace"])]
    told += [(test["name"], test["trace"]) for test in again["tests"] or ()]
    for name, trace in told:
        if trace:
            yield _rule(f"executed again: {name}: {reason(trace, '')}")
            yield Text(visible(trace).rstrip("\n"))


def _shown(story: Story, passage: Passage) -> Iterator[RenderableType]:
    yield _rule(f"{story.title}: {passage.title}")
    text = visible(passage.text).rstrip("\n")
    if passage.form in ("python", "diff") and len(text) <= _MOST_HIGHLIGHTED:
        yield Syntax(
            text,
            passage.form,
            background_color="default",
            line_numbers=bool(passage.first_line),
            start_line=passage.first_line or 1,
        )
    else:
        yield Text(text, style="bold" if passage.form == "sentence" else "")


def _rule(title: str) -> Rule:
    return Rule(Text(one_line(title), overflow="ellipsis", no_wrap=True), align="left")


def _status(status: str) -> Text:
    return Text(status.replace("_", " "), style=_STYLES.get(status, "red"))


def _number(value: float | None) -> str:
    return f"{value:,.2f}" if value is not None and measured(value) else "not measured"
