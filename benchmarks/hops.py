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

#: Runs in every Python process that is started with its folder on PYTHONPATH.
_WATCH = """
import atexit, inspect, os, sys, threading
seen = set()
def watch(frame, event, argument):
    if event != "call" or "/src/bigcodeflow/" not in frame.f_code.co_filename:
        return
    code, caller = frame.f_code, frame.f_back and frame.f_back.f_code.co_name
    is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"  # the body of a class is none
    if is_function and caller != "<module>":
        seen.add(code.co_filename.partition("/src/bigcodeflow/")[2] + " " + code.co_qualname)
def write():
    with open(os.path.join(os.environ["HOPS"], str(os.getpid())), "w") as file:
        file.write("\\n".join(sorted(seen)))
sys.setprofile(watch)
threading.setprofile(watch)
atexit.register(write)
import multiprocessing.util
multiprocessing.util.Finalize(None, write, exitpriority=100)
"""
#: Writes the functions of flows, tasks and package in the order in which each first receives settings of a run.
_FOLLOW = """
import atexit, os, sys, threading
seen = {}
settings = {"RunConfig", "ResolvedRun", "RunContext"}
def follow(frame, event, argument):
    code = frame.f_code
    name = code.co_filename.partition(os.environ["HOPS_CHECKOUT"] + "/")[2]
    if event != "call" or not name or code.co_name[0] == "<" or not (seen or name == "flows/benchmark.py"):
        return
    if not settings.isdisjoint(type(value).__name__ for value in frame.f_locals.values()):
        seen.setdefault(name.removeprefix("src/") + " " + code.co_qualname)
def write():
    if seen:
        with open(os.environ["HOPS"], "w") as file:
            file.write("\\n".join(seen))
sys.setprofile(follow)
threading.setprofile(follow)
atexit.register(write)
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
        folder = Path(name)
        (folder / "sitecustomize.py").write_text(_FOLLOW)
        _command(checkout, folder, {"HOPS": str(folder / "way"), "HOPS_CHECKOUT": str(checkout)}, *_RUN)
        files = [line.split()[0] for line in (folder / "way").read_text().splitlines()]
    rooms = [room for room, _ in groupby(file for file in files if not file.startswith("bigcodeflow/cli/"))]
    print(f"{checkout.name}: {' → '.join(rooms)}", file=sys.stderr)
    below = {room: _below(checkout, room) for room in set(rooms)}
    return {
        "rooms": len(set(rooms)),
        "climbs": sum(before in below[after] for before, after in pairwise(rooms)),
        "returns": len(rooms) - len(set(rooms)),
        "visits of the most visited room": max(map(rooms.count, rooms)),
    }


def _below(checkout: Path, room: str) -> set[str]:
    """Return the files that a file imports, directly or not."""
    found, left = set[str](), [room]
    while left:
        place = next(path for path in (checkout / "src" / left[-1], checkout / left[-1]) if path.exists())
        found.add(left.pop())
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
                files = {f"{name.replace('.', '/')}.py" for name in names}
                left += [file for file in files - found if any((checkout / at / file).exists() for at in ("src", ""))]
    return found - {room}


def _hops(checkout: Path) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The task's ground truth is judged before the watched run, which judges another program for the task.
        _command(checkout, folder, {}, "evaluate", *_ARGUMENTS, "--ids=0")
        sample = {"task_id": "Starter/0", "solution": "def task_func():\n    pass\n"}
        (folder / "samples.jsonl").write_text(json.dumps(sample))
        (folder / "sitecustomize.py").write_text(_WATCH)
        (folder / "seen").mkdir()
        samples = f"--samples={folder}/samples.jsonl"
        _command(checkout, folder, {"HOPS": str(folder / "seen")}, "evaluate", *_ARGUMENTS, "--ids=0", samples)
        seen = {line for path in (folder / "seen").iterdir() for line in path.read_text().splitlines()}
    host = {line for line in seen if line.startswith("execution/")}
    files, guest = {line.split()[0] for line in host}, _imported(checkout / "src/bigcodeflow/sandbox")
    return {
        "files outside the sandbox": len(files),
        "functions outside the sandbox": len(host),
        "files within the sandbox": len(guest),
        "files in all": len(files) + len(guest),
    }


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


def _imported(sandbox: Path) -> set[str]:
    """Return the files of the process that holds the sandbox's zygotes: its entry and the files that it imports."""
    entry = next(name for name in ("supervisor", "keeper") if (sandbox / f"{name}.py").exists())
    found, left = set(), [entry]
    while left:
        name = left.pop()
        if name in found or not (sandbox / f"{name}.py").exists():
            continue
        found.add(name)
        for node in ast.walk(ast.parse((sandbox / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                left += [alias.name.rpartition(".")[2] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                left += [(node.module or "").rpartition(".")[2], *(alias.name for alias in node.names)]
    return found


if __name__ == "__main__":
    main()
