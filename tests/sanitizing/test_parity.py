"""Parity mode: byte for byte what the original's sanitizer gives."""

import pytest
from hypothesis import given, settings

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.sanitizing import sanitize
from tests.examples import examples
from tests.sanitizing.conftest import Pair, answers

_ONE = "def task_func():\n    return 1"
_X = "def task_func():\n    return x\nx = 1"
_BY_PARAMETER = "df = 1\nkey = 2\ndef task_func(df):\n    return f(key=df)"


def parity(text: str) -> str:
    return sanitize(text, entry_point="task_func", mode="parity")


@pytest.mark.real_data
def test_equals_the_original_on_every_recorded_answer(golden_pairs: list[Pair]) -> None:
    """Recorded answers give exactly the solution that the original recorded with them."""
    different = [pair.task_id for pair in golden_pairs if parity(pair.raw) != pair.solution]
    assert different == []


@pytest.mark.parametrize(
    ("text", "solution"),
    [
        pytest.param(
            "A = 1\nB = 2\nimport os\ndef task_func():\n    return A\ndef other():\n    return B",
            "import os\nA = 1\ndef task_func():\n    return A",
            id="imports first, and only definitions that the entry point reaches",
        ),
        pytest.param(_BY_PARAMETER, _BY_PARAMETER, id="names of parameters reach definitions"),
        pytest.param(f"{_ONE}\ntask_func = 2\ndef task_func():\n    return 3", _ONE, id="first of several definitions"),
        pytest.param(
            "a.b = other\nc, d = other\ndef task_func():\n    return other",
            "a.b = other\ndef task_func():\n    return other",
            id="assignments to no name go by the name on their right side",
        ),
        pytest.param(
            f"{_X}\nr = task_func()\nreturn_value = r\nx = r", _X, id="trailing uses of the entry point are cut"
        ),
        pytest.param("import os\ndef task_func(x): return x", "import os", id="one line is lost"),
        pytest.param("import os\ntask_func = lambda x: x", "import os", id="lambda is lost"),
        pytest.param("import os\ndef task_func(x):\n\treturn x\n", "import os", id="tabs are lost"),
        pytest.param(f"import os\n@cache\n{_ONE}\n", "import os", id="decorated function is lost"),
        pytest.param("so:\nprint(1)\nprint(2)", "print(1)\nprint(2)", id="longest program where nothing is left"),
        pytest.param("I am sorry.\nNo code today.", "I am sorry.", id="first line where nothing is a program"),
        pytest.param("\n\nI am sorry.", "", id="empty first line"),
    ],
)
def test_solution_is_the_originals(text: str, solution: str) -> None:
    """What the original keeps, loses and falls back to: parity is a measure, not an opinion."""
    assert parity(text) == solution


@settings(max_examples=examples(100))
@given(text=answers)
def test_any_text_gives_text_that_can_be_stored(text: str) -> None:
    """NUL bytes, lone surrogates and fragments of any kind give UTF-8 text."""
    assert isinstance(parity(text).encode(), bytes)


def test_solutions_are_calibrated_as_the_original_does() -> None:
    """code_prompt, a stub body, the solution; raw is the solution alone."""
    executed = {one: executed_program(code_prompt="a", solution="b", variant=one) for one in ("calibrated", "raw")}
    assert executed == {"calibrated": "a\n    pass\nb", "raw": "b"}
