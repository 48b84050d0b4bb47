"""Show the progress of a run's stages on standard error: as bars on a terminal, else as a line every 15 seconds."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from bigcodeflow.core.progress import NO_STATUS, StageProgress, Status
from bigcodeflow.core.progress import Progress as StageReport
from bigcodeflow.store import ArtifactRef

_LINE_EVERY_SECONDS = 15.0


class ProgressListener:
    """Listener that shows each stage as a bar on a terminal, or as a line every 15 seconds if there is no terminal."""

    def __init__(self, bars: Progress, run: str = "") -> None:
        self._bars, self._run = bars, run
        self._began: dict[str, float] = {}

    def of_run(self, title: str) -> "ProgressListener":
        """Return a listener for a single run of several; it puts the run's ``title`` before the titles of stages."""
        return ProgressListener(self._bars, f"{title}: ")

    def begin(self, title: str) -> StageReport:
        """Add a bar for the stage ``title``; return the callback that updates the bar."""
        title = f"{self._run}{title}"
        self._began[title] = last_line = time.monotonic()
        bar, console = self._bars.add_task(title, total=None, note=""), self._bars.console
        state = StageProgress(title)

        def move(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            nonlocal last_line
            state.update(finished, total, note, status)
            self._bars.update(bar, completed=finished, total=total or None, note=state.remark)
            now = time.monotonic()
            if not console.is_terminal and now - last_line >= _LINE_EVERY_SECONDS:
                last_line = now
                console.print(state.line, markup=False, soft_wrap=True)

        return move

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Hide the stage's bar, and print a permanent line about the finished stage."""
        title = f"{self._run}{title}"
        for task in self._bars.tasks:
            if task.description == title:
                self._bars.update(task.id, visible=False)
        details = "from cache" if reused else f"{time.monotonic() - self._began[title]:.1f} s"
        statistics = ref.statistics
        if not reused and "executed" in statistics:
            details += f"; {statistics['executed']:,} executed, {statistics['reused_verdicts']:,} known before"
        self._bars.console.print(f"[green]✓[/green] {escape(title)}: {ref.rows:,} rows ({details})")


class _Bars(Progress):
    """Progress bars with each stage's note on a line below, because a column is too narrow for the note."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        for task in self.tasks:
            if task.visible and task.fields["note"]:
                yield Text(f"  {task.description}: {task.fields['note']}", style="dim")


#: The listener of the command that runs a flow in this process.
terminal_listener: ContextVar[ProgressListener | None] = ContextVar("terminal_listener", default=None)


@contextmanager
def progress_listener(*, quiet: bool = False) -> Iterator[ProgressListener]:
    """Yield a listener whose bars are shown during the block; if ``quiet``, it prints nothing."""
    columns = (TextColumn("  {task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False, quiet=quiet)
    with _Bars(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bars:
        listener = ProgressListener(bars)
        token = terminal_listener.set(listener)
        try:
            yield listener
        finally:
            terminal_listener.reset(token)
