"""The harness and its report: no honest program disturbs it or is accused, and what breaks the protocol is tampered."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest.protocol import masked, split_job
from bigcodeflow.judge.host.bubblewrap import HOST_HARNESS_FOLDER, ColdProcess
from bigcodeflow.judge.host.observation import FrameReader

from .conftest import RIGHT, TEST

Judge = Callable[..., dict]

#: What tests/attacks/honest does not do to the interpreter.
HONEST = [
    ("memory in C", "import ctypes\nnumber = ctypes.c_int(42)\ndef task_func():\n    return ctypes.c_int.from_address(ctypes.addressof(number)).value\n"),
    ("a runner of its own", "import unittest\nrun = unittest.TestCase.run\nunittest.TestCase.run = lambda self, result=None: print(self) or run(self, result)\nunittest.main = unittest.TestLoader = unittest.TestResult.addFailure = None\n" + RIGHT),
    ("an assertion that says more", "import unittest\nequal = unittest.TestCase.assertEqual\nunittest.TestCase.assertEqual = lambda self, *both: print(both) or equal(self, *both)\n" + RIGHT),
    ("what the harness uses", "import builtins, hashlib, json, os, resource, time, traceback\nfor module, names in ((builtins, 'all any dict dir filter map max sorted sum'), (hashlib, 'blake2b sha256'), (json, 'dumps loads'), (os, '_exit getpid read write'), (resource, 'getrusage'), (time, 'perf_counter'), (traceback, 'format_exception')):\n    for name in names.split(): setattr(module, name, None)\n" + RIGHT),
    ("no modules left", "import sys\nfor name in list(sys.modules):\n    if name not in ('sys', 'builtins'): del sys.modules[name]\n" + RIGHT),
    ("a module named as one of the harness's", "import sys, types\nassert not {'harness', 'kernel', 'protocol', 'supervisor'} & set(sys.modules)\nsys.modules['protocol'] = types.ModuleType('protocol')\n" + RIGHT),
]  # fmt: skip


@pytest.mark.sandbox
@pytest.mark.parametrize("program", [row[1] for row in HONEST], ids=[row[0] for row in HONEST])
def test_no_honest_program_disturbs_the_harness(judge: Judge, program: str) -> None:
    """However far it reaches: both tests are reported, and nothing is called tampering."""
    found = judge(program)
    assert (found["status"], found["tampering"]) == ("pass", []), found


@pytest.mark.sandbox
def test_a_skip_that_the_text_does_not_ask_for_is_tampered(judge: Judge) -> None:
    """The program cannot take itself out of its tests."""
    found = judge("import unittest\ndef task_func():\n    raise unittest.SkipTest\n")
    assert (found["status"], found["tests"][0]["outcome"]) == ("tampered", "skip")
    assert "ended as skip" in found["tampering"][0]


@pytest.mark.sandbox
@pytest.mark.parametrize(("skipped", "set_up"), [("def test_nothing", 1), ("class TestCases", 0)])
def test_a_skip_of_the_text_runs_nothing_of_it(judge: Judge, skipped: str, set_up: int) -> None:
    """Neither a method that is skipped, nor the set-up before it; a class skips all of its methods."""
    text = TEST.replace("    def test_answer", "    def setUp(self): print('set up')\n    def test_answer")
    at = text.rindex("\n", 0, text.index(skipped)) + 1
    indent = text[at : text.index(skipped)]
    found = judge(RIGHT, f"{text[:at]}{indent}@unittest.skip('not here')\n{text[at:]}")
    outcomes = [test["outcome"] for test in found["tests"]]
    assert outcomes == (["pass", "skip"] if set_up else ["skip", "skip"])
    assert found["stdout"].count("set up") == set_up


@pytest.mark.sandbox
def test_another_test_class_is_tampered(judge: Judge) -> None:
    """The collected tests have to be those that the text declares."""
    program = "import builtins\ngenuine = builtins.__build_class__\ndef build(body, name, *bases, **rest):\n    cls = genuine(body, name, *bases, **rest)\n    if name == 'TestCases': del cls.test_answer\n    return cls\nbuiltins.__build_class__ = build\n"
    assert judge(program)["tampering"][0] == "the collected tests are not those of the task"


@pytest.mark.sandbox
def test_the_test_text_comes_after_the_program(judge: Judge) -> None:
    """While the program is imported nothing waits in the channel, and later a thread sees no word of the test there."""
    program = """import os, socket, stat, threading, time
def peek():
    for fd in range(3, 2048):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                with socket.socket(fileno=os.dup(fd)) as channel:
                    return channel.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            continue
    return b''
seen = [peek()]
def watch():
    while len(seen) < 2 and time.monotonic() < begun + 2:
        seen.extend(filter(None, [peek()]))
begun = time.monotonic()
threading.Thread(target=watch, daemon=True).start()
def task_func():
    print(seen[0], any(word in b''.join(seen) for word in (b'TestCases', b'assertEqual')))
    return 42
"""
    found = judge(program)
    assert (found["status"], found["stdout"]) == ("pass", "b'' False\n")


@pytest.mark.sandbox
@pytest.mark.parametrize("end", ["@staticmethod", "x = (", "'''", "if True:", "x = \\"])
def test_an_open_end_binds_nothing_of_the_test(judge: Judge, end: str) -> None:
    """A program that compiles only together with the test text is a syntax error."""
    assert judge(RIGHT + end)["status"] == "syntax_error"


@pytest.mark.sandbox
def test_lines_of_the_test_follow_those_of_the_program(judge: Judge) -> None:
    """Tracebacks count as if both were one text, and a future import of the program holds for the test."""
    program = "from __future__ import annotations\n" + RIGHT.replace("42", "41")
    found = judge(program, TEST.replace("def test_answer(self)", "def test_answer(self: undefined)"))
    assert 'File "__test__.py", line 8, in test_answer' in found["tests"][0]["trace"]


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "trick", ["os.close(fd)", "os.dup2(os.open(os.devnull, os.O_WRONLY), fd)", "os.write(fd, b'x\\n')"]
)
def test_who_takes_the_descriptor_gets_no_pass(judge: Judge, trick: str) -> None:
    """Closed, exchanged or written to, the report's descriptor ends in a crash or is tampering."""
    program = f"import os, stat\ndef task_func():\n    for fd in range(3, 2048):\n        try:\n            if stat.S_ISSOCK(os.fstat(fd).st_mode): {trick}\n        except OSError: pass\n    return 42\n"
    assert judge(program)["status"] in ("crash", "tampered")


@given(st.text(), st.text(alphabet="0123456789abcdef", min_size=1, max_size=32))
def test_the_first_message_says_nothing_of_the_test(test: str, nonce: str) -> None:
    """The test text travels alone, masked, and comes out as it was, whatever it holds."""
    first, second = (json.loads(one) for one in split_job({"nonce": nonce, "program": "x", "test": test}))
    content = test.encode("utf-8", "surrogatepass")
    assert masked(bytes.fromhex(second["test"]), nonce) == content
    assert "test" not in first


def test_another_test_text_is_tampering(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """The harness compares the text that arrives with the digest that the first message holds."""
    settings = {"home_template": "", "work_folder": str(tmp_path / "work"), "rlimits": {}}
    job = {"nonce": "secret", "program": "", "test": TEST, **settings}
    first, _ = split_job(job)
    _, other = split_job(job | {"test": TEST.replace("42", "41")})
    command = [str(starter_environment.python), "-I", str(HOST_HARNESS_FOLDER / "harness.py")]
    frames = FrameReader(b"secret")
    with closing(ColdProcess(command, variables={"HOME": str(tmp_path / "home")}, bare=True)) as process:
        process.channel.settimeout(30)
        process.channel.sendall(first)
        while data := process.channel.recv(1 << 16):
            frames.feed(data)
            if frames.count("imported") and not frames.ended:
                process.channel.sendall(other)
    assert [frame["event"] for frame in frames.frames] == ["started", "imported", "tampering"]
    assert frames.violations == []
