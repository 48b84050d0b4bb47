#!/usr/bin/env python3
"""Run the parts of CI, two at a time, and print how long each took.

    .ci/parts.py            what always runs, the suites whose files changed since they passed, and one more in turn
    .ci/parts.py --all      everything: `make check`; records in .ci/passed.json which contents passed, and fails where
                            the tests together execute less of src/ than the floor in benchmarks/coverage.ini
    .ci/parts.py NAME ...   these parts alone
    .ci/parts.py --list     print the parts, and which of the suites changed

.ci/parts.toml says what each part runs and, for a suite, on which paths its result depends. A suite whose paths still
hold the contents that .ci/passed.json records is not run again. What a part prints goes to results/ci/NAME.log; its
last lines are shown, or all of it where it failed.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_TABLE, _RECORD = ROOT / ".ci" / "parts.toml", ROOT / ".ci" / "passed.json"
_LOGS = ROOT / "results" / "ci"
_PRINTING = threading.Lock()
_LANES = 2
_SHOWN_LINES = 3
_COVERAGE = "benchmarks/coverage.ini"
_SLOW = ".venv/bin/python -m pytest -m 'slow and not long' --numprocesses 2"


class Part(NamedTuple):
    """A command that passes or fails."""

    name: str
    run: str
    """Shell command."""
    paths: tuple[str, ...] = ()
    """Files and folders on which the result depends; empty for a part that always runs."""
    is_measured: bool = False
    """Counts for the coverage."""


class Outcome(NamedTuple):
    """Result of a part."""

    part: Part
    exit_code: int
    wall_seconds: float


def main() -> int:
    """Run the chosen parts; return exit code 1 if one failed."""
    arguments = _arguments()
    parts = read_parts(_TABLE)
    digests = {part.name: digest(part, tracked_files()) for part in parts if part.paths}
    recorded = json.loads(_RECORD.read_text()) if _RECORD.exists() else {}
    changed = {name for name, value in digests.items() if recorded.get(name) != value}
    if arguments.list:
        for part in parts:
            print(f"{part.name:<14}{_reason(part, changed)}")
        return 0
    if unknown := {*arguments.parts} - {part.name for part in parts}:
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in parts)}")
    if arguments.parts:
        chosen = [part for part in parts if part.name in arguments.parts]
    else:
        chosen = parts if arguments.all else due(parts, changed, turn=_commits())
        for part in (part for part in parts if part not in chosen):
            print(f"== {part.name}: not run, its files are those that passed before")
    outcomes = run(chosen, measured=arguments.all)
    if arguments.all:
        outcomes += [covered()] if any(part.is_measured for part in parts) else []
        passed = {one.part.name for one in outcomes if not one.exit_code}
        kept = {name: digests[name] for name in sorted(digests) if name in passed}
        _RECORD.write_text(json.dumps(kept, indent=2) + "\n")
    return report(outcomes)


def read_parts(table: Path) -> list[Part]:
    """Read the parts of a table, in its order; add the paths under [every_suite] to each suite's paths."""
    content = tomllib.loads(table.read_text(encoding="utf-8"))
    shared = content["every_suite"]["paths"]

    def part(name: str, row: dict[str, Any]) -> Part:
        folders = " ".join(row.get("slow_tests", ()))
        paths = (*shared, *row["paths"]) if "paths" in row else ()
        return Part(name, f"{_SLOW} {folders}" if folders else row["run"], paths, bool(folders) or row.get("coverage"))

    return [part(name, row) for name, row in content["part"].items()]


def tracked_files() -> list[str]:
    """Return the files of the checkout that git tracks or does not ignore, by their paths from the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in listed.split("\0") if name and (ROOT / name).is_file()})


def digest(part: Part, files: list[str]) -> str:
    """Return the sha256 over names and contents of a part's files, without the record itself."""
    found = hashlib.sha256()
    record = _RECORD.relative_to(ROOT).as_posix()
    for name in files:
        if name != record and any(name == path or name.startswith(path.rstrip("/") + "/") for path in part.paths):
            content = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
            found.update(f"{name}\0{content}\0".encode())
    return found.hexdigest()


def due(parts: list[Part], changed: set[str], *, turn: int) -> list[Part]:
    """Return the parts to run: those that always run, the changed suites, and the ``turn``-th unchanged suite."""
    unchanged = [part for part in parts if part.paths and part.name not in changed]
    extra = [unchanged[turn % len(unchanged)]] if unchanged else []
    return [part for part in parts if not part.paths or part.name in changed or part in extra]


def run(parts: list[Part], *, measured: bool = False) -> list[Outcome]:
    """Run parts in lanes, in their order; if ``measured``, record which lines of src/ their tests execute."""
    shutil.rmtree(_LOGS, ignore_errors=True)
    _LOGS.mkdir(parents=True)
    for left in ROOT.glob(".coverage*"):
        left.unlink()
    variables = os.environ | {"CHECKOUT": str(ROOT), "COVERAGE_PROCESS_START": str(ROOT / _COVERAGE)}
    with ThreadPoolExecutor(_LANES) as pool:
        return list(pool.map(lambda part: run_one(part, variables if measured and part.is_measured else None), parts))


def run_one(part: Part, variables: dict[str, str] | None) -> Outcome:
    """Run a part, and print its end when it is over."""
    began = time.monotonic()
    log = _LOGS / f"{part.name}.log"
    with log.open("wb") as output:
        command, streams = ["bash", "-c", part.run], {"stdout": output, "stderr": subprocess.STDOUT}
        exit_code = subprocess.run(command, cwd=ROOT, env=variables, check=False, **streams).returncode
    outcome = Outcome(part, exit_code, time.monotonic() - began)
    with _PRINTING:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(f"== {part.name}: {'failed' if exit_code else 'passed'} in {outcome.wall_seconds:.0f} s")
        print(*(lines if exit_code else lines[-_SHOWN_LINES:]), sep="\n", flush=True)
    return outcome


def covered() -> Outcome:
    """Compare the lines and branches of src/ that the tests executed with the floor of coverage."""
    coverage = f"CHECKOUT=$PWD .venv/bin/python -m coverage {{}} --rcfile {_COVERAGE}"
    commands = (f"{coverage.format('combine')} --quiet", f"{coverage.format('report')} --format total")
    return run_one(Part("coverage", " && ".join(commands)), None)


def report(outcomes: list[Outcome]) -> int:
    """Print a table of the parts with their times; return 1 if one failed, else 0."""
    print("\n| part | wall s | |\n| --- | ---: | --- |")
    for outcome in outcomes:
        print(f"| {outcome.part.name} | {outcome.wall_seconds:.0f} | {'failed' * bool(outcome.exit_code)} |")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\nCPU of all parts: {used.ru_utime + used.ru_stime:.0f} s", flush=True)
    return int(any(outcome.exit_code for outcome in outcomes))


def _reason(part: Part, changed: set[str]) -> str:
    if not part.paths:
        return "always"
    return "changed since it passed" if part.name in changed else "unchanged since it passed"


def _commits() -> int:
    counted = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return int(counted.stdout or 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="NAME", help="parts to run alone")
    parser.add_argument("--all", action="store_true", help="run every part and record which suites passed")
    parser.add_argument("--list", action="store_true", help="print the parts and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
