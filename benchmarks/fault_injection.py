"""Kill the flow, a Dask worker or a sandbox at random moments, resume, and compare with an undisturbed run.

    python benchmarks/fault_injection.py --data ../shared [--ids 103-194,196-251] [--rounds 3] [--seed 1] [--no-prefect]

Each round starts on an empty store, kills with SIGKILL at a random moment, repeats the same command until it succeeds,
and compares the verdicts row by row. Prints a Markdown table; exit code 1 if any row differs, anything ran twice, or a
round killed nothing.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow.parquet as pq

_RUN = "main--bigcodebench-complete--vllm-0-1-sanitized_calibrated"
SAMPLES = f"samples/qwen2.5-coder-7b-instruct/Qwen2.5-Coder-7B-Instruct--{_RUN}.jsonl.gz"
#: Text in the command line of each kind of process; the flow is the command itself.
VICTIMS = {"flow": "", "worker": "multiprocessing.forkserver", "sandbox": "supervisor.py"}
#: Columns that are equal in two executions of the same program; times, memory and addresses in traces differ.
STABLE = (
    "task_id",
    "sample_index",
    "variant",
    "sanitizer",
    "verdict_key",
    "status",
    "failure_kind",
    "tests_expected",
    "tests_run",
    "tampering",
    "backend",
    "environment_sha",
)


class Round(NamedTuple):
    """Result of one disturbed run."""

    victim: str
    killed_at: list[float]
    commands: int
    seconds: float
    differing_rows: int
    executed_twice: int
    infra_errors: int


def main() -> None:
    arguments = _arguments()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="fault-injection-") as folder:
        base = Path(folder) / "undisturbed"
        whole, there = undisturbed(arguments, base)
        expected = stable_rows(base)
        print(f"undisturbed: {len(expected)} rows in {whole:.0f} s; seed {arguments.seed}\n", flush=True)
        print("| victim | killed at (s) | commands | total (s) | rows that differ | executed twice | infra errors |")
        print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
        bad = 0
        for victim in arguments.victims.split(","):
            for number in range(arguments.rounds):
                # Not too late: the undisturbed run came first, and may therefore have taken longer.
                delay = chance.uniform(0.1, 0.5) * there[victim]
                done = disturbed(arguments, Path(folder) / f"{victim}-{number}", victim, delay, expected)
                bad += bool(not done.killed_at or done.differing_rows or done.executed_twice or done.infra_errors)
                cells = [", ".join(f"{at:.0f}" for at in done.killed_at), done.commands, f"{done.seconds:.0f}"]
                cells += [done.differing_rows, done.executed_twice, done.infra_errors]
                print(f"| {victim} | {' | '.join(map(str, cells))} |", flush=True)
    sys.exit(1 if bad else 0)


def undisturbed(arguments: argparse.Namespace, folder: Path) -> tuple[float, dict[str, float]]:
    """Run without a kill; return its seconds, and for how many seconds each victim existed."""
    began = time.monotonic()
    seen: dict[str, list[float]] = {victim: [] for victim in VICTIMS}
    process = run(arguments, folder)
    while process.poll() is None:
        for victim, text in VICTIMS.items():
            if found(process.pid, text):
                seen[victim].append(time.monotonic() - began)
        time.sleep(0.2)
    if process.returncode:
        sys.exit(f"the undisturbed run failed: {(folder / 'log').read_text()[-2000:]}")
    return time.monotonic() - began, {victim: times[-1] - times[0] for victim, times in seen.items()}


def disturbed(
    arguments: argparse.Namespace, folder: Path, victim: str, delay: float, expected: dict[Any, Any]
) -> Round:
    """Run with one kill, ``delay`` seconds after the victim appeared, and resume until the run succeeds."""
    began = time.monotonic()
    first_seen: float | None = None
    killed_at: list[float] = []
    commands = 0
    while True:
        process = run(arguments, folder)
        commands += 1
        while process.poll() is None:
            now = time.monotonic()
            if first_seen is None and found(process.pid, VICTIMS[victim]):
                first_seen = now
            is_due = first_seen is not None and now - first_seen > delay
            if not killed_at and is_due and kill(process.pid, VICTIMS[victim]):
                killed_at.append(now - began)
            time.sleep(0.05)
        if process.returncode == 0:
            break
    rows = stable_rows(folder)
    different = [key for key in expected.keys() | rows.keys() if rows.get(key) != expected.get(key)]
    for key in sorted(different):
        print(f"{victim}: {key}: {expected.get(key)} became {rows.get(key)}", file=sys.stderr)
    twice, infra = counted(folder)
    return Round(victim, killed_at, commands, time.monotonic() - began, len(different), twice, infra)


def run(arguments: argparse.Namespace, folder: Path) -> "subprocess.Popen[bytes]":
    folder.mkdir(exist_ok=True)
    reference = arguments.data.resolve() / "data"
    settings = {
        "store": folder / "store",
        "out": folder / "out",
        "dataset.source": reference / "bigcodebench-v0.1.4.parquet",
        "dataset.ids": arguments.ids,
        "samples.source": "oracle" if arguments.oracle else reference / SAMPLES,
        "sanitizing.mode": "none",
        "execution.variants": "[calibrated]",
    }
    command = [str(Path(sys.executable).with_name("bigcodeflow")), "run", "bigcodebench"]
    for name, value in settings.items():
        command += ["--set", f"{name}={value!s}"]
    if arguments.no_prefect:
        command.append("--no-prefect")
    log = (folder / "log").open("ab")
    return subprocess.Popen(
        command, cwd=folder, stdout=log, stderr=log, env=os.environ | {"PREFECT_HOME": str(folder / "prefect")}
    )


def kill(flow_pid: int, text: str) -> bool:
    """Kill the flow, or a random descendant whose command line has the text; return False if none exists."""
    victims = found(flow_pid, text)
    with suppress(psutil.NoSuchProcess, IndexError):
        random.choice(victims).send_signal(signal.SIGKILL)
        return True
    return False


def found(flow_pid: int, text: str) -> list[psutil.Process]:
    """Return the flow, or its descendants whose command line has the text."""
    with suppress(psutil.NoSuchProcess):
        flow = psutil.Process(flow_pid)
        return [child for child in flow.children(recursive=True) if _has(child, text)] if text else [flow]
    return []


def _has(process: psutil.Process, text: str) -> bool:
    try:
        return text in " ".join(process.cmdline())
    except psutil.Error:
        return False


def stable_rows(folder: Path) -> dict[Any, Any]:
    """Return each verdict's stable columns and the outcome of every test, by task and sample."""
    rows = pq.read_table(folder / "out" / "verdicts.parquet").to_pylist()
    return {
        (row["task_id"], row["sample_index"]): (
            [row[name] for name in STABLE],
            [(test["name"], test["outcome"]) for test in row["tests"]],
        )
        for row in rows
    }


def counted(folder: Path) -> tuple[int, int]:
    """Return the counts of repeated executions and of infrastructure errors from the manifests of the stages."""
    statistics = [
        json.loads(path.read_text())["artifact"]["statistics"]
        for path in folder.glob("store/execution/*/manifest.json")
    ]
    return sum(one["executed_twice"] for one in statistics), sum(one["infra_errors"] for one in statistics)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--ids", default="103-194,196-251", help="tasks of the run; 148 without the few very slow ones")
    parser.add_argument("--rounds", type=int, default=3, help="kills of each kind")
    parser.add_argument("--victims", default=",".join(VICTIMS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--oracle", action="store_true", help="ground truths only: no solution that draws random values"
    )
    parser.add_argument("--no-prefect", action="store_true", help="run the same stages without Prefect")
    return parser.parse_args()


if __name__ == "__main__":
    main()
