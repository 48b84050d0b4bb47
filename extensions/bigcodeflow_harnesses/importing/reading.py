"""Reading ``*_eval_results.json``: every sample becomes either an entry or a named defect.

Files of other harnesses are read by plug-ins, which entry points of the group ``bigcodeflow.readers`` name: functions
that take a path and return its content in the format of the original's files, or None for a file of another format. The
content also has the harness's name as ``harness``, and may have ``told``, values by claim field or setting path, and
``lacks_setup``; a sample may have ``answer``.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from bigcodeflow.core.errors import SamplesError, error_message
from bigcodeflow.core.files import file_sha256
from bigcodeflow.core.plugins import loaded_plugins
from bigcodeflow.core.untrusted_text import storable

_OF_FOLDER = "eval_results.json"
_SUFFIXES = ("_eval_results.json.gz", "_eval_results.json", ".json.gz", ".json", ".jsonl", ".eval")
READERS = "bigcodeflow.readers"
#: Statuses of the original, and 'infra_error', which our own exports add.
_STATUSES = ("pass", "fail", "timeout", "infra_error")
#: Maximum size of an unpacked file. Results of 1,140 tasks with 100 samples each take a third of it; a malicious gzip
#: file of 1 MB can unpack to it.
_MOST_BYTES = 1 << 30
_FORMAT = 'give a *_eval_results.json or .json.gz file: {"date": …, "eval": {task_id: [sample, …]}}'


class Entry(NamedTuple):
    """A sample of a result file, with the values that the file states."""

    task_id: str
    sample_index: int
    program: str  # the text that was executed
    status: str  # pass, fail, timeout or infra_error
    details: Mapping[str, str]  # failing test → traceback; 'ALL' → why the module itself failed


class ResultsFile(NamedTuple):
    """Content of one result file, and its defects."""

    path: Path
    stem: str  # the file's name without the ending that all result files share
    sha256: str
    evaluated_at: datetime
    """Date in the file. It states no time zone; UTC is assumed, so that the result is the same on every machine."""
    entries: list[Entry]
    defects: list[str]
    harness: str = ""
    """Name of the harness that wrote the file; empty for the original evaluator's files."""
    told: Mapping[str, Any] = MappingProxyType({})
    """Fields of claims that the file states, such as model, and settings by path, such as ``generation.model``."""
    answers: Mapping[tuple[str, int], str] = MappingProxyType({})
    """Raw answers by task and sample index, as far as the file has them."""
    lacks_setup: bool = False
    """True if the harness put code_prompt in front of each program, and the file has the programs without it."""


def read_results(path: Path) -> ResultsFile:
    """Read a result file of the original evaluator, gzipped or not, or of a harness that a plug-in reads.

    Raises SamplesError if the file cannot be read at all.
    """
    foreign = _foreign_content(path)
    content = JsonFile(foreign, file_sha256(path), []) if foreign else read_json(path)
    if not isinstance(content.value, dict) or not isinstance(content.value.get("eval"), dict):
        raise SamplesError(f"{path}: holds no results under 'eval': {_FORMAT}")
    defects = [
        f"{path}: the key {key!r} occurs twice in one object: remove one of the two" for key in content.repeated_keys
    ]
    entries, answers = [], {}
    for task_id, samples in content.value["eval"].items():
        if not isinstance(samples, list) or not samples:
            defects.append(f"{path}: task {task_id}: holds no list of samples: write [sample, …] or remove the task")
            continue
        for index, sample in enumerate(samples):
            if defect := _defect(task_id, sample):
                defects.append(f"{path}: task {task_id}, sample {index}: {defect}")
                continue
            details = {storable(test): storable(text) for test, text in (sample.get("details") or {}).items()}
            entries.append(Entry(task_id, index, storable(sample["solution"]), sample["status"], details))
            if isinstance(sample.get("answer"), str):
                answers[task_id, index] = storable(sample["answer"])
    if not entries and not defects:
        raise SamplesError(f"{path}: 'eval' is empty, so there is nothing to import: {_FORMAT}")
    try:
        evaluated_at = datetime.strptime(content.value["date"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    except (KeyError, TypeError, ValueError):
        evaluated_at = datetime.fromtimestamp(0, UTC)
        defects.append(f"{path}: date is not of the form 2025-05-07 20:56: write the time of the evaluation")
    found = ResultsFile(path, stem_of(path), content.sha256, evaluated_at, entries, defects)
    if not foreign:
        return found
    told = {name: value for name, value in foreign.get("told", {}).items() if value not in (None, "")}
    lacks_setup = foreign.get("lacks_setup", False)
    return found._replace(harness=foreign["harness"], told=told, answers=answers, lacks_setup=lacks_setup)


def _foreign_content(path: Path) -> dict[str, Any] | None:
    for name, reader in loaded_plugins(READERS).items():
        try:
            if content := reader(path):
                return dict(content)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"looks like a file of {name}, but has another format ({error_message(error)})"
            raise SamplesError(f"{path}: {reason}: give the file as the harness wrote it") from None
    return None


def _defect(task_id: str, sample: Any) -> str:
    """Return why `sample` is no valid result of the task, and what to do; '' if it is valid."""
    if not isinstance(sample, dict):
        return "is no object: write a JSON object with task_id, solution, status and details"
    status, details = sample.get("status"), sample.get("details") or {}
    if sample.get("task_id", task_id) != task_id:
        return f"says that it answers {sample['task_id']!r}: move it to that task"
    if not isinstance(sample.get("solution"), str):
        return "has no solution, or one that is not text: the executed program is needed"
    if status not in _STATUSES:
        return f"status {status!r} is none of {', '.join(_STATUSES)}: correct it"
    if not isinstance(details, dict) or not all(isinstance(text, str) for text in details.values()):
        return "details is no object of texts: write {test: traceback}"
    tests = ", ".join(map(storable, details))
    return f"passes and has failing tests ({tests}): correct one of the two" if details and status == "pass" else ""


def stem_of(path: Path) -> str:
    """Return the file's name without its ending; for eval_results.json of a sample folder, the folder's name."""
    if path.name.removesuffix(".gz") == _OF_FOLDER:
        return path.absolute().parent.name
    suffix = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix)), "")
    return path.name.removesuffix(suffix)


def scores_path(results: Path) -> Path:
    """Return the path of the scores file that belongs to a result file."""
    of_folder = results.name.removesuffix(".gz") == _OF_FOLDER
    return results.with_name("pass_at_k.json" if of_folder else f"{stem_of(results)}_pass_at_k.json")


class JsonFile(NamedTuple):
    """Value of a JSON file, sha256 of its unpacked bytes, and keys that an object holds more than once."""

    value: Any
    sha256: str
    repeated_keys: list[str]


def read_json(path: Path) -> JsonFile:
    """Read a JSON file, gzipped or not; raise SamplesError if it is damaged, too large or no JSON."""
    repeated_keys: list[str] = []

    def collected(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):  # json keeps the last of several equal keys and reports nothing
            keys = [key for key, _ in pairs]
            repeated_keys.extend(key for key in made if keys.count(key) > 1)
        return made

    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SamplesError(f"{path}: is larger than {_MOST_BYTES >> 20:,} MiB unpacked: import its tasks in parts")
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=collected)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SamplesError(f"{path}: the gzip stream is damaged or cut off ({error}): copy the file again") from None
    except OSError as error:
        raise SamplesError(f"{path}: cannot be read ({error.strerror or error}): {_FORMAT}") from None
    except (ValueError, RecursionError) as error:
        raise SamplesError(f"{path}: is not JSON in UTF-8, or is cut off ({error}): {_FORMAT}") from None
    return JsonFile(value, hashlib.sha256(data).hexdigest(), repeated_keys)
