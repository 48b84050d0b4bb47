"""Compare this backend with the original evaluator: same machine, same run, same tasks, same number of workers.

    python benchmarks/sandbox.py --data ../shared --out FOLDER                     # everything, about an hour
    python benchmarks/sandbox.py --data ../shared --out FOLDER --sample-every 5    # the original on every fifth task
    python benchmarks/sandbox.py --data ../shared --out FOLDER --scaling           # 148, 1,140 and 11,400 executions
    python benchmarks/sandbox.py --data ../shared --out FOLDER --scaling --sizes 100000 --longest 0.5
    python benchmarks/sandbox.py --data ../shared --out FOLDER --load 4            # verdicts beside four busy loops

The comparison measures ground truths. The tasks are dealt into blocks of about equal duration; each block runs through
the original (bigcodebench.evaluate, see original.py) and through this engine, in turns, so that other load on the
machine affects both. In a block each worker runs one sample at a time on both sides. This engine's whole pass, with its
default slots, is measured before and after the blocks; the slower one counts. Each measured command is a separate
process: imports, cluster and warm parents are part of its wall and CPU time. The original's time for a whole pass is
one import time plus the measured time of each check, replayed on its workers in the dataset's order; the sum of its
blocks, which leave a worker idle at their ends, is shown too.

Every measurement is appended to FOLDER/runs.jsonl when it ends, and not repeated by the same command: a run may be
stopped and started again at any time. The tables go to standard output and to FOLDER/report.md.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import sandbox_report
import sandbox_tables as tables
from original import load_tasks, run_original
from sandbox_meter import measure, measured_once
from sandbox_pass import Job

from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError
from bigcodeflow.core.schemas import TASKS

SCALING = (148, 1_140, 11_400)
_BUSY_LOOP = "while True: pass"


class Unit(NamedTuple):
    """One measurement to make."""

    kind: str
    """block, whole, scaling or load."""
    side: str
    """original or ours."""
    name: str
    task_ids: tuple[str, ...]
    job: Job
    uncompiled: bool = False
    busy_loops: int = 0

    @property
    def key(self) -> str:
        """Identity of the measurement, used to recognise a finished one."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:16]


def main() -> None:
    arguments = _arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        tasks = load_tasks(arguments.data, arguments.ids)
        recorded = read_recorded(arguments.data)
        units = plan(arguments, [task["task_id"] for task in tasks], recorded)
        runs = perform(units, tasks, arguments.out / "runs.jsonl")
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    report = sandbox_report.report(runs, [task["task_id"] for task in tasks], recorded, workers=arguments.workers)
    (arguments.out / "report.md").write_text(report)
    print(report)


def plan(arguments: argparse.Namespace, ids: Sequence[str], recorded: dict[str, tables.Recorded]) -> list[Unit]:
    """Return the measurements that the arguments ask for, in the order in which they are made."""
    job = Job(arguments.workers, arguments.slots)
    if arguments.scaling:
        quick = [task_id for task_id in ids if is_quick(recorded[task_id], arguments.longest)]
        job = job._replace(confirms=False, slice_size=arguments.slice_size)
        return scaling_units(quick, recorded, job, arguments.sizes)
    if arguments.load:
        job = job._replace(confirms=False)
        return [
            Unit("load", "ours", f"{loops} busy loops" if loops else "idle", tuple(ids), job, busy_loops=loops)
            for loops in (0, arguments.load)
        ]
    units = comparison_units(arguments, ids, recorded, job)
    return [unit for unit in units if arguments.only in ("both", unit.side)]


def comparison_units(
    arguments: argparse.Namespace, ids: Sequence[str], recorded: dict[str, tables.Recorded], job: Job
) -> list[Unit]:
    """Return our whole pass, blocks through both sides in alternating order, and our whole pass again."""
    sampled = set(tables.every_kth(ids, recorded, arguments.sample_every))
    blocks = tables.dealt([task_id for task_id in ids if task_id in sampled], recorded, arguments.blocks)
    units = []
    for number, block in enumerate(blocks, 1):
        name, chosen = f"{number} of {len(blocks)}", tuple(block)
        pair = [
            Unit("block", "original", name, chosen, Job(job.workers), uncompiled=arguments.uncompiled),
            Unit("block", "ours", name, chosen, job._replace(slots=1)),
        ]
        units += pair if number % 2 else pair[::-1]
    whole = [Unit("whole", "ours", name, tuple(ids), job) for name in ("before the blocks", "after the blocks")]
    return [whole[0], *units, *whole[1:]] if arguments.whole else units


def scaling_units(
    ids: Sequence[str], recorded: dict[str, tables.Recorded], job: Job, sizes: Sequence[int]
) -> list[Unit]:
    """Return passes of growing size over tasks of the same kind, shortest first so that all parts are alike."""
    chosen = sorted(ids, key=lambda task_id: (recorded[task_id].suite_wall_seconds, task_id))
    return [Unit("scaling", "ours", f"{size:,}", tuple(chosen), job._replace(executions=size)) for size in sizes]


def is_quick(recorded: tables.Recorded, seconds: float) -> bool:
    """Tell if a task's reference solution passes, and its tests are short enough to be executed again and again."""
    return recorded.status == "pass" and max(recorded.suite_wall_seconds, recorded.suite_cpu_seconds) <= seconds


def perform(units: Sequence[Unit], tasks: Sequence[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Make the missing measurements; return every unit's run, in the units' order."""
    by_id = {task["task_id"]: task for task in tasks}

    def run_of(unit: Unit) -> dict[str, Any]:
        print(f"{time.strftime('%H:%M:%S')} {unit.kind} {unit.name}, {unit.side} …", file=sys.stderr, flush=True)
        with busy_loops(unit.busy_loops):
            run = measured(unit, [by_id[task_id] for task_id in unit.task_ids])
        run |= {"kind": unit.kind, "side": unit.side, "name": unit.name}
        return run | {"slots": unit.job.slots, "uncompiled": unit.uncompiled}

    return measured_once(path, units, run_of)


def measured(unit: Unit, tasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Measure a unit; return its cost and its rows."""
    if unit.side == "ours":
        return run_ours(tasks, unit.job, with_memory=unit.kind == "scaling")
    run = run_original(tasks, workers=unit.job.workers, compiled=not unit.uncompiled)
    starts = {"start_seconds": run.start_seconds, "start_cpu_seconds": run.start_cpu_seconds}
    return run.measured._asdict() | starts | {"rows": run.tasks}


def run_ours(tasks: Sequence[dict[str, Any]], job: Job, *, with_memory: bool) -> dict[str, Any]:
    """Run one pass of this engine in a separate process.

    Raises:
        ExecutionError: it ended with an error.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-benchmark-") as name:
        folder = Path(name)
        pq.write_table(pa.Table.from_pylist(list(tasks), schema=TASKS), folder / "tasks.parquet")
        (folder / "job.json").write_text(json.dumps(job._asdict()))
        script = Path(__file__).with_name("sandbox_pass.py")
        log = folder / "log"
        done = measure([sys.executable, str(script), str(folder)], log=log, with_memory=with_memory)
        if done.exit_code:
            output = " ".join(log.read_text(errors="replace").split())[-600:]
            raise ExecutionError(f"the pass ended with exit code {done.exit_code} ({output}): run the command again")
        rows = json.loads((folder / "result.json").read_text())
    return done._asdict() | {"rows": rows}


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Start processes that each use as much of one core as they get; kill them at the end."""
    loops = [subprocess.Popen([sys.executable, "-I", "-c", _BUSY_LOOP]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def read_recorded(data: Path) -> dict[str, tables.Recorded]:
    """Read the recorded costs by task."""
    with (data / "env" / "ground_truth.csv").open() as file:
        return {
            row["task_id"]: tables.Recorded(
                float(row["original_wall_seconds"] or 0),
                float(row["suite_wall_seconds"] or 0),
                float(row["suite_cpu_seconds"] or 0),
                row["status"],
            )
            for row in csv.DictReader(file)
        }


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="folder for runs.jsonl and report.md")
    parser.add_argument("--ids", default="", help="tasks, such as '0-19,30'; empty takes all 1,140")
    parser.add_argument("--only", choices=["original", "ours", "both"], default="both")
    parser.add_argument("--workers", type=int, default=2, help="workers on either side")
    parser.add_argument("--slots", type=int, default=0, help="executions at once in a worker; 0: the setting's default")
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument(
        "--sample-every", type=int, default=1, metavar="K", help="blocks hold every K-th task in order of duration"
    )
    parser.add_argument("--no-whole", dest="whole", action="store_false", help="blocks only")
    parser.add_argument(
        "--uncompiled", action="store_true", help="the original without the libraries' compiled bytecode"
    )
    parser.add_argument("--scaling", action="store_true", help="148, 1,140 and 11,400 executions instead")
    parser.add_argument("--sizes", type=_numbers, default=SCALING, help="other numbers of executions for --scaling")
    parser.add_argument(
        "--longest", type=float, default=5.0, metavar="SECONDS", help="tests that take longer are left out of --scaling"
    )
    parser.add_argument(
        "--slice-size", type=int, default=11_400, help="executions that --scaling hands to the engine at a time; 0: all"
    )
    parser.add_argument("--load", type=int, default=0, metavar="N", help="idle and beside N busy loops instead")
    return parser.parse_args()


if __name__ == "__main__":
    main()
