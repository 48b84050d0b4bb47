"""Variants of the starter set's tasks: valid, the same for a seed, and changed in nothing but what their kind says."""

import json
import random
from collections import Counter
from typing import Any

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.settings import validated
from bigcodeflow.core.source_text import UnsafeError
from bigcodeflow_studies.perturbation import PerturbationConfig
from bigcodeflow_studies.perturbation.data import other_data
from bigcodeflow_studies.perturbation.docstrings import reworded
from bigcodeflow_studies.perturbation.literals import other_literals
from bigcodeflow_studies.perturbation.task_texts import TEXTS, TaskTexts
from bigcodeflow_studies.perturbation.variants import KINDS, checked_kinds, original_of, variants_of
from tests.extensions.studies.conftest import loaded_tasks

CHANGED = {
    "function": set(TEXTS),
    "parameters": set(TEXTS),
    "docstring": {"complete_prompt", "instruct_prompt"},
    "literals": set(TEXTS),
    "data": {"test"},
}


@pytest.fixture(scope="module")
def tasks() -> list[dict[str, Any]]:
    return loaded_tasks()[::4]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_variants_are_different_and_follow_from_the_seed(kind: str, tasks: list[dict[str, Any]]) -> None:
    """Another seed gives others; no text is changed that is none of the kind's business."""
    found = 0
    for task in tasks:
        original = TaskTexts.of(task)
        made = list(variants_of(task, kind, seed=1, per_task=2))
        assert made == list(variants_of(task, kind, seed=1, per_task=2))
        assert len({one.every_text() for one in made} | {original.every_text()}) == len(made) + 1
        for one in made:
            assert {name for name in TEXTS if one.columns()[name] != task[name]} <= CHANGED[kind]
            assert original_of(one.task_id) == (task["task_id"], kind)
        found += bool(made)
    assert found == len(tasks) if kind in ("function", "parameters", "docstring") else found > 0


def test_kinds_can_be_joined(tasks: list[dict[str, Any]]) -> None:
    """Each part changes what the parts before it have made."""
    [kind] = checked_kinds(["docstring+function", "function+docstring"])
    assert kind == "function+docstring"
    [variant, *_] = variants_of(tasks[0], kind, seed=0, per_task=1)
    assert variant.task_id == f"{tasks[0]['task_id']}~function+docstring.1"
    assert "task_func" not in variant.every_text()
    assert variant.complete_prompt.count("\n") >= tasks[0]["complete_prompt"].count("\n") - 2
    with pytest.raises(ConfigError, match="kinds: 'prompt' is not one of function, parameters"):
        validated(PerturbationConfig, {"kinds": ["function+prompt"]}, "command line")


def test_a_docstring_says_the_same_in_another_order(tasks: list[dict[str, Any]]) -> None:
    """Lines of examples, parameters and results stay as they are, but for headings and known phrases."""
    for task in tasks:
        before, after = task["complete_prompt"], reworded(TaskTexts.of(task), random.Random(3)).complete_prompt
        lines, other = (Counter(line.strip() for line in text.split("\n")) for text in (before, after))
        lost = [line for line in lines - other if line]
        assert not [line for line in lost if line.startswith((">>>", "..."))]
        kept = [line for line in lost if not line.endswith(":") and "efault is" not in line]
        assert len(kept) <= 1  # the first line, whose verb is another one
        compile(after + "    pass", "", "exec")


def _task(solution: str, test: str, prompt: str = "", code: str = "") -> TaskTexts:
    return TaskTexts(
        task_id="Own/1",
        entry_point="task_func",
        code_prompt=f"{code}def task_func(row):\n",
        complete_prompt=f'{code}def task_func(row):\n    """\n    {prompt}\n    """\n',
        instruct_prompt=prompt,
        canonical_solution=f"    {solution}\n",
        test=f"import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n        {test}\n",
        doc_struct=json.dumps({"description": [prompt]}),
    )


def test_a_literal_is_changed_everywhere_or_nowhere() -> None:
    """Quoted the same way in prompts, solution and test; one that also stands as a word stays."""
    task = _task(
        "return row['Sold Items'] + row['price']",
        "self.assertEqual(task_func({'Sold Items': 1, 'price': 2}), 3)",
        "Adds 'Sold Items' and the 'price', a price in cents.",
    )
    changed = other_literals(task, random.Random(1))
    new = changed.canonical_solution.split("'")[1]
    assert new.startswith("Sold Items ")
    assert all(f"'{new}'" in text for text in (changed.test, changed.complete_prompt, changed.instruct_prompt))
    assert "'price', a price in cents" in changed.complete_prompt
    assert new in json.loads(changed.doc_struct)["description"][0]


def test_a_number_stays_where_an_example_shows_a_result() -> None:
    """The result may follow from it."""
    code, prompt = "LIMIT = 4200\n", "At most 4200 rows, that is 4200."
    task = _task("return row[:LIMIT]", "self.assertEqual(len(task_func(range(5000))), 4200)", prompt, code)
    changed = other_literals(task, random.Random(1))
    assert "4200" not in changed.every_text()
    number = changed.code_prompt.split()[2]
    assert changed.test.count(number) == 1
    shown = _task(
        "return row[:LIMIT]", "self.assertTrue(task_func([1]))", f"{prompt}\n    >>> task_func([1])\n    [1]", code
    )
    with pytest.raises(UnsafeError):
        other_literals(shown, random.Random(1))


def test_data_of_a_test_changes_into_words_that_read_alike() -> None:
    """The same word becomes the same wherever it is data; messages, paths and names of mocks stay."""
    task = _task(
        "return row", "self.assertEqual(task_func(['Mango', '/tmp/mango']), ['Mango', '/tmp/mango'], 'wrong Mango')"
    )
    changed = other_data(task, random.Random(1))
    assert changed.test.count("/tmp/mango") == 2
    assert "'wrong Mango'" in changed.test
    assert "['Mango'" not in changed.test
    first, second = (part.split("'")[1] for part in changed.test.split("['")[1:] for part in [f"'{part}"])
    assert first == second
    assert len(first) == 5
    assert first[0].isupper()
    numbers = _task("return 3 * row", "self.assertEqual(task_func(4 * 12.50), 3 * 4 * 12.50)")
    changed = other_data(numbers, random.Random(1))
    assert changed.test.count("12.5") == 2
    assert "12.50" not in changed.test
    with pytest.raises(UnsafeError):
        other_data(_task("return 'Mango'", "self.assertEqual(task_func(1), 'Mango')"), random.Random(1))


def changes_literals(texts: TaskTexts) -> bool:
    try:
        return other_literals(texts, random.Random(0)).complete_prompt != texts.complete_prompt
    except UnsafeError:
        return False


@pytest.mark.parametrize(
    ("text", "is_free"),
    [
        ("total_sales", True),
        ("cp1251", False),
        ("utf8", False),
        ("abcdefghijklmnopqrstuvwxyz", False),
        ("cyan", False),
        ("additive", False),
        ("MAIL_PORT", False),
        ("vader_lexicon", False),
        ("d41d8cd98f00b204e9800998ecf8427e", False),
    ],
)
def test_a_text_that_a_library_takes_at_its_word_stays(text: str, *, is_free: bool) -> None:
    """Under another name the task would ask for something that does not exist, though its reference may pass."""
    program = (
        f'def task_func(kind="{text}"):\n    """Take one.\n\n    Parameters:\n    kind: such as "{text}".\n    """\n'
    )
    instruction = f'Take one, such as "{text}".\n```\ndef task_func(kind="{text}"):\n```'
    texts = TaskTexts("Own/0", "task_func", program, program, instruction, "    return kind\n", "", "{}")
    assert changes_literals(texts) is is_free


@pytest.mark.parametrize(("n_words", "is_free"), [(10, True), (11, False)])
def test_words_of_a_vocabulary_stay(n_words: int, *, is_free: bool) -> None:
    """Stop words are no names that are free to choose; a list of a few names has some."""
    words = json.dumps(["these", *(f"{letter * 3}ey" for letter in "bcdfghjklm")][:n_words])
    program = f'WORDS = {words}\ndef task_func(text):\n    """Leave out {words}.\n    """\n'
    texts = TaskTexts("Own/0", "task_func", program, program, program, "    return text\n", "", "{}")
    assert changes_literals(texts) is is_free
