"""Compare the size of each part of the repository with its ceiling; exit code 1 where a part is over it.

    python benchmarks/code_size.py

benchmarks/budgets.toml has the parts and their ceilings. Lines are all lines, blank ones and docstrings included.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]


def main() -> None:
    """Name what is over its budget."""
    budgets = tomllib.loads((_ROOT / "benchmarks/budgets.toml").read_text(encoding="utf-8"))
    excesses = over_budget(_ROOT, budgets)
    sys.exit("\n".join(f"over budget: {excess}" for excess in excesses) if excesses else None)


def over_budget(checkout: Path, budgets: dict[str, Any]) -> list[str]:
    """List the parts that exceed their ceilings, each with the figure and the ceiling."""
    measured = [
        ("hard dependencies", _dependencies(checkout), budgets["dependencies"]),
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


def _dependencies(checkout: Path) -> int:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return len(project["dependencies"])


def _lines(files: list[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


if __name__ == "__main__":
    main()
