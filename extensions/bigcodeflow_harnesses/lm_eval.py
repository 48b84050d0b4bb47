"""Reader for lm-evaluation-harness: ``samples_TASK_TIME.jsonl``, with settings in ``results_TIME.json`` next to it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bigcodeflow_harnesses.importing.reading import read_json
from bigcodeflow_harnesses.samples import Content, content_of, first_row, inner, request_of, rows_of, sample_of

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)")
#: Arguments of a model class that name the model.
_MODEL = re.compile(r"(?:^|,)(?:pretrained|model)=([^,]+)")


def read(path: Path) -> Content | None:
    """Read a sample file of lm-evaluation-harness; return None if the file has another format."""
    if not {"doc", "filtered_resps"} <= first_row(path).keys():
        return None
    named = _NAME.fullmatch(path.stem)
    task, time = named.groups() if named else ("", "")
    beside = path.with_name(f"results_{time}.json")
    settings = read_json(beside).value if beside.is_file() else {}
    arguments = inner(settings, "config", "model_args") or ""
    if isinstance(arguments, dict):
        arguments = ",".join(f"{name}={value}" for name, value in arguments.items())
    model, request = _MODEL.search(arguments), dict(inner(settings, "configs", task, "generation_kwargs") or {})
    if request.get("do_sample") is False:  # the temperature has no effect then
        request["temperature"] = 0.0
    told = {
        "date": time[:11] + time[11:].replace("-", ":"),
        "model": model[1] if model else inner(settings, "model_name"),
        **request_of(request),
    }
    return content_of(path, f"lm_eval {inner(settings, 'lm_eval_version') or ''}", _samples(path), told)


def _samples(path: Path) -> Iterator[Content]:
    """Yield a sample for each program in the rows whose filter (way to extract programs) is that of the first row."""
    rows = [row for _, row in rows_of(path)]
    for row in rows:
        if row.get("filter") == rows[0].get("filter"):
            programs: list[str | None] = [*_flat(row.get("filtered_resps"))] or [None]
            answers: list[str | None] = [*_flat(row.get("resps"))]
            if len(answers) != len(programs):  # a filter chose among several
                answers = [None] * len(programs)
            task_id = inner(row, "doc", "task_id") or str(row.get("doc_id"))
            for program, answer in zip(programs, answers, strict=True):
                yield sample_of(task_id, program, _status(row), answer)


def _status(row: Content) -> str | None:
    """Return 'pass' for a row's score 1, 'fail' for 0; None for others, which do not show which samples passed."""
    names = [*(row.get("metrics") or ()), *(name for name in row if name.startswith("pass@"))]
    values = (row[name] for name in names if isinstance(row.get(name), int | float))
    return {1.0: "pass", 0.0: "fail"}.get(next(values, -1.0))


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in value if isinstance(value, list) else ():
        yield from _flat(one)
