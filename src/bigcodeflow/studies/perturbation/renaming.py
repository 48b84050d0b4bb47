"""Variants with another name for the function, or other names for its parameters."""

import random
import re
from collections.abc import Mapping
from dataclasses import replace

from bigcodeflow.studies.perturbation.edits import Edit, Source, UnsafeError, edited, tree_of
from bigcodeflow.studies.perturbation.prose import is_distinctive, literals_of, renamed_prose, word
from bigcodeflow.studies.perturbation.scopes import keyword_edits, parameter_edits, parameters_of
from bigcodeflow.studies.perturbation.task_texts import (
    TEXTS,
    Program,
    TaskTexts,
    changed_doc_struct,
    changed_instruction,
    split_edits,
)

_VERBS = ("solve", "compute", "process", "run", "handle", "perform", "evaluate", "make")
_NOUNS = ("task", "request", "problem", "step", "job", "result", "answer", "operation")
#: New names contain the old name, so that an unchanged sentence still shows which parameter it means.
_FORMS = ("given_{}", "input_{}", "{}_arg", "{}_param", "the_{}", "my_{}", "{}_in", "{}_value")


def renamed_function(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with another name for its function, in every text and string.

    Raises:
        UnsafeError: the name is also an ordinary word, so that some occurrences may not mean the function.
    """
    old = texts.entry_point
    if not is_distinctive(old):
        raise UnsafeError(f"{old} is an ordinary word, and may mean something else")
    names = [f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS]
    new = _unused(texts, chance.sample(names, len(names)))
    changed = {
        name: re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, getattr(texts, name)) for name in (*TEXTS, "doc_struct")
    }
    return replace(texts, entry_point=new, **changed)


def renamed_parameters(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with other names for all parameters of its function that can be renamed.

    Raises:
        UnsafeError: the function has no such parameter.
    """
    names = _new_names(texts, chance)
    if not names:
        raise UnsafeError("no parameter can be renamed")
    literals = literals_of(texts.program.tree, tree_of(texts.test))

    def code(text: str) -> str:
        tree, source = tree_of(text), Source(text)
        return edited(text, keyword_edits(source, tree, texts.entry_point, names))

    def prose(text: str) -> str:
        return renamed_prose(text, names, code, literals)

    begin, end = texts.program.docstring
    edits = [Edit(begin, end, prose(texts.program.text[begin:end])), *_program_edits(texts.program, texts, names)]
    prompt, solution = split_edits(texts, edits)
    return replace(
        texts,
        complete_prompt=prompt,
        canonical_solution=solution,
        code_prompt=_renamed_stub(texts.code_prompt, texts, names),
        instruct_prompt=changed_instruction(
            texts.instruct_prompt, prose=prose, code=lambda text: _renamed_stub(text, texts, names)
        ),
        test=code(texts.test),
        doc_struct=changed_doc_struct(texts.doc_struct, prose),
    )


def _program_edits(program: Program, texts: TaskTexts, names: Mapping[str, str]) -> list[Edit]:
    return [
        *parameter_edits(program.source, program.function, names),
        *keyword_edits(program.source, program.tree, texts.entry_point, names),
    ]


def _renamed_stub(text: str, texts: TaskTexts, names: Mapping[str, str]) -> str:
    """Rename parameters in a signature without a body."""
    program = Program(f"{text}\n    pass\n", texts.entry_point)
    return edited(program.text, _program_edits(program, texts, names)).removesuffix("\n    pass\n")


def _new_names(texts: TaskTexts, chance: random.Random) -> dict[str, str]:
    """Return new names by old names, for the parameters of which every use is known."""
    found, test = dict[str, str](), tree_of(texts.test)
    for argument in parameters_of(texts.program.function):
        old = argument.arg
        names = [form.format(old.strip("_")) for form in chance.sample(_FORMS, len(_FORMS))]
        new = _unused(texts, [name for name in names if name not in found.values()])
        try:
            _program_edits(texts.program, texts, {old: new})
            keyword_edits(Source(texts.test), test, texts.entry_point, {old: new})
        except UnsafeError:
            continue
        found[old] = new
    return found


def _unused(texts: TaskTexts, names: list[str]) -> str:
    """Return the first name that no text contains; raise UnsafeError if all names are in use."""
    every_text = texts.every_text()
    for name in names:
        if not re.search(word(name), every_text) and name not in every_text:
            return name
    raise UnsafeError("every new name is in use")
