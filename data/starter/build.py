"""Derives tasks.jsonl and answers.jsonl, which the product reads, from the readable files that people edit.

    python data/starter/build.py            write both files
    python data/starter/build.py --check    only say whether they are what would be written

A task is ``tasks/NN_name.py``: imports and constants, ``def task_func`` with docstring and body, the line
``# --- tests ---``, and the text of its test module. Its answers are ``answers/NN_name.md``.
"""

import argparse
import ast
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core.errors import BigCodeFlowError, DatasetError

FOLDER = Path(__file__).resolve().parent
ENTRY_POINT = "task_func"
TESTS_LINE = "\n# --- tests ---\n"
HARD_LINE = "# hard\n"
STATUSES = ("pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered")
FAILURE_KINDS = (
    "assertion",
    "exception",
    "wrong_api",
    "missing_setup",
    "import",
    "syntax",
    "timeout",
    "memory",
    "crash",
    "tampering",
)
#: Docstring headings and the key that their lines have in doc_struct.
SECTIONS = {
    "Parameters:": "params",
    "Returns:": "returns",
    "Raises:": "raises",
    "Requirements:": "reqs",
    "Notes:": "notes",
    "Example:": "examples",
}
#: The libraries that the tasks use, by domain.
DOMAINS = {
    "Computation": {"math", "numpy", "pandas", "statistics"},
    "Cryptography": {"base64", "binascii", "hashlib", "hmac", "secrets"},
    "General": {
        *("ast", "bisect", "collections", "decimal", "difflib", "heapq", "itertools", "operator", "posixpath"),
        *("queue", "re", "string", "textwrap"),
    },
    "Network": {"bs4", "email", "ipaddress", "requests", "socket", "urllib", "xml"},
    "System": {
        *("configparser", "csv", "gzip", "io", "json", "os", "pathlib", "shutil", "sqlite3", "struct", "subprocess"),
        *("sys", "threading", "yaml", "zipfile", "zlib"),
    },
    "Time": {"calendar", "datetime", "dateutil", "pytz", "time"},
    "Visualization": {"matplotlib"},
}
_ANSWER_LINE = re.compile(
    r"^=== answer (?P<index>\d+): (?P<status>\w+)(?:/(?P<kind>\w+))?(?:, robust: (?P<robust>\w+))? — (?P<note>.+) ===$",
    re.MULTILINE,
)


class Prompt(NamedTuple):
    """A task's source, cut where the hub's columns cut it."""

    complete_prompt: str
    canonical_solution: str
    code_prompt: str
    doc_struct: dict[str, list[str]]
    libs: list[str]


def build_tasks(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The tasks in the hub's nine columns, plus `hard` (bool) and `domains` (sorted list), in order of their numbers.

    Raises:
        DatasetError: a file's number, form or library is not what the format asks for.
    """
    return [task_row(path, task_number(path, place)) for place, path in enumerate(sorted(folder.glob("tasks/*.py")))]


def build_answers(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The recorded answers, in order of their tasks and then of their own numbers.

    Columns: task_id, raw_solution, provenance, expected_status, expected_failure_kind (empty for a pass),
    expected_status_robust (the same as expected_status where no other is stated) and note.

    Raises:
        DatasetError: a task has no answers, or an answer's first line or label is wrong.
    """
    rows = []
    for place, path in enumerate(sorted(folder.glob("tasks/*.py"))):
        answers = folder / "answers" / f"{path.stem}.md"
        if not answers.exists():
            raise DatasetError(f"{answers}: missing; write at least one answer for {path.name}")
        rows += answer_rows(answers, f"Starter/{task_number(path, place)}")
    return rows


def task_number(path: Path, place: int) -> int:
    """The number that the file's name starts with.

    Raises:
        DatasetError: the numbers of the files are not 0, 1, 2, ….
    """
    prefix = path.name.partition("_")[0]
    if prefix != f"{place:02d}":
        raise DatasetError(
            f"{path}: starts with {prefix!r}; task files are numbered without gaps, so {place:02d}_ is due"
        )
    return place


def task_row(path: Path, number: int) -> dict[str, Any]:
    """One task file as a row of tasks.jsonl.

    Raises:
        DatasetError: the file lacks the tests line, the function, its docstring, or a known library.
    """
    text = path.read_text(encoding="utf-8")
    hard = text.startswith(HARD_LINE)
    source, separator, test = text.removeprefix(HARD_LINE).partition(TESTS_LINE)
    if not separator:
        raise DatasetError(f"{path}: has no line '{TESTS_LINE.strip()}'; put it between the function and its tests")
    prompt = cut(path, source.rstrip() + "\n")
    return {
        "task_id": f"Starter/{number}",
        "complete_prompt": prompt.complete_prompt,
        "instruct_prompt": instruct_prompt(prompt.doc_struct, prompt.code_prompt),
        "canonical_solution": prompt.canonical_solution,
        "code_prompt": prompt.code_prompt,
        "test": test.strip("\n"),
        "entry_point": ENTRY_POINT,
        "doc_struct": json.dumps(prompt.doc_struct, ensure_ascii=False),
        "libs": repr(prompt.libs),
        "hard": hard,
        "domains": domains(path, prompt.libs),
    }


def cut(path: Path, source: str) -> Prompt:
    """A task's source, cut into prompt and solution.

    Raises:
        DatasetError: the source does not end with a function of the entry point's name that has a docstring and a body.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise DatasetError(f"{path}:{error.lineno}: {error.msg}; a task file must be valid Python") from None
    function = tree.body[-1] if tree.body else None
    if not isinstance(function, ast.FunctionDef) or function.name != ENTRY_POINT:
        raise DatasetError(f"{path}: the part before the tests must end with 'def {ENTRY_POINT}'")
    docstring = ast.get_docstring(function)
    if docstring is None or len(function.body) == 1:
        raise DatasetError(f"{path}:{function.lineno}: {ENTRY_POINT} needs a docstring and a body after it")
    lines = source.splitlines(keepends=True)
    first, last = function.body[0].lineno, function.body[0].end_lineno
    return Prompt(
        complete_prompt="".join(lines[:last]),
        canonical_solution="".join(lines[last:]).rstrip("\n"),
        # The hub's code prompts have no blank lines.
        code_prompt="".join(line for line in lines[: first - 1] if line.strip()),
        doc_struct=doc_struct(docstring),
        libs=libraries(tree),
    )


def libraries(tree: ast.Module) -> list[str]:
    """Top-level names of the modules that the program imports, sorted, each once."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return sorted(names)


def domains(path: Path, libs: list[str]) -> list[str]:
    """Distinct domains of the libraries, sorted.

    Raises:
        DatasetError: a library has no entry in DOMAINS.
    """
    unknown = set(libs) - set().union(*DOMAINS.values())
    if unknown:
        raise DatasetError(
            f"{path}: no domain is known for {', '.join(sorted(unknown))}; add it to DOMAINS in build.py"
        )
    return sorted(domain for domain, members in DOMAINS.items() if members & set(libs))


def doc_struct(docstring: str) -> dict[str, list[str]]:
    """A docstring's lines by section, blank lines and list bullets removed; examples keep their indentation."""
    parts: dict[str, list[str]] = {
        key: [] for key in ("description", "notes", "params", "returns", "reqs", "raises", "examples")
    }
    key = "description"
    for line in docstring.splitlines():
        if line in SECTIONS:
            key = SECTIONS[line]
        elif line.strip():
            parts[key].append(line.rstrip() if key == "examples" else line.strip().removeprefix("- "))
    return parts


def instruct_prompt(parts: dict[str, list[str]], code_prompt: str) -> str:
    """The task in prose, worded the way the hub's instruct prompts are."""
    lines = [" ".join(parts["description"])]
    if parts["notes"]:
        lines.append(f"Note that: {' '.join(parts['notes'])}")
    if parts["raises"]:
        lines.append(f"The function should raise the exception for: {' '.join(parts['raises'])}")
    lines += ["The function should output with:", *(f"    {line}" for line in parts["returns"])]
    lines += ["You should write self-contained code starting with:", f"```\n{code_prompt}```"]
    return "\n".join(lines)


def answer_rows(path: Path, task_id: str) -> list[dict[str, Any]]:
    """One file of answers as rows of answers.jsonl.

    Raises:
        DatasetError: the file does not start with an answer's line, or a number or a label is wrong.
    """
    text = path.read_text(encoding="utf-8")
    heads = list(_ANSWER_LINE.finditer(text))
    if not heads or heads[0].start() != 0:
        raise DatasetError(f"{path}:1: must be of the form '=== answer 0: status/failure_kind — note ==='")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    rows = []
    for number, (head, end) in enumerate(zip(heads, ends, strict=True)):
        check_labels(head, f"{path}:{text.count(chr(10), 0, head.start()) + 1}", number)
        rows.append(
            {
                "task_id": task_id,
                "raw_solution": text[head.end() : end].strip("\n"),
                "provenance": "hand-written",
                "expected_status": head["status"],
                "expected_failure_kind": head["kind"] or "",
                "expected_status_robust": head["robust"] or head["status"],
                "note": head["note"],
            }
        )
    return rows


def check_labels(head: re.Match[str], where: str, number: int) -> None:
    """Refuse an answer's first line whose number or labels cannot be right.

    Raises:
        DatasetError: names the line and the label.
    """
    if int(head["index"]) != number:
        raise DatasetError(f"{where}: is answer {head['index']}; answers are numbered from 0, so {number} is due")
    for status in (head["status"], head["robust"] or "pass"):
        if status not in STATUSES:
            raise DatasetError(f"{where}: status {status!r} is not one of: {', '.join(STATUSES)}")
    if head["status"] == "pass" and head["kind"]:
        raise DatasetError(f"{where}: a pass has no failure kind; remove '/{head['kind']}'")
    if head["status"] != "pass" and head["kind"] not in FAILURE_KINDS:
        raise DatasetError(f"{where}: failure kind {head['kind']!r} is not one of: {', '.join(FAILURE_KINDS)}")


def jsonl(rows: list[dict[str, Any]]) -> str:
    """The rows as JSON text, one line each."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def outputs(folder: Path = FOLDER) -> dict[Path, str]:
    """Every derived file with the content that it should have."""
    return {
        folder / "tasks.jsonl": jsonl(build_tasks(folder)),
        folder / "answers.jsonl": jsonl(build_answers(folder)),
    }


def stale(folder: Path = FOLDER) -> list[Path]:
    """The derived files that are missing or differ from what would be written."""
    return [
        path for path, content in outputs(folder).items() if not path.exists() or path.read_bytes() != content.encode()
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write the derived files, or with --check only compare them; returns the exit status."""
    parser = argparse.ArgumentParser(description="Derive tasks.jsonl and answers.jsonl from tasks/ and answers/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is out of date")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the starter set's folder (default: this one)")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            old = stale(options.folder)
            for path in old:
                sys.stderr.write(f"{path}: out of date; run python data/starter/build.py\n")
            return 1 if old else 0
        for path, content in outputs(options.folder).items():
            path.write_text(content, encoding="utf-8", newline="\n")
            sys.stdout.write(f"{path.name}: {content.count(chr(10))} rows\n")
    except BigCodeFlowError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
