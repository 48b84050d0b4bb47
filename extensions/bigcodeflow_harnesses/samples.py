"""Helpers for readers of other harnesses' files: build the content that a reader returns, and read rows of files."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bigcodeflow.core.errors import DatasetError, SamplesError
from bigcodeflow.datasets.sources import SourceRow, read_rows

Content = dict[str, Any]
"""Results in the format of the original evaluator's files, see `bigcodeflow_harnesses.importing.reading`."""

#: Our names of request settings, by the names that harnesses use.
_SAMPLING = {"top_p": "top_p", "max_tokens": "max_tokens", "max_gen_toks": "max_tokens", "seed": "seed"}


def sample_of(
    task_id: Any, solution: Any, status: str | None, answer: str | None = None, details: Mapping[str, str] | None = None
) -> Content:
    """Make a sample for `content_of`; the import refuses samples whose task id, solution or status is None."""
    return {"task_id": task_id, "solution": solution, "status": status, "answer": answer, "details": details or {}}


def content_of(path: Path, harness: str, samples: Iterable[Content], told: Content, **more: Any) -> Content:
    """Return results in the original evaluator's format; their date is `told['date']` (ISO), else the file's time."""
    tasks: dict[str, list[Content]] = defaultdict(list)
    for sample in samples:
        tasks[str(sample["task_id"])].append(sample)
    date = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    with suppress(ValueError):
        found = datetime.fromisoformat(str(told.pop("date", "")))
        date = found.astimezone(UTC) if found.tzinfo else found
    return {"date": f"{date:%Y-%m-%d %H:%M}", "eval": tasks, "harness": harness.strip(), "told": told, **more}


def request_of(settings: Any) -> Content:
    """Return a harness's request settings by our names, such as 'generation.sampling.seed'; skip unknown settings."""
    known = settings if isinstance(settings, dict) else {}
    told = {f"generation.sampling.{_SAMPLING[name]}": known[name] for name in known if name in _SAMPLING}
    temperature = known.get("temperature")
    return told | ({} if temperature is None else {"temperature": float(temperature)})


def first_row(path: Path) -> Mapping[str, Any]:
    """Return the first row of a JSONL file; return an empty mapping for any other file."""
    with suppress(OSError, ValueError, RecursionError):
        if path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as file:
                row = json.loads(file.readline())
            return row if isinstance(row, dict) else {}
    return {}


def rows_of(path: Path) -> list[SourceRow]:
    """Read the rows of a JSONL file; raise a SamplesError that names all unreadable lines."""
    try:
        return read_rows(path)
    except DatasetError as error:
        raise SamplesError(str(error)) from None


def inner(value: Any, *names: str) -> Any:
    """Return the value at the path `names` in nested dicts; None if it is absent."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def completion(output: Any) -> str | None:
    """Return the text of the first choice of a model's output, in the form that Inspect and evalscope share."""
    content = inner(next(iter(inner(output, "choices") or ()), None), "message", "content")
    if isinstance(content, list):
        content = "".join(inner(part, "text") or "" for part in content)
    return content if isinstance(content, str) else None
