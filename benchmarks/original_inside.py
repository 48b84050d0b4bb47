"""Run the original's ``evaluate`` on samples inside the sandbox, under Python 3.10, and time each task.

    python original_inside.py FOLDER

FOLDER holds problems.jsonl (the hub's columns), samples.jsonl (task_id, solution) and job.json (workers, no_gt).
Two files are written there: checks.jsonl, one line per check, and started.json, the cost of importing the evaluator.
"""

import json
import os
import resource
import shutil
import sys
import time
import types
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

_KINDS = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def main() -> None:
    folder = Path(sys.argv[1])
    template = os.environ.pop("HOME_TEMPLATE", "")
    if template:
        shutil.copytree(template, os.environ["HOME"], dirs_exist_ok=True)
    # The client of a remote sandbox service: its protobuf is newer than the one that the pinned TensorFlow accepts, and
    # local execution never touches it.
    sys.modules["e2b"] = types.ModuleType("e2b")
    sys.modules["e2b"].Sandbox = None  # type: ignore[attr-defined]
    began = time.monotonic()
    from bigcodebench import evaluate

    started = {"seconds": time.monotonic() - began, "cpu_seconds": _cpu_seconds()}
    (folder / "started.json").write_text(json.dumps(started))
    job = json.loads((folder / "job.json").read_text())
    evaluate.ProcessPoolExecutor = TimedPool
    evaluate.evaluate(
        split="complete",
        subset="full",
        samples=str(folder / "samples.jsonl"),
        execution="local",
        parallel=job["workers"],
        no_gt=job["no_gt"],
        pass_k="1",
    )


class TimedPool(ProcessPoolExecutor):
    """The original's pool, which also writes a line for every check that its workers finish."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        return super().submit(timed, Path(sys.argv[1]) / "checks.jsonl", fn, *args, **kwargs)


def timed(path: Path, check: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of the original's check; of a sample, append its status and cost to a file."""
    began, used = time.monotonic(), _cpu_seconds()
    result = check(*args, **kwargs)
    if "base" not in result:
        return result  # of a ground truth
    line = {
        "task_id": result["task_id"],
        "status": result["base"][0],
        "wall_seconds": round(time.monotonic() - began, 4),
        "cpu_seconds": round(_cpu_seconds() - used, 4),
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(descriptor, json.dumps(line).encode() + b"\n")
    os.close(descriptor)
    return result


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the children for which it waited."""
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, _KINDS))


if __name__ == "__main__":
    main()
