"""Reader for evalplus: ``MODEL_BACKEND_temp_T_eval_results.json`` with a base and a plus status for each sample."""

import re
from pathlib import Path

from bigcodeflow_harnesses.importing.reading import read_json, stem_of
from bigcodeflow_harnesses.samples import Content, content_of, request_of, sample_of

_NAME = re.compile(r"(?P<model>.+)_[a-z]+_temp_(?P<temperature>\d+(\.\d+)?)(-sanitized)?")
#: Bytes at the beginning that hold the key 'hash', which results of BigCodeBench's evaluator do not have.
_HEAD_BYTES = 200


def read(path: Path) -> Content | None:
    """Read an evalplus result file; return None for another format. A sample passes if all of its tests pass."""
    if path.suffix != ".json" or not path.is_file():
        return None
    with path.open("rb") as file:
        if b'"hash"' not in file.read(_HEAD_BYTES):
            return None
    content, named = read_json(path).value, _NAME.fullmatch(stem_of(path))
    told = named.groupdict() if named else {}
    samples = (
        sample_of(task_id, sample.get("solution"), _status(sample), details=_details(sample))
        for task_id, samples in content.get("eval", {}).items()
        for sample in (samples if isinstance(samples, list) else [{}])
    )
    told = {"date": content.get("date"), "model": told.get("model"), **request_of(told)}
    return content_of(path, "evalplus", samples, told)


def _status(sample: Content) -> str | None:
    if sample.get("base_status") is None:
        return None
    failed = [one for one in (sample["base_status"], sample.get("plus_status")) if one not in ("pass", None)]
    return "pass" if not failed else "timeout" if failed[0] == "timeout" else "fail"


def _details(sample: Content) -> dict[str, str]:
    """Return the status of each failed test set (base, plus); keys are patterns of test names: 'test_plus_*'."""
    parts = {name: sample.get(f"{name}_status") for name in ("base", "plus")}
    if "timeout" in parts.values() or None in parts.values():
        return {}
    return {f"test_{name}_*": f"{name}_status: {status}" for name, status in parts.items() if status != "pass"}
