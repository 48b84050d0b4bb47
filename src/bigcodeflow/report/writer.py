"""Write recorded runs to a single HTML file that needs no network."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bigcodeflow
from bigcodeflow.core.display_text import visible
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.core.plugins import shown_benchmark
from bigcodeflow.report import comparisons, overview
from bigcodeflow.report.overview import Section
from bigcodeflow.report.runs import ReportedRun, opened
from bigcodeflow.report.samples import TEXT_LIMITS, PackedSamples, TextLimit, pack_samples
from bigcodeflow.results.comparison.comparison import Comparison
from bigcodeflow.results.formatting import board_title
from bigcodeflow.results.models import rows_of
from bigcodeflow.results.runs import RecordedRun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from jinja2 import Environment

#: Size that mail and chat programs accept, and that a phone opens without delay.
MAX_BYTES = 15_000_000
#: Files that form a single script, each after the files that it uses.
SCRIPTS = ("dom.js", "data.js", "code.js", "charts.js", "theme.js", "detail.js", "samples.js", "main.js")
_ASSETS = Path(__file__).with_name("assets")
_VEGA_SNIPPET = "window.vegaEmbed = vegaEmbed;"


class WrittenReport(NamedTuple):
    """File of a report, and how much its texts were cut."""

    path: Path
    size_bytes: int
    text_limit: TextLimit
    """Maximum number of characters of samples' texts."""
    texts_were_cut: bool
    """True if ``max_bytes`` required a smaller text limit than the default."""


def write_report(
    runs: Sequence[ReportedRun],
    out: Path,
    *,
    comparison: Comparison | None = None,
    sections: Sequence[Section] = (),
    max_bytes: int = MAX_BYTES,
) -> WrittenReport:
    """Write a self-contained HTML file about the runs, atomically.

    The file contains all scripts, styles, charts and samples. Texts of samples are cut so that the file has at most
    ``max_bytes``, if possible. If ``comparison`` is None, the runs of each board are compared. ``sections`` are added
    at the end of the overview.
    """
    if not runs:
        raise ArtifactError("a report needs a run: name one, see `bigcodeflow report --help`")
    with opened(runs) as connection:
        tasks = connection.sql("FROM judged_tasks ORDER BY task_index").to_arrow_table().to_pydict()
        summary = {
            "title": runs[0].label if len(runs) == 1 else f"{len(runs)} runs",
            "runs": [_run(run) for run in runs],
            "tasks": {name: tasks[name] for name in ("task_id", "libs", "domains", "hard")},
        }
        shown = {
            "tiles": overview.tiles(runs[0]) if len(runs) == 1 else [],
            "sections": [*_sections(runs, connection, comparison), *sections],
            "subtitle": _subtitle(runs),
        }
        library = charting_library()
        empty = len(render_page(summary, PackedSamples("", [], TEXT_LIMITS[0]), library, shown))
        # The HTML element of each pack costs some additional bytes.
        packed = pack_samples(connection, runs, max_bytes=max_bytes - empty - 64 * len(tasks["task_id"]))
    content = render_page(summary, packed, library, shown)
    try:
        write_atomically(out, content)
    except OSError as error:
        raise ArtifactError(f"{out}: cannot be written ({error.strerror}): name another file with --out") from error
    return WrittenReport(out, len(content), packed.limit, packed.limit != TEXT_LIMITS[0])


def _run(run: ReportedRun) -> dict[str, Any]:
    own = {name: getattr(run.recorded, name) for name in ("record", "run", "model", "split", "subset")}
    started = run.recorded.started_at.isoformat(timespec="minutes")
    return {"label": run.label, **own, "quarantined": sorted(run.recorded.quarantined), "started_at": started}


def _subtitle(runs: Sequence[ReportedRun]) -> str:
    days = sorted(f"{run.recorded.started_at:%Y-%m-%d}" for run in runs)
    if len(runs) == 1:
        return f"record {runs[0].recorded.record} · {days[0]}"
    places = dict.fromkeys(_place(run.recorded) for run in runs)
    return f"{' and '.join(places)} · {days[0] if days[0] == days[-1] else f'{days[0]} to {days[-1]}'}"


def _place(run: RecordedRun) -> str:
    return board_title(run.subset, run.split, benchmark=shown_benchmark(run.dataset))


def _made(limit: TextLimit) -> str:
    """Return sentences for the page: when the report was written, and how its texts were cut."""
    failed, passed = (f"at {most:,} characters" if most else "away whole" for most in limit)
    cut = failed if failed == passed else f"{failed}, of those that pass {passed}"
    moment = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return (
        f"Written {moment} by bigcodeflow {bigcodeflow.__version__}. Texts of samples are cut {cut}; marks say where."
    )


def _sections(
    runs: Sequence[ReportedRun], connection: "DuckDBPyConnection", comparison: Comparison | None
) -> list[Section]:
    """Return the overview's sections, separately for each board, since only scores of the same board can be ranked."""
    boards: dict[str, list[int]] = {}
    has_others = len({run.recorded.benchmark for run in runs}) > 1
    for index, run in enumerate(runs):
        prefix = "starter · " if has_others and run.recorded.benchmark == "starter" else ""
        boards.setdefault(prefix + run.recorded.board, []).append(index)
    if len(boards) == 1:
        return [*_of_board(runs, range(len(runs)), connection, comparison), overview.records(runs)]
    of_boards = (
        section.of_board(board)
        for board, indexes in boards.items()
        for section in _of_board(runs, indexes, connection, comparison)
    )
    return [*comparisons.comparison_sections(comparison), *of_boards, overview.records(runs)]


def _of_board(
    every: Sequence[ReportedRun], indexes: Sequence[int], connection: "DuckDBPyConnection", given: Comparison | None
) -> list[Section]:
    """Return the sections about a board; its runs are those at ``indexes`` in ``every``.

    If ``given`` is None, the runs are compared; a given comparison is shown only if the report has a single board.
    """
    runs = [every[index] for index in indexes]
    leads = comparisons.lead_runs(runs)
    made = comparisons.compared(runs, leads) if given is None else given if len(runs) == len(every) else None
    used = rows_of(connection, "usage")
    found = [
        overview.scores(runs),
        comparisons.variants(runs),
        *comparisons.comparison_sections(made),
        overview.pass_at_k(runs),
        overview.reliability(runs),
        *overview.by_traits(runs),
        comparisons.traits(runs, leads),
        overview.failure_kinds(runs),
        comparisons.rates(leads),
        overview.solve_rates(rows_of(connection, "report/solve_rates", {"runs": list(indexes)})),
        overview.usage(runs, [used[index] for index in indexes]),
    ]
    return [section.without("run") if len(every) == 1 else section for section in found if section is not None]


def template_environment(*folders: Path, place: Callable[[str], str]) -> "Environment":
    """Return the Jinja environment for the templates in ``folders`` and the templates of report and explorer.

    ``place`` converts a link in a section's table to an address, or to '' if the page lacks the link's target.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([*folders, _ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # These texts come from models, files and runs of others: remove control characters and marks that reverse the
        # reading direction.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.globals["place"] = place
    return environment


def render_page(
    summary: Mapping[str, Any], packed: PackedSamples, library: str, shown: Mapping[str, Any] | None = None
) -> bytes:
    """Render the whole file as UTF-8; ``shown`` has the tiles, the sections and the subtitle of the overview.

    The page contains untrusted text only as escaped text, as JSON with escaped markup characters, or in base64. The
    content security policy forbids requests, and all scripts except two, which it names by hash; the page's scripts
    set text, not markup.
    """
    from jinja2.utils import htmlsafe_json_dumps

    # Nothing but a place in this page may become an address.
    environment = template_environment(place=lambda href: href if href.startswith("#") else "")
    style = asset("report.css")
    script = _isolated("\n".join(asset(name) for name in SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types default"
    )
    page = environment.get_template("page.html").render(
        policy=policy,
        title=f"{summary['title']} · bigcodeflow report",
        heading=summary["title"],
        made=_made(packed.limit),
        **{"tiles": [], "sections": [], "subtitle": "", **(shown or {})},
        style=style,
        # Markup characters are escaped, so that no value can close the element that contains it.
        summary=htmlsafe_json_dumps(summary, separators=(",", ":"), allow_nan=False),
        packs={"index": packed.listed} | {f"task-{number}": pack for number, pack in enumerate(packed.tasks)},
        library=library,
        script=script,
    )
    return page.encode()


def asset(name: str) -> str:
    """Read a file of ``report/assets`` as text."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def charting_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed (BSD 3-Clause) as a single script, safe inside a script element.

    Bundling takes 2 s of CPU, so the script is stored in the user's cache for the next report.
    """
    of = hashlib.sha256(f"{metadata.version('vl-convert-python')} {_VEGA_SNIPPET}".encode()).hexdigest()
    kept = cache_folder() / "charts" / f"vega-{of[:16]}.js"
    with suppress(OSError, UnicodeDecodeError):
        return _isolated(kept.read_text(encoding="utf-8"))
    import vl_convert  # takes 0.2 s

    bundle = vl_convert.javascript_bundle(_VEGA_SNIPPET)
    with suppress(OSError):  # a cache that cannot be written only costs time
        write_atomically(kept, bundle.encode())
    return _isolated(bundle)


def _isolated(source: str) -> str:
    """Wrap the source in a separate scope, and escape the texts that would end or change a script element.

    These texts occur only in strings and patterns, where an escape has the same meaning.
    """
    inside = re.sub(r"<(?=/script|!--)", r"\\x3c", source, flags=re.IGNORECASE)
    return f"(() => {{\n'use strict';\n{inside}\n}})();"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
