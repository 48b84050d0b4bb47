"""Small real stores with recorded runs, for the tests of comparisons, and the command on them."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bigcodeflow.cli.console import out
from bigcodeflow.results.comparison.comparison import compare
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.store import open_store
from tests.results.conftest import Tables, publish_run


def judged_by(version, sha="e"):
    """Settings of an execution's manifest, as far as they say where it was judged."""
    return {"content": {"environment": {"environment_sha": sha * 64, "harness_version": version}}}


class Runs:
    """Writes runs into a store, as the pipeline leaves them."""

    def __init__(self, root):
        self.root = root
        self._count = 0

    def add(
        self, name, statuses, *, split="complete", sanitizer="parity", facts=(), judged=(), raw=None, config=(), **more
    ):
        """Record a run and return its record's name.

        Args:
            statuses: a status or a list of them for each task id; ``raw``: the same of the raw variant.
            facts: what differs of the tasks, by id.
            judged: what differs of the verdicts, in order.
        """
        tables = Tables(Path("unused"))
        for task_id, given in statuses.items():
            tables.task(task_id)
            tables.rows["tasks"][-1] |= dict(facts).get(task_id, {})
            for index, status in enumerate([given] if isinstance(given, str) else given):
                tables.sample(task_id, status, index=index, sanitizer=sanitizer)
                if raw is not None:
                    tables.verdict(task_id, raw[task_id], index=index, variant="raw", sanitizer=sanitizer)
        for row, changes in zip(tables.rows["verdicts"], judged, strict=False):
            row.update(changes)
        self._count += 1
        record = f"{self._count:02d}-{name}"
        own = {"dataset": {"split": split, "subset": "full"}, "sanitizing": {"mode": sanitizer}} | dict(config)
        content = {"settings": judged_by(2), "run": name, "config": own} | more
        started = f"2026-01-01T00:00:{self._count:02d}+00:00"
        without = ("ground_truth",)
        publish_run(open_store(self.root), tables, record, started_at=started, without=without, **content)
        return record

    def compare(self, *names, variant="calibrated", sanitizer="", **how):
        return compare(open_runs(self.root, names, variant=variant, sanitizer=sanitizer), **how)


@pytest.fixture
def runs(tmp_path):
    """A store that runs can be added to."""
    return Runs(tmp_path / "store")


@pytest.fixture
def outcomes():
    """Statuses of tasks Demo/0, Demo/1, … from a line such as '+-!t' (pass, fail, infra_error, timeout)."""
    words = {"+": "pass", "-": "fail", "!": "infra_error", "t": "timeout"}
    return lambda text: {f"Demo/{number}": words[sign] for number, sign in enumerate(text)}


@pytest.fixture
def command(runs, monkeypatch):
    """Calls a command on the store in a terminal of so many columns; what it prints comes back."""

    def call(function, width, *arguments, store=runs.root):
        monkeypatch.setattr(out, "width", width)
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(function)
        done = CliRunner().invoke(app, [*arguments, "--store", str(store)])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return call
