"""Failure kinds of samples, decided from the traceback of the first failing test, during execution or from records.

A kind never changes a score. A program may have shaped the traceback that this module reads. So the program can falsify
its failure kind, but nothing else, and it cannot cause an exception in this module.
"""

import ast
import collections
import datetime as dt
import functools
import io
import itertools
import math
import pathlib
import random
import re
import statistics
import string
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.core.tracebacks import message, own_frames

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "assertion": "an assertion of the test failed",
        "unusable_result": "the test itself raised while it used what the program returned or left behind",
        "wrong_api": "the program uses an attribute that a library does not have, or arguments that it does not take",
        "missing_setup": "a name is missing that imports or the task's code_prompt set up, a constant, or the function",
        "import": "the program's import failed",
        "exception": "the program, or a library that it called, raised anything else, or the test's preparations did",
        "syntax": "the program does not compile",
        "timeout": "a time limit ended it",
        "memory": "it used up its memory",
        "crash": "the process ended without finishing its report",
        "tampering": "something was seen that no honest program does",
        "safety_policy": "the safety policy kept it from being executed",
        "unanswered": "no model answered, so nothing was executed",
        "no_tests": "no test judged it: the task has none, or skips them",
        "infrastructure": "the machine's fault, not the program's",
        "unknown": "an imported file gives no reason",
    }
)

# Longer matches are not real names, and a regular expression made from such a name takes seconds.
_SIGNATURE = re.compile(
    r"(?P<callee>[\w.<>]{1,200})\(\) (?:got an unexpected keyword argument|got multiple values for"
    r"|got some positional-only|takes |missing \d+ required|expected at (?:most|least) \d+ argument)"
    r"|'\w+' is an invalid keyword argument for (?P<builtin>\w{1,200})"
    r"|(?P<counted>\w{1,200}) expected (?:at (?:most|least) |exactly )?\d+ arguments?, got"
)
_ATTRIBUTE = re.compile(
    r"(?:module '(?P<module>[\w.]{1,200})'|type object '(?P<type>[\w.]{1,200})'|'(?P<object>[\w.]{1,200})' object)"
    r" has no attribute '(?P<name>\w{1,200})'"
)
_UNDEFINED = re.compile(r"name '(?P<name>\w{1,200})' is not defined")
_UNPATCHABLE = re.compile(r"<module .*> does not have the attribute '\w+'")
#: Functions of a test that run before the program is called.
_BEFORE_CALLS = ("<module>", "setUpModule", "setUpClass", "setUp")
_OWN_MODULES = ("__test__", "__main__")
#: Names of types such as NoneType, function and module. If an attribute of such a value is missing, the value itself is
#: the mistake: the program expected a value of another type.
_NO_VALUES = frozenset(kind.__name__ for kind in vars(types).values() if isinstance(kind, type)) | {"type", "object"}
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, list, tuple, dict, set, frozenset, range, memoryview)
_PLAIN_NAMES = frozenset(kind.__name__ for kind in _PLAIN)
_STDLIB_TYPES = (dt.datetime, dt.timedelta, pathlib.Path, re.Match, io.TextIOWrapper, collections.Counter)
#: Attributes of arrays, data frames and plots that programs wrongly request from lists and numbers.
_LIBRARY_ATTRIBUTES = frozenset(
    """T all any apply argmax argmin astype bar columns corr describe drop dropna dtype fillna flatten get_group groupby
    head hist iloc imshow legend loc max mean median merge min ndim norm plot ravel reset_index reshape savefig scatter
    set_title set_xlabel set_xticks set_ylabel shape size sort_values squeeze std sum tail to_csv to_dict to_list
    to_numpy tolist transpose unique value_counts var""".split()  # noqa: SIM905 -- as a list it takes a screen
)
_KNOWN_ATTRIBUTES = frozenset(name for kind in (*_PLAIN, *_STDLIB_TYPES) for name in dir(kind)) | _LIBRARY_ATTRIBUTES
#: Usual aliases and names of imported modules.
_ALIASES = frozenset("np pd plt sns nx tf sp sm dt mpl st torch keras scipy numpy pandas sklearn".split())  # noqa: SIM905 -- as above
_STDLIB_MEMBERS = frozenset(
    name
    for module in (collections, dt, functools, io, itertools, math, pathlib, random, re, statistics, string, typing)
    for name in dir(module)
    if not name.startswith("_")
)
#: Pattern of class and constant names: if such a name is undefined, the program left out its definition.
_CAPITALIZED = re.compile(r"[A-Z]\w+")


def setup_names(code_prompt: str) -> frozenset[str]:
    """Return the names of imports, constants and functions that a task's code_prompt binds; none for invalid code."""
    return bound_by(_parsed(f"{code_prompt}\n    pass\n"))


def bound_by(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the names that statements bind by imports, assignments and definitions; omit names inside definitions."""
    found = set[str]()
    for part in statements:
        # A definition binds only its own name here: its arguments are bound inside it.
        is_definition = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        found |= _bound_by(part) if is_definition else set().union(*map(_bound_by, ast.walk(part)))
    return frozenset(found)


def _parsed(text: str) -> list[ast.stmt]:
    with suppress(*untrusted_text.REFUSALS):
        return untrusted_text.parse(text).body
    return []


def _bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
        return {node.name or ""}
    return {node.arg} if isinstance(node, ast.arg) else set()


@untrusted_text.with_fallback(lambda *_, **__: "exception")
def failure_kind(trace: str, exception: str, *, program: str, test: str, setup: Iterable[str] = ()) -> str:
    """Return the failure kind of an exception that ended a test or a module.

    ``trace`` is the exception's traceback or only its message; in the traceback, file ``__test__.py`` is the program
    followed by the test. ``exception`` holds the names of the exception's class and base classes, separated by spaces.
    ``setup`` holds the names that the task's code_prompt binds.
    """
    bases = exception.split()
    frames = own_frames(trace)
    first_of_test = program.count("\n") + 2
    for base, kind in (("MemoryError", "memory"), ("ImportError", "import")):
        if base in bases:
            return kind
    if "SyntaxError" in bases:
        return "exception" if frames else "syntax"  # raised by ast.parse or eval, else the text does not compile
    if "AssertionError" in bases:
        return "exception" if frames and frames[-1].line < first_of_test else "assertion"
    if frames and all(frame.line >= first_of_test for frame in frames):
        missing_name = "NameError" in bases and "UnboundLocalError" not in bases
        is_missing = missing_name or ("AttributeError" in bases and _UNPATCHABLE.match(message(trace)))
        kind = "exception" if frames[0].function in _BEFORE_CALLS else "unusable_result"
        return "missing_setup" if is_missing else kind
    if frames and frames[-1].line >= first_of_test:
        return "exception"  # the program called something that the test made, which raised
    return _kind_in_program(message(trace), bases, _Texts(program, test, frozenset(setup)))


def _kind_in_program(text: str, bases: list[str], texts: "_Texts") -> str:
    undefined = _UNDEFINED.search(text)
    if "NameError" in bases and undefined:
        return "missing_setup" if texts.lacks_setup(undefined["name"]) else "exception"
    if "AttributeError" in bases or "TypeError" in bases:
        signature, attribute = _SIGNATURE.match(text), _ATTRIBUTE.match(text)
        if signature and not texts.define(signature["callee"] or ""):
            return "wrong_api"
        if attribute and "AttributeError" in bases and _is_api(attribute, texts):
            return "wrong_api"
    return "exception"


def _is_api(attribute: re.Match[str], texts: "_Texts") -> bool:
    """Return True if the AttributeError is a misuse of a library, False if a value of the program has a wrong type."""
    if attribute["module"]:
        return attribute["module"] not in _OWN_MODULES
    owner = attribute["type"] or attribute["object"]
    if owner in _NO_VALUES or owner.endswith("Mock") or texts.define(f"{owner}.method"):
        return False
    if owner not in _PLAIN_NAMES:
        return True
    # Text and numbers have methods only: an attribute without a call, or a method of another type, means a wrong value.
    name = attribute["name"]
    return name not in _KNOWN_ATTRIBUTES and bool(re.search(rf"\.{name}\s*\(", texts.program))


class _Texts(NamedTuple):
    """Texts of program and test, with the names that the task's code_prompt binds (``setup``)."""

    program: str
    test: str
    setup: frozenset[str]

    def define(self, callee: str) -> bool:
        """Return True if program or test define ``callee``: a function, a class or, of 'Class.method', the class."""
        if "<" in callee:  # a lambda, or something inside a function
            return True
        owner = callee.partition(".")[0]
        wanted = f"class +{owner}" if "." in callee else f"(?:def|class) +{owner}"
        return bool(owner and re.search(rf"\b{wanted}\b", f"{self.program}\n{self.test}"))

    def lacks_setup(self, name: str) -> bool:
        """Return True if the task's setup should have bound the undefined name ``name``.

        The setup should bind the names in ``setup``, and names that the program never binds and that look like a
        module, a member of a standard module, a class or a constant.
        """
        if name in self.setup:
            return True
        if any(name in _bound_by(node) for part in _parsed(self.program) for node in ast.walk(part)):
            return False
        module = name in _ALIASES or name in sys.stdlib_module_names
        member = bool(name in _STDLIB_MEMBERS and re.search(rf"(?<![\w.]){name}\s*[(.\[]", self.program))
        return module or member or bool(_CAPITALIZED.fullmatch(name))
