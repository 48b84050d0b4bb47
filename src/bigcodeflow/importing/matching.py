"""A result file beside the tasks and the sample file that it is said to be of: it fits as a whole, or not at all."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.config import Variant
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.importing.claims import Claim, agreed
from bigcodeflow.importing.reading import Entry, ResultsFile, raise_defects

Row = Mapping[str, Any]


class Matched(NamedTuple):
    """The samples of the selected tasks, in the order of the tasks."""

    variant: Variant
    """How the programs were executed: calibrated where they begin with their tasks' code_prompt."""
    entries: list[Entry]
    solutions: list[str]
    """The programs without what calibration put in front of them, one an entry."""


def match(
    results: ResultsFile,
    tasks: Sequence[Row],
    *,
    known_task_ids: Collection[str],
    selection: bool,
    claims: Sequence[Claim],
) -> Matched:
    """Put the samples of a file to the tasks.

    Args:
        results: the file.
        tasks: rows of the TASKS schema that results are wanted for.
        known_task_ids: ids of the whole dataset; samples of those that are not wanted are left aside.
        selection: single tasks were asked for, so that tasks without a sample are no defect.
        claims: what is said of the file.

    Raises:
        SamplesError: all defects of the file, those found in reading it among them; or programs that are not executed
            as it is said.
    """
    by_id = {task["task_id"]: task for task in tasks}
    places = {task_id: place for place, task_id in enumerate(by_id)}
    entries = [entry for entry in results.entries if entry.task_id in by_id]
    entries.sort(key=lambda entry: places[entry.task_id])
    prefixes = {task_id: calibrate(task["code_prompt"], "") for task_id, task in by_id.items()}
    variant = _variant(results, entries, prefixes, claims)
    defects = [
        *results.defects,
        *_foreign(results, known_task_ids),
        *([] if selection or results.defects else _missing(results, by_id, entries)),
        *_of_other_tasks(results, entries, prefixes, variant),
    ]
    if not entries and not defects:
        defects.append(f"{results.path}: holds no sample of the selected tasks: widen --ids, or take another file")
    raise_defects(defects)
    return Matched(variant, entries, [_solution(entry, prefixes, variant) for entry in entries])


def check_samples(results: ResultsFile, matched: Matched, samples: Sequence[Row], name: str) -> None:
    """See that a sample file holds the very programs that were executed.

    Args:
        results: the result file.
        matched: its samples.
        samples: task_id, sample_index and given_solution of the sample file.
        name: what people call it.

    Raises:
        SamplesError: every sample that is not in both files, or not the same in both.
    """
    given = {(row["task_id"], row["sample_index"]): row["given_solution"] for row in samples}
    executed = {
        (entry.task_id, entry.sample_index): (solution, entry.program)
        for entry, solution in zip(matched.entries, matched.solutions, strict=True)
    }
    problems = dict.fromkeys(executed.keys() - given.keys(), f"is missing, and {results.path} has a result of it")
    problems |= dict.fromkeys(given.keys() - executed.keys(), f"is there, and {results.path} has no result of it")
    for place, programs in executed.items():
        # A sample file may hold the calibrated text already. A raw answer alone states no program to compare.
        if given.get(place) is not None and given[place] not in programs:
            problems[place] = f"is another program than {results.path} has a result of"
    raise_defects(
        [
            f"{name}: task {task_id}, sample {index} {problem}: give the sample file that was evaluated"
            for (task_id, index), problem in sorted(problems.items())
        ]
    )


def _variant(
    results: ResultsFile, entries: Sequence[Entry], prefixes: Mapping[str, str], claims: Sequence[Claim]
) -> Variant:
    """What is said of it, else what most programs look like; those that look otherwise are then defects."""
    looks = Counter(entry.program.startswith(prefixes[entry.task_id]) for entry in entries)
    said = [claim for claim in claims if claim.field == "calibrated"]
    if len(looks) == 1:
        [calibrated] = looks
        told = "every one begins" if calibrated else "none begins"
        said.append(Claim("calibrated", calibrated, f"its samples ({told} with its task's code_prompt)"))
    calibrated = bool(agreed(results.path, said).get("calibrated", looks[True] > looks[False]))
    return "calibrated" if calibrated else "raw"


def _foreign(results: ResultsFile, known: Collection[str]) -> Iterator[str]:
    for task_id in dict.fromkeys(entry.task_id for entry in results.entries):
        if task_id not in known:
            yield f"{results.path}: task {task_id} is not in the dataset: choose its own with --dataset"


def _missing(results: ResultsFile, tasks: Collection[str], entries: Sequence[Entry]) -> Iterator[str]:
    there = {entry.task_id for entry in entries}
    for task_id in tasks:
        if task_id not in there:
            yield f"{results.path}: has no result of task {task_id}: select those it has with --ids or --subset"


def _of_other_tasks(
    results: ResultsFile, entries: Sequence[Entry], prefixes: Mapping[str, str], variant: Variant
) -> Iterator[str]:
    """Programs that begin otherwise than calibration makes them from these tasks: their verdicts are of other tasks."""
    if variant == "raw":
        return
    for entry in entries:
        if not entry.program.startswith(prefixes[entry.task_id]):
            yield (
                f"{results.path}: task {entry.task_id}, sample {entry.sample_index} does not begin with the dataset's "
                "code_prompt, as calibrated programs do: choose with --dataset the version it was made with"
            )


def _solution(entry: Entry, prefixes: Mapping[str, str], variant: Variant) -> str:
    return entry.program.removeprefix(prefixes[entry.task_id]) if variant == "calibrated" else entry.program
