"""Search for samples of all recorded runs, in the catalog's table of verdicts."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.explorer.pages import ROWS, Portion, Visit
from bigcodeflow.results.models import Row, rows_from, sql_of


class SampleQuery(NamedTuple):
    """Filters of samples; an empty filter matches all."""

    artifacts: Sequence[tuple[str, int]]
    """Keys of the executions to search, in the order of the result, each with a bit mask of the words that match its
    run: bit i is for word i."""
    tasks: Mapping[str, int]
    """Ids of the tasks to search, in the order of the result, each with a bit mask of the words that match it."""
    words: Sequence[str] = ()
    """Words in lower case, which must all occur."""
    also: Collection[tuple[Any, ...]] = ()
    """Samples that match whatever the words are: task, sample_index, variant and sanitizer of each."""
    status: str = ""
    """Status of the samples; '!pass' matches all that did not pass."""
    kind: str = ""
    variant: str = ""

    def fits(self, status: str, kind: str) -> bool:
        """Tell if samples with this status and failure kind match."""
        of_status = status != "pass" if self.status == "!pass" else self.status in ("", status)
        return of_status and self.kind in ("", kind)


class Found(NamedTuple):
    """Samples that match a query."""

    rows: Sequence[Row]
    """Samples of the page in the address; ``number`` is the index of the execution in the query."""
    portion: Portion
    statuses: Mapping[str, int]
    """Number of samples by status, without the filter on status."""
    kinds: Mapping[str, int]
    """Number of samples by failure kind, without the filters on kind and status."""


def search(visit: Visit, query: SampleQuery) -> Found:
    """Return the samples that match a query, in the order of its executions and tasks; nothing without a catalog."""
    if visit.version.database is None:
        return Found((), Portion.of(visit, 0), {}, {})
    found, parameters = sql_of("explorer/found_samples"), _parameters(query)
    with visit.version.opened() as connection:
        counts = connection.execute(
            f"SELECT status, failure_kind, count(*) FROM ({found}) GROUP BY ALL",  # noqa: S608 - our own SQL
            parameters,
        ).fetchall()
        fitting = [(status, kind, count) for status, kind, count in counts if query.fits(status, kind)]
        portion = Portion.of(visit, sum(count for _, _, count in fitting))
        chosen = {"chosen": [[status, kind] for status, kind, _ in fitting], "limit": ROWS, "offset": portion.first}
        shown = connection.execute(
            f"FROM ({found}) WHERE [status, failure_kind] IN $chosen::VARCHAR[][] "
            "ORDER BY number, position, sample_index, variant, sanitizer LIMIT $limit OFFSET $offset",
            parameters | chosen,
        )
        rows = list(rows_from(shown))
    statuses: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for status, kind, count in counts:
        if query.kind in ("", kind):
            statuses[status] = statuses.get(status, 0) + count
        if kind:
            kinds[kind] = kinds.get(kind, 0) + count
    return Found(rows, portion, _largest_first(statuses), _largest_first(kinds))


def _parameters(query: SampleQuery) -> dict[str, Any]:
    """Return the parameters of ``sql/explorer/found_samples.sql``."""
    artifacts = [
        {"artifact": artifact, "number": number, "hits": hits}
        for number, (artifact, hits) in enumerate(query.artifacts)
    ]
    tasks = [
        {"task_id": task_id, "position": position, "hits": hits}
        for position, (task_id, hits) in enumerate(query.tasks.items())
    ]
    lists = {"artifacts": artifacts, "tasks": tasks, "also": [list(map(str, one)) for one in query.also]}
    return {name: json.dumps(rows) for name, rows in lists.items()} | {
        "words": list(query.words),
        "variant": query.variant,
    }


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
