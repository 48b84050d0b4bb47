"""Execute answers to contradicted tasks by an ordinary run against three test texts each, and classify them.

The texts are the test that was shown, the task's own test, and another contradiction. Each text is a task of a derived
dataset, and each distinct program is a sample of it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.core.errors import DatasetError, ExecutionError
from bigcodeflow.core.schemas import CONTRADICTED_PREFIX
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, Store, open_store
from bigcodeflow.studies.cheating import ContradictedTasksConfig
from bigcodeflow.studies.cheating.classification import Answer, Judged, classified
from bigcodeflow.studies.cheating.contradicted_tests import Contradiction, contradiction_of
from bigcodeflow.studies.cheating.tasks import Row, executable_row, table_bytes
from bigcodeflow.studies.derived_files import dataset_file, sample_file

_TEXTS = ("shown", "test", "other")
_COLUMNS = ["task_id", "sample_index", "status", "tests", "tampering", "exit"]


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


class _Shown(NamedTuple):
    """Contradicted test as it was shown, with the programs that were written for it."""

    task: Row
    contradiction: Contradiction
    programs: dict[str, int]
    """Distinct programs with their sample indexes: equal answers are executed once."""


#: Shown tests by the task's id in its own dataset and the test: wordings and models share them.
_Tests = Mapping[tuple[str, str], _Shown]
#: Verdicts by the test's key and the program, then by the kind of text, one of _TEXTS.
_Verdicts = Mapping[tuple[tuple[str, str], str], Mapping[str, Judged]]


def judged_rows(
    config: ContradictedTasksConfig, asked: Sequence[Answers], listener: Listener
) -> tuple[list[Row], list[ArtifactRef]]:
    """Return rows of CHEATING of all answers, and the artifact of their execution; none if no answer has a program.

    Raises:
        DatasetError: a task is not a contradicted task.
        ExecutionError: programs were not judged, for reasons outside of them.
    """
    tests, refs = _shown_tests(asked), list[ArtifactRef]()
    verdicts: _Verdicts = {}
    if any(one.programs for one in tests.values()):
        store = open_store(config.store)
        source, samples = _files(tests, store)
        run = config.run(dataset={"source": source}, samples={"source": samples}, sanitizing={"mode": "none"})
        refs = [perform_up_to("execution", run, listener)["execution"]]
        verdicts = _verdicts(store.read(refs[0], _COLUMNS).to_pylist(), tests)
    return [row for answers in asked for row in _rows(answers, verdicts)], refs


def _contradiction(task: Row) -> Contradiction:
    found = contradiction_of(task)
    if found is None:
        raise DatasetError(
            f"{task['task_id']}: is no contradicted task, whose doc_struct says what it was made of: "
            "make a dataset with `bigcodeflow cheating tasks`"
        )
    return found


def _shown_tests(asked: Sequence[Answers]) -> _Tests:
    tests: dict[tuple[str, str], _Shown] = {}
    for answers in asked:
        keys = {}
        for task in answers.tasks:
            contradiction = _contradiction(task)
            keys[task["task_id"]] = key = (contradiction.task_id, task["test"])
            tests.setdefault(key, _Shown(task, contradiction, {}))
        for solution in filter(_is_program, answers.solutions):
            programs = tests[keys[solution["task_id"]]].programs
            programs.setdefault(solution["solution"], len(programs))
    return tests


def _is_program(solution: Mapping[str, Any]) -> bool:
    return bool(solution["syntax_ok"] and solution["solution"].strip() and not solution["blocked"])


def _files(tests: _Tests, store: Store) -> tuple[str, str]:
    """Write a task file with each test's texts and a sample file with the programs; return their paths."""
    rows, samples = [], []
    for number, one in enumerate(tests.values()):
        if not one.programs:
            continue
        contradiction = one.contradiction
        texts = (one.task["test"], contradiction.test, contradiction.other)
        for kind, text in zip(_TEXTS, texts, strict=True):
            if text:
                task_id = f"{contradiction.task_id}/{number}/{kind}"
                rows.append(executable_row(one.task, task_id, text, contradiction))
                samples += [(task_id, program) for program in one.programs]
    return dataset_file(store, "judged", table_bytes(rows)), sample_file(store, "answers", samples)


def _verdicts(rows: Sequence[Row], tests: _Tests) -> _Verdicts:
    keys, programs = list(tests), [list(one.programs) for one in tests.values()]
    found: dict[tuple[tuple[str, str], str], dict[str, Judged]] = defaultdict(dict)
    for row in rows:
        if row["status"] == "infra_error":
            raise ExecutionError(f"{row['task_id']}: an answer was not judged for reasons outside of it: run it again")
        _, number, kind = row["task_id"].rsplit("/", 2)
        program = programs[int(number)][row["sample_index"]]
        outcomes = {test["name"]: test["outcome"] for test in row["tests"]}
        judged = Judged(row["status"], outcomes, tuple(row["tampering"]), row["exit"])
        found[keys[int(number)], program][kind] = judged
    return found


def _rows(answers: Answers, verdicts: _Verdicts) -> Iterator[Row]:
    tasks = {task["task_id"]: task for task in answers.tasks}
    for sample, solution in zip(answers.samples, answers.solutions, strict=True):
        task = tasks[solution["task_id"]]
        contradiction = _contradiction(task)
        judged = verdicts.get(((contradiction.task_id, task["test"]), solution["solution"]), {})
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
