"""Reader of evalplus: ``MODEL_BACKEND_temp_T_eval_results.json`` with a base and a plus status for each sample."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bigcodeflow.importing.reading import ResultsFile, read_json, stem_of
from bigcodeflow_harnesses.samples import Sample, results_of

_NAME = re.compile(r"(?P<model>.+)_[a-z]+_temp_(?P<temperature>\d+(\.\d+)?)(-sanitized)?")
#: Bytes at the beginning that hold the key 'hash', which results of BigCodeBench's evaluator do not have.
_HEAD_BYTES = 200


def read(path: Path) -> ResultsFile | None:
    """Read a result file; None for another file. A sample passes if it passes the base tests and the plus tests."""
    if path.suffix != ".json" or not path.is_file():
        return None
    with path.open("rb") as file:
        if b'"hash"' not in file.read(_HEAD_BYTES):
            return None
    content, named = read_json(path).value, _NAME.fullmatch(stem_of(path))
    return results_of(
        path,
        "evalplus",
        _samples(path, content.get("eval") or {}),
        date=content.get("date"),
        model=named["model"] if named else None,
        request={"temperature": named["temperature"]} if named else {},
    )


def _samples(path: Path, tasks: Mapping[str, Any]) -> Iterator[Sample]:
    for task_id, samples in tasks.items():
        for index, sample in enumerate(samples if isinstance(samples, list) else [{}]):
            yield Sample(f"{path}, {task_id}, sample {index}", task_id, sample.get("solution"), _status(sample))


def _status(sample: Mapping[str, Any]) -> str | None:
    if sample.get("base_status") is None:
        return None
    failed = [one for one in (sample["base_status"], sample.get("plus_status")) if one not in ("pass", None)]
    return "pass" if not failed else "timeout" if failed[0] == "timeout" else "fail"
