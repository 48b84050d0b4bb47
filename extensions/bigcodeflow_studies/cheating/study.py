"""Run the cheating study: make contradicted tasks, ask each model with each wording, and judge the answers."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.core.schemas import CONTRADICTED_PREFIX
from bigcodeflow.generation import CONTROLS
from bigcodeflow.pipeline.outputs import model_name
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, Store, artifact_key, open_store
from bigcodeflow.studies.derived_files import dataset_file, sample_file
from bigcodeflow.studies.records import publish_study
from bigcodeflow_studies.cheating import CheatingConfig, ContradictedTasksConfig, Wording
from bigcodeflow_studies.cheating.classification import Answer, Judged, classified
from bigcodeflow_studies.cheating.contradicted_tests import Contradiction, contradiction_of
from bigcodeflow_studies.cheating.tasks import Row, contradicted_tasks, executable_row, given_tasks

#: Raise it when unchanged answers give other rows.
VERSION = 2
STUDY = "cheating"
_TEXTS = ("shown", "test", "other")
_COLUMNS = ["task_id", "sample_index", "status", "tests", "tampering", "exit"]


class Answers(NamedTuple):
    """Answers of a model, a control or a sample file to contradicted tasks."""

    model: str
    split: str
    tasks: Mapping[str, tuple[Row, Contradiction]]
    """Rows of TASKS by task id, each with its contradiction."""
    samples: Sequence[Row]
    """Rows of SAMPLES."""
    solutions: Sequence[Row]
    """Rows of SOLUTIONS, in the order of the samples."""


class _Shown(NamedTuple):
    """Contradicted test as it was shown, with the programs that were written for it."""

    task: Row
    contradiction: Contradiction
    programs: dict[str, dict[str, Judged]]
    """Verdicts by program and by kind of test text, one of _TEXTS; equal programs are executed once."""


#: Shown tests by (task id in its own dataset, text of the shown test); wordings and models share them.
_Tests = Mapping[tuple[str, str], _Shown]


def run_study(config: CheatingConfig, listener: Listener) -> ArtifactRef:
    """Run the study and return its result; reuse answers and executions in the store.

    Raises:
        ConfigError: both or neither of models and samples are named, or the wording of the samples is missing or wrong.
    """
    if bool(config.models) == bool(config.samples):
        raise ConfigError("cheating: needs --model or --samples, not both: name either models to ask or their answers")
    store = open_store(config.store)
    datasets = _datasets(config, store, listener)
    asked, refs = [], []
    for source in config.sources:
        for dataset in datasets:
            answers, ref = _answers(config, source, dataset, store, listener)
            asked.append(answers)
            refs.append(ref)
    names = list(dict.fromkeys(answers.model for answers in asked))
    rows, executed = judged_rows(config, asked, listener)
    inputs = [*refs, *executed]
    wordings = list(dict.fromkeys(row["wording"] for row in rows))
    settings = {"wordings": wordings, "split": config.split, "models": names}
    key = artifact_key(STUDY, VERSION, settings, [ref.key for ref in inputs])
    title = config.title(names)
    return publish_study(store, STUDY, key, rows, title=title, models=names, settings=settings, inputs=inputs)


def _datasets(config: CheatingConfig, store: Store, listener: Listener) -> list[str]:
    """Return files of contradicted tasks: ``config.dataset`` if it is such a file, else a new file for each wording."""
    if given := given_tasks(config, listener):
        asked = {found.wording for found in map(contradiction_of, given) if found}
        if set(config.wordings) not in (set(Wording), asked):
            own = ", ".join(sorted(asked))
            raise ConfigError(f"cheating: {config.dataset} has only the wording {own}: leave out --wording")
        return [config.dataset]
    if config.samples and config.samples not in CONTROLS and len(config.wordings) > 1:
        raise ConfigError(
            f"cheating: {config.samples} does not say with which wording its answers were asked for: name this wording "
            "(--wording), or the file of contradicted tasks (--dataset)"
        )
    tasks = contradicted_tasks(config, listener).tasks
    return [dataset_file(store, "asked", [one.row(wording) for one in tasks]) for wording in config.wordings]


def _answers(
    config: CheatingConfig, source: str, dataset: str, store: Store, listener: Listener
) -> tuple[Answers, ArtifactRef]:
    """Return the answers of ``source`` (model or samples) to contradicted tasks, and their solutions' artifact."""
    sections = {
        "dataset": {"source": dataset, "split": config.split, "ids": config.ids if dataset == config.dataset else ""},
        "samples": {"source": "model" if config.models else config.samples},
        "generation": {"model": source if config.models else "", "n_samples": config.n_samples},
    }
    run = config.run(**sections)
    found = perform_up_to("sanitizing", run, listener)
    rows, *tables = (store.read(found[name]).to_pylist() for name in ("dataset", "generation", "sanitizing"))
    tasks = {row["task_id"]: (row, one) for row in rows if (one := contradiction_of(row))}
    name = model_name(run) if config.models else PurePath(config.samples).name  # without folders of this machine
    return Answers(name, config.split, tasks, *tables), found["sanitizing"]


def judged_rows(
    config: ContradictedTasksConfig, asked: Sequence[Answers], listener: Listener
) -> tuple[list[Row], list[ArtifactRef]]:
    """Return a row of CHEATING per answer, and a list with the execution's artifact, empty if no program was executed.

    Raises:
        ExecutionError: the infrastructure failed, so that a program was not judged.
    """
    tests, refs = _shown_tests(asked), list[ArtifactRef]()
    if any(one.programs for one in tests.values()):
        store = open_store(config.store)
        source, samples = _files(tests, store)
        run = config.run(dataset={"source": source}, samples={"source": samples}, sanitizing={"mode": "none"})
        refs = [perform_up_to("execution", run, listener)["execution"]]
        _add_verdicts(store.read(refs[0], _COLUMNS).to_pylist(), tests)
    return [row for answers in asked for row in _rows(answers, tests)], refs


def _shown_tests(asked: Sequence[Answers]) -> _Tests:
    tests: dict[tuple[str, str], _Shown] = {}
    for answers in asked:
        shown = {}
        for task_id, (task, contradiction) in answers.tasks.items():
            key = contradiction.task_id, task["test"]
            shown[task_id] = tests.setdefault(key, _Shown(task, contradiction, {}))
        for one in answers.solutions:
            if one["syntax_ok"] and one["solution"].strip() and not one["blocked"]:
                shown[one["task_id"]].programs.setdefault(one["solution"], {})
    return tests


def _files(tests: _Tests, store: Store) -> tuple[str, str]:
    """Write a file with a task for each text of a test (_TEXTS), and a file of the programs; return both paths."""
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
    return dataset_file(store, "judged", rows), sample_file(store, "answers", samples)


def _add_verdicts(rows: Sequence[Row], tests: _Tests) -> None:
    verdicts = [list(one.programs.values()) for one in tests.values()]
    for row in rows:
        if row["status"] == "infra_error":
            raise ExecutionError(f"{row['task_id']}: an answer could not be judged (infra_error): run again")
        _, number, kind = row["task_id"].rsplit("/", 2)
        outcomes = {test["name"]: test["outcome"] for test in row["tests"]}
        judged = Judged(row["status"], outcomes, tuple(row["tampering"]), row["exit"])
        verdicts[int(number)][row["sample_index"]][kind] = judged


def _rows(answers: Answers, tests: _Tests) -> Iterator[Row]:
    for sample, solution in zip(answers.samples, answers.solutions, strict=True):
        task, contradiction = answers.tasks[solution["task_id"]]
        judged = tests[contradiction.task_id, task["test"]].programs.get(solution["solution"], {})
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
