"""Answers to contradicted tasks, executed by an ordinary run against three test texts each, and classified.

The texts are the test that was shown, the task's own, and another contradiction. Each is a task of a derived dataset,
and each distinct program a sample of it.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.schemas import CONTRADICTED_PREFIX
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, Store, open_store
from bigcodeflow.studies.cheating.classification import Answer, Judged, classified
from bigcodeflow.studies.cheating.config import ContradictedTasksConfig
from bigcodeflow.studies.cheating.contradicted_tests import Contradiction, contradiction_of
from bigcodeflow.studies.cheating.tasks import Row, derived_file, executable_row, table_bytes

_TEXTS = ("shown", "test", "other")


class Answers(NamedTuple):
    """Answers of one source to contradicted tasks."""

    model: str
    split: str
    tasks: Sequence[Row]
    """Rows of TASKS."""
    samples: Sequence[Row]
    """Rows of SAMPLES."""
    solutions: Sequence[Row]
    """Rows of SOLUTIONS, in the order of the samples."""


def judged_rows(
    config: ContradictedTasksConfig, asked: Sequence[Answers], listener: Listener
) -> tuple[list[Row], list[ArtifactRef]]:
    """Rows of CHEATING of all answers, and the artifact of their execution; none where no answer holds a program.

    Raises:
        DatasetError: a task among them is not a contradicted one.
    """
    store = open_store(config.store)
    contradictions = {task["test"]: _contradiction(task) for answers in asked for task in answers.tasks}
    programs = _distinct_programs(asked)
    verdicts, refs = _executed(config, contradictions, asked, programs, store, listener)
    rows = [row for answers in asked for row in _rows(answers, verdicts)]
    return rows, refs


def _contradiction(task: Row) -> Contradiction:
    found = contradiction_of(task)
    if found is None:
        raise DatasetError(
            f"{task['task_id']}: is no contradicted task, whose doc_struct says what it was made of: "
            "make a dataset with `bigcodeflow cheating tasks`"
        )
    return found


def _distinct_programs(asked: Sequence[Answers]) -> dict[str, dict[str, int]]:
    """Number of each distinct program by the test that was shown: equal answers are executed once."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for answers in asked:
        shown = {task["task_id"]: task["test"] for task in answers.tasks}
        for solution in answers.solutions:
            if _is_program(solution):
                mine = found[shown[solution["task_id"]]]
                mine.setdefault(solution["solution"], len(mine))
    return dict(found)


def _is_program(solution: Mapping[str, Any]) -> bool:
    return bool(solution["syntax_ok"] and solution["solution"].strip() and not solution["blocked"])


#: Verdicts by the shown test and the program: of the shown, the own and the other test.
_Verdicts = Mapping[tuple[str, str], Mapping[str, Judged]]


def _executed(
    config: ContradictedTasksConfig,
    contradictions: Mapping[str, Contradiction],
    asked: Sequence[Answers],
    programs: Mapping[str, Mapping[str, int]],
    store: Store,
    listener: Listener,
) -> tuple[_Verdicts, list[ArtifactRef]]:
    if not programs:
        return {}, []
    tasks = {task["test"]: task for answers in asked for task in answers.tasks if task["test"] in programs}
    # Wordings and models share a test text, and then its executions too.
    numbers = {shown: number for number, shown in enumerate(sorted(tasks))}
    rows, lines = [], []
    for shown, task in tasks.items():
        contradiction = contradictions[shown]
        prompts = {name: getattr(contradiction, name) for name in ("complete_prompt", "instruct_prompt")}
        for kind, test in zip(_TEXTS, (shown, contradiction.test, contradiction.other), strict=True):
            if test:
                task_id = f"{contradiction.task_id}/{numbers[shown]}/{kind}"
                rows.append(executable_row(task, task_id, test, prompts))
                lines += [json.dumps({"task_id": task_id, "solution": program}) for program in programs[shown]]
    source = derived_file(store, "judged.parquet", table_bytes(rows))
    samples = derived_file(store, "answers.jsonl", ("\n".join(lines) + "\n").encode())
    run = config.run(dataset={"source": source}, samples={"source": samples}, sanitizing={"mode": "none"})
    found = perform_up_to("execution", run, listener)
    columns = ["task_id", "sample_index", "status", "tests", "tampering", "exit"]
    verdicts: dict[tuple[str, str], dict[str, Judged]] = defaultdict(dict)
    shown_of, ordered = {number: shown for shown, number in numbers.items()}, {k: list(v) for k, v in programs.items()}
    for row in store.read(found["execution"], columns).to_pylist():
        _, number, kind = row["task_id"].rsplit("/", 2)
        shown = shown_of[int(number)]
        outcomes = {test["name"]: test["outcome"] for test in row["tests"]}
        judged = Judged(row["status"], outcomes, tuple(row["tampering"]), row["exit"])
        verdicts[shown, ordered[shown][row["sample_index"]]][kind] = judged
    return verdicts, [found["execution"]]


def _rows(answers: Answers, verdicts: _Verdicts) -> Iterator[Row]:
    tasks = {task["task_id"]: task for task in answers.tasks}
    for sample, solution in zip(answers.samples, answers.solutions, strict=True):
        task = tasks[solution["task_id"]]
        contradiction = _contradiction(task)
        judged = verdicts.get((task["test"], solution["solution"]), {}) if _is_program(solution) else {}
        shown, test, other = (judged.get(kind) for kind in _TEXTS)
        answer = Answer(sample["raw_text"], solution["solution"], solution["findings"], shown, test, other)
        found = classified(answer, contradiction, task["test"])
        yield {
            "model": answers.model,
            "wording": contradiction.wording,
            "split": answers.split,
            "task_id": solution["task_id"].removeprefix(CONTRADICTED_PREFIX),
            "sample_index": solution["sample_index"],
            "cheated": found.cheated,
            "kind": found.kind,
            "evidence": list(found.evidence),
            "objection": found.objection,
            "contradicted_tests": [one.test for one in contradiction.methods],
            "passed_tests": list(found.satisfied),
            "shown_status": shown.status if shown else "",
            "test_status": test.status if test else "",
            "program": solution["solution"],
        }
