"""Measure the cost that Prefect adds to a run's stages, and the speed of its UI with 1,000 runs.

Needs a running server, named by PREFECT_API_URL, such as `bigcodeflow up` starts. --runs creates that many invented
runs on it, so use a server that may hold them. Pages are timed in Debian's Chromium with Playwright, if installed.

    python benchmarks/orchestration.py --runs 1000
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.pipeline.stages import Progress
from bigcodeflow.recording import perform_and_record
from bigcodeflow.store import ArtifactRef

_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
#: Pages of the UI, each with a text that appears when its data is loaded.
_PAGES = {"/dashboard": "Flow Runs", "/runs": "invented-", "/flows": "invented", "/deployments": "Deployments"}
_PAGE_MS = 60_000
_STATES = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CRASHED", "CANCELLED")


class StageClock:
    """Sum of the seconds between begin and end of the stages; a reused stage takes none."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began: float | None = None

    def began(self) -> None:
        """Note that a stage starts to compute."""
        self._began = time.perf_counter()

    def ended(self) -> None:
        """Note that the stage's artifact is published."""
        if self._began is not None:
            self.seconds += time.perf_counter() - self._began
            self._began = None


def main() -> None:
    """Measure the parts that the options select, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each kind, of which the median counts; 0 runs none"
    )
    parser.add_argument("--runs", type=int, default=0, help="also invent so many runs and time the UI")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        perform(options.one[0], Path(options.one[1]))
        return
    api_url = os.environ.get("PREFECT_API_URL", "")
    if not api_url:
        parser.error("PREFECT_API_URL is not set: start a server with `bigcodeflow up` and name it")
    say(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")
    if options.repeats:
        overhead(options.repeats)
    if options.runs:
        usability(api_url, options.runs)


def say(line: str) -> None:
    """Print one line of the result at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def overhead(repeats: int) -> None:
    """Measure the same run alone, under Prefect, and under Prefect again with everything cached; one process each."""
    measured: dict[str, list[dict[str, float]]] = {"alone": [], "prefect": [], "cached": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            measured["alone"].append(_process("alone", folder / "alone"))
            measured["prefect"].append(_process("prefect", folder / "prefect"))
            measured["cached"].append(_process("prefect", folder / "prefect"))
    for kind, rows in measured.items():
        medians = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        say(f"{kind:8} " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in medians.items()))


def _process(kind: str, folder: Path) -> dict[str, float]:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--one", kind, str(folder)],
        env=os.environ | {"PREFECT_LOCAL_STORAGE_PATH": str(folder / "results")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    *_, last = [line for line in done.stdout.splitlines() if line.startswith("measured ")]
    imports, run, stages, cpu = map(float, last.split()[1:])
    whole = time.perf_counter() - started
    beyond = run - stages
    return {"process": whole, "imports": imports, "run": run, "stages": stages, "beyond stages": beyond, "CPU": cpu}


def perform(kind: str, folder: Path) -> None:
    """Run the starter set once in this process; print seconds of imports, run and stages, and CPU of this process.

    The CPU covers imports and run, without Dask workers and sandboxes: it shows costs that a busy machine hides.
    """
    config = load_config("starter", (f"store={folder / 'store'}", f"out={folder / 'out'}"))
    clock, started = StageClock(), time.perf_counter()
    run = _alone if kind == "alone" else _under_prefect()
    imported = time.perf_counter()
    run(config, clock)
    said = (imported - started, time.perf_counter() - imported, clock.seconds, time.process_time())
    say(f"measured {' '.join(map(str, said))}")


def _alone(config: RunConfig, clock: StageClock) -> None:
    class Listener:
        def begin(self, title: str) -> Progress:
            del title
            clock.began()
            return lambda *_args, **_more: None

        def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
            del title, ref, reused
            clock.ended()

    perform_and_record(config, Listener())


def _under_prefect() -> Any:
    import tasks.stages
    from flows.benchmark import benchmark
    from tasks.progress import ProgressBar, RunListener

    def run(config: RunConfig, clock: StageClock) -> None:
        class Timed(RunListener):
            def begin(self, title: str) -> ProgressBar:
                bar = super().begin(title)
                clock.began()
                return bar

            def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
                clock.ended()
                super().end(title, ref, reused=reused)

        tasks.stages.RunListener = Timed  # type: ignore[misc]
        benchmark(config)

    return run


def usability(api_url: str, runs: int) -> None:
    """Invent runs, then time the UI's queries to the server, and its pages."""
    with httpx.Client(base_url=api_url, timeout=120) as api:
        started = time.perf_counter()
        invent(api, runs)
        say(f"{runs:,} runs created in {time.perf_counter() - started:.1f} s")
        page: dict[str, Any] = {"sort": "START_TIME_DESC", "limit": 100}
        failed = {"flow_runs": {"state": {"type": {"any_": ["FAILED", "CRASHED"]}}}}
        named = {"flow_runs": {"name": {"like_": "invented-99"}}}
        asked = {
            "newest runs": ("/flow_runs/filter", page),
            "failed runs": ("/flow_runs/filter", page | failed),
            "runs by name": ("/flow_runs/filter", page | named),
            "count": ("/flow_runs/count", {}),
        }
        for name, (path, content) in asked.items():
            say(f"{name}: {_median_seconds(api, path, content) * 1000:.0f} ms")
    pages(api_url.removesuffix("/api"))


def invent(api: httpx.Client, runs: int) -> None:
    """Create ended runs of a separate flow, in all states in which runs end."""
    flow_id = api.post("/flows/", json={"name": "invented"}).raise_for_status().json()["id"]
    for number in range(runs):
        state = {"type": _STATES[number % len(_STATES)]}
        content = {"flow_id": flow_id, "name": f"invented-{number}", "state": state}
        while (answer := api.post("/flow_runs/", json=content)).status_code == httpx.codes.SERVICE_UNAVAILABLE:
            time.sleep(0.5)
        answer.raise_for_status()


def _median_seconds(api: httpx.Client, path: str, content: dict[str, Any], repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        api.post(path, json=content).raise_for_status()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def pages(address: str) -> None:
    """Print the seconds from the request for a page until its data can be read."""
    executable = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        say("pages: not timed, since Chromium or Playwright is not installed")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        tab = browser.new_page()
        for path, text in _PAGES.items():
            for when in ("first", "again"):
                started = time.perf_counter()
                tab.goto(f"{address}{path}", wait_until="domcontentloaded")
                tab.get_by_text(text).first.wait_for(timeout=_PAGE_MS)
                say(f"page {path}, {when}: {time.perf_counter() - started:.2f} s")
        browser.close()


if __name__ == "__main__":
    main()
