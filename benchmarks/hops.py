"""Count the files and functions through which one sample passes during execution, for one or several checkouts.

    python benchmarks/hops.py [CHECKOUT …]

Judges one sample of the starter set twice by `bigcodeflow evaluate` on the checkout's code, without executing the
ground truth and without searching for contradicting tests. Counts the files below execution/ of which a function runs
in any Python process of this machine, not counting import statements, and the functions. The sandbox's processes cannot
be observed from here; for them it counts the files that the supervisor imports. Prints a Markdown table.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
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
_ARGUMENTS = ("--samples=oracle", "--dataset=starter", "--workers=1", "--set=execution.integrity=off")


def main() -> None:
    """Measure each checkout and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    checkouts = [checkout.resolve() for checkout in parser.parse_args().checkouts]
    found = [_hops(checkout) for checkout in checkouts]
    print(f"| one sample through execution | {' | '.join(path.name for path in checkouts)} |")
    print(f"|---|{'---:|' * len(checkouts)}")
    for name in found[0]:
        print(f"| {name} | {' | '.join(str(counts[name]) for counts in found)} |")


def _hops(checkout: Path) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The task's ground truth is judged before the watched run, which judges another program for the task.
        _evaluate(checkout, folder, {}, "--ids=0")
        sample = {"task_id": "Starter/0", "solution": "def task_func():\n    pass\n"}
        (folder / "samples.jsonl").write_text(json.dumps(sample))
        (folder / "sitecustomize.py").write_text(_WATCH)
        (folder / "seen").mkdir()
        _evaluate(checkout, folder, {"HOPS": str(folder / "seen")}, "--ids=0", f"--samples={folder}/samples.jsonl")
        seen = {line for path in (folder / "seen").iterdir() for line in path.read_text().splitlines()}
    host = {line for line in seen if line.startswith("execution/")}
    files, guest = {line.split()[0] for line in host}, _imported(checkout / "src/bigcodeflow/sandbox")
    return {
        "files outside the sandbox": len(files),
        "functions outside the sandbox": len(host),
        "files within the sandbox": len(guest),
        "files in all": len(files) + len(guest),
    }


def _evaluate(checkout: Path, folder: Path, variables: dict[str, str], *arguments: str) -> None:
    path = os.pathsep.join([*([str(folder)] if variables else []), f"{checkout}/src", str(checkout)])
    start = "from bigcodeflow.cli.main import main; main()"
    command = [sys.executable, "-c", start, "evaluate", *_ARGUMENTS, *arguments]
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
