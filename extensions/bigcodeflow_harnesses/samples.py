"""What readers share: from the samples that a harness tells to the results that ``bigcodeflow import`` records."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core.errors import DatasetError, SamplesError
from bigcodeflow.core.files import file_sha256
from bigcodeflow.core.untrusted_text import storable
from bigcodeflow.datasets.sources import SourceRow, read_rows
from bigcodeflow.importing.reading import Entry, ResultsFile, stem_of

#: Settings of a request by the names that harnesses give them.
_SAMPLING = {"top_p": "top_p", "max_tokens": "max_tokens", "max_gen_toks": "max_tokens", "seed": "seed"}


class Sample(NamedTuple):
    """A sample as a file tells it, with its place for messages; None is not told, of the status: no verdict."""

    place: str
    task_id: Any
    program: Any
    status: Any
    answer: Any = None


def results_of(
    path: Path,
    harness: str,
    samples: Iterable[Sample],
    *,
    date: object = "",
    model: Any = None,
    request: Mapping[str, Any] | None = None,
    stated: Mapping[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    lacks_setup: bool = False,
) -> ResultsFile:
    """Return the results of a file; samples of a task are numbered in their order.

    `date` is an ISO text; the file's own date replaces an unknown one. `request` has settings of a request by the
    harness's names, `stated` and `settings` what the fields of ResultsFile hold.
    """
    entries: list[Entry] = []
    answers: dict[tuple[str, int], str] = {}
    defects, counts = [], Counter[str]()
    for sample in samples:
        if not isinstance(sample.task_id, str) or not isinstance(sample.program, str) or sample.status is None:
            told = zip(("task id", "executed program", "verdict"), sample[1:4], strict=True)
            lacking = next(name for name, value in told if not isinstance(value, str))
            defects.append(f"{sample.place}: tells no {lacking}: import the results of a finished evaluation")
            continue
        owner = sample.task_id, counts[sample.task_id]
        counts[sample.task_id] += 1
        entries.append(Entry(*owner, storable(sample.program), sample.status, {}))
        if isinstance(sample.answer, str):
            answers[owner] = storable(sample.answer)
    if not entries and not defects:
        raise SamplesError(f"{path}: holds no sample, so there is nothing to import")
    evaluated_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    with suppress(ValueError):
        found = datetime.fromisoformat(str(date))
        evaluated_at = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    request = request or {}
    temperature = request.get("temperature")
    claims = {"model": model, "temperature": None if temperature is None else float(temperature), **(stated or {})}
    sampling = {f"generation.sampling.{_SAMPLING[name]}": request[name] for name in request if name in _SAMPLING}
    return ResultsFile(
        path,
        stem_of(path),
        file_sha256(path),
        evaluated_at,
        entries,
        defects,
        harness=harness,
        stated={name: value for name, value in claims.items() if value not in (None, "")},
        settings={name: value for name, value in (sampling | (settings or {})).items() if value is not None},
        answers=answers,
        lacks_setup=lacks_setup,
    )


def first_row(path: Path) -> Mapping[str, Any]:
    """Return the first row of a JSONL file; an empty mapping for any other file."""
    with suppress(OSError, ValueError, RecursionError):
        if path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as file:
                row = json.loads(file.readline())
            return row if isinstance(row, dict) else {}
    return {}


def rows_of(path: Path) -> list[SourceRow]:
    """Read the rows of a JSONL file; raise SamplesError with all unreadable lines."""
    try:
        return read_rows(path)
    except DatasetError as error:
        raise SamplesError(str(error)) from None


def inner(value: Any, *names: str) -> Any:
    """Return the value at a path of nested objects; None if it is absent."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def completion(output: Any) -> str | None:
    """Return the text of the first choice of a model's output, in the form that Inspect and evalscope share."""
    content = inner(next(iter(inner(output, "choices") or ()), None), "message", "content")
    if isinstance(content, list):
        content = "".join(inner(part, "text") or "" for part in content)
    return content if isinstance(content, str) else None
