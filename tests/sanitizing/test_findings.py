"""Safety findings and what the policies make of them."""

import pytest

from bigcodeflow.sanitizing import find_risks
from bigcodeflow.sanitizing.findings import BLOCKED_RULES, assess


@pytest.mark.parametrize(
    ("program", "rule", "detail"),
    [
        ("eval('1')", "dynamic_code", "eval"),
        ("run = exec", "dynamic_code", "exec"),
        ("import builtins\nbuiltins.exec('1')", "dynamic_code", "builtins.exec"),
        ("import importlib as i\ni.import_module('os')", "dynamic_code", "importlib.import_module"),
        ("import os\nos.system('ls')", "process", "os.system"),
        ("import os as o\no.kill(1, 9)", "process", "os.kill"),
        ("from os import execv as go\ngo('x', [])", "process", "os.execv"),
        ("import subprocess\nrun = subprocess.run\nrun('ls')", "process", "subprocess.run"),
        ("from multiprocessing import Pool\nPool()", "process", "multiprocessing.Pool"),
        ("from os import *\nsystem('ls')", "process", "os.system"),
        ("import os\ngetattr(os, 'system')('ls')", "process", "os.system"),
        ("os.fork()", "process", "os.fork"),
        ("import shutil\nshutil.rmtree('/')", "deletion", "shutil.rmtree"),
        ("from pathlib import Path\nPath('x').unlink()", "deletion", "pathlib.Path.unlink"),
        ("def f(folder):\n    folder.rmdir()", "deletion", ".rmdir()"),
        ("import requests\nrequests.get('x')", "network", "requests.get"),
        ("import urllib.request\nurllib.request.urlopen('x')", "network", "urllib.request.urlopen"),
        ("import os\nos.environ['A']", "environment", "os.environ"),
        ("from os import getenv\ngetenv('A')", "environment", "os.getenv"),
        ("from os import getenv", "environment", "import os.getenv"),
        ("import ctypes", "import", "import ctypes"),
        ("from unittest import mock", "import", "import unittest.mock"),
        ("import unittest\nunittest.TestCase.run = None", "evaluator", "unittest.TestCase.run = …"),
        ("import sys\nsys.stdout = None", "import", "sys.stdout = …"),
        ("import sys\nsys._getframe(1)", "evaluator", "sys._getframe"),
        ("import sys\nsys.addaudithook(print)", "evaluator", "sys.addaudithook"),
        ("import threading\nthreading.settrace(print)", "evaluator", "threading.settrace"),
        ("from inspect import stack\nstack()", "evaluator", "inspect.stack"),
        ("def f(frame):\n    return frame.f_back", "evaluator", ".f_back"),
        ("import gc\ngc.get_objects()", "evaluator", "gc.get_objects"),
        ("import ctypes as c\nc.memmove(1, 2, 3)", "evaluator", "ctypes.memmove"),
        ("().__class__.__base__.__subclasses__()", "import", ".__subclasses__"),
    ],
)
def test_risky_places_are_found(program: str, rule: str, detail: str) -> None:
    """Each rule is found through aliases, star imports, assignments and getattr, at the line of its use."""
    found = find_risks(program)
    assert (rule, detail) in [(finding.rule, finding.detail) for finding in found]
    assert max(finding.line for finding in found if finding.detail == detail) == program.count("\n") + 1


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("import re\nre.compile('x')", id="compile of a module"),
        pytest.param("df.eval('a + b')", id="eval of an object"),
        pytest.param("def f(socket):\n    return socket.name", id="parameter"),
        pytest.param("requests = []\nrequests.append(1)", id="variable"),
        pytest.param("from urllib.parse import urlparse\nurlparse('x')", id="parsing of addresses"),
        pytest.param("import requests\ntry: x\nexcept requests.exceptions.Timeout: y", id="exceptions"),
        pytest.param("import os\nos.path.join('a', 'b')", id="paths"),
        pytest.param("import unittest\nclass T(unittest.TestCase): pass", id="own tests"),
        pytest.param("x = (", id="no program"),
    ],
)
def test_harmless_places_are_not_found(program: str) -> None:
    """What only shares a name with something risky is no finding."""
    assert find_risks(program) == []


def test_imports_of_the_prompt_are_followed() -> None:
    """A solution that relies on the prompt's imports under another name is understood; places come once, in order."""
    found = find_risks("import os\nos.remove('b'); os.remove('c')\neval('x')\n")
    assert [(finding.line, finding.detail) for finding in found] == [(2, "os.remove"), (3, "eval")]
    program = "def task_func():\n    sp.run('ls')"
    assert find_risks(program) == []
    assert find_risks(program, setup="import subprocess as sp")[0].detail == "subprocess.run"


@pytest.mark.parametrize(
    ("rule", "program"), [("process", "import os\nos.system('x')"), ("network", "import socket\nsocket.socket()")]
)
def test_policies(rule: str, program: str) -> None:
    """'off' does not look, 'flag' lists, and 'block' also blocks on the rules that can do harm inside a sandbox."""
    assert assess(program, "off") == ([], False)
    assert [finding.rule for finding in assess(program, "flag").findings] == [rule]
    assert assess(program, "flag").blocked is False
    assert assess(program, "block").blocked is (rule in BLOCKED_RULES)
