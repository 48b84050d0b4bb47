# ruff: noqa: RUF001, PLR0915
"""Texts as models produce them when they degenerate, seeded: the same call gives the same texts.

Five kinds: damaged (cut, NUL bytes, lone surrogates, mixed line ends), endless (one token or line that does not end),
nested (brackets, blocks, strings within one another), repeated (one line, function or fence again and again) and foreign
(other languages, other formats, other writing).
"""

import random
from collections.abc import Iterator
from itertools import cycle, islice

#: About the most that a model may answer today, in characters.
LARGE = 1_000_000

GOOD = '''import random
import collections

def task_func(numbers: list[int]) -> float:
    """The mean of the numbers.

    Returns 0.0 where there are none.
    """
    if not numbers:
        return 0.0
    total = sum(number for number in numbers if f"{number:>3}")
    return total / len(numbers)
'''

ANSWER = f"<think>\nLet me see.\n</think>\nHere it is:\n\n```python\n{GOOD}```\n\nIt divides the sum by the count.\n"


def degenerate_texts(size: int = LARGE, *, seed: int = 0) -> dict[str, str]:
    """Texts by name, each of about so many characters or, where length is not the point, shorter."""
    found: dict[str, str] = {}
    for kind, texts in (
        ("damaged", _damaged(random.Random(seed))),
        ("endless", _endless(size)),
        ("nested", _nested(size)),
        ("repeated", _repeated(size)),
        ("foreign", _foreign(random.Random(seed), size)),
    ):
        found |= {f"{kind}: {name}": text for name, text in texts}
    return found


def answers_within(text: str, entry_point: str = "task_func") -> Iterator[str]:
    """A text where models put it: alone, in a fence, before and behind a good program, and inside of it."""
    yield text
    yield f"```python\n{text}\n```"
    yield f"{text}\n{GOOD}".replace("task_func", entry_point)
    yield f"{GOOD}\n{text}".replace("task_func", entry_point)
    yield f"def {entry_point}(x):\n    {text}\n    return x\n"


def _damaged(chance: random.Random) -> Iterator[tuple[str, str]]:
    for number in range(12):
        yield f"cut {number}", ANSWER[: chance.randrange(len(ANSWER))]
        yield f"begun late {number}", ANSWER[chance.randrange(len(ANSWER)) :]
    for name, damage in (
        *(("NUL", "\0"), ("low surrogate", "\udc80"), ("high surrogate", "\ud83d"), ("byte order mark", "\ufeff")),
        *(("carriage return", "\r"), ("form feed", "\f"), ("line separator", "\u2028"), ("next line", "\x85")),
        *(("escape", "\x1b[2J\x1b]0;title\x07"), ("backslash", "\\"), ("bad escape", '"\\N{NO SUCH}\\x1\\u12"')),
        *(("quote", '"'), ("three quotes", '"""'), ("not a character", "\ufffe\U0010ffff"), ("delete", "\x7f\x08")),
    ):
        yield f"{name} everywhere", "".join(char + (damage if chance.random() < 0.05 else "") for char in ANSWER)
        yield f"{name} first", damage + ANSWER
        yield f"{name} last", ANSWER + damage
        yield f"{name} in a name", f"import a{damage}b\ndef task{damage}_func(x):\n    return x\n"
        yield f"{name} in a string", f"def task_func(x):\n    return '{damage}'\n"
        yield f"{name} alone", damage
        yield f"{name} in a module", f"import {damage}\nfrom {damage} import {damage}\n"
    yield "mixed line ends", "".join(line + end for line, end in zip(ANSWER.split("\n"), cycle(("\n", "\r\n", "\r"))))
    yield "shuffled", "".join(chance.sample(ANSWER, len(ANSWER)))
    yield "bytes", bytes(chance.randrange(256) for _ in range(4000)).decode("latin-1")
    yield "surrogate bytes", bytes(chance.randrange(256) for _ in range(4000)).decode("utf-8", "surrogateescape")
    yield "empty", ""
    yield "blank", " \t\f\n" * 100
    yield "wrong coding", "# -*- coding: no-such-coding -*-\n" + GOOD
    yield "utf-7 coding", "# -*- coding: utf-7 -*-\n" + GOOD
    yield "dots", "from . import x\nfrom ... import *\nimport __future__\nfrom __future__ import no_such\n"


def _endless(size: int) -> Iterator[tuple[str, str]]:
    def filled(unit: str) -> str:
        return unit * (size // len(unit))

    yield "module name", f"import {filled('a')}\n{GOOD}"
    yield "module path", f"import {filled('a.')}a\n{GOOD}"
    yield "module of 255 bytes", f"import {'a' * 255}.{'b' * 256}\n{GOOD}"
    yield "module path of 4,096 bytes", f"import {'.'.join(['a' * 200] * 30)}\n{GOOD}"
    yield "module name of wide letters", f"import {'ä' * 200}, {'模' * 300}\n{GOOD}"
    yield "from module path", f"from {filled('os.')}path import join\n{GOOD}"
    yield "imported names", "from os import " + ", ".join(f"name_{n}" for n in range(size // 12)) + "\n" + GOOD
    names = ", ".join(f"n{n}" for n in range(size // 60))
    yield "names of a long path", f"from {'os.' * (size // 60)}path import {names}\n{GOOD}"
    yield "imports", "".join(f"import module_{n}\n" for n in range(size // 20)) + GOOD
    yield "imports in one line", "import " + ", ".join(f"module_{n}" for n in range(size // 14)) + "\n" + GOOD
    yield "imports of submodules", "".join(f"import os.path.x{n}\n" for n in range(size // 20)) + GOOD
    yield "name", f"{filled('a')}\n{GOOD}"
    yield "entry point", f"def task_func{filled('a')}(x):\n    return x\n"
    yield "number", f"x = {filled('7')}\n{GOOD}"
    yield "hexadecimal", f"x = 0x{filled('f')}\n{GOOD}"
    yield "float", f"x = 1.{filled('0')}1\n{GOOD}"
    yield "exponent", f"x = 1e{filled('9')}\n{GOOD}"
    yield "negative number", f"x = -{filled('7')}j\n{GOOD}"
    yield "string", f"x = '{filled('a')}'\n{GOOD}"
    yield "open string", f"x = '{filled('a')}\n{GOOD}"
    yield "open docstring", 'def task_func(x):\n    """' + filled("so on and so on. ") + "\n    return x\n"
    yield "docstring of lines", 'def task_func(x):\n    """' + filled("so on and so on.\n") + '    """\n    return x\n'
    yield "open docstring of lines", 'def task_func(x):\n    """' + filled("so on and so on.\n")
    yield "joined strings", "x = (" + filled("'a' ") + f")\n{GOOD}"
    yield "comment", f"#{filled('#')}\n{GOOD}"
    yield "comment of lines", GOOD + filled("# and so on\n")
    yield "blanks", f"{GOOD}{filled(' ')}"
    yield "blank lines", GOOD + filled("\n") + "return 0\n"
    yield "indented blank lines", GOOD + filled("    \n") + "    return 0\n"
    yield "carriage returns", GOOD + filled("\r")
    yield "tabs", "def task_func(x):\n" + filled("\t") + "return x\n"
    yield "backslashes", "x = " + filled("\\") + f"\n{GOOD}"
    yield "joined lines", "x = 1" + filled(" \\\n") + f"\n{GOOD}"
    yield "escapes", "x = '" + filled("\\x41") + f"'\n{GOOD}"
    yield "backticks", f"{filled('`')}\n{GOOD}"
    yield "tildes", f"{filled('~')}{GOOD}"
    yield "dashes", f"{filled('- ')}{GOOD}"
    yield "list", f"x = [{filled('1, ')}]\n{GOOD}"
    yield "open list", f"x = [{filled('1, ')}\n{GOOD}"
    yield "open list of lines", "x = [\n" + filled("    1,\n")
    yield "dictionary", f"x = {{{filled('1: 2, ')}}}\n{GOOD}"
    yield "parameters", "def task_func(" + ", ".join(f"a{n}" for n in range(size // 8)) + "):\n    return 0\n"
    yield "arguments", f"def task_func(x):\n    return print({filled('x, ')})\n"
    yield "targets", f"def task_func(x):\n    {filled('a = ')}1\n"
    yield "statements in one line", f"def task_func(x): {filled('x = 1; ')}\n"
    yield "keyword", f"def task_func(x):\n    {filled('return ')}\n"
    yield "words", f"{filled('the ')}\n{GOOD}"
    yield "f-string", f"def task_func(x):\n    return f'{filled('{x}')}'\n"
    yield "f-string formats", f"def task_func(x):\n    return f'{filled('{x:>{x}}')}'\n"
    yield "control sequences", "print('x')\n# " + filled("\x1b[31m") + f"\n{GOOD}"
    yield "future imports", filled("from __future__ import annotations\n") + GOOD
    yield "decorators", filled("@task\n") + GOOD
    yield "semicolons", f"{filled(';')}\n{GOOD}"
    yield "thinking", f"<think>{filled('hmm ')}"


def _nested(size: int) -> Iterator[tuple[str, str]]:
    for depth in (90, 150, 210, 1_000, 10_000, size // 10):
        for name, before, after in (
            *(("parentheses", "(", ")"), ("brackets", "[", "]"), ("braces", "{", "}"), ("dictionaries", "{1:", "}")),
            *(("calls", "f(", ")"), ("keywords", "f(a=", ")"), ("subscripts", "a[", "]"), ("slices", "a[:", "]")),
            *(("lambdas", "lambda: ", ""), ("nots", "not ", ""), ("minuses", "-", ""), ("tildes", "~", "")),
            *(("conditions", "1 if x else ", ""), ("comprehensions", "[x for x in ", "]"), ("powers", "2**", "")),
            *(("generators", "(x for x in ", ")"), ("walrus", "(a := ", ")"), ("stars", "*", "")),
            *(("awaits", "await ", ""), ("tuples", "(1, ", ")"), ("yields", "(yield ", ")")),
            *(("starred", "[*", "]"), ("lambda defaults", "lambda a=", ": 1")),
        ):
            yield f"{name} {depth}", f"def task_func(x):\n    return {before * depth}x{after * depth}\n"
            yield f"open {name} {depth}", f"def task_func(x):\n    return {before * depth}x\n"
        for name, unit in (
            *(("attributes", ".a"), ("chained calls", "()"), ("chained subscripts", "[0]"), ("sum", " + x")),
            *(("comparisons", " < x"), ("and", " and x"), ("or", " or x"), ("chained methods", ".a(x)")),
            *(("matrix", " @ x"), ("conditions after", " if x else x"), ("mixed", ".a[0](x)")),
        ):
            yield f"{name} {depth}", f"import os\ndef task_func(x):\n    return x{unit * depth}\n"
            yield f"{name} of a module {depth}", f"import os\nx = os{unit * depth}\n{GOOD}"
            yield f"assigned {name} {depth}", f"import os\nos{unit * depth} = 1\n{GOOD}"
        yield f"elif {depth}", "if x:\n    pass\n" + "elif x:\n    pass\n" * depth + GOOD
        yield f"functions in a line {depth}", "def f(): " * depth + "pass\n" + GOOD
        yield f"decorated {depth}", "@f\n" * depth + GOOD
        yield f"statements {depth}", "try:\n    import a\nexcept ImportError:\n    a = None\n" * depth + GOOD
    for depth in (50, 90, 101, 1_000, 1_400):
        for name, header in (
            *(("ifs", "if x:"), ("functions", "def f(x):"), ("classes", "class C:"), ("loops", "for x in y:")),
            *(("tries", "try:"), ("withs", "with x:"), ("whiles", "while x:"), ("matches", "match x:")),
        ):
            blocks = "\n".join(" " * level + header for level in range(depth))
            yield f"{name} {depth}", f"{GOOD}{blocks}\n{' ' * depth}pass\n"
            yield f"open {name} {depth}", f"{GOOD}{blocks}\n"
        yield f"dedents {depth}", "\n".join(" " * level + "x = 1" for level in range(depth, 0, -1))
    for depth in (2, 5, 20, 100, 1_000):
        yield f"f-strings {depth}", "def task_func(x):\n    return " + 'f"{' * depth + "x" + '}"' * depth + "\n"
        yield f"alternating f-strings {depth}", "x = " + "".join(islice(cycle(("f'{", 'f"{')), depth)) + "\n" + GOOD
        yield f"format fields {depth}", "x = f'" + "{x:" * depth + "}" * depth + f"'\n{GOOD}"
        yield f"fences {depth}", "".join(f"{'`' * (3 + level)}python\n" for level in range(depth)) + GOOD
    yield "fences", "```python\n```\n" * (size // 14) + GOOD
    yield "quotes", "\"\"\"'''" * (size // 6) + GOOD
    yield "thoughts", "<think>" * (size // 7) + GOOD
    yield "closed thoughts", "</think>" * (size // 8) + GOOD
    yield "alternating thoughts", "<think></think>" * (size // 15) + GOOD


def _repeated(size: int) -> Iterator[tuple[str, str]]:
    for name, unit in (
        *(("line", "    x = x + 1\n"), ("statement", "x = x + 1\n"), ("function", GOOD), ("answer", ANSWER)),
        *(("fence", "```\n"), ("open fence", "```python\n"), ("fenced line", "```python\nx = 1\n```\n")),
        *(("end of thought", "</think>\n"), ("thought", "<think>\n"), ("import", "import os\n")),
        *(("broken line", "def task_func(:\n"), ("open header", "if x:\n"), ("try", "try:\n    x = 1\n")),
        *(("open bracket", "x = (\n"), ("closing bracket", ")\n"), ("open quotes", '"""\n'), ("else", "else:\n")),
        *(("open string", 'x = """ it\'s\n'), ("bracket in prose", "a) one (two\n")),
        *(
            ("class", "class C:\n    x = 1\n\n"),
            ("lambda", "f = lambda x: f(x)\n"),
            ("star import", "from os import *\n"),
        ),
        *(("nested function", "    def f():\n        return 1\n"), ("helper", "def f(x):\n    return g(x)\n")),
        *(("decorator", "@staticmethod\n"), ("docstring", '"""Text."""\n'), ("prose", "The function does it.\n")),
        *(("main", 'if __name__ == "__main__":\n    task_func(1)\n'), ("print", "print(task_func(1))\n")),
        *(("print of text", "print('task_func'); "), ("join", "x = \\\n"), ("comment", "# TODO implement\n")),
        *(("assertion", "assert task_func(1) == 1\n"), ("import in try", "try:\n    import a\nexcept:\n    pass\n")),
        *(("alias", "import os as o; p = o.path; o = p\n"), ("assigned attribute", "x.y = x.y.z\n")),
        *(("end of text", "<|endoftext|>"), ("unclosed", "def f(:\n    '''\n    (\n")),
        ("getattr", "getattr(os, 'system')\n"),
    ):
        yield name, unit * (size // len(unit))
        yield f"{name} behind a program", GOOD + unit * (size // len(unit))
        yield f"{name} before a program", unit * (size // len(unit)) + GOOD
    last, entry = size // 32 - 1, "def task_func(x):\n    return f0(x)\n"
    forwards = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(last + 1))
    backwards = "".join(f"def f{n}(x):\n    return f{n - 1}(x)\n" for n in range(last + 1))
    yield "different functions", forwards
    yield "different functions before the program", forwards + entry
    yield "functions called backwards", backwards + entry.replace("f0", f"f{last}")
    yield "different assignments", "".join(f"x{n} = x{n - 1}\n" for n in range(size // 16)) + GOOD
    needed = "".join(f"x{n} = x{n + 1}\n" for n in range(size // 16))
    yield "assignments needed", f"{needed}def task_func(x):\n    return x0\n"
    effects = "".join(f"data[{n}] = data\n" for n in range(size // 18))
    yield "effects needed", f"data = {{}}\n{effects}def task_func(x):\n    return data\n"
    calls = (" + ".join(f"f{(n * 7 + m) % 999}(x)" for m in range(40)) for n in range(size // 400))
    mutual = "".join(f"def f{n}(x):\n    return {called}\n" for n, called in enumerate(calls))
    yield "mutual functions", f"{mutual}def task_func(x):\n    return f1(x)\n"
    fenced = "".join(f"```python\ndef f{n}(x):\n    return f{n + 1}(x)\n```\n" for n in range(size // 48))
    yield "passages that define parts", f"{fenced}```python\n{entry}```\n"
    yield "broken passages", "```python\ndef f(:\n    x\n```\n" * (size // 30) + GOOD
    yield "passages of the entry point", "```python\ndef task_func(x):\n    return 0\n```\n" * (size // 50)
    yield "torn passages of the entry point", "```python\ndef task_func(x):\n    return (0\n```\n" * (size // 50)
    aliases = "".join(f"x{n} = os\n" for n in range(size // 10))
    yield "aliases", f"import os\n{aliases}" + "".join(f"os = x{n}.path\n" for n in range(1000))
    yield "growing alias", "import os\nos = os.path\n" * (size // 23)
    yield "growing alias in a line", "import os\n" + "os = os.a\n" * (size // 10)
    yield "doubling alias", "import os\n" + "os = getattr(os, 'path')\n" * (size // 26)
    yield "star modules", "".join(f"from m{n} import *\n" for n in range(size // 40)) + "x = y\n" * (size // 12)
    yield "inner attributes", "x = y.__globals__\n" * (size // 18)
    yield "growing indentation", "".join(" " * n + "if x:\n" for n in range(min(1_400, size // 100)))


def _foreign(chance: random.Random, size: int) -> Iterator[tuple[str, str]]:
    texts = {
        "C": '#include <stdio.h>\nint main(void) { printf("%d\\n", 1); return 0; }\n',
        "JavaScript": "const taskFunc = (x) => { return `${x}`; };\nmodule.exports = { taskFunc };\n",
        "shell": "#!/bin/bash\nset -e\npip install pandas\nfor f in *.py; do python $f; done\n$ ls\n",
        "HTML": "<!DOCTYPE html><script>alert(1)</script></script><!-- --><b>&amp;</b>\n",
        "JSON": '{"task_id": "x", "solution": "def task_func(x):\\n    return x", "n": [1, 2, null, NaN]}\n',
        "notebook": '{"cells": [{"cell_type": "code", "source": ["!pip install x\\n", "%matplotlib inline\\n"]}]}\n',
        "diff": "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-def task_func(x):\n+def task_func(x, y):\n",
        "Python 2": "def task_func(x):\n    print x\n    exec 'x'\n    raise ValueError, 'x'\n    return `x` <> 0777\n",
        "doctest": ">>> def task_func(x):\n...     return x\n>>> task_func(1)\n1\n",
        "SQL": "SELECT * FROM t WHERE x = 'it''s'; DROP TABLE t; --\n",
        "LaTeX": "\\begin{align} \\frac{a}{b} \\\\ \\end{align}\n$$x_{1}$$ % comment\n",
        "Markdown": "# Title\n\n| a | b |\n| - | - |\n[link](javascript:alert(1)) ![x](y) <img src=x onerror=alert(1)>\n",
        "rich markup": "[bold red]x[/bold red] [/] [link=x]y[/link] [not closed\n",
        "Chinese": "这个函数计算平均值。\ndef task_func(数): return 数\n",
        "Arabic": "هذه الدالة تحسب المتوسط \u202edef task_func(x): return x\u202c\n",
        "Hebrew": "שם = 1\ndef task_func(שם): return שם\n",
        "combining": "e\u0301" + "\u0301" * 5_000 + " = 1\n",
        "homoglyphs": "dеf tаsk_func(х):\n    rеturn х\nimport оs\nаs = 1\n",
        "other digits": "x = ٣ + １２\ny = x²\nz = Ⅷ\ndef task_func(x): return x\n",
        "compatibility letters": "import ﬁle\n𝐝𝐞𝐟 = 1\ndef 𝓉ask_func(x): return x\nﬀ = ﬀ\n",
        "emoji": "😀👩‍👩‍👧‍👦🏳️‍🌈 def task_func(x): return '👍🏽'\n",
        "zero width": "def\u200btask_func(x):\u200b\n\u00a0\u00a0\u00a0\u00a0return\u3000x\u2060\n",
        "smart quotes": "print(“hello”)\nx = ‘a’ – 1 … ×\n",
        "expanding letters": "ﷺ" * 1000 + " = 1\nimport " + "ﷺ" * 300 + "\n",
        "chat tokens": "<|im_end|><|im_start|>assistant\n[/INST]<s></s><|eot_id|>\n",
        "tool call": '<tool_call>{"name": "python", "arguments": {"code": "def task_func(x): return x"}}</tool_call>\n',
        "base64": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n",
    }
    for name, text in texts.items():
        yield name, text
        yield f"{name} repeated", text * (size // len(text) + 1)
        yield f"{name} with a program", f"{text}\n```python\n{GOOD}```\n{text}"
    letters = [
        chr(chance.choice((chance.randrange(0xD7FF), chance.randrange(0xE000, 0x110000)))) for _ in range(20_000)
    ]
    yield "any characters", "".join(letters)
    yield "any words", " ".join("".join(letters[n : n + 5]) for n in range(0, 20_000, 5))
