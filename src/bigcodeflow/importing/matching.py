"""A result file beside the tasks and the sample file that it is said to be of: it fits as a whole, or not at all."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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
    path = results.path
    prefixes = {task["task_id"]: calibrate(task["code_prompt"], "") for task in tasks}
    places = {task_id: place for place, task_id in enumerate(prefixes)}
    entries = [entry for entry in results.entries if entry.task_id in places]
    entries.sort(key=lambda entry: places[entry.task_id])
    calibrated = _is_calibrated(results, entries, prefixes, claims)
    defects = [
        *results.defects,
        *(
            f"{path}: task {task_id} is not in the dataset: choose its own with --dataset"
            for task_id in dict.fromkeys(entry.task_id for entry in results.entries)
            if task_id not in known_task_ids
        ),
    ]
    if not selection and not results.defects:
        there = {entry.task_id for entry in entries}
        missing = (task_id for task_id in prefixes if task_id not in there)
        defects += [
            f"{path}: has no result of task {one}: select those it has with --ids or --subset" for one in missing
        ]
    # Programs that begin otherwise than calibration makes them from these tasks have verdicts of other tasks.
    defects += [
        f"{path}: task {entry.task_id}, sample {entry.sample_index} does not begin with the dataset's code_prompt, as "
        "calibrated programs do: choose with --dataset the version it was made with"
        for entry in entries
        if calibrated and not entry.program.startswith(prefixes[entry.task_id])
    ]
    if not entries and not defects:
        defects.append(f"{path}: holds no sample of the selected tasks: widen --ids, or take another file")
    raise_defects(defects)
    solutions = [entry.program.removeprefix(prefixes[entry.task_id] if calibrated else "") for entry in entries]
    return Matched("calibrated" if calibrated else "raw", entries, solutions)


def _is_calibrated(
    results: ResultsFile, entries: Sequence[Entry], prefixes: Mapping[str, str], claims: Sequence[Claim]
) -> bool:
    """What is stated of it, else what most programs look like; those that look otherwise are then defects."""
    looks = Counter(entry.program.startswith(prefixes[entry.task_id]) for entry in entries)
    stated = [claim for claim in claims if claim.field == "calibrated"]
    if len(looks) == 1:
        [calibrated] = looks
        which = "every one begins" if calibrated else "none begins"
        stated.append(Claim("calibrated", calibrated, f"its samples ({which} with its task's code_prompt)"))
    return bool(agreed(results.path, stated).get("calibrated", looks[True] > looks[False]))


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
