"""A store with recorded runs, made of small real tables, and a real browser."""

import re
from datetime import UTC, datetime, timedelta

import pytest
import vl_convert
from axe_playwright_python.sync_playwright import Axe

from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.store import open_store
from tests.results.conftest import Tables, blank, publish_run

STARTED = datetime(2026, 3, 1, 12, tzinfo=UTC)
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "__test__.py", line 12, in test_a\n'
    "    self.assertEqual(task_func(1), 2)\n"
    "AssertionError: 1 != 2\n"
)


class RunTables(Tables):
    """The tables of one run, with answers, and texts in its tasks."""

    def __init__(self, folder):
        super().__init__(folder)
        self.answers = []

    def task(self, task_id, *, texts=(), **more):
        super().task(task_id, **more)
        given = {
            "complete_prompt": f'def task_func(x):\n    """Solve {task_id}."""\n',
            "instruct_prompt": f"Solve {task_id}.",
            "canonical_solution": "    return x + 1\n",
            "test": "import unittest\nclass TestCases(unittest.TestCase): ...\n",
        }
        self.rows["tasks"][-1] |= given | dict(texts)

    def sample(self, task_id, status="pass", *, index=0, answer=None, usage=(), **more):
        if status == "fail":
            more = {"tests": [failing_test()], "kind": "assertion"} | more
        text = f"Here it is:\n{more.get('solution', '')}" if answer is None else answer
        super().sample(task_id, status, index=index, **more)
        row = {"task_id": task_id, "sample_index": index, "raw_text": text, "provider": "replay", "attempts": 1}
        self.answers.append(blank(SAMPLES) | row | dict(usage))


class RecordedStore:
    """Publishes tables as artifacts and records the runs, as the pipeline does."""

    def __init__(self, root):
        self.root = root
        self.store = open_store(root)
        self.n_runs = 0

    def tables(self):
        return RunTables(self.root / f"tables-{self.n_runs}")

    def record(
        self, tables, *, run="run", model="some-model", split="complete", sampling=None, k=(1,), scored=True, **more
    ):
        """Record a run over the tables and return its record's name.

        Args:
            sampling: how a model was asked; without it the run asked none.
            scored: whether metrics are computed, which takes longer than all else.
        """
        self.n_runs += 1
        started = STARTED + timedelta(hours=self.n_runs)
        record = f"{started:%Y%m%dT%H%M%S}-{run}"
        times = {"started_at": started.isoformat(), "finished_at": (started + timedelta(minutes=5)).isoformat()}
        config = {"dataset": {"split": split, "subset": "full"}}
        if sampling is not None:
            config |= {"samples": {"source": "model"}, "generation": {"sampling": sampling}}
        content = {"run": run, "model": model, "config": config} | times | more
        metrics = tables.metrics(k=k, split=split) if scored else None
        publish_run(self.store, tables, record, answers=tables.answers, metrics=metrics, **content)
        return record

    def record_one(self, status="pass", *, texts=(), sample=(), **record):
        """Record a run of one sample of one task."""
        tables = self.tables()
        tables.task("Demo/1", texts=texts)
        tables.sample("Demo/1", status, **dict(sample))
        return self.record(tables, **record)

    def report(self, *names, **more):
        """The report of the runs, written beside the store's folders."""
        return write_report(select_runs(self.root, names), self.root / "report.html", **more)


def drawn(section):
    """Texts of the chart's SVG; a specification that Vega-Lite does not take raises."""
    return " ".join(re.findall(r"<text[^>]*>([^<]*)<", vl_convert.vegalite_to_svg(dict(section.chart))))


def failing_test(name="test_a", trace=TRACE):
    return {"name": name, "outcome": "fail", "seconds": 0.1, "trace": trace}


@pytest.fixture
def recorded(tmp_path):
    """An empty store in a folder whose name a pattern-minded reader would misread."""
    root = tmp_path / "store [1] o'clock*"
    root.mkdir()
    return RecordedStore(root)


@pytest.fixture
def one_run(recorded):
    """A store with one run: a pass, a fail and an unjudged sample."""
    tables = recorded.tables()
    tables.task("Demo/2", domains=["Math"], libs=["math"])
    tables.task("Demo/10", domains=["Math", "Network"], libs=["socket"], ground_truth="fail", kind="missing_setup")
    tables.task("Demo/3", domains=["Network"], libs=["socket"])
    tables.sample("Demo/2", "pass", solution="def task_func(x):\n    return x + 1\n")
    tables.sample("Demo/10", "fail", solution="def task_func(x):\n    return x\n", stdout="printed\n")
    tables.sample("Demo/3", "infra_error", kind="infrastructure", exit="worker lost")
    recorded.record(tables, model="some-model", run="first")
    return recorded


class Reader:
    """One tab on a report or an explorer; remembers what a careful reader would complain about."""

    def __init__(self, page, address):
        self.page, self.address, self.complaints = page, address, []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._on_request)

    def _on_request(self, request):
        if not request.url.startswith((self.address, "data:,")):
            self.complaints.append(f"request: {request.url[:100]}")

    def open(self, place=""):
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{place}")
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def open_whole(self, place=""):
        """Open a page with all its folds open."""
        page = self.open(place)
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        return page

    def findings(self):
        """What keeps people from reading the page: findings of axe, and a page that is wider than the screen."""
        found = Axe().run(self.page).response["violations"]
        shown = [
            (rule["id"], node["html"][:200], node.get("failureSummary")) for rule in found for node in rule["nodes"]
        ]
        fits = self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        return shown if fits else [*shown, "it scrolls sideways"]


@pytest.fixture
def read(chromium):
    """Opens pages; a test whose page complained, asked for anything elsewhere or opened a dialog fails."""
    readers, contexts = [], []

    def opening(address, *, scheme="light", width=1280, height=900):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        readers.append(Reader(context.new_page(), address))
        return readers[-1]

    yield opening
    for context in contexts:
        context.close()
    assert [complaint for reader in readers for complaint in reader.complaints] == []
