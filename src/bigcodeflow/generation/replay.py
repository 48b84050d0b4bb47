"""Existing answers: sample files and folders in the formats of the original BigCodeBench, checked as a whole.

A file is checked completely before any of it is used, and all its defects are reported at once: a silently dropped or
duplicated answer would change the score.
"""

import codecs
import gzip
import hashlib
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.config import SamplesConfig
from bigcodeflow.core.errors import SamplesError, problem_lines
from bigcodeflow.core.files import file_sha256
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.core.schemas import SAMPLES, table_of
from bigcodeflow.core.untrusted_text import MOST_LINE_BYTES, TooLargeError, lines_of, storable
from bigcodeflow.generation.controls import CONTROLS, control_samples

_ANSWER_KEYS = ("raw_solution", "solution", "completion")
#: Number of defects after which the rest of a file is not read: 16 KB of gzip can hold ten million of them.
_MOST_DEFECTS = 1_000
_NOT_NUMBER, _NOT_LETTERS = re.compile(r"^.*?0*(?=\d+$)|^.*\D$"), re.compile(r"[^A-Za-z]")
_FORMATS = "give a .jsonl or .jsonl.gz file, or a folder such as BigCodeBench_12/0.py"

#: Keys of a line that have a separate column, with their type; `model` is another name of `served_model`.
_DETAILS: Mapping[str, type] = {
    **dict.fromkeys(("model", "served_model", "prompt_sha", "finish_reason", "error"), str),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "reasoning_tokens", "attempts", "seed"), int),
    **dict.fromkeys(("cost_usd", "latency_seconds"), float),
}
_USAGE_KEYS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
_KINDS: Mapping[type, str] = {str: "text", int: "a whole number", float: "a number"}
_COUNTS, _SEEDS = range(2**31), range(-(2**63), 2**63)  # stored in 32 and in 64 bits


class SampleLine(NamedTuple):
    """Sample as read from a line of a sample file, or from a program file in a folder."""

    location: str
    """Position in the source, such as 'line 7'."""
    task_id: str
    answer: Mapping[str, str]
    """Values of raw_solution, solution and completion, if the source states them."""
    details: Mapping[str, Any]
    identity: str
    """Hash that is equal for lines with the same content; for a file of a folder, its location."""
    record: Mapping[str, Any]
    """Whole JSON object of the line; empty for a file of a folder."""


class ReadSamples(NamedTuple):
    """Valid samples of a file or folder, in order, and a message for each entry that is not a valid sample."""

    samples: list[SampleLine]
    defects: list[str]


class _LineDefectError(Exception):
    """Error that says why a line is not a sample, and how to fix it."""


def read_samples(path: Path, name: str, known_task_ids: frozenset[str]) -> ReadSamples:
    """Read a sample file or folder, called ``name`` in messages; folder T_0 has the programs of known task T/0."""
    if path.is_dir():
        return _read_folder(path, name, known_task_ids)
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise SamplesError(f"{name}: is not a sample file: {_FORMATS}")
    read = ReadSamples([], [])
    number = foreign = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            _refuse_other_formats(file.read(2), name)
            file.seek(0)
            for number, line in lines_of(file):
                task_id = _read_line(line, f"line {number}", name, read)
                foreign += task_id is not None and task_id not in known_task_ids
                if foreign + len(read.defects) >= _MOST_DEFECTS:
                    read.defects.append(f"{name}, line {number}: is defect {_MOST_DEFECTS:,}: the rest was not read")
                    break
    except TooLargeError as error:
        read.defects.append(f"{name}: {error}, and what follows it was not read: shorten or remove it")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"the gzip stream is damaged or cut off after line {number} ({error})"
        read.defects.append(f"{name}: {problem}: copy or write the file again")
    except OSError as error:
        raise SamplesError(f"{name}: cannot be read ({error.strerror or error}): {_FORMATS}") from None
    if not read.samples and not read.defects:
        raise SamplesError(f"{name}: is empty: write one JSON object per line, one line per sample")
    return read


def _refuse_other_formats(start: bytes, name: str) -> None:
    """Raise SamplesError if ``start``, the first two bytes of a file, shows a JSON list or UTF-16."""
    if start.startswith(b"["):
        remedy = f"write one JSON object per line, for instance with `jq -c '.[]' {name} > lines.jsonl`"
        raise SamplesError(f"{name}: is a JSON list: {remedy}")
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        remedy = f"save it as UTF-8, for instance with `iconv -f UTF-16 -t UTF-8 {name} > utf8.jsonl`"
        raise SamplesError(f"{name}: is UTF-16: {remedy}")


def _read_line(line: bytes, location: str, name: str, read: ReadSamples) -> str | None:
    """Add a line's sample or defect to ``read``; return its task_id, or None if the line has no sample."""
    if not line.strip():
        return None
    try:
        read.samples.append(_sample(line, location))
    except _LineDefectError as defect:
        read.defects.append(f"{name}, {location}: {defect}")
        return None
    return read.samples[-1].task_id


def _sample(line: bytes, location: str) -> SampleLine:
    record = _record(line)
    task_id = record.get("task_id")
    if task_id is None:
        raise _LineDefectError("has no task_id: add the id of the dataset's task, such as 'BigCodeBench/0'")
    if not isinstance(task_id, str):
        raise _LineDefectError(
            f"task_id must be text, not {_kind(task_id)}: write the task's id, such as 'BigCodeBench/0'"
        )
    try:
        answer = _answer(record)
        details = _details(record)
    except _LineDefectError as defect:
        raise _LineDefectError(f"(task {task_id}) {defect}") from None
    stated = {key: value for key, value in record.items() if not key.startswith("_")}
    identity = hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
    return SampleLine(location, task_id, answer, details, identity, record)


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.rstrip(b"\r\n").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _LineDefectError(f"is not UTF-8 (byte {error.start + 1} of the line): save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        problem = f"column {error.colno}: {error.msg}"
        raise _LineDefectError(f"is not JSON, or is cut off ({problem}): write the line again") from None
    except (ValueError, RecursionError) as error:  # digits or nesting beyond what Python reads
        raise _LineDefectError(f"is not usable JSON ({error}): correct the line") from None
    if not isinstance(record, dict):
        raise _LineDefectError(f"holds {_kind(record)}, not an object: write an object with task_id and solution")
    return record


def _answer(record: Mapping[str, Any]) -> dict[str, str]:
    stated = {key: record[key] for key in _ANSWER_KEYS if record.get(key) is not None}
    if not stated:
        raise _LineDefectError("has neither solution nor completion nor raw_solution: add one of them")
    for key, value in stated.items():
        if not isinstance(value, str):
            raise _LineDefectError(f"{key} must be text, not {_kind(value)}: write the program as one string")
    return {key: storable(value) for key, value in stated.items()}


def _details(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line's optional values, such as served_model and seed, and the token counts in its usage object."""
    usage = {} if record.get("usage") is None else record["usage"]
    if not isinstance(usage, dict):
        raise _LineDefectError(f"usage must be an object, not {_kind(usage)}: correct or drop it")
    nested = usage.get("completion_tokens_details")
    counts = {**(nested if isinstance(nested, dict) else {}), **usage}
    stated = {**{key: counts[key] for key in _USAGE_KEYS if key in counts}, **record}
    details = {}
    for key, kind in _DETAILS.items():
        value = stated.get(key)
        if value is None:
            continue
        accepted: Any = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or isinstance(value, bool):
            raise _LineDefectError(f"{key} must be {_KINDS[kind]}, not {_kind(value)}: correct or drop it")
        if kind is int and value not in (_SEEDS if key == "seed" else _COUNTS):
            raise _LineDefectError(f"{key} is {value}, which is out of range: correct the value or drop the field")
        details["served_model" if key == "model" else key] = storable(value) if isinstance(value, str) else value
    return details


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _read_folder(path: Path, name: str, known_task_ids: frozenset[str]) -> ReadSamples:
    task_ids = {task_id.replace("/", "_"): task_id for task_id in known_task_ids}
    read = ReadSamples([], [])
    for folder in sorted(entry for entry in path.iterdir() if entry.is_dir()):
        for file in sorted(
            folder.glob("*.py"), key=lambda one: (int(one.stem) if one.stem.isdecimal() else inf, one.name)
        ):
            location = f"{folder.name}/{file.name}"
            try:
                if file.stat().st_size > MOST_LINE_BYTES:
                    limit = f"is larger than {MOST_LINE_BYTES >> 20} MiB, the limit of a program's file"
                    read.defects.append(f"{name}, {location}: {limit}: shorten or remove it")
                    continue
                program = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                read.defects.append(f"{name}, {location}: cannot be read ({error}): save the program as UTF-8")
                continue
            task_id = task_ids.get(folder.name, folder.name)
            # Each file is a separate sample: two equal files were sampled twice, not written twice.
            read.samples.append(SampleLine(location, task_id, {"solution": program}, {}, location, {}))
    if not read.samples and not read.defects:
        there = next((file.name for file in sorted(path.iterdir()) if file.suffix in (".py", ".jsonl", ".gz")), "")
        if there.endswith(".py"):
            remedy = f"put each program into a folder of its task, such as {min(task_ids, default='TASK')}/0.py"
            raise SamplesError(f"{name}: {there} is in no folder of a task, so its task is unknown: {remedy}")
        if there:
            raise SamplesError(
                f"{name}: is a folder without programs: set samples.source to the file in it, {path / there}"
            )
        raise SamplesError(f"{name}: holds no program: {_FORMATS}")
    return read


def fingerprint(config: SamplesConfig) -> dict[str, str]:
    """Return the identity of existing samples: the hash of a file or folder, or a control's name."""
    if config.source in CONTROLS:
        return {"control": config.source}
    path = _path(config)
    if not path.is_dir():
        return {"samples_sha256": _sha256(path)}
    _refuse_links(path)
    listing = [f"{file.relative_to(path).as_posix()} {_sha256(file)}" for file in sorted(path.glob("*/*.py"))]
    return {"samples_sha256": hashlib.sha256("\n".join(listing).encode()).hexdigest()}


def sample_lines(config: SamplesConfig) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return the JSON objects of a sample file as lists by task id; for a control, every list is empty."""
    found = defaultdict[str, list[Mapping[str, Any]]](list)
    if config.source not in CONTROLS:
        for sample in read_samples(_path(config), config.source, frozenset()).samples:
            found[sample.task_id].append(sample.record)
    return found


def load_samples(
    config: SamplesConfig, tasks: pa.Table, *, known_task_ids: frozenset[str], selection: bool
) -> pa.Table:
    """Return the tasks' samples as a table of the SAMPLES schema, in the order of ``tasks`` and sample_index.

    Samples of known tasks that are not in ``tasks`` are skipped. If ``selection`` is True, tasks without a
    sample are left out; otherwise each such task is a defect.

    Raises:
        SamplesError: all defects of the source at once, each with file, line, task id and remedy.
    """
    if config.source in CONTROLS:
        return control_samples(config.source, tasks)
    path, name = _path(config), config.source
    columns = tasks.select(["task_id", "complete_prompt"]).to_pydict()
    prompts = dict(zip(columns["task_id"], columns["complete_prompt"], strict=True))
    known = known_task_ids | prompts.keys()
    _refuse_links(path)
    read = read_samples(path, name, known)
    defects = [*read.defects, *_foreign(name, read.samples, known)]
    defects += _repeated(name, read.samples)
    wanted = [sample for sample in read.samples if sample.task_id in prompts]
    # A broken line may hold the sample that a task seems to lack; of a file for another dataset, all are missing.
    if wanted and not selection and not read.defects:
        answered = {sample.task_id for sample in wanted}
        remedy = "generate it, or select the answered tasks with dataset.ids"
        missing = (task_id for task_id in prompts if task_id not in answered)
        defects += [f"{name}: has no sample of task {task_id}: {remedy}" for task_id in missing]
    if not wanted and not defects:
        defects.append(f"{name}: holds no sample of the selected tasks: widen the selection or take another file")
    if defects:
        raise SamplesError(problem_lines(defects))
    by_task: dict[str, list[dict[str, Any]]] = {task_id: [] for task_id in prompts}
    for sample in wanted:
        rows = by_task[sample.task_id]
        raw_text, given_solution = _texts(sample.answer, prompts[sample.task_id])
        row = {"task_id": sample.task_id, "sample_index": len(rows), "provider": "replay", "attempts": 1}
        rows.append({**row, **sample.details, "raw_text": raw_text, "given_solution": given_solution})
    return table_of([row for rows in by_task.values() for row in rows], schema=SAMPLES)


def answered_task_ids(config: SamplesConfig, known_task_ids: frozenset[str]) -> frozenset[str]:
    """Return the ids of the tasks that a sample file answers; empty if the file has defects."""
    try:
        read = read_samples(_path(config), config.source, known_task_ids)
    except SamplesError:
        return frozenset()
    return frozenset() if read.defects else frozenset(sample.task_id for sample in read.samples)


def _path(config: SamplesConfig) -> Path:
    return shipped("data/starter/answers.jsonl") if config.source == "starter" else user_path(config.source)


def _refuse_links(folder: Path) -> None:
    """Raise SamplesError if ``folder`` has symbolic links, which could lead to files that only this user can read."""
    # The first pattern refuses a linked folder before the second looks into it.
    for pattern in ("*", "*/*"):
        links = [path for path in sorted(folder.glob(pattern)) if path.is_symlink()]
        if links:
            raise SamplesError(
                f"{links[0]}: is a symbolic link: replace all {len(links)} links in the folder with program files"
            )


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SamplesError(
            f"{path}: cannot be opened ({reason}): "
            "samples.source takes a JSONL or JSONL.gz file, a folder of programs, oracle, stub, cheat or starter"
        ) from None


def _foreign(name: str, samples: Sequence[SampleLine], known: frozenset[str]) -> Iterator[str]:
    """Yield a message for each sample of an unknown task, with the right id if only the spelling differs."""
    by_number: dict[str, list[str]] = {}
    for task_id in known:
        by_number.setdefault(_NOT_NUMBER.sub("", task_id), []).append(task_id)
    names = {_NOT_LETTERS.sub("", task_id).casefold() for task_id in known} | {""}
    remedy = f"remove the sample or choose its dataset; this dataset has ids such as {min(known, default='')!r}"
    for one in samples:
        if one.task_id in known:
            continue
        alike = by_number.get(_NOT_NUMBER.sub("", one.task_id), [])
        if len(alike) == 1 and _NOT_LETTERS.sub("", one.task_id).casefold() in names:
            problem = f"which the dataset calls {alike[0]!r}: write task ids as the dataset does"
        else:
            problem = f"which is not in the dataset: {remedy}"
        yield f"{name}, {one.location}: answers task {one.task_id!r}, {problem}"


def _repeated(name: str, samples: Sequence[SampleLine]) -> list[str]:
    """Return a message for each line that was written twice, for example by a resumed run.

    Equal answers are valid if tasks have several samples. They are a defect only if every task has a single distinct
    answer and some tasks are repeated more often than others.
    """
    per_task = Counter(sample.task_id for sample in samples)
    several_answers = len({(sample.task_id, sample.identity) for sample in samples}) > len(per_task)
    if len(set(per_task.values())) <= 1 or several_answers:
        return []
    first: dict[str, SampleLine] = {}
    return [
        f"{name}: {sample.location} repeats {earlier.location} (task {sample.task_id}): remove one of them"
        for sample in samples
        if (earlier := first.setdefault(sample.task_id, sample)) is not sample
    ]


def _texts(answer: Mapping[str, str], complete_prompt: str) -> tuple[str, str | None]:
    """Return the text to sanitize, and the program that the file states (None if it states only raw_solution).

    The original joins prompt and completion with a line break to sanitize them, and without a break to execute them.
    """
    solution, completion = answer.get("solution"), answer.get("completion")
    given = complete_prompt + completion if solution is None and completion is not None else solution
    if "raw_solution" in answer:
        return answer["raw_solution"], given
    if solution is not None:
        return solution, given
    return f"{complete_prompt}\n{completion}", given
