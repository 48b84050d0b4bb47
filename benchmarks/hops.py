"""Count the files through which one sample and the settings of one run pass, for one or several checkouts.

    python benchmarks/hops.py [CHECKOUT …]

The sample: judges one sample of the starter set twice by `bigcodeflow evaluate` on the checkout's code, without
executing the ground truth and without searching for contradicting tests. Counts the files below execution/ of which a
function runs in any Python process of this machine, not counting import statements, and the functions. The sandbox's
processes cannot be observed from here; for them it counts the files that the supervisor imports.

The settings: `bigcodeflow run` of one task under Prefect, from the flow on. Counts the files (rooms), in the order in
which their functions first receive the run's settings. Returns are steps to a file that was visited before; climbs are
steps to a file that imports the previous one, directly or not. Prints Markdown tables.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path

#: Runs in every Python process that is started with its folder on PYTHONPATH; writes the called functions in the order
#: of their first calls, and those that received settings of a run once more. The flow's body begins anew.
_WATCH = """
import atexit, inspect, os, sys, threading
seen = {}
settings = {"RunConfig", "ResolvedRun", "RunContext", "FinishedRun"}
checkout = os.environ["HOPS_CHECKOUT"]
folders = tuple(os.path.join(checkout, name, "") for name in ("src", "flows", "tasks"))
def watch(frame, event, argument):
    if event != "call" or not frame.f_code.co_filename.startswith(folders):
        return
    code, caller = frame.f_code, frame.f_back and frame.f_back.f_code.co_name
    path = os.path.relpath(code.co_filename, checkout)
    is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"  # the body of a class is none
    if not is_function or caller == "<module>":
        return
    if path == "flows/benchmark.py" and code.co_name == "judge":
        seen.clear()
    seen.setdefault(path + " " + code.co_qualname)
    if not settings.isdisjoint(type(value).__name__ for value in frame.f_locals.values()):
        seen.setdefault(path + " " + code.co_qualname + " settings")
def write():
    with open(os.path.join(os.environ["HOPS"], str(os.getpid())), "w") as file:
        file.write("\\n".join(seen))
sys.setprofile(watch)
threading.setprofile(watch)
atexit.register(write)
import multiprocessing.util
multiprocessing.util.Finalize(None, write, exitpriority=100)
"""
_RUN = ("run", "starter", "--set=samples.source=oracle", "--set=dataset.ids=0", "--set=execution.integrity=off")
_ARGUMENTS = ("--samples=oracle", "--dataset=starter", "--workers=1", "--set=execution.integrity=off")


def main() -> None:
    """Measure each checkout and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    checkouts = [checkout.resolve() for checkout in parser.parse_args().checkouts]
    _print_table("one sample through execution", checkouts, [_hops(checkout) for checkout in checkouts])
    _print_table("settings of one run, from the flow on", checkouts, [_way(checkout) for checkout in checkouts])


def _print_table(title: str, checkouts: Sequence[Path], found: Sequence[dict[str, int]]) -> None:
    print(f"\n| {title} | {' | '.join(path.name for path in checkouts)} |")
    print(f"|---|{'---:|' * len(checkouts)}")
    for name in found[0]:
        print(f"| {name} | {' | '.join(str(counts[name]) for counts in found)} |")


def _way(checkout: Path) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        processes = _watched(checkout, Path(name), *_RUN)
    lines = next(lines for lines in processes if any(line.startswith("flows/benchmark.py judge") for line in lines))
    files = [line.split()[0] for line in lines if line.endswith(" settings")]
    rooms = [room for room, _ in groupby(file for file in files if not file.startswith("src/bigcodeflow/cli/"))]
    print(f"{checkout.name}: {' → '.join(rooms)}", file=sys.stderr)
    below = {room: _imported(checkout / room, [checkout, checkout / "src"]) for room in set(rooms)}
    return {
        "rooms": len(set(rooms)),
        "climbs": sum(checkout / before in below[after] for before, after in pairwise(rooms)),
        "returns": len(rooms) - len(set(rooms)),
        "visits of the most visited room": max(map(rooms.count, rooms)),
    }


def _hops(checkout: Path) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The task's ground truth is judged before the watched run, which judges another program for the task.
        _command(checkout, folder, {}, "evaluate", *_ARGUMENTS, "--ids=0")
        sample = {"task_id": "Starter/0", "solution": "def task_func():\n    pass\n"}
        (folder / "samples.jsonl").write_text(json.dumps(sample))
        samples = f"--samples={folder}/samples.jsonl"
        processes = _watched(checkout, folder, "evaluate", *_ARGUMENTS, "--ids=0", samples)
    seen = {line.removesuffix(" settings") for lines in processes for line in lines}
    host = {line for line in seen if line.startswith("src/bigcodeflow/execution/")}
    sandbox = checkout / "src/bigcodeflow/judge/guest"
    # The process that holds the sandbox's zygotes.
    entry = next(path for name in ("supervisor", "keeper") if (path := sandbox / f"{name}.py").exists())
    files, guest = {line.split()[0] for line in host}, _imported(entry, [sandbox])
    return {
        "files outside the sandbox": len(files),
        "functions outside the sandbox": len(host),
        "files within the sandbox": len(guest),
        "files in all": len(files) + len(guest),
    }


def _watched(checkout: Path, folder: Path, *arguments: str) -> list[list[str]]:
    """Run a command; return the lines that each of its processes wrote."""
    (folder / "sitecustomize.py").write_text(_WATCH)
    (folder / "seen").mkdir()
    _command(checkout, folder, {"HOPS": str(folder / "seen"), "HOPS_CHECKOUT": str(checkout)}, *arguments)
    return [path.read_text().splitlines() for path in (folder / "seen").iterdir()]


def _command(checkout: Path, folder: Path, variables: dict[str, str], *arguments: str) -> None:
    path = os.pathsep.join([*([str(folder)] if variables else []), f"{checkout}/src", str(checkout)])
    start = "from bigcodeflow.cli.main import main; main()"
    command = [sys.executable, "-c", start, *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{checkout}: {done.stderr[-2000:]}")


def _imported(file: Path, roots: Sequence[Path]) -> set[Path]:
    """Return a file and the modules below the roots that it imports, directly or not, but not through packages."""
    found, left = set[Path](), {file}
    while left:
        found.add(path := left.pop())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *names, *(f"{node.module}.{name}" for name in names)]
            paths = (root / f"{name.replace('.', '/')}.py" for root in roots for name in names)
            left |= {path for path in paths if path.exists()} - found
    return found


if __name__ == "__main__":
    main()
