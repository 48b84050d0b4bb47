"""Which modules are imported beforehand, and which zygotes are worth having: never more than an item asks for."""

import ast
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import protocol
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.zygote_plan import (
    FILE,
    SURVEY_LIMITS,
    ImportSurvey,
    ModuleFiles,
    ZygotePlan,
    ZygotePlanner,
    leading_modules,
    read_survey,
    survey_imports,
)

from .conftest import TEST, item


class _Installed(ModuleFiles):
    """Files of an environment that holds these modules."""

    def __init__(self, *names: str) -> None:
        self.has = frozenset(names).__contains__


FILES = _Installed("numpy", "pandas", "scipy", "scipy.stats", "os", "os.path", "unittest", "unittest.mock", "json")


@pytest.mark.parametrize(
    ("program", "modules"),
    [
        ("import numpy as np, json\nfrom pandas import DataFrame", ("numpy", "json", "pandas", "unittest")),
        ("from scipy import stats, nothing", ("scipy", "scipy.stats", "unittest")),
        ('"""doc"""\nfrom __future__ import annotations\nX = [1, {2: 3}]\nimport os.path', ("os.path", "unittest")),
        ("def f():\n    import numpy\nclass A:\n    pass\nimport json", ("json", "unittest")),
        ("if __name__ == '__main__':\n    import numpy\nimport json", ("json", "unittest")),
        ("import json\nimport sys\nsys.path.append('x')\nimport numpy", ("json",)),
        ("import json\njson.dumps = None\nimport numpy", ("json",)),
        ("X = f()\nimport numpy", ()),
        ("try:\n    import numpy\nexcept ImportError:\n    numpy = None", ()),
        ("from . import numpy\nfrom .pandas import x\nimport absent", ("unittest",)),
        ("import numpy\ndef (", ()),
        ("import numpy\n" * 1001, ()),
    ],
)
def test_what_comes_first_is_imported_beforehand(program: str, modules: tuple[str, ...]) -> None:
    """Imports before any statement that could change them, in their order, as far as they are installed."""
    assert leading_modules(program, "import unittest\nprint()\nimport json", FILES) == modules


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    """Whatever a model wrote, reading its imports ends with a result."""
    assert isinstance(leading_modules(text, TEST, FILES), tuple)


def test_modules_of_an_environment_are_known_by_its_files(starter_environment: InstalledEnvironment) -> None:
    """Packages, modules, extension modules and the standard library are found; other names are not."""
    files = ModuleFiles(starter_environment)
    assert all(map(files.has, ["numpy", "numpy.linalg", "yaml", "json.decoder", "unittest.mock", "pandas._libs.lib"]))
    assert not any(map(files.has, ["numpy.array", "absent", "a.b"]))


def test_a_survey_shows_what_an_import_loads(
    starter_environment: InstalledEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is measured in the sandbox, and measured once."""
    (tmp_path / "venv").symlink_to(starter_environment.root / "venv")
    mounts = (*starter_environment.mounts, tmp_path)
    environment = replace(starter_environment, root=tmp_path, mounts=mounts)
    surveyor = LocalBackend(environment, SURVEY_LIMITS)
    survey = survey_imports(environment, ["numpy", "json", "colorsys", "absent_module"], surveyor)
    assert caplog.messages == ["measuring the imports of 4 modules, once in this environment"]
    assert "numpy.linalg" in survey.loads["numpy"]
    assert survey.loads["colorsys"] == {"colorsys"}
    assert survey.loads["absent_module"] == frozenset()
    numpy_seconds = sum(survey.seconds.get(module, 0) for module in survey.loads["numpy"])
    assert numpy_seconds > survey.seconds["colorsys"] > 0
    again = survey_imports(environment, ["numpy", "colorsys"], surveyor)
    assert len(caplog.messages) == 1
    assert again.loads == survey.loads
    (tmp_path / FILE).write_text("torn")
    assert read_survey(environment) == ImportSurvey({}, {})


def test_items_are_given_a_zygote_that_is_worth_it(starter_environment: InstalledEnvironment) -> None:
    """Many items with a slow library share one that has it; what they do not import is not in it."""
    slow = [item(f"import pandas\n# {number}\ndef task_func():\n    return 42\n") for number in range(30)]
    plain = [item(f"# {number}\ndef task_func():\n    return 42\n") for number in range(30)]
    surveyor = LocalBackend(starter_environment, SURVEY_LIMITS)
    found = ZygotePlanner(starter_environment, surveyor).warmed([*slow, *plain])
    assert {one.preload for one in found[:30]} == {("pandas", "unittest")}
    assert all("pandas" in chain(*one.zygote) for one in found[:30])
    assert not any("pandas" in chain(*one.zygote) for one in found[30:])
    assert [one.program for one in found] == [one.program for one in [*slow, *plain]]


def test_later_items_use_the_zygotes_that_are_there(starter_environment: InstalledEnvironment) -> None:
    """Unless they are so many more that zygotes planned for them are worth their imports."""
    planner = ZygotePlanner(starter_environment, LocalBackend(starter_environment, SURVEY_LIMITS))

    def zygotes(library: str, count: int) -> set[tuple[str, ...]]:
        texts = [(f"import {library}\n# {number}", TEST) for number in range(count)]
        return {tuple(chain(*zygote)) for _, zygote in planner.starts_of(texts)}

    (numpy,) = zygotes("numpy", 10)
    assert "numpy" in numpy
    assert zygotes("pandas", 20) == {numpy}, "numpy is part of pandas"
    (pandas,) = zygotes("pandas", 21)
    assert "pandas" in pandas
    assert zygotes("pandas", 2) == {pandas}


_NAMES = "abcdef"


@st.composite
def _plans(draw: st.DrawFn) -> tuple[list[tuple[str, ...]], ImportSurvey]:
    """Modules that load one another in a chain or not at all, and items that import some of them."""
    loads = {}
    for index, name in enumerate(_NAMES):
        below = draw(st.lists(st.sampled_from(_NAMES[:index]), max_size=2)) if index else []
        loads[name] = frozenset({name}).union(*(loads[other] for other in below))
    seconds = {name: draw(st.floats(0, 2)) for name in _NAMES}
    preloads = draw(st.lists(st.lists(st.sampled_from(_NAMES), unique=True, max_size=4).map(tuple), max_size=40))
    return preloads, ImportSurvey(loads, seconds)


@given(_plans())
def test_a_zygote_holds_nothing_that_its_items_do_not_load(given_plan: tuple[list, ImportSurvey]) -> None:
    """Whatever is chosen, a sample finds only what its own imports would have loaded."""
    preloads, survey = given_plan
    plan = ZygotePlan(preloads, survey)
    for preload, zygote in ((preload, plan.zygote_of(preload)) for preload in preloads):
        names = tuple(chain(*zygote))
        loaded, wanted = ({one for name in some for one in survey.loads.get(name, ())} for some in (names, preload))
        assert loaded <= wanted
        assert len(set(names)) == len(names)
        assert all(layer and list(layer) == sorted(layer) for layer in zygote)


def test_a_package_is_kept_imported_for_its_modules() -> None:
    """Whichever of its modules a program imports, Python imports the package first."""
    survey = ImportSurvey({"nltk": frozenset({"nltk", "regex"})}, {"nltk": 0.4, "regex": 0.1})
    preloads = [("nltk.stem",), ("nltk.corpus", "json"), ("json",)]
    plan = ZygotePlan(preloads, survey)
    assert [plan.zygote_of(preload) for preload in preloads] == [(("nltk",),), (("nltk",),), ()]


def test_a_zygote_costs_what_it_adds_to_the_one_that_it_is_forked_from() -> None:
    """Two items are worth a zygote that needs another 0.3 s, and not one that needs 1.3 s."""
    survey = ImportSurvey({"a": frozenset("a"), "b": frozenset("ab")}, {"a": 1.0, "b": 0.3})
    plan = ZygotePlan([("a",)] * 10 + [("b",)] * 2, survey)
    assert [plan.zygote_of(preload) for preload in (("a",), ("b",))] == [(("a",),), (("a",), ("b",))]


def test_no_program_of_a_sandbox_has_the_syntax_of_a_later_python() -> None:
    """What runs inside the sandbox is read by Python 3.8."""
    files = list(Path(protocol.__file__).parent.glob("*.py"))
    assert len(files) > 5
    for file in files:
        ast.parse(file.read_text(), feature_version=(3, 8))
