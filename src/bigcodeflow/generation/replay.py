"""Answers that are there already: sample files and folders in the original's formats, checked as a whole.

A file is judged before any of it is used, and all its defects are named at once: a silently dropped or doubled
answer would change the score.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from bigcodeflow.core.errors import SamplesError
from bigcodeflow.core.schemas import SAMPLES, table_of
from bigcodeflow.generation.lines import Defect, SampleLine, read_samples

_DEFECTS_SHOWN = 20


def replay_fingerprint(path: Path) -> dict[str, str]:
    """Identity of a sample file or folder: the sha256 of its content, folder entries with their names.

    Raises:
        SamplesError: the path is absent, unreadable, of an unknown format, or a folder with links in it.
    """
    if not path.is_dir():
        return {"samples_sha256": _sha256(path)}
    _refuse_links(path)
    listing = [f"{file.relative_to(path).as_posix()} {_sha256(file)}" for file in sorted(path.glob("*/*.py"))]
    return {"samples_sha256": hashlib.sha256("\n".join(listing).encode()).hexdigest()}


def replay_samples(
    path: Path, tasks: pa.Table, *, known_task_ids: frozenset[str], selection: bool, name: str
) -> pa.Table:
    """The recorded samples of the tasks as a table of the SAMPLES schema, by task order and sample_index.

    Args:
        path: a JSONL or JSONL.gz file, or a folder such as ``BigCodeBench_12/0.py``.
        tasks: rows of the TASKS schema that samples are wanted for.
        known_task_ids: ids of the whole dataset; samples of those that are not wanted are skipped.
        selection: single tasks were asked for, so that tasks without a sample are left out and no defect.
        name: what people call the source.

    Raises:
        SamplesError: all defects of the source, each with file, line, task id and remedy.
    """
    columns = tasks.select(["task_id", "complete_prompt"]).to_pydict()
    prompts = dict(zip(columns["task_id"], columns["complete_prompt"], strict=True))
    _refuse_links(path)
    read = read_samples(path, name, known_task_ids | prompts.keys())
    foreign = _foreign(read.samples, known_task_ids | prompts.keys())
    defects = [*read.defects, *foreign, *_repeated(name, read.samples)]
    wanted = [sample for sample in read.samples if sample.task_id in prompts]
    if not selection and not read.defects:  # a broken line may be the one that a task seems to lack
        defects += _missing(name, prompts, wanted)
    if not wanted and not defects:
        defects.append(Defect(name, "holds no sample of the selected tasks: widen the selection or take another file"))
    _raise_defects(defects)
    return _table(prompts, wanted)


def _refuse_links(folder: Path) -> None:
    """A folder of somebody else's samples must not take in what only this machine's user can read.

    Raises:
        SamplesError: an entry of the folder, or of one in it, is a symbolic link.
    """
    # A linked folder is not looked into: it is refused before.
    for pattern in ("*", "*/*"):
        links = [path for path in sorted(folder.glob(pattern)) if path.is_symlink()]
        if links:
            raise SamplesError(
                f"{links[0]}: is a symbolic link (of {len(links)} there): put the programs themselves into the folder"
            )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SamplesError(
            f"{path}: cannot be opened ({reason}): "
            "samples.source takes a JSONL or JSONL.gz file, a folder of programs, oracle, stub, cheat or starter"
        ) from None


def _foreign(samples: Iterable[SampleLine], known: frozenset[str]) -> list[Defect]:
    remedy = "which is not in the dataset: remove it, or choose the dataset that it answers"
    foreign = (sample for sample in samples if sample.task_id not in known)
    return [Defect(sample.place, f"answers task {sample.task_id!r}, {remedy}") for sample in foreign]


def _repeated(name: str, samples: Sequence[SampleLine]) -> list[Defect]:
    """Lines that were written twice, such as by a resumed run.

    Equal answers are legitimate where several were sampled. They are a defect only where every task has one answer
    but for its repetitions, and not all tasks are repeated alike.
    """
    per_task = Counter(sample.task_id for sample in samples)
    distinct = {(sample.task_id, sample.identity) for sample in samples}
    repeated_alike = len(set(per_task.values())) <= 1
    several_answers = len(distinct) > len(per_task)
    if repeated_alike or several_answers:
        return []
    first: dict[str, SampleLine] = {}
    defects = []
    for sample in samples:
        earlier = first.setdefault(sample.task_id, sample)
        if earlier is not sample:
            problem = f"{sample.short_place} repeats {earlier.short_place} (task {sample.task_id}): remove one of them"
            defects.append(Defect(name, problem))
    return defects


def _missing(name: str, prompts: Mapping[str, str], samples: Iterable[SampleLine]) -> list[Defect]:
    answered = {sample.task_id for sample in samples}
    remedy = "generate it, or select the answered tasks with dataset.ids"
    return [
        Defect(name, f"has no sample of task {task_id}: {remedy}") for task_id in prompts if task_id not in answered
    ]


def _raise_defects(defects: Sequence[Defect]) -> None:
    if not defects:
        return
    lines = [f"{defect.place}: {defect.problem}" for defect in defects[:_DEFECTS_SHOWN]]
    if hidden := len(defects) - len(lines):
        lines.append(f"… and {hidden} more defects: mend these and try again")
    raise SamplesError("\n".join(lines))


def _table(prompts: Mapping[str, str], samples: Iterable[SampleLine]) -> pa.Table:
    by_task: dict[str, list[dict[str, Any]]] = {task_id: [] for task_id in prompts}
    for sample in samples:
        rows = by_task[sample.task_id]
        raw_text, given_solution = _texts(sample.answer, prompts[sample.task_id])
        row = {"task_id": sample.task_id, "sample_index": len(rows), "provider": "replay", "attempts": 1}
        rows.append({**row, **sample.details, "raw_text": raw_text, "given_solution": given_solution})
    return table_of([row for rows in by_task.values() for row in rows], schema=SAMPLES)


def _texts(answer: Mapping[str, str], complete_prompt: str) -> tuple[str, str | None]:
    """What the sanitizer reads, and the program that the line itself states.

    The original joins prompt and completion with a line break when it sanitizes and without one when it executes.
    """
    solution, completion = answer.get("solution"), answer.get("completion")
    given = complete_prompt + completion if solution is None and completion is not None else solution
    if "raw_solution" in answer:
        return answer["raw_solution"], given
    if solution is not None:
        return solution, given
    return f"{complete_prompt}\n{completion}", given
