"""Variants with another name for the function, or other names for its parameters: in programs, prose and examples."""

import ast
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from bigcodeflow.core.source_text import Edit, SourceText, UnsafeError, edited
from bigcodeflow_studies.perturbation.task_texts import (
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
#: Line that begins a section of a docstring: its heading, and the text after the colon.
HEADING = re.compile(
    r"[ \t]*(?P<heading>Parameters?|Args|Arguments|Returns?|Raises?|Requirements?|Examples?|Notes?|Constants)"
    r"[ \t]*:[ \t]*(?P<rest>[^\n]*)"
)
_PARAMETERS = frozenset({"Parameter", "Parameters", "Args", "Arguments"})
_EXAMPLE = re.compile(r"([ \t]*)(>>>|\.\.\.)( |$)(.*)", re.DOTALL)

_QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")

Renamed = Callable[[str], str]


def renamed_function(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with another name for its function, in every text and string.

    Raises:
        UnsafeError: the name is also an ordinary word, so that some occurrences may not mean the function.
    """
    old = texts.entry_point
    if not is_distinctive(old):
        raise UnsafeError(f"function name {old} is an ordinary word, and may mean something else in the task's texts")
    names = [f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS]
    new = _unused(texts, chance.sample(names, len(names)))
    return replace(texts.substituted(rf"(?<!\w){re.escape(old)}(?!\w)", {old: new}), entry_point=new)


def renamed_parameters(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with other names for all parameters of its function that can be renamed.

    Raises:
        UnsafeError: no parameter of the function can be renamed.
    """
    names = _new_names(texts, chance)
    if not names:
        raise UnsafeError("no parameter can be renamed")
    program, literals = texts.program, literals_of(texts.program.tree, SourceText(texts.test).tree)

    def code(text: str) -> str:
        return edited(text, keyword_edits(SourceText(text), texts.entry_point, names))

    def prose(text: str) -> str:
        return renamed_prose(text, names, code, literals)

    def stub(text: str) -> str:
        whole = Program(f"{text}\n    pass\n", texts.entry_point)
        return edited(whole.text, parameter_edits(whole, names)).removesuffix("\n    pass\n")

    begin, end = program.docstring
    edits = [Edit(begin, end, prose(program.slice(begin, end))), *parameter_edits(program, names)]
    prompt, solution = split_edits(texts, edits)
    return replace(
        texts,
        complete_prompt=prompt,
        canonical_solution=solution,
        code_prompt=stub(texts.code_prompt),
        instruct_prompt=changed_instruction(texts.instruct_prompt, prose=prose, code=stub),
        test=code(texts.test),
        doc_struct=changed_doc_struct(texts.doc_struct, prose),
    )


def parameter_edits(program: Program, names: Mapping[str, str]) -> list[Edit]:
    """Return edits that rename parameters in a function and its calls; ``names`` maps old to new names."""
    edits = keyword_edits(program, program.function.name, names)
    for argument in program.parameters:
        if (old := argument.arg) in names:
            places: list[ast.arg | ast.Name] = [argument, *program.uses(program.function.body, old)]
            edits += [program.renamed(program.span(place)[0], old, names[old]) for place in places]
    return edits


def keyword_edits(source: SourceText, entry_point: str, names: Mapping[str, str]) -> list[Edit]:
    """Return edits that rename keyword arguments in calls of the entry point and in calls that receive it.

    Raises:
        UnsafeError: a call passes a ``**`` mapping whose keys are unknown and may contain one of the names.
    """
    places, hands_on = list[tuple[int, Any]](), False
    for keyword, is_own in _keywords(source.tree, entry_point):
        if keyword.arg in names or keyword.arg not in (None, "kwargs", "kwds"):
            places.append((source.span(keyword)[0], keyword.arg))
        elif isinstance(keyword.value, ast.Dict) and None not in keyword.value.keys:
            keys = [key for key in keyword.value.keys if isinstance(key, ast.Constant)]
            places += [(source.span(key)[0] + 1, key.value) for key in keys]
        else:
            hands_on |= is_own or keyword.arg is None
    if hands_on:
        nodes = list(ast.walk(source.tree))
        mentioned: set[object] = {node.arg for node in nodes if isinstance(node, ast.keyword)}
        mentioned |= {node.value for node in nodes if isinstance(node, ast.Constant)}
        if held := sorted(name for name in names if name in mentioned):
            raise UnsafeError(f"parameter {held[0]} may be handed on in a mapping (**), and cannot be renamed")
    return [source.renamed(start, name, names[name]) for start, name in places if name in names]


def _keywords(tree: ast.Module, entry_point: str) -> Iterator[tuple[ast.keyword, bool]]:
    """Yield the keyword arguments of calls of the entry point, with True, and of calls that receive it, with False."""

    def is_entry_point(node: ast.expr) -> bool:
        return entry_point in (getattr(node, "id", None), getattr(node, "attr", None))

    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "target")]
        if is_entry_point(call.func) or any(map(is_entry_point, given)):
            yield from ((keyword, is_entry_point(call.func)) for keyword in call.keywords)


def _new_names(texts: TaskTexts, chance: random.Random) -> dict[str, str]:
    """Return new names by old names, for the parameters that can be renamed at every use."""
    found, test = dict[str, str](), SourceText(texts.test)
    for argument in texts.program.parameters:
        old = argument.arg
        names = [form.format(old.strip("_")) for form in chance.sample(_FORMS, len(_FORMS))]
        new = _unused(texts, [name for name in names if name not in found.values()])
        try:
            parameter_edits(texts.program, {old: new})
            keyword_edits(test, texts.entry_point, {old: new})
        except UnsafeError:
            continue
        found[old] = new
    return found


def _unused(texts: TaskTexts, names: list[str]) -> str:
    """Return the first of ``names`` that no text of the task contains; raise UnsafeError if none is free."""
    every_text = texts.every_text()
    for name in names:
        if not re.search(word(name), every_text) and name not in every_text:
            return name
    raise UnsafeError("no new name is left for a function or parameter: the task's texts contain all candidates")


def is_distinctive(name: str) -> bool:
    """Tell if a name cannot be an ordinary word in prose, because it has an underscore or a digit."""
    return "_" in name.strip("_") or any(character.isdigit() for character in name)


def word(name: str) -> str:
    """Return a pattern that matches the name as a whole word, but not as an attribute."""
    return rf"(?<![\w.]){re.escape(name)}(?!\w)"


def renamed_prose(text: str, names: Mapping[str, str], code: Renamed, literals: Collection[str]) -> str:
    """Return a docstring or prompt with new names of parameters; keep ordinary words of the same spelling.

    ``names`` maps old to new names; ``code`` renames the parameters in lines of an example. The ``literals`` of
    solution and test, such as keys and messages, keep their words.
    """
    lines, section = list[str](), ""
    quoted = {one for literal in literals for one in re.findall(r"\w+", literal)}
    for is_example, group in groupby(text.split("\n"), key=lambda line: bool(_EXAMPLE.fullmatch(line))):
        if is_example:
            lines += _renamed_examples(list(group), code)
            continue
        for line in group:
            if match := HEADING.fullmatch(line):
                section = match["heading"]
            lines.append(_renamed_line(line, names, literals, quoted, listed=section in _PARAMETERS))
    return "\n".join(lines)


def _renamed_line(
    line: str, names: Mapping[str, str], literals: Collection[str], quoted: Collection[str], *, listed: bool
) -> str:
    for name, new_name in names.items():
        plain = re.escape(name)
        clear = [rf"`{plain}`", rf"\{{{plain}(?=[}}.\[!:])", rf"(?<![\w.]){plain}(?= ?\([\w\[\], .|]+\)\s*:)"]
        if listed:
            clear.append(rf"^\s*(?:[-*]\s*)?{plain}(?=\s*[(:]|\s+-)")
        if is_distinctive(name) and name not in quoted:
            clear = [word(name)]
        elif is_distinctive(name) and name not in literals:  # a message names it, which a docstring quotes
            parts = _QUOTED.split(line)
            line = "".join(re.sub(word(name), new_name, part) if not n % 2 else part for n, part in enumerate(parts))
        pieces = re.split(f"({'|'.join(clear)})", line)
        line = "".join(one.replace(name, new_name) if place % 2 else one for place, one in enumerate(pieces))
    return line


def _renamed_examples(lines: list[str], code: Renamed) -> list[str]:
    """Rename parameters in the lines of a doctest, statement by statement; keep a statement that is not Python."""
    found = list[str]()
    for statement in _statements(lines):
        matches = [match for line in statement if (match := _EXAMPLE.fullmatch(line))]
        text = "\n".join(match[4] for match in matches)
        try:
            text = code(text)
        except UnsafeError:
            found += statement
            continue
        renamed = text.split("\n")
        found += [f"{match[1]}{match[2]}{match[3]}{line}" for match, line in zip(matches, renamed, strict=True)]
    return found


def _statements(lines: list[str]) -> Iterator[list[str]]:
    statement = list[str]()
    for line in lines:
        if line.lstrip().startswith(">>>") and statement:
            yield statement
            statement = []
        statement.append(line)
    yield statement


def literals_of(*trees: ast.AST) -> set[str]:
    """Return the string literals of programs, without docstrings."""
    found = set[str]()
    for tree in trees:
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and isinstance(node.body[0], ast.Expr)
        }
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
        found |= {node.value for node in strings if isinstance(node.value, str)}
    return found
