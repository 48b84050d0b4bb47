"""Measure the seconds of sanitizing on one core, and the recorded answers with the same result as the original's.

    python benchmarks/sanitizing.py ../shared/data/samples/*/*_calibrated*.jsonl.gz
    python benchmarks/sanitizing.py --differences ../shared/data/samples/*/*_calibrated*.jsonl.gz [--write FOLDER]
    bigcodeflow evaluate --samples FOLDER/robust/FILE …    # and parity/FILE, then bigcodeflow compare

Every file holds `task_id`, `raw_solution` and, as the original made it, `solution`. Prints a Markdown table, or the
robust program of each answer for which parity makes a different one; --write keeps both programs of these answers.
Exit code 1: robust lost an entry point, or made a program that does not compile while the parity program compiles.
"""

import argparse
import ast
import difflib
import gzip
import json
import time
from pathlib import Path
from typing import Literal

from bigcodeflow.sanitizing import sanitize, syntax_error

_ENTRY_POINT = "task_func"

Mode = Literal["parity", "robust"]
_MODES: tuple[Mode, Mode] = ("parity", "robust")


def seconds(texts: list[str], mode: Mode) -> tuple[float, list[str]]:
    """Return the CPU seconds of sanitizing the texts, and their solutions."""
    started = time.process_time()
    solutions = [sanitize(text, entry_point=_ENTRY_POINT, mode=mode) for text in texts]
    return time.process_time() - started, solutions


def row(name: str, texts: list[str], expected: list[str]) -> str:
    """Return one row of the table."""
    parity_seconds, solutions = seconds(texts, "parity")
    robust_seconds, _ = seconds(texts, "robust")
    equal = sum(given == wanted for given, wanted in zip(solutions, expected, strict=True))
    return f"| {name} | {len(texts):,} | {parity_seconds:.2f} | {robust_seconds:.2f} | {equal:,} of {len(expected):,} |"


def differences(path: Path, folder: Path | None) -> bool:
    """Print how robust differs from parity, answer by answer; return True if none got worse."""
    lost = differing = 0
    kept = [(folder / mode / path.name.removesuffix(".gz")).open("w") for mode in _MODES] if folder else []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for answer in map(json.loads, file):
            parity, robust = (sanitize(answer["raw_solution"], entry_point=_ENTRY_POINT, mode=mode) for mode in _MODES)
            loses = f"def {_ENTRY_POINT}" in parity and f"def {_ENTRY_POINT}" not in robust
            breaks = syntax_error(robust) if not syntax_error(parity) else ""
            lost += loses or bool(breaks)
            if not breaks and _tree(parity) == _tree(robust):
                continue
            differing += 1
            for own, solution in zip(kept, (parity, robust), strict=False):
                own.write(json.dumps({"task_id": answer["task_id"], "solution": solution}) + "\n")
            print(f"## {answer['task_id']}{': lost' if loses else ''}{': ' if breaks else ''}{breaks}")
            print(*difflib.unified_diff(parity.split("\n"), robust.split("\n"), lineterm="", n=0), sep="\n")
    print(f"# {path.name}: {differing:,} programs differ, {lost:,} are worse")
    return not lost


def _tree(program: str) -> str:
    return program if syntax_error(program) else ast.dump(ast.parse(program))


def main() -> None:
    """Measure the given files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="sample files, JSONL.gz")
    parser.add_argument("--differences", action="store_true", help="print what robust makes otherwise than parity")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="sample files of both for each of these answers")
    arguments = parser.parse_args()
    if arguments.differences:
        for mode in _MODES if arguments.write else ():
            (arguments.write / mode).mkdir(parents=True)
        kept = [differences(path, arguments.write) for path in arguments.files]
        raise SystemExit(0 if all(kept) else 1)
    print("| answers | number | parity, CPU s | robust, CPU s | equal to the original |")
    print("|---|---:|---:|---:|---:|")
    for path in arguments.files:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            answers = [json.loads(line) for line in file]
        raw = [answer["raw_solution"] for answer in answers]
        print(row(path.name.partition("--main")[0], raw, [answer["solution"] for answer in answers]))


if __name__ == "__main__":
    main()
