"""Measure the time from an empty folder to the score of a new model on BigCodeBench-Hard in the UI, per README.md.

    python benchmarks/first_score.py --data ../shared --out FOLDER [--fresh-environment]

The model is a server on loopback that gives the recorded answers of Qwen2.5-Coder-7B-Instruct, and the hub is a second
server that has the benchmark's tasks; its address is the second field that is typed, after the model's name. Packages
come from wherever uv gets them, including its cache; the sandbox environment is taken from the user's cache, or built
anew. Needs Chromium. Screenshots and step.log are left in FOLDER; a Markdown table goes to standard output.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from generation import served
from measuring import table
from parity import SAMPLE_FILES

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.doubles.hub import HubDouble  # noqa: E402

_FILE = "data/v0.1.4-00000-of-00001.parquet"
_RUN_SECONDS = 5400
_POLL_SECONDS = 1.0


class Walk:
    """Steps of the walk, in a clone of this repository."""

    def __init__(self, out: Path, variables: dict[str, str]) -> None:
        self.out, self.clone, self._variables = out, out / "bigcodeflow", os.environ | variables
        self.rows: list[tuple[str, str, str]] = []
        self.n_fields = 0

    @contextmanager
    def step(self, name: str, doing: str) -> Iterator[None]:
        """Time the body of the with statement and add a row for it."""
        began = time.monotonic()
        yield
        self.rows.append((name, doing, f"{time.monotonic() - began:.1f}"))
        print(f"{time.strftime('%H:%M:%S')} {doing}: {self.rows[-1][2]} s", file=sys.stderr, flush=True)

    def call(self, command: str, folder: Path | None = None) -> str:
        """Run a command in a shell with the active virtual environment; return what it prints."""
        path = f"{self.clone / '.venv' / 'bin'}{os.pathsep}{self._variables['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder or self.clone,
            env=self._variables | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        with (self.out / "step.log").open("a") as log:
            log.write(f"$ {command}\n{done.stdout}{done.stderr}\n")
        if done.returncode:
            sys.exit(f"{command} ended with {done.returncode}: {done.stderr[-1000:]}")
        return done.stdout

    def type(self, page: Any, description: str, value: str) -> None:
        """Type into the field that has this description."""
        place = f'//*[starts-with(normalize-space(text()), "{description}")]/following::textarea'
        page.locator(f"xpath=({place})[1]").fill(value)
        self.n_fields += 1


def main() -> None:
    """Perform the steps."""
    arguments = _arguments()
    arguments.out.mkdir(parents=True)
    with ExitStack() as stack:
        hub = stack.enter_context(HubDouble())
        tasks = _committed(hub, arguments)
        port = stack.enter_context(served(recorded_answers(tasks, arguments.data), arguments.latency))
        variables = {"HF_ENDPOINT": hub.url, "HF_HOME": str(arguments.out / "hub"), "OPENAI_API_KEY": "none"}
        if arguments.fresh_environment:
            variables["XDG_CACHE_HOME"] = str(arguments.out / "cache")
        walk = Walk(arguments.out.resolve(), variables)
        with walk.step("1", "git clone"):
            walk.call(f"git clone -q {ROOT} {walk.clone}", walk.out)
        with walk.step("2", "make setup"):
            walk.call("make setup")
        with walk.step("3", "env build bigcodebench" + ("" if arguments.fresh_environment else ", built before")):
            walk.call("bigcodeflow env build bigcodebench")
        with walk.step("4, 5", "key in the environment; up"):
            shown = walk.call("bigcodeflow up")
        stack.callback(walk.call, "bigcodeflow down")
        ui, explorer = (re.search(rf"{name}: (\S+)", shown)[1] for name in ("Prefect UI", "Explorer"))  # type: ignore[index]
        page = stack.enter_context(_page())
        _in_the_browser(walk, page, ui, explorer, f"http://127.0.0.1:{port}/v1")
    print(f"{len(tasks)} tasks, {walk.n_fields} fields typed\n")
    print(table(["step of README", "what", "wall, s"], walk.rows))


def _in_the_browser(walk: Walk, page: Any, ui: str, explorer: str, server: str) -> None:
    with walk.step("6", "the form: opened, filled, submitted"):
        page.goto(ui)
        page.get_by_role("link", name="Deployments").first.click()
        page.get_by_role("link", name="ask-a-model").first.click()
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_text("Custom run").click()
        page.get_by_role("button", name="Submit").wait_for()
        walk.type(page, "PROVIDER:NAME", "openai:qwen2.5-coder-7b-instruct")
        walk.type(page, "Address of a server", server)
        page.screenshot(path=walk.out / "form.png")
        page.get_by_role("button", name="Submit").click()
        run = _wait_for(lambda: _runs(ui), 60)[0]
    with walk.step("", "asking, executing, scores in the run's artifacts"):
        page.goto("about:blank")  # with the run's page open, drawn by Chromium without a GPU, a run took twice as long
        ended = _wait_for(lambda: [one for one in _runs(ui) if one["state_type"] not in _UNDER_WAY], _RUN_SECONDS)[0]
    if ended["state_type"] != "COMPLETED":
        sys.exit(f"the run ended as {ended['state_type']}: {ended['state']['message']}")
    page.goto(f"{ui}/v2/runs/flow-run/{run['id']}")
    page.get_by_text("Completed").first.wait_for()
    page.screenshot(path=walk.out / "run.png")
    with walk.step("", "the run in the explorer"):
        page.goto(explorer)
        page.get_by_role("link", name=re.compile("qwen")).first.click()
        page.get_by_text("pass@1").first.wait_for()
        page.screenshot(path=walk.out / "explorer.png")


_UNDER_WAY = ("SCHEDULED", "PENDING", "RUNNING")


def _runs(ui: str) -> list[dict[str, Any]]:
    found = httpx.post(f"{ui}/api/flow_runs/filter", json={"sort": "START_TIME_DESC"}, trust_env=False, timeout=60)
    runs: list[dict[str, Any]] = found.raise_for_status().json()
    return runs


def _wait_for(look: Callable[[], list[dict[str, Any]]], most_seconds: float) -> list[dict[str, Any]]:
    end = time.monotonic() + most_seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(_POLL_SECONDS)
    sys.exit(f"nothing came of it in {most_seconds:g} s")


def _committed(hub: HubDouble, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the tasks of the hard subset; commit both subsets to the hub, as in the real one."""
    source = arguments.data.resolve() / "data" / "bigcodebench-v0.1.4.parquet"
    hard = DatasetConfig(source=str(source), subset="hard")
    ids = [row["task_id"] for row in datasets.load_tasks(hard, datasets.resolve(hard)).to_pylist()]
    every = pq.read_table(source)
    chosen = every.filter(pc.is_in(every["task_id"], pa.array(ids)))
    for repository, tasks in (("bigcode/bigcodebench", every), ("bigcode/bigcodebench-hard", chosen)):
        file = BytesIO()
        pq.write_table(tasks, file)
        hub.commit(repository, {_FILE: file.getvalue()})
    rows: list[dict[str, Any]] = chosen.to_pylist()
    return rows


def recorded_answers(tasks: Sequence[Mapping[str, Any]], data: Path) -> dict[str, str]:
    """Return Qwen's answers to these tasks, by a part of the prompt that no other task has."""
    with gzip.open(data / "data" / f"{SAMPLE_FILES['qwen']}.jsonl.gz", "rt") as file:
        answers = {row["task_id"]: row["raw_solution"] for row in map(json.loads, file)}
    return {task["complete_prompt"].strip(): f"```python\n{answers[task['task_id']]}\n```" for task in tasks}


@contextmanager
def _page() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1280, "height": 1000})
        browser.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="a new folder for the clone, screenshots and step.log")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds that the model takes for an answer")
    parser.add_argument("--fresh-environment", action="store_true", help="build the sandbox environment anew")
    return parser.parse_args()


if __name__ == "__main__":
    main()
