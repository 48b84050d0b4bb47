"""Messages of plug-ins, which users read where they read the library's."""

import logging
from importlib import import_module

import pytest

from tests.conftest import ROOT

#: Modules that are texts of programs and tests, or need a library of another environment.
_NOT_IMPORTED = ("case_checks", "loaded_programs", "recorder", "verifiers_taskset")
MODULES = [
    ".".join(path.relative_to(ROOT / "extensions").with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "extensions").rglob("*.py"))
    if path.stem not in _NOT_IMPORTED and "getLogger" in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_its_logger_is_below_the_library_s(name: str) -> None:
    """A run's log, its live page and Prefect's take that logger and those below it, and no other."""
    loggers = [value for value in vars(import_module(name)).values() if isinstance(value, logging.Logger)]
    assert loggers
    assert [one.name for one in loggers if not one.name.startswith("bigcodeflow.")] == []
