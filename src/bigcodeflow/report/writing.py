"""From recorded runs to one HTML file."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bigcodeflow
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.report import judged, overview, tables
from bigcodeflow.report.packing import TEXT_LIMITS, TextLimit
from bigcodeflow.report.page import charting_library, render_page
from bigcodeflow.report.samples import PackedSamples, pack_samples
from bigcodeflow.report.sections import Section
from bigcodeflow.report.selection import ReportedRun
from bigcodeflow.results.comparison import Comparison
from bigcodeflow.store import write_atomically

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What mail and chat let through, and a phone opens without a pause.
MAX_BYTES = 15_000_000


class WrittenReport(NamedTuple):
    """A report's file, and what had to be left out of it."""

    path: Path
    size_bytes: int
    text_limit: TextLimit
    """Texts of samples are cut to so many characters."""
    texts_were_cut: bool
    """The size asked for more cutting than a report without a bound has."""


def write_report(
    runs: Sequence[ReportedRun],
    out: Path,
    *,
    comparison: Comparison | None = None,
    sections: Sequence[Section] = (),
    max_bytes: int = MAX_BYTES,
) -> WrittenReport:
    """Write one self-contained HTML file about the runs, whole or not at all.

    It loads nothing from anywhere: scripts, styles, charts and every sample are inside.

    Args:
        runs: at least one, as :func:`bigcodeflow.report.select_runs` finds them.
        out: the file.
        comparison: of these runs, where one was made already; else two or more runs of a board are compared here.
        sections: more for the overview; :func:`bigcodeflow.report.sections.table_section` makes one of a ready table.
        max_bytes: texts of samples are cut until the file is no larger.

    Raises:
        ArtifactError: no run, an artifact that is gone, or a file that cannot be written.
    """
    if not runs:
        raise ArtifactError("a report needs a run: name one, see `bigcodeflow report --help`")
    with tables.opened(runs) as connection:
        overview_sections = [*_sections(runs, connection, comparison), *sections]
        tasks = tables.rows_of(connection, "tasks_of_index")
        summary = _summary(runs, overview_sections, tasks)
        library = charting_library()
        empty = len(render_page(summary, PackedSamples("", [], TEXT_LIMITS[0]), library))
        # A pack's element costs some bytes of its own.
        packed = pack_samples(connection, max_bytes=max_bytes - empty - 64 * len(tasks))
    content = render_page({**summary, "limit": packed.limit._asdict()}, packed, library)
    try:
        write_atomically(out, content)
    except OSError as error:
        raise ArtifactError(f"{out}: cannot be written ({error.strerror}): name another file with --out") from error
    return WrittenReport(out, len(content), packed.limit, packed.limit != TEXT_LIMITS[0])


def _sections(
    runs: Sequence[ReportedRun], connection: "DuckDBPyConnection", comparison: Comparison | None
) -> list[Section]:
    """Board by board, as scores of different prompts or tasks have no common order."""
    boards: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        boards.setdefault(run.recorded.board, []).append(index)
    if len(boards) == 1:
        return [*_of_board(runs, range(len(runs)), connection, comparison), overview.records(runs)]
    return [
        *judged.sections_of(comparison),
        *(
            section.of_board(board)
            for board, indexes in boards.items()
            for section in _of_board(runs, indexes, connection, comparison)
        ),
        overview.records(runs),
    ]


def _of_board(
    every: Sequence[ReportedRun],
    indexes: Sequence[int],
    connection: "DuckDBPyConnection",
    comparison: Comparison | None,
) -> list[Section]:
    """The sections about the runs of one board; where a comparison was given, no other one is made."""
    lead = "A task counts in each of its"
    runs = [every[index] for index in indexes]
    sides = judged.lead_sides(runs)
    whole = len(runs) == len(every)
    made = (comparison if whole else None) if comparison else judged.compared(runs, sides)
    used = tables.rows_of(connection, "usage")
    found = [
        overview.scores(runs),
        judged.variants(runs),
        *judged.sections_of(made),
        overview.pass_at_k(runs),
        overview.reliability(runs),
        overview.by_slice(runs, "domain", "Domains", f"{lead} domains."),
        overview.by_slice(runs, "library", "Libraries", f"{lead} libraries.", overview.MOST_LIBRARIES),
        judged.traits(runs, sides),
        overview.failure_kinds(runs),
        judged.rates(sides, made if isinstance(made, Comparison) else None),
        overview.solve_rates(tables.rows_of(connection, "solve_rates", {"runs": list(indexes)})),
        overview.usage(runs, [used[index] for index in indexes]),
    ]
    return [section for section in found if section is not None]


def _summary(
    runs: Sequence[ReportedRun], sections: Sequence[Section], tasks: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "title": runs[0].label if len(runs) == 1 else f"{len(runs)} runs",
        "version": bigcodeflow.__version__,
        "written_at": datetime.now(UTC).isoformat(timespec="minutes"),
        "tiles": overview.tiles(runs[0]) if len(runs) == 1 else [],
        "runs": [_run(run) for run in runs],
        "sections": [section.as_json() for section in sections],
        "tasks": {name: [task[name] for task in tasks] for name in ("task_id", "libs", "domains", "hard")},
        "limit": TEXT_LIMITS[0]._asdict(),
    }


def _run(run: ReportedRun) -> dict[str, Any]:
    recorded = run.recorded
    return {
        "label": run.label,
        "record": recorded.record,
        "run": recorded.run,
        "model": recorded.model,
        "split": recorded.split,
        "subset": recorded.subset,
        "quarantined": sorted(recorded.quarantined),
        "started_at": recorded.started_at.isoformat(timespec="minutes"),
    }
