"""Causes of failures in newer libraries, read from tracebacks as sandboxes report them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow_studies.evolution.causes import CAUSES, LABELS, Texts, causes_of, deciding_cause, label_of, removals_of
from bigcodeflow_studies.evolution.removals import evidence_of, removal_in
from bigcodeflow_studies.evolution.study import outdated_calls

SITE = "/opt/environments/current/venv/lib/python3.13/site-packages"
PYTHON = "/opt/python/lib/python3.13"
SETUP = """import json
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
from sklearn.preprocessing import OneHotEncoder
def task_func(df):"""
SOLUTION = """import json
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
from sklearn.preprocessing import OneHotEncoder
def task_func(df):
    made = df.applymap(str)
    return made
"""
TEST = """import unittest
class TestCases(unittest.TestCase):
    def setUp(self):
        self.df = pd.DataFrame({"a": [1]})
    def test_plot(self):
        ax = task_func(self.df)
        texts = ax.get_legend().get_texts()
        self.assertEqual(len(texts), 1)
"""
TEXTS = Texts(SETUP, f"{SETUP}\n    pass\n{SOLUTION}", TEST)
_SOLUTION_LINE = TEXTS.program.split("\n").index("    made = df.applymap(str)") + 1
_TEST_LINE = TEXTS.first_of_test + 6


def frame(line: int, function: str) -> str:
    return f'  File "__test__.py", line {line}, in {function}\n'


def library_frame(path: str, function: str = "inner", source: str = "raise problem") -> str:
    return f'  File "{path}", line 100, in {function}\n    {source}\n'


def traceback(message: str, *frames: str) -> str:
    return f"Traceback (most recent call last):\n{''.join(frames)}{message}\n"


IN_SOLUTION = (frame(_TEST_LINE - 1, "test_plot"), frame(_SOLUTION_LINE, "task_func"))
IN_TEST = (frame(_TEST_LINE, "test_plot"),)
IN_SETUP_OF_TEST = (frame(TEXTS.first_of_test + 3, "setUp"),)
OF_MODULE = (frame(2, "<module>"),)


def verdict(
    *traces: str, module: str = "", status: str = "fail", flaky: bool | None = False, exit_: str = "exit 0"
) -> Any:
    tests = [{"name": f"test_{number}", "trace": trace} for number, trace in enumerate(traces)]
    return {"status": status, "module_trace": module, "tests": tests, "flaky": flaky, "exit": exit_}


PASSED = verdict(status="pass", flaky=None)
DIFFERS = traceback("AssertionError: 1 != 2", *IN_TEST)
DIFFERING, KILLED = verdict(DIFFERS), verdict(status="timeout", exit_="killed: wall")

#: Message, frames → cause, place, library, what it was read from, the name that is gone, and the task's label.
CASES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "an attribute of a module": (
        "AttributeError: module 'numpy' has no attribute 'float'.\n`np.float` was a deprecated alias for `float`.",
        (*IN_SOLUTION, library_frame(f"{SITE}/numpy/__init__.py", "__getattr__")),
        ("API removed", "solution", "numpy", "message", "numpy.float", "drifts"),
    ),
    "a name removed with a sentence": (
        "AttributeError: `np.NaN` was removed in the NumPy 2.0 release. Use `np.nan` instead.",
        (*IN_SOLUTION, library_frame(f"{SITE}/numpy/__init__.py", "__getattr__")),
        ("API removed", "solution", "numpy", "traceback", "np.NaN", "drifts"),
    ),
    "a method": (
        "AttributeError: 'DataFrame' object has no attribute 'append'",
        (*IN_SOLUTION, library_frame(f"{SITE}/pandas/core/generic.py", "__getattr__")),
        ("API removed", "solution", "pandas", "message", "DataFrame.append", "drifts"),
    ),
    "a method that a test needs": (
        "AttributeError: 'Legend' object has no attribute 'legendHandles'. Did you mean: 'legend_handles'?",
        IN_TEST,
        ("API removed", "test", "matplotlib", "message", "Legend.legendHandles", "dead"),
    ),
    "an assertion of unittest": (
        "AttributeError: 'TestCases' object has no attribute 'assertEquals'. Did you mean: 'assertEqual'?",
        IN_TEST,
        ("API removed", "test", "python", "message", "TestCase.assertEquals", "dead"),
    ),
    "a keyword argument": (
        "TypeError: OneHotEncoder.__init__() got an unexpected keyword argument 'sparse'",
        IN_SOLUTION,
        ("API removed", "solution", "sklearn", "message", "OneHotEncoder.__init__(sparse=)", "drifts"),
    ),
    "a keyword argument of a function": (
        "TypeError: read_csv() got an unexpected keyword argument 'squeeze'",
        IN_SOLUTION,
        ("API removed", "solution", "pandas", "message", "read_csv(squeeze=)", "drifts"),
    ),
    "a positional argument": (
        "TypeError: DataFrame.drop() takes from 1 to 2 positional arguments but 3 were given",
        IN_SOLUTION,
        ("API removed", "solution", "pandas", "message", "DataFrame.drop()", "drifts"),
    ),
    "a frequency": (
        "ValueError: Invalid frequency: M. Failed to parse with error message: ValueError(\"'M' is no longer supported\")",
        (*IN_SOLUTION, library_frame(f"{SITE}/pandas/core/indexes/datetimes.py", "date_range")),
        ("API removed", "solution", "pandas", "message", "freq='M'", "drifts"),
    ),
    "a member of a package": (
        "ImportError: cannot import name 'simps' from 'scipy.integrate' (/opt/scipy/integrate/__init__.py)",
        OF_MODULE,
        ("API removed", "setup", "scipy", "message", "scipy.integrate.simps", "dead"),
    ),
    "a data set with a long message": (
        "ImportError: \n`load_boston` has been removed from scikit-learn since version 1.2.\n\nThe Boston prices …",
        (*OF_MODULE, library_frame(f"{SITE}/sklearn/datasets/__init__.py", "__getattr__")),
        ("API removed", "setup", "sklearn", "traceback", "load_boston", "dead"),
    ),
    "a module of Python": (
        "ModuleNotFoundError: No module named 'cgi'",
        OF_MODULE,
        ("library gone", "setup", "python", "message", "cgi", "dead"),
    ),
    "a library": (
        "ModuleNotFoundError: No module named 'pkg_resources'",
        OF_MODULE,
        ("library gone", "setup", "pkg_resources", "message", "pkg_resources", "dead"),
    ),
    "a module of a library": (
        "ModuleNotFoundError: No module named 'sklearn.externals'",
        OF_MODULE,
        ("API removed", "setup", "sklearn", "message", "sklearn.externals", "dead"),
    ),
    "a name that a test patches": (
        "AttributeError: <module 'pandas.io.common' from '/opt/pandas/io/common.py'> does not have the attribute 'urlopen'",
        (*IN_TEST, library_frame(f"{PYTHON}/unittest/mock.py", "get_original")),
        ("API removed", "test", "pandas", "message", "pandas.io.common.urlopen", "dead"),
    ),
    "a warning turned into an error": (
        "FutureWarning: Series.__getitem__ treating keys as positions is deprecated. Use `ser.iloc[pos]`.",
        (*IN_SOLUTION, library_frame(f"{SITE}/pandas/core/series.py", "__getitem__")),
        ("API removed", "solution", "pandas", "traceback", "Series.__getitem__", "drifts"),
    ),
    "an exception of a library": (
        "TypeError: Invalid value '1.5' for dtype 'int64'",
        (*IN_SOLUTION, library_frame(f"{SITE}/pandas/core/frame.py"), library_frame(f"{SITE}/pandas/core/blocks.py")),
        ("behaviour changed", "solution", "pandas", "traceback", "", "drifts"),
    ),
    "another value, compared by a library": (
        "AssertionError: \nArrays are not almost equal to 6 decimals\n\n(shapes (8, 8), (64,) mismatch)",
        (*IN_TEST, library_frame(f"{SITE}/numpy/testing/_private/utils.py", "assert_array_compare")),
        ("behaviour changed", "test", "matplotlib", "line", "", "drifts"),
    ),
    "another value": (
        "AssertionError: 'object' != 'str'",
        (frame(_TEST_LINE + 1, "test_plot"),),
        ("behaviour changed", "test", "matplotlib", "line", "", "drifts"),
    ),
    "an attribute of nothing": (
        "AttributeError: 'NoneType' object has no attribute 'get_texts'",
        IN_TEST,
        ("behaviour changed", "test", "matplotlib", "line", "", "drifts"),
    ),
    "a value that another library does not know": (
        "TypeError: Cannot interpret '<StringDtype(storage='python', na_value=nan)>' as a data type",
        (*IN_SOLUTION, library_frame(f"{SITE}/numpy/_core/numerictypes.py")),
        ("behaviour changed", "solution", "pandas", "message", "", "drifts"),
    ),
    "what a test prepares": (
        "ValueError: setting an array element with a sequence.",
        (*IN_SETUP_OF_TEST, library_frame(f"{SITE}/pandas/core/frame.py", "__init__")),
        ("behaviour changed", "setup", "pandas", "traceback", "", "dead"),
    ),
    "data that is not found": (
        "LookupError: \n****\n  Resource punkt_tab not found.\n  Please use the NLTK Downloader to obtain the resource:",
        (*IN_SOLUTION, library_frame(f"{SITE}/nltk/data.py", "find")),
        ("data gone", "solution", "nltk", "traceback", "", "drifts"),
    ),
    "the network": (
        "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
        (*IN_SOLUTION, library_frame(f"{PYTHON}/urllib/request.py", "do_open")),
        ("network", "solution", "", "", "", "drifts"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_traceback_tells_cause_place_library_and_label(name: str) -> None:
    """The message decides first, then the innermost frame of a library, then the lines that the failure went through.

    A task is dead if its setup or its test needs what is gone; what only the reference uses may be done otherwise.
    """
    message, frames, expected = CASES[name]
    trace = traceback(message, *frames)
    now = verdict(module=trace) if frames[:1] == OF_MODULE else verdict(trace)
    [found] = causes_of(now, TEXTS)
    gone = found.removal.name if found.removal else ""
    label, _ = label_of(PASSED, now, TEXTS)
    assert (found.cause, found.place, found.library, found.basis, gone, label) == expected
    assert found.cause in CAUSES


def judged(before: Any, now: Any) -> tuple[str, str, str]:
    """Label, cause and evidence of a task that does not hold."""
    label, cause = label_of(before, now, TEXTS)
    assert cause
    return label, cause.cause, cause.evidence


def test_one_dead_test_method_makes_the_task_dead() -> None:
    """A solution has to pass all methods, so that one which no solution passes decides."""
    dead = traceback("AttributeError: 'TestCases' object has no attribute 'assertEquals'", *IN_TEST)
    label, _, evidence = judged(PASSED, verdict(DIFFERS, "", dead))
    assert (label, evidence) == ("dead", "AttributeError: 'TestCases' object has no attribute 'assertEquals'")


@pytest.mark.parametrize(
    ("name", "line", "label"),
    [
        ("applymap", "", "drifts"),
        ("applymap", "self.assertTrue(self.df.applymap(str).equals(ax))", "dead"),
        ("append", "[].append(ax)", "drifts"),
    ],
)
def test_a_name_that_the_test_looks_up_too_makes_the_task_dead(name: str, line: str, label: str) -> None:
    """No other solution would pass the test's own lookup; but values of Python may have a name of that spelling."""
    now = verdict(traceback(f"AttributeError: 'DataFrame' object has no attribute '{name}'", *IN_SOLUTION))
    assert label_of(PASSED, now, Texts(SETUP, TEXTS.program, f"{TEST}        {line}\n"))[0] == label


def test_a_reference_that_passes_holds_whatever_it_did_before() -> None:
    """A pass needs no cause."""
    assert label_of(PASSED, PASSED, TEXTS) == ("holds", None)
    assert label_of(DIFFERING, PASSED, TEXTS) == ("holds", None)


@pytest.mark.parametrize(
    ("before", "now", "cause"),
    [
        (PASSED, verdict(DIFFERS, flaky=True), "flaky"),
        (verdict(DIFFERS, flaky=True), DIFFERING, "flaky"),
        (
            verdict(traceback("socket.gaierror: [Errno -3] Temporary failure in name resolution", *IN_SOLUTION)),
            verdict(traceback("ValueError: No tables found", *IN_SOLUTION)),
            "network",
        ),
        (
            DIFFERING,
            verdict(traceback("AttributeError: 'DataFrame' object has no attribute 'append'", *IN_SOLUTION)),
            "environment",
        ),
        (KILLED, KILLED, "time limit"),
    ],
)
def test_what_does_not_hold_in_the_older_environment_is_no_drift(before: Any, now: Any, cause: str) -> None:
    """Nor is a task whose repeated executions disagree: neither can be judged."""
    assert judged(before, now)[:2] == ("unjudgeable", cause)


@pytest.mark.parametrize(
    ("status", "cause"), [("timeout", "time limit"), ("out_of_memory", "memory limit"), ("crash", "crash")]
)
def test_an_execution_that_was_ended_has_its_status_as_cause(status: str, cause: str) -> None:
    """A traceback of an earlier test does not hide that a later one was killed."""
    now = verdict(DIFFERS, status=status, exit_="killed: wall")
    assert judged(PASSED, now) == ("drifts", cause, "killed: wall")


def test_a_missing_library_is_told_although_the_judge_calls_it_infrastructure() -> None:
    """An environment that lacks a library gives no verdict about solutions, and does say what is gone."""
    trace = traceback("ModuleNotFoundError: No module named 'cgi'", *OF_MODULE)
    assert judged(PASSED, verdict(module=trace, status="infra_error", flaky=None))[:2] == ("dead", "library gone")


def test_outdated_calls_are_those_of_the_solution() -> None:
    """What the task's setup or its test uses is no call of the model's; a name counts once for a sample."""
    gone = traceback("AttributeError: 'DataFrame' object has no attribute 'applymap'", *IN_SOLUTION)
    of_test = traceback("AttributeError: 'DataFrame' object has no attribute 'append'", *IN_TEST)
    found = removals_of(verdict(gone, gone, of_test), TEXTS)
    assert [cause.removal.name for cause in found if cause.removal] == ["DataFrame.applymap"]
    of_setup = traceback("ModuleNotFoundError: No module named 'cgi'", *OF_MODULE)
    assert removals_of(verdict(module=of_setup), TEXTS) == []
    line = TEXTS.first_of_solution + 3
    own = traceback("ModuleNotFoundError: No module named 'imp'", frame(line, "<module>"))
    [imported] = removals_of(verdict(module=own), TEXTS)
    assert imported.removal
    assert (imported.removal.name, imported.library) == ("imp", "python")


def test_what_a_library_misses_in_a_value_is_no_call_of_the_solution() -> None:
    """Nor is what the older libraries lack too, where they call the type otherwise."""
    inner = library_frame(f"{SITE}/matplotlib/colorbar.py", "__init__", "cmap = mappable.cmap")
    found = verdict(traceback("AttributeError: 'Axes' object has no attribute 'cmap'", *IN_SOLUTION, inner))
    assert removals_of(found, TEXTS) == []
    now = verdict(traceback("AttributeError: 'TtestResult' object has no attribute 'p'", *IN_SOLUTION))
    before = verdict(traceback("AttributeError: 'Ttest_indResult' object has no attribute 'p'", *IN_SOLUTION))
    assert [one["name"] for one in outdated_calls(0, (PASSED, now), TEXTS)] == ["TtestResult.p"]
    assert list(outdated_calls(0, (before, now), TEXTS)) == []


@pytest.mark.parametrize(
    "message",
    [
        "TypeError: task_func() got an unexpected keyword argument 'seed'",
        "TypeError: task_func.<locals>.<lambda>() takes 1 positional argument but 2 were given",
        "AttributeError: 'list' object has no attribute 'iloc'",
        "AttributeError: 'TestCases' object has no attribute 'frame'",
        "AttributeError: 'MagicMock' object has no attribute 'assert_called'",
        "AttributeError: module '__test__' has no attribute 'task_func'",
        "AssertionError: 'no longer supported' not found in 'x'",
        "KeyError: 'a'",
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    ],
)
def test_what_belongs_to_no_library_is_not_gone_from_one(message: str) -> None:
    """Functions of the program, values of the wrong type and words of a test say nothing of a library."""
    assert removal_in(traceback(message, *IN_SOLUTION), defined=TEXTS.defines) is None


def test_evidence_is_one_line() -> None:
    """Where the message begins with a line break, its first words follow the class."""
    assert evidence_of(traceback("KeyError: 'a'\n  more", *IN_TEST)) == "KeyError: 'a'"
    assert evidence_of(traceback("ImportError: \n`load_boston` has been removed.\n", *OF_MODULE)) == (
        "ImportError: `load_boston` has been removed."
    )
    assert len(evidence_of(traceback(f"ValueError: {'x' * 5000}", *IN_TEST))) == 300
    ruler = "*" * 70
    assert evidence_of(traceback(f"LookupError: \n{ruler}\n  Resource 'punkt_tab' not found.\n{ruler}", *IN_TEST)) == (
        "LookupError: Resource 'punkt_tab' not found."
    )


@given(st.text(max_size=300), st.integers(-5, 10**9), st.booleans())
def test_no_text_of_a_program_ends_the_study(message: str, line: int, of_module: bool) -> None:  # noqa: FBT001
    """Whatever a message says and wherever a frame points, a failure gets a label, a cause and evidence in one line."""
    trace = traceback(message, frame(line, "task_func"))
    now = verdict(module=trace) if of_module else verdict(trace)
    label, cause = label_of(PASSED, now, TEXTS)
    assert label in LABELS
    assert cause
    assert cause.cause in CAUSES
    assert "\n" not in cause.evidence
    assert deciding_cause([cause]) is cause


def test_another_value_is_blamed_on_what_is_particular_to_the_task() -> None:
    """NumPy in a test compares what others compute; of the imports, those that few tasks have come first."""
    test = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(np.all(x))\n"
    texts = Texts(SETUP, f"{SETUP}\n    pass\n{SOLUTION}", test)
    trace = traceback("AssertionError: False is not true", frame(texts.first_of_test + 3, "test_it"))
    [found] = causes_of(verdict(trace), texts)
    assert (found.library, found.basis) == ("sklearn", "imports")
