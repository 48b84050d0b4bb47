"""Measure the size of the code and of its functions, for one or several checkouts.

    python benchmarks/code_size.py [CHECKOUT …]
    python benchmarks/code_size.py --budgets benchmarks/budgets.toml    # exit code 1 where a part is over its ceiling

Reads files as text and imports none of them. Lines are all lines of `.py` files, including blank lines and docstrings;
the programs in tests/attacks, which tests judge, are counted separately. Settings are the fields of the run's
configuration. Prints a Markdown table.
"""

import argparse
import ast
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Folders of tests/attacks that hold programs, which tests read as text.
_PROGRAMS = ("verdict", "honest", "containment", "tasks")


def main() -> None:
    """Measure each checkout and print the table, or compare the first checkout with its budgets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--budgets", type=Path, metavar="FILE", help="compare with a table of ceilings")
    arguments = parser.parse_args()
    checkouts = arguments.checkouts
    if arguments.budgets:
        excesses = over_budget(checkouts[0], tomllib.loads(arguments.budgets.read_text(encoding="utf-8")))
        sys.exit("\n".join(f"over budget: {excess}" for excess in excesses) if excesses else None)
    print(f"| | {' | '.join(checkout.resolve().name for checkout in checkouts)} |\n|---|{'---:|' * len(checkouts)}")
    for name, measure in _MEASURES.items():
        print(f"| {name} | {' | '.join(str(measure(checkout)) for checkout in checkouts)} |")


def over_budget(checkout: Path, budgets: dict[str, Any]) -> list[str]:
    """List the parts that exceed their ceilings, each with the figure and the ceiling."""
    measured = [
        ("hard dependencies", len(_project(checkout)["dependencies"]), budgets["dependencies"]),
        ("columns of README.md", _columns(checkout / "README.md"), budgets["readme_columns"]),
    ]
    for name, part in budgets["parts"].items():
        files = _files_of(checkout, part)
        measured += [
            (f"lines of {name}", _lines(files), part["lines"]),
            (f"files of {name}", len(files), part["files"]),
        ]
    return [f"{name}: {figure}, at most {ceiling}" for name, figure, ceiling in measured if figure > ceiling]


def _files_of(checkout: Path, part: dict[str, Any]) -> list[Path]:
    """Return the files of a part: those below its paths with its suffix, without those below its exceptions."""
    suffix, exceptions = part.get("suffix", ".py"), [checkout / path for path in part.get("without", ())]
    roots = [checkout / path for path in part["paths"]]
    files = [file for root in roots for file in ([root] if root.is_file() else root.rglob(f"*{suffix}"))]
    return [file for file in files if not any(file.is_relative_to(exception) for exception in exceptions)]


def _columns(file: Path) -> int:
    return max(len(line) for line in file.read_text(encoding="utf-8").splitlines())


def _project(checkout: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _lines(files: list[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def _is_program(path: Path) -> bool:
    """Tell if a file below tests is a program that a test reads as text."""
    inside = path.parts[path.parts.index("tests") + 1 :]
    return inside[0] == "attacks" and any(part in _PROGRAMS for part in inside) and not path.name.startswith("test_")


def _tests(checkout: Path, *, programs: bool) -> list[Path]:
    return [path for path in _files(checkout / "tests") if _is_program(path) is programs]


def _nodes(checkout: Path) -> Iterator[ast.AST]:
    for path in _files(checkout / "src"):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _function_lines(checkout: Path) -> str:
    functions = (node for node in _nodes(checkout) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    lengths = sorted((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions)
    p50, p90, p99 = (lengths[len(lengths) * share // 100] for share in (50, 90, 99))
    return f"{p50} / {p90} / {p99} / {lengths[-1]} of {len(lengths)}"


def _repeated_classes(checkout: Path) -> int:
    names = [node.name for node in _nodes(checkout) if isinstance(node, ast.ClassDef)]
    return sum(names.count(name) > 1 for name in set(names))


def _docstring_lines(checkout: Path) -> int:
    constants = (node.value for node in _nodes(checkout) if isinstance(node, ast.Expr))
    texts = [one for one in constants if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in texts)


def _settings(checkout: Path) -> int:
    """Count the annotated fields of the classes in config/ that make up a run's configuration."""
    files = _files(checkout / "src" / "bigcodeflow" / "config")
    classes = [
        node
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Config") and node.name != "EnvironmentCheckConfig"
    ]
    return sum(isinstance(entry, ast.AnnAssign) for node in classes for entry in node.body)


def _dependencies(checkout: Path) -> str:
    project = _project(checkout)
    return f"{len(project['dependencies'])} and {len(project['optional-dependencies'])} extras"


_MEASURES: dict[str, Callable[[Path], object]] = {
    "files in src/": lambda checkout: len(_files(checkout / "src")),
    "lines in src/": lambda checkout: _lines(_files(checkout / "src")),
    "of these docstrings": _docstring_lines,
    "files over 400 lines": lambda checkout: sum(_lines([path]) > 400 for path in _files(checkout / "src")),
    "function lines p50 / p90 / p99 / max": _function_lines,
    "class names defined more than once": _repeated_classes,
    "lines in flows/ and tasks/": lambda checkout: _lines(_files(checkout / "flows") + _files(checkout / "tasks")),
    "lines in tests/": lambda checkout: _lines(_tests(checkout, programs=False)),
    "lines of programs that tests judge": lambda checkout: _lines(_tests(checkout, programs=True)),
    "settings of a run": _settings,
    "dependencies": _dependencies,
}

if __name__ == "__main__":
    main()
