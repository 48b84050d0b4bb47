"""Search for samples of all recorded runs, in the catalog's table of verdicts."""

import json
from collections import Counter
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
    """Samples that match even without the words: task, sample_index, variant and sanitizer of each."""
    status: str = ""
    """Status of the samples; '!pass' matches all that did not pass."""
    kind: str = ""
    variant: str = ""
    """Variant of the samples; empty leaves out raw verdicts that equal the calibrated verdict, 'all' matches all."""

    def fits(self, status: str, kind: str) -> bool:
        """Tell if samples with this status and failure kind match."""
        of_status = status != "pass" if self.status == "!pass" else self.status in ("", status)
        return of_status and self.kind in ("", kind)


class Found(NamedTuple):
    """Samples that match a query."""

    rows: Sequence[Row]
    """Samples on the requested page; a row's ``number`` is the index of its execution in the query."""
    portion: Portion
    statuses: Mapping[str, int]
    """Number of samples by status, without the filter on status."""
    kinds: Mapping[str, int]
    """Number of samples by failure kind, without the filters on kind and status."""


def search(visit: Visit, query: SampleQuery) -> Found:
    """Return the samples that match a query, in the order of its executions and tasks; none if there is no catalog."""
    if visit.version.database is None:
        return Found((), Portion.of(visit, 0), {}, {})
    matching, parameters = _matching(query)
    with visit.version.opened() as connection:
        counts = connection.execute(
            f"SELECT number, status, failure_kind, count(*) {matching} GROUP BY ALL ORDER BY number", parameters
        ).fetchall()
        fitting = [(number, status, kind, n) for number, status, kind, n in counts if query.fits(status, kind)]
        of_number: Counter[int] = Counter()
        for number, _, _, n in fitting:
            of_number[number] += n
        portion = Portion.of(visit, of_number.total())
        # Only the counts need the whole table; the rows come from the few executions on the page.
        numbers, skipped = _on_page(portion, of_number)
        kinds_shown = sorted({(status, kind) for _, status, kind, _ in fitting})
        rows = connection.execute(
            f"SELECT * EXCLUDE (words, hits) {matching} AND number IN $numbers::INTEGER[] "
            "AND [status, failure_kind] IN $shown::VARCHAR[][] "
            "ORDER BY number, position, sample_index, variant, sanitizer LIMIT $limit OFFSET $offset",
            parameters | {"numbers": numbers, "shown": kinds_shown, "limit": ROWS, "offset": skipped},
        )
        shown = list(rows_from(rows))
    statuses: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for _, status, kind, n in counts:
        kinds[kind] += n
        if query.kind in ("", kind):
            statuses[status] += n
    kinds.pop("", None)
    return Found(shown, portion, _largest_first(statuses), _largest_first(kinds))


def _on_page(portion: Portion, counts: Mapping[int, int]) -> tuple[list[int], int]:
    """Return the indexes of the executions to read for a page, and the number of rows to skip before its first row.

    ``counts`` maps the index of each execution to its number of samples, in the order of the pages.
    """
    numbers: list[int] = []
    before = skipped = 0
    for number, n in counts.items():
        if before < portion.first + ROWS and before + n > portion.first:
            if not numbers:
                skipped = portion.first - before
            numbers.append(number)
        before += n
    return numbers, skipped


def _matching(query: SampleQuery) -> tuple[str, dict[str, Any]]:
    """Return SQL (FROM and WHERE) and its parameters, for samples that match all filters except status and kind."""
    conditions = [f"(contains(words, $word_{n}) OR hits & {1 << n} > 0)" for n in range(len(query.words))]
    fits = " AND ".join(conditions) or "true"
    parameters: dict[str, Any] = {f"word_{n}": word for n, word in enumerate(query.words)}
    if query.also:
        identity = "[task_id, sample_index::VARCHAR, variant, coalesce(sanitizer, 'unknown')]"
        fits += f" OR {identity} IN (SELECT unnest(from_json($also, '[[\"VARCHAR\"]]')))"
        parameters["also"] = json.dumps([list(map(str, one)) for one in query.also])
    artifacts = [
        {"artifact": artifact, "number": number, "hits": hits}
        for number, (artifact, hits) in enumerate(query.artifacts)
    ]
    tasks = [
        {"task_id": task_id, "position": position, "hits": hits}
        for position, (task_id, hits) in enumerate(query.tasks.items())
    ]
    parameters |= {"artifacts": json.dumps(artifacts), "tasks": json.dumps(tasks), "variant": query.variant}
    return f"FROM ({sql_of('explorer/found_samples')}) WHERE ({fits})", parameters


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
