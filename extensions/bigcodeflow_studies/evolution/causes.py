"""Causes of failures under newer libraries: the cause, where it appears, and the responsible library.

Everything is read from verdicts' tracebacks and from the texts of program and test; nothing is executed.
"""

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

from bigcodeflow.core.tracebacks import Frame, own_frames
from bigcodeflow.core.untrusted_text import nodes_of
from bigcodeflow_studies.evolution.removals import Removal, evidence_of, message_of, removal_in

Label = Literal["holds", "drifts", "dead", "unjudgeable"]
Place = Literal["setup", "test", "solution", ""]

LABELS: Mapping[str, str] = {
    "holds": "the reference solution passes in the newer environment",
    "drifts": "it passes in the older environment only, and setup and test find all that they need",
    "dead": "the task's setup or its test needs what is gone, so that no solution can pass",
    "unjudgeable": "it does not pass in the older environment either, or repeated executions disagree",
}
CAUSES: Mapping[str, str] = {
    "library gone": "a module cannot be found",
    "API removed": "a name or an argument of a library is gone",
    "data gone": "data that a library reads is not found",
    "behaviour changed": "another value or another exception comes of the same call",
    "network": "it needs the network, which sandboxes do not have",
    "time limit": "a time limit ended it",
    "memory limit": "it used up its memory",
    "crash": "its process ended without a report",
    "flaky": "repeated executions disagree",
    "environment": "it fails in the older environment too, for a reason that its traceback does not tell",
}
PYTHON = "python"
#: Modules that Python 3.12 and 3.13 no longer have.
_FORMER_STDLIB = frozenset(
    """aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap msilib nis nntplib
    ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib""".split()  # noqa: SIM905 -- as a list it takes a screen
)
_STDLIB = frozenset(sys.stdlib_module_names) | _FORMER_STDLIB
#: Words in messages and test lines, such as names of types, that show the library to which a value belongs.
_WORDS: Mapping[str, str] = {
    "pandas": """DataFrame Series Index MultiIndex RangeIndex DatetimeIndex Timestamp Timedelta DataFrameGroupBy
        SeriesGroupBy Styler Categorical CategoricalDtype StringDtype ArrowDtype read_csv iloc loc columns
        to_datetime date_range dropna groupby""",
    "numpy": "ndarray MaskedArray RandomState float64 int64 array_equal",
    "matplotlib": """Axes AxesSubplot Axes3D Figure Legend Text Line2D Rectangle BarContainer PathCollection
        QuadMesh Spine ContourSet QuadContourSet PolyCollection get_array get_text get_legend get_xticklabels
        get_yticklabels patches get_title collections legend_""",
    "seaborn": "FacetGrid PairGrid JointGrid",
    "keras": "Sequential Functional History KerasTensor Adam SGD",
    "bs4": "BeautifulSoup Tag",
    "openpyxl": "Workbook Worksheet",
    PYTHON: "TestCase",
}
_OWNERS = {word: library for library, words in _WORDS.items() for word in words.split()}
_COMMON = ("matplotlib", "numpy", "pandas")
_NAME = re.compile(r"[A-Za-z_]\w*")
#: Value that a message shows, with its type.
_VALUE = re.compile(r"<(?P<type>[A-Z]\w{0,80})\(")
#: Attributes of built-in types, which a test may use on values that do not come from a library.
_OF_BUILTINS = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int, float) for name in dir(kind))
_FUNCTION = re.compile(r"\s*(?:async )?def ")
_FILE = re.compile(r'^ +File "(?P<path>[^"\n]{1,500})", line \d+(?:, in (?P<function>\w+))?', re.MULTILINE)
_INSTALLED = re.compile(r"/site-packages/(?P<name>\w+)(?P<rest>[^\n]*)")
#: Paths of library code that compares values for assertions of other code.
_HELPERS = re.compile(r"^(?:/testing/|/_testing/|/_libs/testing|/util/_?test)")
#: Calls that compare values, which do not show the library that made the values.
_ASSERTIONS = re.compile(r"\b(?:self\.assert\w+|\w+\.testing\.\w+|\w+\.(?:allclose|array_equal|isclose))\b")
_NETWORK = re.compile(
    r"gaierror|Name or service not known|name resolution|Network is unreachable|Failed to resolve|URLError"
    r"|NewConnectionError|NameResolutionError|ServerNotFoundError"
)
_DATA = re.compile(r"Resource \S*\s*not found|nltk\.download|PathSecurityError")
_BEFORE_CALLS = ("<module>", "setUpModule", "setUpClass", "setUp")
_STATUS_CAUSES = {"timeout": "time limit", "out_of_memory": "memory limit", "crash": "crash"}


class Cause(NamedTuple):
    """Cause of one failed execution."""

    cause: str
    """Key of CAUSES."""
    place: Place
    """Origin of the exception: the task's setup, its test, or the solution; empty if unknown."""
    library: str
    """Import name of the responsible library, 'python' for Python itself; empty if unknown."""
    basis: str
    """Kind of evidence that names the library: message, traceback, line or imports; empty if unknown."""
    evidence: str
    """Last traceback line, or the exit of the sandbox."""
    removal: Removal | None = None
    is_inner: bool = False
    """True if library code, not the program itself, looked up the missing attribute."""

    @property
    def is_dead(self) -> bool:
        """True if no solution can pass, because the task's setup or test needs something that is gone."""
        gone = self.cause in ("library gone", "API removed", "data gone")
        return self.place == "setup" or (self.place == "test" and gone)


class Texts:
    """Program and test as they were executed, with their imports."""

    def __init__(self, code_prompt: str, program: str, test: str) -> None:
        self.program, self.test = program, test
        self.first_of_solution = code_prompt.count("\n") + 2
        """1-based number of the first line after the task's setup."""
        self.first_of_test = program.count("\n") + 2

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Top-level module by imported name, such as 'numpy' by 'np', for the imports of the program and the test."""
        found: dict[str, str] = {}
        for node in (*nodes_of(self.program), *nodes_of(self.test)):
            if isinstance(node, ast.Import):
                tops = {one: one.name.partition(".")[0] for one in node.names}
                found |= {one.asname or top: top for one, top in tops.items()}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {one.asname or one.name: node.module.partition(".")[0] for one in node.names}
        return found

    @property
    def modules(self) -> list[str]:
        """Top-level modules in the order of their imports, without the standard library."""
        return [name for name in dict.fromkeys(self.aliases.values()) if name not in _STDLIB]

    def defines(self, name: str) -> bool:
        """Tell if program or test defines a function or class of that name."""
        written = rf"^\s*(?:async )?(?:def|class) +{re.escape(name)}\b"
        return bool(name and re.search(written, f"{self.program}\n{self.test}", re.MULTILINE))

    @cached_property
    def attributes_of_test(self) -> frozenset[str]:
        """Names of attributes that the test uses, without attributes of built-in types."""
        return frozenset(node.attr for node in nodes_of(self.test) if isinstance(node, ast.Attribute)) - _OF_BUILTINS

    def lines_to(self, frame: Frame) -> list[str]:
        """Return the lines of the frame's function up to the frame's line, without the `def`, last line first."""
        lines = f"{self.program}\n{self.test}".split("\n")[: frame.line]
        start = next((number for number in range(len(lines) - 1, -1, -1) if _FUNCTION.match(lines[number])), 0)
        return lines[:start:-1]


def causes_of(verdict: Mapping[str, Any], texts: Texts) -> list[Cause]:
    """Return a cause for each traceback, the import's first; a limit, a crash or no traceback gives a single cause."""
    traces = [(verdict["module_trace"], True), *((test["trace"], False) for test in verdict["tests"])]
    found = [_cause(trace, texts, of_module=of_module) for trace, of_module in traces if trace]
    by_status = _STATUS_CAUSES.get(verdict["status"])
    if by_status or not found:
        found = [Cause(by_status or "behaviour changed", "", "", "", verdict["exit"] or verdict["status"])]
    return found


def deciding_cause(causes: Iterable[Cause]) -> Cause:
    """Return the cause that decides a task's label: the first that no solution can avoid, else the first of all."""
    causes = list(causes)
    return next((cause for cause in causes if cause.is_dead), causes[0])


def label_of(before: Mapping[str, Any], now: Mapping[str, Any], texts: Texts) -> tuple[Label, Cause | None]:
    """Return a task's label and cause from its reference solution's verdicts in the older and newer environment."""
    if now["status"] == "pass":
        return "holds", None
    causes = causes_of(now, texts)
    cause = deciding_cause(one._replace(place="test") if _is_used_by_test(one, texts) else one for one in causes)
    if now["flaky"] or (before["flaky"] and before["status"] != "pass"):
        return "unjudgeable", cause._replace(cause="flaky")
    if before["status"] != "pass":
        earlier = deciding_cause(causes_of(before, texts))
        told = earlier.cause not in ("behaviour changed", "API removed")
        return "unjudgeable", earlier if told else earlier._replace(cause="environment")
    return ("dead" if cause.is_dead else "drifts"), cause


def _is_used_by_test(cause: Cause, texts: Texts) -> bool:
    """Tell if the test itself needs the missing name that the cause reports, so that no other solution can pass."""
    removal = cause.removal
    return bool(removal and removal.kind == "name" and removal.last_part in texts.attributes_of_test)


def removals_of(verdict: Mapping[str, Any], texts: Texts) -> list[Cause]:
    """Return a cause for each name that the solution's own lines use and that a library lacks."""
    found = [one for one in causes_of(verdict, texts) if one.removal and one.place == "solution" and not one.is_inner]
    return list({one.removal.name: one for one in found if one.removal}.values())


def library_of_module(name: str) -> str:
    """Return the library of a module: its top-level name, or 'python' for the standard library."""
    top = name.partition(".")[0]
    return PYTHON if top in _STDLIB else top


def _cause(trace: str, texts: Texts, *, of_module: bool) -> Cause:
    frames, message = own_frames(trace), message_of(trace)
    place = _place(frames, texts, of_module=of_module)
    removal = removal_in(trace, defined=texts.defines)
    if removal and removal.kind == "module":
        kind = "API removed" if removal.owner and library_of_module(removal.owner) != PYTHON else "library gone"
    elif _NETWORK.search(message):
        kind = "network"
    elif _DATA.search(message):
        kind = "data gone"
    else:
        kind = "API removed" if removal else "behaviour changed"
    is_prepared = place == "test" and frames and frames[0].function in _BEFORE_CALLS
    if is_prepared and kind == "behaviour changed" and not message.startswith("AssertionError"):
        place = "setup"  # the test's own preparations fail before any solution is called
    library, basis = _library(trace, frames, removal, texts)
    if kind == "network" and basis != "traceback":
        library = basis = ""  # a library that requests an address is not responsible for the network
    is_inner = removal is not None and _is_inner(trace, removal)
    return Cause(kind, place, library, basis, evidence_of(trace), removal, is_inner)


def _is_inner(trace: str, removal: Removal) -> bool:
    """Tell if library code looked up the missing attribute; False if the program did, even by a ``__getattr__``."""
    if removal.kind != "name" or not removal.owner or removal.of_module:
        return False
    path, function = (_FILE.findall(trace) or [("__test__.py", "")])[-1]
    return path != "__test__.py" and not function.startswith("__getattr")


def _place(frames: list[Frame], texts: Texts, *, of_module: bool) -> Place:
    if not frames:
        return "setup" if of_module else ""
    if not of_module:
        return "solution" if any(frame.line < texts.first_of_test for frame in frames) else "test"
    line = frames[0].line
    if line >= texts.first_of_test:
        return "test"
    return "setup" if line < texts.first_of_solution else "solution"


def _library(trace: str, frames: list[Frame], removal: Removal | None, texts: Texts) -> tuple[str, str]:
    """Return the responsible library, and the evidence for it: 'message', 'traceback', 'line' or 'imports'."""
    if removal and (named := _owner(removal, texts)):
        return named, "message"
    if (shown := _VALUE.search(message_of(trace))) and (library := _OWNERS.get(shown["type"])) in texts.modules:
        return str(library), "message"  # passed to a library that does not know such values
    if deepest := _deepest_library(trace):
        return deepest, "traceback"
    for frame in reversed(frames):
        # In a test NumPy mostly compares what another library has computed.
        comparing = "numpy" if frame.line >= texts.first_of_test else ""
        first, *others = texts.lines_to(frame) or [""]
        for word in _NAME.findall(_ASSERTIONS.sub("", "\n".join((first, evidence_of(trace), *others)))):
            library = texts.aliases.get(word) or _OWNERS.get(word)
            if library in texts.modules and library != comparing:
                return str(library), "line"
    # Widely used libraries change with care, so a library that is special to the task is more likely.
    particular = [name for name in texts.modules if name not in _COMMON]
    return (*particular, *texts.modules, PYTHON)[0], "imports"


def _owner(removal: Removal, texts: Texts) -> str:
    owner = removal.owner
    if removal.kind == "module" or removal.of_module:
        return library_of_module(owner if removal.of_module else removal.name)
    if owner in _OWNERS:
        return _OWNERS[owner]
    top = owner.partition(".")[0]
    called = removal.name.partition("(")[0].rpartition(".")[2]
    imported = texts.aliases.get(top) or texts.aliases.get(called) or _OWNERS.get(called) or ""
    return library_of_module(imported) if imported else ""


def _deepest_library(trace: str) -> str:
    """Return the library of the innermost frame in library code; skip assertion helpers; empty without such a frame."""
    for path, _ in reversed(_FILE.findall(trace)):
        installed = _INSTALLED.search(path)
        if installed and not _HELPERS.match(installed["rest"]):
            return installed["name"]
    return ""
