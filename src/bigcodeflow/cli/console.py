"""How commands speak: results on standard output, progress and notices on standard error."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from bigcodeflow.core.display_text import elided
from bigcodeflow.pipeline import stages
from bigcodeflow.store import ArtifactRef

out = Console(soft_wrap=False)
notices = Console(stderr=True, highlight=False)

_LINE_EVERY_SECONDS = 15.0
_SHORTEST_NAME = 12


class Elided:
    """A name in one line; where its column is too narrow, the middle is left out."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From what still says something to the whole name."""
        whole = cell_len(self._text)
        return Measurement(min(whole, _SHORTEST_NAME), whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As much as the column has room for."""
        yield Text(elided(self._text, options.max_width), no_wrap=True)


class ProgressListener:
    """Shows a bar a stage on a terminal, and a line now and then where there is none."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._began: dict[str, float] = {}

    def begin(self, title: str) -> stages.Progress:
        """A new bar; what is returned moves it."""
        self._began[title] = time.monotonic()
        bar = self._bars.add_task(title, total=None, note="")
        last_line = time.monotonic()

        def move(finished: int, total: int, note: str = "") -> None:
            nonlocal last_line
            self._bars.update(bar, completed=finished, total=total, note=note)
            now = time.monotonic()
            if not notices.is_terminal and now - last_line >= _LINE_EVERY_SECONDS:
                last_line = now
                notices.print(f"{title}: {finished:,} of {total:,}" + (f" ({note})" if note else ""))

        return move

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """One line that stays."""
        for task in self._bars.tasks:
            if task.description == title and not task.finished:
                self._bars.update(task.id, visible=False)
        told = "from cache" if reused else f"{time.monotonic() - self._began[title]:.1f} s"
        statistics = ref.statistics
        if not reused and "executed" in statistics:
            told += f"; {statistics['executed']:,} executed, {statistics['reused_verdicts']:,} known before"
        notices.print(f"[green]✓[/green] {title}: {ref.rows:,} rows ({told})")


@contextmanager
def progress_listener() -> Iterator[ProgressListener]:
    """A listener whose bars live as long as the block."""
    columns = (
        TextColumn("  {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=notices, transient=True, disable=not notices.is_terminal) as bars:
        yield ProgressListener(bars)
