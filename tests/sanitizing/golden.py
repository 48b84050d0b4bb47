"""Names of the sample files and the lines that answers are made of in property tests."""

from typing import NamedTuple

from hypothesis import strategies as st

SAMPLE_FILES = (
    "gemma-3-4b-it/*_calibrated.jsonl.gz",
    "qwen2.5-coder-7b-instruct/*_calibrated.jsonl.gz",
    "raw-only/DeepSeek*.jsonl.gz",
    "raw-only/Qwen*.jsonl.gz",
)


class Pair(NamedTuple):
    task_id: str
    raw: str
    solution: str


# fmt: off
_HEADERS = [
    "if x:", "else:", "elif z:", "else: pass", "try:", "except E:", "finally:", "try: x", "except: y", "with a:",
    "def f():", "class A:", "async def f():", "while 1: pass", "for i in x:", "match x:", "case 1:", "@d", "x:",
]
_INDENTED = [
    "  pass", "    pass", "\tpass", "        z()", "  @d", "  def g():", "    return 1", "  try:", "  except:",
    "    finally:", "  else:", "  elif q:", "  case 1:", "    case _:", "  match x:", "    c = (", "    )",
]
_SIMPLE = [
    "x = 1", "a;b", "return", "lambda: x", "1 1", "print 'x'", "type X = int", "import os", "é = 1", "“q”", "$",
]
_LEXICAL = [
    "'''", '"""', "a = '''b", "'abc\\", "d'", "\\", "x = \\", "    \\", "\\ ", "if x: \\", "import os, \\",
    "  # x \\", "x = (", ")", "[", "]", "{", "}", "x = [1, # (", "x = f'{a}'", 'f\'{a["b"]}\'', 'x = (""" b', "# c",
    "   # c",
]
_ODD = [
    "", "   ", "\r", "x\r", "x\ry", "if x:\r  y", "\x0cx", "  \x0c y", "\x0b", "\u2028", "\x00", "\ufeffx = 1",
    "prose here",
]
_PROGRAM_LINES = [
    "import os", "from __future__ import annotations", "def task_func(a):", "    return a",
    "task_func = w(task_func)", "def w(f): return f", "TABLE = {}", "TABLE['a'] = 1", "for i in 'ab': TABLE[i] = i",
    "    return TABLE[a]", "class task_func:", "task_func = lambda a: TABLE", "print(task_func(1))",
    "if __name__ == '__main__':",
]
_ANSWER_LINES = [
    "```", "```python", "```bash", "<think>", "</think>", "Here you go:", "", "<think>hm</think>", "\ud800", "é",
]
# fmt: on

#: Texts of lines that matter to Python's layout, in any order.
layouts = st.lists(st.sampled_from(_HEADERS + _INDENTED + _SIMPLE + _LEXICAL + _ODD), max_size=10).map("\n".join)

#: Texts that look like answers.
answers = st.one_of(
    st.lists(st.sampled_from(_PROGRAM_LINES + _ANSWER_LINES + _INDENTED + _LEXICAL), max_size=14).map("\n".join),
    st.text(max_size=200),
)
