"""Robust mode: what the original loses is kept, and nothing that it keeps is lost."""

import html
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bigcodeflow.core.calibration import calibrate
from bigcodeflow.sanitizing import sanitize, syntax_error
from bigcodeflow.sanitizing.statements import statements_of
from tests.examples import examples
from tests.sanitizing.conftest import Pair, answers

_FUNCTION = "def task_func(x):\n    return x"


def robust(text: str) -> str:
    return sanitize(text, entry_point="task_func", mode="robust")


def bound_names(program: str) -> set[str]:
    return {name for item in statements_of(program) or [] for name in item.binds}


def reached_names(program: str) -> set[str]:
    """Names of the module that running the entry point can come to read."""
    statements = statements_of(program) or []
    reached = {"task_func"}
    for _ in statements:
        reached |= {name for item in statements if item.binds & reached for name in item.needs}
    return reached & bound_names(program)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("def task_func(x): return x", id="one line"),
        pytest.param("task_func = lambda x: x", id="lambda"),
        pytest.param("def task_func(x):\n\treturn x", id="tabs"),
        pytest.param("import functools\n@functools.cache\ndef task_func(x):\n    return x", id="decorated function"),
        pytest.param(f"@dec\nclass A:\n    pass\ndef dec(c): return c\n{_FUNCTION} + A()", id="decorated class"),
        pytest.param(f"def wrap(f):\n    return f\n{_FUNCTION}\ntask_func = wrap(task_func)", id="wrapped"),
        pytest.param(f"A, B = 1, 2\n{_FUNCTION} + A + B", id="tuple"),
        pytest.param(f"A = 1\nA += 1\n{_FUNCTION} + A", id="augmented"),
        pytest.param(f"A = B = 3\n{_FUNCTION} + B", id="chained"),
        pytest.param(f"A: int = 3\n{_FUNCTION} + A", id="annotated"),
        pytest.param(f"try:\n    import np\nexcept ImportError:\n    np = None\n{_FUNCTION}", id="guarded import"),
        pytest.param(f"T = {{}}\nfor i in range(9):\n    T[i] = i\n{_FUNCTION} + T[1]", id="table"),
        pytest.param(f"T = []\nT.append(1)\n{_FUNCTION} + T[0]", id="method call"),
        pytest.param(f"import random\nrandom.seed(42)\n{_FUNCTION}", id="seed"),
        pytest.param(f"import random\nSEED = 42\nrandom.seed(SEED)\n{_FUNCTION}", id="named seed"),
        pytest.param(f"import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot\n{_FUNCTION}", id="backend"),
        pytest.param(f"T = {{}}\ndef add(f):\n    T[1] = f\n@add\ndef g(): pass\n{_FUNCTION} + T[1]()", id="registry"),
        pytest.param(f"T = {{}}\ndef fill():\n    T[1] = 1\nfill()\n{_FUNCTION} + T[1]", id="filled by a call"),
        pytest.param(f"{_FUNCTION}\ntask_func.limit = 3", id="attribute of the function"),
        pytest.param(f"def h(x): 1\nG = h\ndef h(x): 2\n{_FUNCTION} + G(x) + h(x)", id="used before it was replaced"),
        pytest.param("if True:\n    def task_func(x):\n        return x", id="conditional"),
        pytest.param(
            "size = len('abc')\ndef task_func(x, size=3):\n    return x", id="calculated, of a parameter's name"
        ),
    ],
)
def test_what_the_entry_point_needs_is_kept(program: str) -> None:
    """Each way to define the entry point, or what it needs, survives unchanged."""
    assert robust(f"{program}\n") == program
    assert robust(f"Here is the code:\n```python\n{program}\n```\nIt works.") == program


@pytest.mark.parametrize(
    "use",
    [
        pytest.param("print(task_func(1))", id="print"),
        pytest.param("result = task_func(1)", id="call"),
        pytest.param("assert task_func(1) == 1", id="assert"),
        pytest.param("if __name__ == '__main__':\n    print(task_func(1))", id="main guard"),
        pytest.param("def main():\n    task_func(1)\nmain()", id="main function"),
        pytest.param("for i in range(3):\n    print(task_func(i))", id="loop"),
        pytest.param("try:\n    task_func(None)\nexcept TypeError as e:\n    print(e)", id="try"),
        pytest.param("df = read('x.csv')\ntask_func(df)", id="input"),
        pytest.param("from solution import task_func", id="import"),
        pytest.param("import doctest\ndoctest.testmod()".partition("\n")[2], id="doctest"),
        pytest.param("class TestTask(TestCase):\n    def test(self):\n        task_func(1)", id="tests"),
    ],
)
def test_what_only_shows_the_entry_point_is_left_out(use: str) -> None:
    """Example calls, prints, asserts and tests of the entry point go, after it as well as between."""
    assert robust(f"{_FUNCTION}\n{use}\n") == _FUNCTION
    assert robust(f"A = 1\n{_FUNCTION} + A\n{use}\n") == f"A = 1\n{_FUNCTION} + A"


@pytest.mark.parametrize(
    "use",
    [
        "plt = task_func(1)",
        "LIMIT = task_func(1)",
        "plt, LIMIT = task_func(1), 2",
        "h: int = task_func(1)",
        "LIMIT = [9]\nprint(task_func(LIMIT))",
        "plt = 3\ntask_func(plt)",
        "out = plt.show(task_func(1))",
        "plt.savefig('x.png')",
        "import os\nos.remove('x.csv')".partition("\n")[2],
    ],
)
def test_an_example_takes_no_name_from_the_program(use: str) -> None:
    """Results and inputs of examples go, though a module, a helper or a constant has the same name."""
    setup = "import os\nimport matplotlib.pyplot as plt\nLIMIT = [2]\ndef h(x):\n    return plt.gca(x)\n"
    program = f"{setup}def task_func(x):\n    return h(x) + LIMIT[0]"
    assert robust(f"{program}\n{use}\n") == program
    assert robust(f"```python\n{program}\n\n{use}\n```") == program


def test_what_only_a_use_of_the_entry_point_binds_is_kept() -> None:
    """A table that it fills itself is no example, nor is a constant that grows."""
    for tail in ("T = [task_func(0)]", "T = [1]\nT += [2]", "T = []\nT = [*T, 1]"):
        program = f"def task_func(x):\n    return x or T[0]\n{tail}"
        assert robust(program) == program


@pytest.mark.parametrize(
    "future",
    [
        "from __future__ import annotations\n",
        "from __future__ import (  # PEP 563\n    annotations,\n\n    division,\n)\n",
        "from __future__ import division, \\\n    annotations as _\n",
        "# c\n\nfrom __future__ import division; from __future__ import annotations; import math\n",
        "from __future__ import annotations\n```\nthen\n```python\n",
    ],
)
def test_a_future_import_leaves_its_meaning_behind(future: str) -> None:
    """Calibration puts code_prompt first, where the import may not follow; annotations are strings, as it makes them."""
    given = "def task_func(x: Later | None, *y: Dict[\n    str, int]) -> 'é':\n    z: Later = x\n    return x"
    quoted = given.replace("Later", "'Later'").replace("'Later' |", "'Later |").replace("None,", "None',")
    quoted = quoted.replace("Dict[\n    str, int]", "'Dict[str, int]'").replace("'é'", "\"'é'\"")
    found = robust(f"```python\n{future}{given}\n```")
    assert found.removeprefix("import math\n") == quoted
    assert syntax_error(calibrate("import os\ndef task_func(x):\n", found)) == ""


_WORKING = 'def h(x):\n    return x\ndef task_func(x):\n    if x < 3:\n        return [h(x), "\'"]\n    return h(x)'
_MARKS = ["<|endoftext|>", " </s>", "<|im_end|>\n<|im_start|>user\n", "<eos><pad>", "<end_of_turn>", "<|eot_id|>"]
_MARKS += ["```", "```\nThat's all.", "</answer>", "</code>\n</answer>", "[/PYTHON]"]
_MARKS += ["<\uff5cend\u2581of\u2581sentence\uff5c>"]


@pytest.mark.parametrize("mark", _MARKS)
def test_a_mark_on_the_last_line_ends_the_program(mark: str) -> None:
    """End marks, fences and closing tags are no Python; the line before them is."""
    for before in ("", "<answer>\n", "```python\n", "[INST] ok [/INST] ", "It's so:\n"):
        assert robust(f"{before}{_WORKING}{mark}") == _WORKING
    own = f"def task_func(x):\n    # not {mark.partition(chr(10))[0].strip('`')}\n    return x.split({mark!r})"
    assert robust(f"It's so:\n```python\n{own}\n```\n") == own


@pytest.mark.parametrize(
    "line",
    [
        "%matplotlib inline",
        "!pip install -q 'x'",
        "!echo (\\\n  it's",
        "h?",
        "?h",
        "%%time",
        "x = !ls",
        "pip install x",
    ],
)
def test_notebook_lines_are_no_part_of_the_program(line: str) -> None:
    """The rest of the cell is the program, whole; what a string holds is its own."""
    before, after = 'K = """\n%time\n"""', "def task_func(x):\n    return h(K, x)"
    program = f"{before}\n{_WORKING.partition(chr(10) + 'def task')[0]}\n{after}"
    cell = program.replace("\ndef", f"\n{line}\n\ndef")
    for answer in (cell, f"```python\n{line}\n{cell}\n{line}\n```", f"In a cell, it's:\n{cell}"):
        assert robust(answer) == program


def _session(program: str) -> str:
    return "\n".join(f"{'...' if line[0] == ' ' else '>>>'} {line}" for line in program.split("\n"))


_ARGUMENTS = json.dumps({"code": _WORKING, "timeout": 3})


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"Here:\n{_ARGUMENTS}\nIt's done.", id="JSON"),
        pytest.param(_ARGUMENTS[:-16], id="JSON, cut off"),
        pytest.param(json.dumps({"imports": "", "answer": f"Sure:\n```python\n{_WORKING}\n```"}), id="fence in JSON"),
        pytest.param(f"```json\n{_ARGUMENTS}\n```", id="fenced JSON"),
        pytest.param(json.dumps([{"function": {"name": "run", "arguments": _ARGUMENTS}}]), id="tool call"),
        pytest.param(json.dumps({"lines": _WORKING.split("\n"), "rest": ["a", "b"]}), id="JSON, lines"),
        pytest.param(json.dumps([{"source": _WORKING.splitlines(keepends=True)}], indent=1), id="notebook"),
        pytest.param(f"<tool_call>\n<parameter=code>\n{_WORKING}\n</parameter>\n</tool_call>", id="tool call, tags"),
        pytest.param(f'run(code="""\n{_WORKING}\n""")', id="call"),
        pytest.param(
            f"<|channel|>analysis<|message|>Hm<|end|><|channel|>final<|message|>{_WORKING}<|return|>", id="final"
        ),
        pytest.param(f"<|channel|>commentary to=run<|constrain|>json<|message|>{_ARGUMENTS}<|call|>", id="commentary"),
        pytest.param(f"So:\n{_session(_WORKING)}\n...\n>>> task_func(1)\n1", id="session"),
        pytest.param("\n".join(f"> {line}" for line in f"So:\n```python\n{_WORKING}\n```".split("\n")), id="quoted"),
        pytest.param("\n".join(f"> > {line}" for line in _WORKING.split("\n")), id="quoted twice"),
        pytest.param(f"<pre><code>{html.escape(_WORKING)}</code></pre>", id="HTML"),
        pytest.param(f"Here's it:\n```python\n{html.escape(_WORKING)}\n```", id="HTML in a fence"),
    ],
)
def test_a_wrapped_program_is_found(answer: str) -> None:
    """JSON, tool calls, channels, sessions, quotes and HTML hold the same program as a fence."""
    assert robust(answer) == _WORKING


_STUB = "def task_func(x):\n    return 0"
_TORN = "def task_func(x):\n    y = x\n    ret ("
_IN_DOCSTRING = "def task_func(x):\n    '''\n```\n>>> 1\n```\n    '''\n    return x"
_HELPERS = ["K = 1", "def h(x):\n    return K", "def task_func(x):\n    return h(x)"]


def fenced(*programs: str) -> str:
    return "\nthen\n".join(f"```python\n{program}\n```" for program in programs)


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        pytest.param(f"{_STUB}\n{_FUNCTION}\n", _FUNCTION, id="last of two definitions"),
        # Drafts among the thoughts are passed over, unless there is nothing else or the token limit tore the answer.
        pytest.param(f"<think>\n{_STUB}\n</think>\n{_FUNCTION}\n", _FUNCTION, id="closed thought"),
        pytest.param(f"so\n{_STUB}\n</think>\n{_FUNCTION}\n", _FUNCTION, id="unopened thought"),
        pytest.param(f"<think>so\n{_FUNCTION}\n", _FUNCTION, id="nothing but thinking"),
        pytest.param(f"<think>\n{fenced(_FUNCTION)}\n</think>\n```python\n{_TORN}", _FUNCTION, id="torn answer"),
        pytest.param(
            fenced("import re\nimport os", "def task_func(x):\n    return re.escape(x)"),
            "import re\ndef task_func(x):\n    return re.escape(x)",
            id="imports of another fence, without those that are not used",
        ),
        pytest.param(fenced(*reversed(_HELPERS)), "\n".join(_HELPERS), id="helpers of later fences"),
        pytest.param(fenced(_STUB, _FUNCTION), _FUNCTION, id="later fence"),
        pytest.param(
            fenced(_STUB, _FUNCTION, "def task_func(x):\n    ...", "y = 1\nprint(task_func(y))"),
            _FUNCTION,
            id="later fences of a placeholder and an example",
        ),
        pytest.param(f"{_FUNCTION}\n```\nSo.\n{fenced('print(task_func(1))')}", _FUNCTION, id="prefilled fence"),
        pytest.param(fenced(_IN_DOCSTRING), _IN_DOCSTRING, id="fence within a docstring"),
        *(
            pytest.param(f"So:\n{fenced(program)}\nNothing else.", program, id="tags of its own")
            for program in (
                "def task_func(s):\n    return re.sub('<think>.*</think>', '', s)",
                _STUB + " if '<think>' else 1",
            )
        ),
        pytest.param(
            f"{fenced(_WORKING)}\n```python\ndef task_func(x):\n    y = 3", _WORKING, id="cut off where it is a program"
        ),
        pytest.param(
            f"<think>\n{fenced(_WORKING)}</think>\n```python\ndef task_func(x):\n    y = 3",
            _WORKING,
            id="cut off where it is a program, after a draft",
        ),
        pytest.param(f"{fenced(_WORKING)}\n```python\n{_FUNCTION}", _FUNCTION, id="last fence ends with a result"),
        pytest.param(fenced(f"{_FUNCTION}\nx = len('abc')"), _FUNCTION, id="an example's input of a parameter's name"),
    ],
)
def test_program_of_an_answer(answer: str, program: str) -> None:
    """The last full definition is the program; what it lacks comes from other passages, nearest first."""
    assert robust(answer) == program


@pytest.mark.parametrize(
    "answer", ["", "I am sorry.", "import os\n", "x = (", "```python\n```", "def other():\n    return 1\n"]
)
def test_without_an_entry_point_parity_decides(answer: str) -> None:
    """An answer that does not define the entry point gives what parity gives."""
    assert robust(answer) == sanitize(answer, entry_point="task_func", mode="parity")


@pytest.mark.real_data
def test_nothing_that_parity_keeps_and_the_entry_point_reaches_is_lost(golden_pairs: list[Pair]) -> None:
    """The entry point of a recorded answer stays defined, with all that it reads; a second run changes nothing."""
    for pair in golden_pairs:
        solution = robust(pair.raw)
        kept = bound_names(solution)
        assert "task_func" in kept or "task_func" not in bound_names(pair.solution), pair.task_id
        if "</think>" not in pair.raw:
            assert reached_names(pair.solution) <= kept, pair.task_id
        assert robust(solution) == solution, pair.task_id
        assert not syntax_error(solution) or syntax_error(pair.solution), pair.task_id


@settings(max_examples=examples(150))
@given(text=answers)
@example(text="  def task_func(x):\n    return x\nand\n  so on")
def test_any_text_is_sanitized_once_for_all(text: str) -> None:
    """Any solution can be stored, stays as it is when sanitized again, and defines the entry point if parity's does."""
    solution = robust(text)
    assert isinstance(solution.encode(), bytes)
    assert robust(solution) == solution
    kept = bound_names(sanitize(text, entry_point="task_func", mode="parity"))
    assert "task_func" in bound_names(solution) or "task_func" not in kept


@given(mode=st.sampled_from(["parity", "robust"]), entry_point=st.text(max_size=5))
@example("parity", "")
@example("parity", "é")
@settings(max_examples=50)
def test_any_entry_point_is_accepted(mode: str, entry_point: str) -> None:
    """An entry point that is empty or no name raises nothing, and imports are kept."""
    found = sanitize(f"import os\nx = 1\n{_FUNCTION}\n", entry_point=entry_point, mode=mode)  # type: ignore[arg-type]
    assert found.startswith("import os")
