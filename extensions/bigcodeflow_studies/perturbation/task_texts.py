"""Texts of a task that a variant changes together, and the relations between them."""

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Self

from bigcodeflow.core.source_text import Edit, Function, SourceText, UnsafeError, edited
from bigcodeflow.studies.derived_files import parts_of

#: Columns of a task that hold programs or prose.
TEXTS = ("code_prompt", "complete_prompt", "instruct_prompt", "canonical_solution", "test", "doc_struct")
_FENCE = re.compile(r"```(?:python)?\n(.*?)\n?```", re.DOTALL)


@dataclass(frozen=True)
class TaskTexts:
    """Texts of one task, original or changed."""

    task_id: str
    entry_point: str
    code_prompt: str
    complete_prompt: str
    instruct_prompt: str
    canonical_solution: str
    test: str
    doc_struct: str

    @classmethod
    def of(cls, row: Mapping[str, object]) -> Self:
        """Create the texts from a row of TASKS."""
        return cls(**{name: str(row[name]) for name in cls.__dataclass_fields__})

    def columns(self) -> dict[str, str]:
        """Return all fields by name; the names are columns of TASKS."""
        return asdict(self)

    def every_text(self) -> str:
        """Return the texts of all columns in TEXTS as a single string, to search for a word."""
        return "\n".join(getattr(self, name) for name in TEXTS)

    def substituted(self, pattern: str, new_words: Mapping[str, str]) -> Self:
        """Return the task with each match of ``pattern`` in its texts replaced by ``new_words[match]``."""
        found = re.compile(pattern)
        texts = {name: found.sub(lambda match: new_words[match[0]], getattr(self, name)) for name in TEXTS}
        return replace(self, **texts)

    @cached_property
    def program(self) -> "Program":
        """Prompt and solution joined to one program."""
        return Program(self.complete_prompt + self.canonical_solution, self.entry_point)


class Program(SourceText):
    """Parsed program with its entry point; raises UnsafeError unless it defines the entry point exactly once."""

    def __init__(self, text: str, entry_point: str) -> None:
        super().__init__(text)
        found = [node for node in self.tree.body if isinstance(node, Function) and node.name == entry_point]
        if len(found) != 1:
            raise UnsafeError(f"{entry_point} is defined {len(found)} times, but must be defined once")
        self.function = found[0]

    @property
    def parameters(self) -> list[ast.arg]:
        """Parameters of the function in order, without ``*args`` and ``**kwargs``."""
        arguments = self.function.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    @cached_property
    def docstring(self) -> tuple[int, int]:
        """Start and end of the docstring's content in the program, in bytes.

        Raises:
            UnsafeError: the function has no docstring, or the docstring is not a single literal in triple quotes.
        """
        first = self.function.body[0]
        if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
            raise UnsafeError("the function has no docstring")
        match = re.fullmatch(r"(?s)([rR]?)(\"\"\"|''').*\2", self.segment(first.value))
        if match is None:
            raise UnsafeError("the docstring is not a single literal in triple quotes")
        begin, end = self.span(first.value)
        return begin + match.end(2), end - len(match[2])


def split_edits(texts: TaskTexts, edits: list[Edit]) -> tuple[str, str]:
    """Apply ``edits`` to a task's program; return the edited complete prompt and the edited canonical solution."""
    length = len(texts.complete_prompt.encode())
    if any(edit.start < length < edit.end for edit in edits):
        raise UnsafeError("an edit reaches from the prompt into the solution")
    before = [edit for edit in edits if edit.start < length]
    after = [Edit(edit.start - length, edit.end - length, edit.text) for edit in edits if edit.start >= length]
    return edited(texts.complete_prompt, before), edited(texts.canonical_solution, after)


def changed_instruction(text: str, *, prose: Callable[[str], str], code: Callable[[str], str]) -> str:
    """Return an instruct prompt with its prose changed by `prose` and its fenced code by `code`."""
    parts, done = list[str](), 0
    for match in _FENCE.finditer(text):
        parts += [prose(text[done : match.start(1)]), code(match[1])]
        done = match.end(1)
    return "".join([*parts, prose(text[done:])])


def changed_doc_struct(text: str, prose: Callable[[str], str]) -> str:
    """Return the JSON object doc_struct with ``prose`` applied to each list of lines; keep all other values."""
    parts = parts_of(text)
    for name, lines in parts.items():
        if isinstance(lines, list) and all(isinstance(line, str) and "\n" not in line for line in lines) and lines:
            # As a section with a heading, so that parameters are recognized.
            heading = "Parameters:" if name == "params" else "Text:"
            parts[name] = prose("\n".join([heading, *lines])).split("\n")[1:]
    return json.dumps(parts) if parts else text
