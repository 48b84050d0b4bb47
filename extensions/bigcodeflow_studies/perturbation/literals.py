"""Variants with other values for literals that prompt and program share."""

import ast
import codecs
import random
import re
from collections.abc import Sequence
from itertools import pairwise

from bigcodeflow.core.source_text import UnsafeError
from bigcodeflow_studies.perturbation.task_texts import Program, TaskTexts

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_ ][A-Za-z0-9]+){0,3}")
_NUMBER = re.compile(r"[1-9]\d+")
_SHORTEST = 3
_DIGEST = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
#: A list with more words than this, all short and in lower case, is a vocabulary, such as stop words.
_MOST_NAMES, _LONGEST_WORD = 10, 12
#: Option values of libraries; literals with these values cannot be replaced freely.
OPTIONS = frozenset(
    """
    accept additive all any append asc ascii auto averaged_perceptron_tagger axes bar barh black blue bool both
    bottom box brown center coerce columns count cross cyan dark data date datetime days desc drop english equal
    exact false file fill first float frame full get gray green grey gzip hex hist ignore index inner int json last
    latin left line linear list localhost log lower magenta mail_password mail_port mail_server mail_use_tls
    mail_username major max mean median min minor mode month multiplicative name none null object omit orange outer
    pad path pie pink png post punkt purple raise read records red right same scatter score series shape size std
    stopwords str string sum svg test text top true upper utf vader_lexicon valid var violet white width write year
    yellow zero
    """.split()  # noqa: SIM905 - a list would have a line a word
)
_SUFFIXES = ("value", "item", "entry", "field", "part", "info", "mark", "unit")
#: Shares of the literals that a variant may change; with fewer changes, expected results are more likely to stay.
_SHARES = (1.0, 0.5, 0.25)


def other_literals(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with other literals (keys, column names, numbers), the same in prompts, solution and tests.

    A string is replaced only if it is a whole literal everywhere in the task's texts. A number is replaced only if no
    example shows a result, since the result could depend on the number.

    Raises:
        UnsafeError: the task has no literal that can be replaced.
    """
    every_text = texts.every_text()
    found = dict[str, str]()
    for old in some(_shared_strings(texts), chance):
        suffix = chance.choice(_SUFFIXES)
        new = f"{old} {suffix.title() if old[0].isupper() else suffix}" if " " in old else f"{old}_{suffix}"
        if new not in every_text:
            found[old] = new
    if not _shows_results(texts.complete_prompt):
        for old in some(_shared_numbers(texts), chance):
            new = str(int(old) + chance.randint(1, 9))
            if not re.search(rf"(?<![\w.]){new}(?!\w|\.\d)", every_text):
                found[old] = new
    if not found:
        raise UnsafeError("no literal that prompts and program share can be replaced")
    words = "|".join(sorted(map(re.escape, found), key=len, reverse=True))
    return texts.substituted(rf"(?<![\w.])(?:{words})(?![\w]|\.\d)", found)


def some(options: Sequence[str], chance: random.Random) -> list[str]:
    """Return a random quarter, half or all of the options, but at least one option; [] without options."""
    share = chance.choice(_SHARES)
    return chance.sample(options, max(1, round(share * len(options)))) if options else []


def _shared_strings(texts: TaskTexts) -> list[str]:
    """Return the program's string literals that are in both prompts, and only in quotes in every text of the task."""
    options = {value for value in _strings(texts.program.tree) if _WORD.fullmatch(value)} - _vocabulary(texts)
    prompts = (texts.complete_prompt, texts.instruct_prompt)
    found = list[str]()
    for one in sorted(options):
        pattern = re.escape(one)
        everywhere = len(re.findall(rf"(?<!\w){pattern}(?!\w)", texts.every_text()))
        # Quotes within a longer literal are escaped, or of another kind.
        quoted = len(re.findall(rf"(?<![\w\\])(['\"`]){pattern}\1", texts.every_text()))
        quoted += len(re.findall(rf"\\\"{pattern}\\\"", texts.doc_struct))
        described = all(re.search(rf"['\"`]{pattern}['\"`]", prompt) for prompt in prompts)
        if len(one) >= _SHORTEST and _is_free(one) and described and quoted == everywhere:
            found.append(one)
    return found


def _strings(tree: ast.AST) -> list[str]:
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [value for value in constants if isinstance(value, str)]


def _vocabulary(texts: TaskTexts) -> set[str]:
    """Return the words in the program's long word lists, such as lists of stop words, which are not replaced."""
    found = set[str]()
    for node in ast.walk(texts.program.tree):
        if isinstance(node, ast.List | ast.Set | ast.Tuple) and len(node.elts) > _MOST_NAMES:
            words = _strings(node)
            if len(words) == len(node.elts) and all(one.islower() and len(one) <= _LONGEST_WORD for one in words):
                found |= set(words)
    return found


def _is_free(text: str) -> bool:
    """Tell if a literal can be replaced: it is no library option, codec, digest or ordered list of characters."""
    if text.lower() in OPTIONS or _DIGEST.fullmatch(text):
        return False
    if len(text) > _SHORTEST and list(text) == sorted(set(text)):
        return False
    try:
        codecs.lookup(text)
    except LookupError:
        return True
    return False


def _shared_numbers(texts: TaskTexts) -> list[str]:
    """Return the integers above 9 in the code prompt that complete and instruct prompt each contain more than once."""
    stub = Program(f"{texts.code_prompt}\n    pass\n", texts.entry_point)
    constants = (node.value for node in ast.walk(stub.tree) if isinstance(node, ast.Constant))
    numbers = {str(value) for value in constants if type(value) is int and _NUMBER.fullmatch(str(value))}
    prompts = (texts.complete_prompt, texts.instruct_prompt)

    def count(number: str, text: str) -> int:
        return len(re.findall(rf"(?<![\w.]){number}(?!\w|\.\d)", text))

    return [one for one in sorted(numbers) if all(count(one, prompt) > 1 for prompt in prompts)]


def _shows_results(prompt: str) -> bool:
    """Tell if an example in the docstring is followed by its result."""
    lines = [line.strip() for line in prompt.split("\n")]
    return any(
        before.startswith((">>>", "...")) and line and not line.startswith((">>>", "...", '"""', "'''"))
        for before, line in pairwise(lines)
    )
