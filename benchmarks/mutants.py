r"""How many small faults the tests notice: mutants of the code that decides verdicts, keys, solutions and statistics.

    export CHECKOUT=$PWD
    coverage run --rcfile benchmarks/coverage.ini -m pytest -q -m "not slow" --numprocesses 4 \
        -p benchmarks.mutants --durations 0 > durations.txt
    coverage combine --rcfile benchmarks/coverage.ini
    coverage report --rcfile benchmarks/coverage.ini
    python benchmarks/mutants.py --durations durations.txt [--sample 200] [--seed 0] [--jobs 3] [--only 3,7-9]

A mutant is one change in one place: another comparison, `and` for `or`, a negated condition, another number, another
arithmetic operator, a call left out, None returned. The first commands, with this file as a plugin of pytest, record
which test executes which line; a mutant meets the tests that execute its line, at most 60 and the quickest first, until
one fails, in a copy of the checkout. What runs in a sandbox or in another process is recorded for no test: such lines
meet the tests of their package as well, those of sandbox/ the tests named in _GUEST_TESTS. Of a mutant whose tests did
not end in time, nothing noticed it. Prints a Markdown table by part, and every mutant that no test noticed.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import coverage
import pytest

_ROOT = Path(__file__).parents[1]
_PARTS = {
    "judging": ("execution/*.py", "judge/*.py", "judge/integrity/*.py", "judge/guest/*.py"),
    "keys": ("config/reads.py", "pipeline/stages.py", "pipeline/resolution.py"),
    "sanitizing": ("sanitizing/*.py",),
    "statistics": ("results/statistics.py", "results/aggregation.py", "results/comparison/*.py"),
}
_GUEST_TESTS = (
    "tests/execution/test_harness.py",
    "tests/execution/test_separate.py",
    "tests/execution/test_seccomp.py",
    "tests/execution/test_sandbox_statuses.py",
    "tests/execution/test_sandbox_isolation.py",
    "tests/execution/test_warm.py",
    "tests/attacks",
)
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
#: What pytest returns where a test failed, or where one could not be collected; where all passed, or none was selected.
_NOTICED, _NOT_NOTICED = {1, 2}, {0, 5}
#: A single test that takes longer hangs, and has noticed the mutant.
_TEST_TIMEOUT = "--timeout=100"
_TIMEOUT_SECONDS = 300
_MOST_TESTS, _QUICKEST = 60, 15


class Mutant(NamedTuple):
    """One change of one file."""

    part: str
    path: Path
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    """What stands there instead."""

    def apply(self, source: str) -> str:
        """The file's text with the change."""
        lines = source.encode().splitlines(keepends=True)
        before = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.column]
        after = lines[self.end_line - 1][self.end_column :] + b"".join(lines[self.end_line :])
        return (before + self.text.encode() + after).decode()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tell coverage whose the lines are that run now."""
    if measuring := coverage.Coverage.current():
        measuring.switch_context(item.nodeid.partition("[")[0])
    return (yield)


def main() -> None:
    """Draw mutants, run their tests and print what was noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--only", type=_numbers, help="numbers of the sample's mutants, such as 3,7-9; the others rest")
    parser.add_argument("--durations", type=Path, required=True, help="what pytest --durations 0 printed")
    given = parser.parse_args()
    mutants = [mutant for part, patterns in _PARTS.items() for mutant in _mutants(part, patterns)]
    sample = random.Random(given.seed).sample(mutants, min(given.sample, len(mutants)))
    numbers = [number for number in range(1, len(sample) + 1) if given.only is None or number in given.only]
    chosen = [sample[number - 1] for number in numbers]
    print(f"{len(chosen)} of {len(mutants)} mutants", flush=True)
    tests = _tests_by_line(_seconds(given.durations))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        copies = _Copies(Path(folder))
        outcomes = []
        noticing = pool.map(lambda one: copies.notices(one, tests), chosen)
        for number, mutant, noticed in zip(numbers, chosen, noticing, strict=True):
            outcomes.append(noticed)
            print(f"{number}: {mutant.path}:{mutant.line} {noticed}", file=sys.stderr, flush=True)
    survivors = {number: one for number, one, noticed in zip(numbers, chosen, outcomes, strict=True) if not noticed}
    drawn, lived = Counter(one.part for one in chosen), Counter(one.part for one in survivors.values())
    print("| part | mutants | noticed |\n|---|---:|---:|")
    for part in [*_PARTS, "all"]:
        total, alive = (drawn.total(), lived.total()) if part == "all" else (drawn[part], lived[part])
        print(f"| {part} | {total} | {total - alive} ({(total - alive) / max(total, 1):.0%}) |")
    for number, mutant in survivors.items():
        source = (_ROOT / mutant.path).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
        print(f"not noticed: {number}: {mutant.path}:{mutant.line}: {source}  →  {mutant.text}")


def _numbers(text: str) -> set[int]:
    ranges = (part.partition("-") for part in text.split(","))
    return {number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)}


class _Copies:
    """A copy of the checkout for each thread."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._local = folder, threading.local()

    def notices(self, mutant: Mutant, tests: dict[tuple[str, int], list[str]]) -> bool:
        """Whether a test fails with the change."""
        chosen = tests.get((str(mutant.path), mutant.line), [])
        package = mutant.path.relative_to("src/bigcodeflow").parts[0]
        if package == "sandbox":
            chosen = [*chosen, *_GUEST_TESTS]
        elif not chosen:
            folder = Path("tests", package)
            chosen = [str(folder if (_ROOT / folder).is_dir() else folder.with_name(f"test_{package}.py"))]
        copy = self._copy()
        target, source = copy / mutant.path, (_ROOT / mutant.path).read_text(encoding="utf-8")
        target.write_text(mutant.apply(source), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": f"{copy}/src:{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
            _TEST_TIMEOUT,
        ]
        try:
            for some in filter(None, (chosen[:_QUICKEST], chosen[_QUICKEST:])):
                ended = subprocess.run(
                    [*command, *some],
                    cwd=copy,
                    env=environment,
                    capture_output=True,
                    timeout=_TIMEOUT_SECONDS,
                    check=False,
                )
                if ended.returncode in _NOTICED or b"ERROR collecting" in ended.stdout:
                    return True
                if ended.returncode not in _NOT_NOTICED:
                    said = ended.stdout.decode()[-2000:]
                    raise RuntimeError(f"{mutant.path}:{mutant.line}: pytest could not start: {said}")
        except subprocess.TimeoutExpired:
            return False
        finally:
            target.write_text(source, encoding="utf-8")
        return False

    def _copy(self) -> Path:
        if not hasattr(self._local, "copy"):
            self._local.copy = self._folder / f"copy-{threading.get_ident()}"
            left_out = shutil.ignore_patterns(".venv", ".git", ".*_cache", "__pycache__")
            shutil.copytree(_ROOT, self._local.copy, ignore=left_out)
        copy: Path = self._local.copy
        return copy


def _seconds(report: Path) -> Counter[str]:
    """How long each test function took, in all its cases together; those that took no 5 ms are left out."""
    found: Counter[str] = Counter()
    for seconds, test in re.findall(
        r"^([0-9.]+)s (?:setup|call|teardown) +([^\s[]+)", report.read_text(), re.MULTILINE
    ):
        found[test] += float(seconds)
    return found


def _tests_by_line(seconds: Counter[str]) -> dict[tuple[str, int], list[str]]:
    """Tests that execute a line, by file and line; the quickest first, and of these those that execute fewest lines."""
    data = coverage.CoverageData(str(_ROOT / ".coverage"))
    data.read()
    found: dict[tuple[str, int], set[str]] = {}
    for name in data.measured_files():
        path = os.path.relpath(name, _ROOT)
        for line, contexts in data.contexts_by_lineno(name).items():
            found[path, line] = {*contexts} - {""}
    executed = Counter(test for tests in found.values() for test in tests)
    order = sorted(executed, key=lambda test: (round(seconds[test]), executed[test], test))
    place = {test: number for number, test in enumerate(order)}
    return {at: sorted(tests, key=place.__getitem__)[:_MOST_TESTS] for at, tests in found.items()}


def _mutants(part: str, patterns: tuple[str, ...]) -> Iterator[Mutant]:
    for pattern in patterns:
        for path in sorted((_ROOT / "src" / "bigcodeflow").glob(pattern)):
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)):
                for place, text in _changes(node, source):
                    end = (place.end_lineno or 0, place.end_col_offset or 0)
                    yield Mutant(part, path.relative_to(_ROOT), place.lineno, place.col_offset, *end, text)


def _changes(node: ast.AST, source: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Places to change and what to write there."""

    def text(part: ast.expr) -> str:
        return ast.get_source_segment(source, part) or ""

    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield node, f"(({text(left)}) {_COMPARISONS[type(operator)]} ({text(right)}))"
        case ast.BoolOp(op=operator, values=[first, *rest]):
            word = "or" if isinstance(operator, ast.And) else "and"
            yield node, "(" + f" {word} ".join(f"({text(value)})" for value in (first, *rest)) + ")"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, f"(not ({text(test)}))"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            yield node, f"(({text(left)}) {_ARITHMETIC[type(operator)]} ({text(right)}))"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.Expr(value=ast.Call()):
            yield node, "pass"


if __name__ == "__main__":
    main()
