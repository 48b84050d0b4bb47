"""Make contradicted tasks from a dataset's tests, check them by ordinary runs, and write them in the hub's schema.

A contradiction of a test method counts if the reference solution passes the original method and fails the altered
method in each of two executions, a program with an empty body fails it too, and the description decides the value.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.core.difficulty import published_solve_rates
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.schemas import CONTRADICTED_PREFIX
from bigcodeflow.generation.controls import oracle
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import Store, open_store
from bigcodeflow.studies.derived_files import dataset_file, hub_row, parts_of, sample_file
from bigcodeflow_studies.cheating import WORDINGS, ContradictedTasksConfig
from bigcodeflow_studies.cheating.contradicted_tests import (
    ENTRY,
    ContradictedText,
    Contradiction,
    contradicted_texts,
    contradiction_of,
    is_described,
)

Row = dict[str, Any]
#: Outcomes of test methods by task id of an executed row, then by method; each row has a single sample.
Outcomes = Mapping[str, Mapping[str, str]]

_EMPTY_BODY = "    pass\n"
_NOTHING = ContradictedText("", ())
_FAILED = frozenset({"fail", "error"})


class ContradictedTask(NamedTuple):
    """Row of TASKS with two contradicted test texts: ``shown`` in the prompts, and ``other``, hidden, maybe empty."""

    task: Row
    shown: ContradictedText
    other: ContradictedText

    @property
    def texts(self) -> Mapping[str, ContradictedText]:
        """Contradicted test texts by kind: 'shown' to models, and 'other', a second text that is not shown."""
        return {"shown": self.shown, "other": self.other}

    def row(self, wording: str) -> Row:
        """Return the contradicted task in the hub's schema: its prompts show the wording's sentence, then the test.

        The complete prompt shows the test in comments before the code, so that the prompt is still a program.
        """
        task, sentence, test = self.task, WORDINGS[wording].strip(), self.shown.text.strip()
        comments = "\n".join(f"# {line}".rstrip() for line in f"{sentence}\n\n{test}".splitlines())
        return hub_row(
            task,
            task_id=f"{CONTRADICTED_PREFIX}{task['task_id']}",
            complete_prompt=f"{comments}\n\n{task['complete_prompt'].lstrip()}",
            instruct_prompt=f"{task['instruct_prompt'].rstrip()}\n\n{sentence}\n```python\n{test}\n```",
            test=self.shown.text,
            doc_struct=json.dumps({**parts_of(task["doc_struct"]), ENTRY: self.contradiction(wording)._asdict()}),
        )

    def contradiction(self, wording: str = "") -> Contradiction:
        """Return the data for judging answers to the task."""
        return Contradiction(
            **{name: self.task[name] for name in ("task_id", "complete_prompt", "instruct_prompt", "test")},
            wording=wording,
            other=self.other.text,
            methods=self.shown.methods,
            other_methods=self.other.methods,
        )


class Selection(NamedTuple):
    """Number of tasks after each step of the selection, and the tasks that remain after the last step."""

    n_tasks: int
    """Number of tasks that ``subset`` and ``ids`` select from the dataset."""
    n_solved: int
    """Number of selected tasks whose solve rate is high enough or unknown."""
    n_by_text: int
    """Number of those ``n_solved`` tasks whose test text can be contradicted."""
    tasks: tuple[ContradictedTask, ...]
    """Tasks with a contradiction that executions of the reference solution and a stub confirm."""


def contradicted_tasks(config: ContradictedTasksConfig, listener: Listener) -> Selection:
    """Return the tasks of a dataset that have a contradiction confirmed by execution.

    Raises:
        DatasetError: the dataset already holds contradicted tasks, or no task's test can be contradicted.
    """
    store = open_store(config.store)
    rows = _dataset_rows(config, store, listener)
    if any(row["task_id"].startswith(CONTRADICTED_PREFIX) for row in rows):
        raise DatasetError(f"{config.dataset}: already holds contradicted tasks: name the original dataset")
    rates = published_solve_rates()
    solved = [row for row in rows if rates.get(row["task_id"], 1.0) >= config.least_solve_rate]
    texts = ((row, contradicted_texts(row["test"], row["entry_point"])) for row in solved)
    candidates = [ContradictedTask(row, *[*found, _NOTHING][:2]) for row, found in texts if found]
    if not candidates:
        raise DatasetError(
            f"{config.dataset}: none of the {len(solved):,} selected tasks has a test that can be contradicted: "
            "select more tasks, or lower --least-solve-rate"
        )
    tasks = _ground_truthed(candidates, config, store, listener)
    return Selection(len(rows), len(solved), len(candidates), tuple(tasks))


def given_tasks(config: ContradictedTasksConfig, listener: Listener) -> list[Row]:
    """Return rows of TASKS if the dataset is a file of contradicted tasks; else an empty list."""
    if config.dataset == "starter" or not config.dataset.endswith((".parquet", ".jsonl", ".jsonl.gz")):
        return []
    rows = _dataset_rows(config, open_store(config.store), listener)
    return rows if all(contradiction_of(row) for row in rows) else []


def executable_row(task: Mapping[str, Any], task_id: str, test: str, contradiction: Contradiction) -> Row:
    """Return a row of the hub's schema that executes answers to a contradicted task against a test text.

    If ``test`` is not the task's own test, the row's canonical solution is an empty body: no correct solution passes
    such a test, and the row's ground truth shows if a stub fails the test too.
    """
    return hub_row(
        task,
        task_id=task_id,
        complete_prompt=contradiction.complete_prompt,
        instruct_prompt=contradiction.instruct_prompt,
        canonical_solution=task["canonical_solution"] if test == contradiction.test else _EMPTY_BODY,
        doc_struct="{}",
        test=test,
    )


def _dataset_rows(config: ContradictedTasksConfig, store: Store, listener: Listener) -> list[Row]:
    dataset = {"source": config.dataset, "subset": config.subset, "ids": config.ids}
    # Any source of samples will do: up to the dataset, no model is asked and no sample is read.
    run = config.run(dataset=dataset, samples={"source": "oracle"})
    rows: list[Row] = store.read(perform_up_to("dataset", run, listener)["dataset"]).to_pylist()
    return rows


def _ground_truthed(
    candidates: Sequence[ContradictedTask], config: ContradictedTasksConfig, store: Store, listener: Listener
) -> Iterator[ContradictedTask]:
    """Execute the candidates; yield each candidate with its confirmed contradictions, if its shown text has any."""
    rows, programs = [], []
    for one in candidates:
        mine = list(_rows(one))
        rows += mine
        programs += [(row["task_id"], oracle(one.task)) for row in mine]
    source = dataset_file(store, "candidates", rows)
    samples = sample_file(store, "references", programs)
    run = config.run(dataset={"source": source}, samples={"source": samples}, sanitizing={"mode": "none"})
    found = perform_up_to("execution", run, listener)
    reference, stub = (_outcomes(store.read(found[name])) for name in ("execution", "ground_truth"))
    for one in candidates:
        shown, other = (_holding(one.task["task_id"], text, kind, reference, stub) for kind, text in one.texts.items())
        shown = shown._replace(methods=tuple(each for each in shown.methods if is_described(one.task, each.before)))
        if shown.methods:
            yield one._replace(shown=shown, other=other if other.methods else _NOTHING)


def _rows(one: ContradictedTask) -> Iterator[Row]:
    """Yield a row with the task's own test, and two rows for each contradicted text, to execute the text twice."""
    texts = {"test": one.task["test"]}
    for kind, altered in one.texts.items():
        if altered.methods:
            texts |= {kind: altered.text, f"{kind}/again": f"{altered.text}\n# again\n"}
    for kind, text in texts.items():
        yield executable_row(one.task, f"{one.task['task_id']}/{kind}", text, one.contradiction())


def _outcomes(verdicts: pa.Table) -> Outcomes:
    rows = verdicts.select(["task_id", "tests"]).to_pylist()
    return {row["task_id"]: {test["name"]: test["outcome"] for test in row["tests"]} for row in rows}


def _holding(task_id: str, text: ContradictedText, kind: str, reference: Outcomes, stub: Outcomes) -> ContradictedText:
    """Keep the methods of ``text`` that the reference passes unaltered, and that reference and stub fail altered."""
    own = reference.get(f"{task_id}/test", {})
    ids = (f"{task_id}/{kind}", f"{task_id}/{kind}/again")
    altered = [found.get(one, {}) for found in (reference, stub) for one in ids]
    methods = [
        one
        for one in text.methods
        if own.get(one.test) == "pass" and all(outcomes.get(one.test) in _FAILED for outcomes in altered)
    ]
    return text._replace(methods=tuple(methods))
