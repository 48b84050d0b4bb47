"""A store with recorded runs, and an explorer that answers over loopback."""

import re
import threading
from contextlib import contextmanager

import httpx2
import pytest

from bigcodeflow.core.listening import listening
from bigcodeflow.explorer.app import make_app
from bigcodeflow.explorer.catalog import Catalog
from bigcodeflow.explorer.server import ExplorerServer
from bigcodeflow.results.catalog.building import rebuild_catalog
from tests.report import conftest as shared
from tests.report.conftest import RecordedStore, failing_test

read, recorded = shared.read, shared.recorded  # fixtures


class Explored:
    """A store, its explorer's address, and a client of it."""

    def __init__(self, recorded, catalog, url, client):
        self.recorded, self.catalog, self.url, self.client = recorded, catalog, url, client

    def get(self, path, code=200, **query):
        """The page's HTML."""
        found = self.client.get(path, params=query)
        assert found.status_code == code, found.text[:2000]
        return found.text

    def rebuild(self):
        """What the end of a run does."""
        rebuild_catalog(self.recorded.root)


@contextmanager
def exploring(recorded, *, host="127.0.0.1", build=True):
    """An explorer of a store, in a thread, until the block ends."""
    catalog = Catalog(recorded.root)
    ready = threading.Event()
    with listening("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = ExplorerServer(make_app(catalog, host=host), ready.set)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        assert ready.wait(120)
        with httpx2.Client(base_url=url, timeout=120, trust_env=False) as client:
            explored = Explored(recorded, catalog, url, client)
            if build:
                explored.rebuild()
            yield explored
        server.should_exit = True
        thread.join()


def record_night(
    recorded, model, failing, *, n_tasks=20, run=None, execution=(), test="", n_samples=1, variants=("calibrated",),
    asked=(), **more,
):  # fmt: skip
    """Record a run of a model that fails the tasks of these numbers, each in its own way."""
    tables = recorded.tables()
    for number in range(n_tasks):
        texts = {"test": test} if test and not number else {}
        tables.task(f"Demo/{number}", texts=texts, domains=["Math"], libs=["numpy" if number % 2 else "pandas"])
        trace = f"Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'column {number}'\n"
        for index in range(n_samples):
            failed = number in failing and index < failing[number] if isinstance(failing, dict) else number in failing
            tables.sample(
                f"Demo/{number}",
                "fail" if failed else "pass",
                index=index,
                variants=variants,
                solution=f"def task_func(x):\n    # {model} {number}\n    return x\n",
                tests=[failing_test(f"test_{number}", trace)] if failed else [],
                kind="exception" if failed else "",
            )
    split = more.pop("split", "complete")
    config = {"dataset": {"split": split, "subset": "full"}, "execution": {"environment": "starter"} | dict(execution)}
    config |= dict(asked)
    return recorded.record(tables, model=model, run=run or model, split=split, config=config, **more)


def rows(page):
    """Names of the runs that the list shows, in its order."""
    return re.findall(r'<th scope="row"><a href="/runs/[^"]+">([^<]+)</a>', page)


def records(page):
    return re.findall(r'name="run" value="([^"]+)"', page)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Three models on three nights; in the last one 'falling' loses fourteen of twenty tasks, and 'steady' none."""
    recorded = RecordedStore(tmp_path_factory.mktemp("store [1] o'clock*"))
    for night in range(3):
        record_night(recorded, "steady", {1, 2})
        record_night(recorded, "rising", {1, 2, 3} if night == 0 else {1})
        record_night(recorded, "falling", set(range(3, 17)) if night == 2 else {0})
    record_night(recorded, "steady", {5}, split="instruct", execution={"environment": "bigcodebench"})
    with exploring(recorded) as explored:
        yield explored


@pytest.fixture
def explore(recorded):
    """Opens an explorer of the empty store of this test."""
    with exploring(recorded, build=False) as explored:
        yield explored
