"""Recorded answers with what the original made of them, and the lines that answers are made of in property tests."""

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import strategies as st

_FILES = (
    "gemma-3-4b-it/*.jsonl.gz",
    "qwen2.5-coder-7b-instruct/*.jsonl.gz",
    "raw-only/DeepSeek*",
    "raw-only/Qwen*",
)
_EVERY_20TH = slice(0, None, 20)


class Pair(NamedTuple):
    task_id: str
    raw: str
    solution: str


# fmt: off
_HEADERS_AND_ODD_LINES = [
    "if x:", "else:", "elif z:", "else: pass", "try:", "except E:", "finally:", "try: x", "except: y", "with a:",
    "def f():", "class A:", "async def f():", "while 1: pass", "for i in x:", "match x:", "case 1:", "@d", "x:",
    "x = 1", "a;b", "return", "lambda: x", "1 1", "print 'x'", "type X = int", "import os", "é = 1", "“q”", "$",
    "", "   ", "\r", "x\r", "x\ry", "if x:\r  y", "\x0cx", "  \x0c y", "\x0b", "\u2028", "\x00", "\ufeffx = 1",
    "prose here",
]
_INDENTED = [
    "  pass", "    pass", "\tpass", "        z()", "  @d", "  def g():", "    return 1", "  try:", "  except:",
    "    finally:", "  else:", "  elif q:", "  case 1:", "    case _:", "  match x:", "    c = (", "    )",
]
_LEXICAL = [
    "'''", '"""', "a = '''b", "'abc\\", "d'", "\\", "x = \\", "    \\", "\\ ", "if x: \\", "import os, \\",
    "  # x \\", "x = (", ")", "[", "]", "{", "}", "x = [1, # (", "x = f'{a}'", 'f\'{a["b"]}\'', 'x = (""" b', "# c",
    "   # c",
]
_ANSWER_LINES = [
    "import os", "from __future__ import annotations", "def task_func(a):", "    return a",
    "task_func = w(task_func)", "def w(f): return f", "TABLE = {}", "TABLE['a'] = 1", "for i in 'ab': TABLE[i] = i",
    "    return TABLE[a]", "class task_func:", "task_func = lambda a: TABLE", "print(task_func(1))",
    "if __name__ == '__main__':",
    "```", "```python", "```bash", "<think>", "</think>", "Here you go:", "", "<think>hm</think>", "\ud800", "é",
]
# fmt: on

#: Texts of lines that matter to Python's layout, in any order.
layouts = st.lists(st.sampled_from(_HEADERS_AND_ODD_LINES + _INDENTED + _LEXICAL), max_size=10).map("\n".join)

#: Texts that look like answers.
answers = st.one_of(
    st.lists(st.sampled_from(_ANSWER_LINES + _INDENTED + _LEXICAL), max_size=14).map("\n".join),
    st.text(max_size=200),
)


def _pairs(samples: Path, file_name: str) -> list[Pair]:
    (path,) = samples.glob(file_name)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) >= 770
    return [Pair(row["task_id"], row["raw_solution"], row["solution"]) for row in rows]


@pytest.fixture(
    scope="session", params=["every 20th", *(pytest.param(name, marks=pytest.mark.slow) for name in _FILES)]
)
def golden_pairs(request: pytest.FixtureRequest, reference_data: Path) -> list[Pair]:
    """Every 20th pair of all sample files, or all pairs of one file."""
    samples = reference_data / "samples"
    if request.param in _FILES:
        return _pairs(samples, request.param)
    return [pair for name in _FILES for pair in _pairs(samples, name)[_EVERY_20TH]]
