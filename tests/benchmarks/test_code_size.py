"""Budgets: a part over its ceiling is named with both figures."""

from pathlib import Path

from code_size import over_budget


def _checkout(folder: Path) -> Path:
    (folder / "src" / "generated").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n" * 10)
    (folder / "src" / "generated" / "b.py").write_text("b = 1\n" * 90)
    (folder / "README.md").write_text("short\nlonger than that\n")
    (folder / "pyproject.toml").write_text('[project]\ndependencies = ["polars", "duckdb"]\n')
    return folder


def test_what_is_too_large_is_named(tmp_path: Path) -> None:
    part = {"paths": ["src"], "without": ["src/generated"], "lines": 9, "files": 1}
    budgets = {"dependencies": 1, "readme_columns": 10, "parts": {"src/": part}}
    assert over_budget(_checkout(tmp_path), budgets) == [
        "hard dependencies: 2, at most 1",
        "columns of README.md: 16, at most 10",
        "lines of src/: 10, at most 9",
    ]


def test_what_fits_is_not(tmp_path: Path) -> None:
    whole = {"paths": ["src", "README.md"], "lines": 102, "files": 3}
    budgets = {"dependencies": 2, "readme_columns": 16, "parts": {"all": whole}}
    assert over_budget(_checkout(tmp_path), budgets) == []
