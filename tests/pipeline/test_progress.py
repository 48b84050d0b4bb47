"""What a command shows of its stages on standard error."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from bigcodeflow.pipeline import progress
from bigcodeflow.pipeline.progress import ProgressListener
from bigcodeflow.store import ArtifactRef


def test_stages_of_several_runs_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars and lines have the title of their run; a stage that ends hides its own bar alone."""
    monkeypatch.setattr(progress, "_LINE_EVERY_SECONDS", 0.0)
    written = io.StringIO()
    bars = Progress(console=Console(file=written, width=200))
    first, second = (ProgressListener(bars).of_run(title) for title in ("a [b]", "c"))
    for listener in (first, second):
        listener.begin("execution")(3, 9)
    first.end("execution", ArtifactRef(stage="execution", key="k", rows=9, sha256=""), reused=True)
    assert [task.visible for task in bars.tasks] == [False, True]
    lines = ["a [b]: execution: 3 of 9", "c: execution: 3 of 9", "✓ a [b]: execution: 9 rows (from cache)"]
    assert written.getvalue().splitlines() == lines
