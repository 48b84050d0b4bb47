"""Parity mode: byte for byte what the original's sanitizer gives."""

import pytest
from hypothesis import given, settings

from bigcodeflow.sanitizing import sanitize
from tests.sanitizing.golden import Pair, answers


def parity(text: str) -> str:
    return sanitize(text, entry_point="task_func", mode="parity")


@pytest.mark.real_data
def test_equals_the_original_on_every_recorded_answer(golden_pairs: list[Pair]) -> None:
    """All recorded answers give exactly the solution that the original recorded beside them."""
    different = [pair.task_id for pair in golden_pairs if parity(pair.raw) != pair.solution]
    assert len(golden_pairs) >= 770
    assert different == []


@pytest.mark.real_data
def test_recorded_solutions_mostly_stay_as_they_are(golden_pairs: list[Pair]) -> None:
    """Sanitizing a solution again rarely changes it; the original's cut may find more to cut the second time."""
    changed = [pair.task_id for pair in golden_pairs if parity(pair.solution) != pair.solution]
    assert len(changed) <= len(golden_pairs) // 100


def test_imports_come_first_and_unreached_definitions_go() -> None:
    """Imports are kept in front; of the definitions only those that the entry point reaches by name."""
    text = "A = 1\nB = 2\nimport os\ndef task_func():\n    return A\ndef other():\n    return B"
    assert parity(text) == "import os\nA = 1\ndef task_func():\n    return A"


def test_names_reach_wherever_they_stand() -> None:
    """A parameter's name reaches a definition as well as a use does."""
    text = "df = 1\nkey = 2\ndef task_func(df):\n    return f(key=df)"
    assert parity(text) == text


def test_first_of_two_definitions_wins() -> None:
    """Of definitions with one name the first is kept, be it a function, a class or a variable."""
    text = "def task_func():\n    return 1\ntask_func = 2\ndef task_func():\n    return 3"
    assert parity(text) == "def task_func():\n    return 1"


def test_assignment_to_no_name_is_called_by_its_value() -> None:
    """An attribute's or a tuple's assignment goes by the name on its right side, an oddity of the original."""
    text = "a.b = other\nc, d = other\ndef task_func():\n    return other"
    assert parity(text) == "a.b = other\ndef task_func():\n    return other"


def test_trailing_uses_of_the_entry_point_are_cut() -> None:
    """Unindented lines at the end go from the first on that mentions the entry point."""
    text = "def task_func():\n    return x\nx = 1\nr = task_func()\nreturn_value = r\nx = r"
    assert parity(text) == "def task_func():\n    return x\nx = 1"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import os\ndef task_func(x): return x\n", id="one line"),
        pytest.param("import os\ntask_func = lambda x: x\n", id="lambda"),
        pytest.param("import os\ndef task_func(x):\n\treturn x\n", id="tabs"),
        pytest.param("import os\n@cache\ndef task_func(x):\n    return x\n", id="decorated"),
    ],
)
def test_known_losses_are_reproduced(text: str) -> None:
    """What the original loses is lost here, too: parity is a measure, not an opinion."""
    assert parity(text) == "import os"


def test_nothing_left_falls_back_to_the_longest_program() -> None:
    """An answer without imports and definitions gives its longest program, and else its first line."""
    assert parity("so:\nprint(1)\nprint(2)") == "print(1)\nprint(2)"
    assert parity("I am sorry.\nNo code today.") == "I am sorry."
    assert parity("\n\nI am sorry.") == ""


@pytest.mark.parametrize("entry_point", ["", "no such name", "é"])
def test_any_entry_point_is_accepted(entry_point: str) -> None:
    """An entry point that is empty or not there raises nothing."""
    text = "import os\nx = 1\ndef f():\n    return x\n"
    assert sanitize(text, entry_point=entry_point, mode="parity").startswith("import os")


@settings(deadline=None, max_examples=200)
@given(text=answers)
def test_any_text_gives_text_that_can_be_stored(text: str) -> None:
    """NUL bytes, lone surrogates and fragments of any kind give UTF-8 text."""
    assert isinstance(parity(text).encode(), bytes)
