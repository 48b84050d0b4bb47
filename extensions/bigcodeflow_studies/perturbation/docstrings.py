"""Variants with a docstring and prompt of the same meaning, in another order and in other words."""

import random
import re
from dataclasses import replace
from typing import NamedTuple

from bigcodeflow.core.source_text import Edit, UnsafeError
from bigcodeflow_studies.perturbation.renaming import HEADING
from bigcodeflow_studies.perturbation.task_texts import TaskTexts, split_edits

_HEADINGS = {
    "Parameters": ("Arguments", "Args", "Inputs"),
    "Args": ("Arguments", "Parameters", "Inputs"),
    "Arguments": ("Args", "Parameters", "Inputs"),
    "Returns": ("Return value", "Output", "Result"),
    "Return": ("Return value", "Output", "Result"),
    "Raises": ("Exceptions", "Errors raised"),
    "Raise": ("Exceptions", "Errors raised"),
    "Requirements": ("Libraries", "Uses", "Dependencies"),
    "Example": ("Usage", "Sample use", "Demonstration"),
    "Examples": ("Usage", "Sample uses", "Demonstrations"),
    "Note": ("Remark", "Please note", "Remarks"),
    "Notes": ("Remarks", "Please note", "Further notes"),
}
#: First words of a description, each with a synonym; the third person is added below.
_PAIRS = {
    "Calculate": "Compute",
    "Compute": "Calculate",
    "Create": "Build",
    "Construct": "Build",
    "Generate": "Produce",
    "Download": "Fetch",
    "Draw": "Plot",
    "Convert": "Transform",
    "Find": "Determine",
    "Retrieve": "Get",
    "Analyze": "Examine",
    "Remove": "Delete",
}
_VERBS = {**_PAIRS, **{f"{old}s": f"{new}s" for old, new in _PAIRS.items()}}
#: Patterns of phrases in sections and prompts, with replacements of the same meaning.
_PHRASES = (
    (r"\bDefault is\b", "Defaults to"),
    (r"\bdefault is\b", "defaults to"),
    (r"^The function should raise the exception for:", "These exceptions have to be raised:"),
    (r"^The function should output with:", "The function has to return:"),
    (r"^Note that:", "Please note:"),
    (r"^You should write self-contained code starting with:", "Write self-contained code that begins with:"),
)
_BLOCK = re.compile(r"^(?:The function should (?:raise the exception for|output with)|Note that|You should write)\b")


class _Section(NamedTuple):
    heading: str
    """Heading of the section; empty for the description."""
    lines: list[str]


def reworded(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with its docstring's sections in another order, with other headings and other phrases.

    Raises:
        UnsafeError: nothing in the docstring can be reordered or reworded.
    """
    begin, end = texts.program.docstring
    docstring = _reworded_docstring(texts.program.slice(begin, end), chance)
    prompt, solution = split_edits(texts, [Edit(begin, end, docstring)])
    instruction = _reworded_instruction(texts.instruct_prompt, chance)
    if prompt == texts.complete_prompt:
        raise UnsafeError("nothing in the docstring can be reworded")
    return replace(texts, complete_prompt=prompt, canonical_solution=solution, instruct_prompt=instruction)


def _reworded_docstring(text: str, chance: random.Random) -> str:
    description, *sections = _sections(text)
    # The blank last line belongs to the docstring's end, whichever section is last.
    last = sections[-1].lines if sections else description.lines
    closing = last.pop() if len(last) > 1 and not last[-1].strip() else None
    order = sections.copy()
    while len(sections) > 1 and order == sections:
        chance.shuffle(order)
    lines = _reworded_description(description.lines)
    for section in order:
        if lines and lines[-1].strip():
            lines.append("")
        lines += _reworded_section(section, chance)
    while closing is not None and lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines if closing is None else [*lines, closing])


def _sections(text: str) -> list[_Section]:
    found = [_Section("", [])]
    for line in text.split("\n"):
        match = HEADING.fullmatch(line)
        if match and match["heading"] in _HEADINGS and (not match["rest"] or match["heading"].startswith("Note")):
            found.append(_Section(match["heading"], []))
        found[-1].lines.append(line)
    return found


def _reworded_description(lines: list[str]) -> list[str]:
    """Return a description with synonyms for known phrases, and for the first word if it is a known verb."""
    changed, first = list[str](), True
    for line in lines:
        match = re.match(r"(\s*)([A-Z][a-z]+)\b", line)
        text = line
        if first and match:
            text = match[1] + _VERBS.get(match[2], match[2]) + line[match.end() :]
        first = first and not line.strip()
        changed.append(_with_phrases(text))
    return changed


def _reworded_section(section: _Section, chance: random.Random) -> list[str]:
    heading, *rest = section.lines
    new = chance.choice(_HEADINGS[section.heading])
    is_example = section.heading.startswith("Example")
    return [heading.replace(section.heading, new, 1), *(rest if is_example else map(_with_phrases, rest))]


def _with_phrases(line: str) -> str:
    for pattern, replacement in _PHRASES:
        line = re.sub(pattern, replacement, line)
    return line


def _reworded_instruction(text: str, chance: random.Random) -> str:
    """Return an instruct prompt with other phrases and its paragraphs in another order; the code remains last."""
    blocks: list[list[str]] = [[]]
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("```"):
            blocks[-1] += lines[number:]
            break
        if _BLOCK.match(line):
            blocks.append([])
        blocks[-1].append(line)
    description, *rest = blocks
    middle, last = rest[:-1], rest[-1:]
    chance.shuffle(middle)
    ordered = [_reworded_description(description), *([_with_phrases(line) for line in one] for one in middle)]
    ordered += [[_with_phrases(block[0]), *block[1:]] for block in last]
    return "\n".join(line for block in ordered for line in block)
