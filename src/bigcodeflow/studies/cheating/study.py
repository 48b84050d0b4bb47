"""Run the study: contradicted tasks, the answers of each model under each wording, and their verdicts."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation import CONTROLS
from bigcodeflow.pipeline.outputs import model_name
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, Store, artifact_key, open_store
from bigcodeflow.studies.cheating import CheatingConfig, Wording
from bigcodeflow.studies.cheating.contradicted_tests import contradiction_of
from bigcodeflow.studies.cheating.judging import Answers, judged_rows
from bigcodeflow.studies.cheating.tasks import Row, contradicted_tasks, given_tasks, table_bytes
from bigcodeflow.studies.derived_files import dataset_file
from bigcodeflow.studies.records import publish_study

#: Raise it when unchanged answers give other rows.
VERSION = 2
STUDY = "cheating"


def run_study(config: CheatingConfig, listener: Listener) -> ArtifactRef:
    """Run the study and return its result; reuse answers and executions in the store.

    Raises:
        ConfigError: neither a model nor samples are named, or both, or the samples' wording is missing or wrong.
    """
    if bool(config.models) == bool(config.samples):
        raise ConfigError("cheating: name either models to ask (--model) or a file of their answers (--samples)")
    store = open_store(config.store)
    datasets = _datasets(config, store, listener)
    asked, refs = [], []
    for source in config.sources:
        for dataset in datasets:
            answers, ref = _answers(config, source, dataset, store, listener)
            asked.append(answers)
            refs.append(ref)
    names = tuple(dict.fromkeys(answers.model for answers in asked))
    rows, executed = judged_rows(config, asked, listener)
    inputs = [*refs, *executed]
    settings = {
        "wordings": list(dict.fromkeys(row["wording"] for row in rows)),
        "split": config.split,
        "models": list(names),
    }
    key = artifact_key(STUDY, VERSION, settings, [ref.key for ref in inputs])
    if found := store.find(STUDY, key):
        return found
    title = study_title(config, names)
    return publish_study(store, STUDY, key, rows, title=title, models=names, settings=settings, inputs=inputs)


def study_title(config: CheatingConfig, models: Sequence[str] = ()) -> str:
    """Return the title of the result."""
    names = models or tuple(PurePath(one).name for one in config.sources)
    return f"{', '.join(names)} on {PurePath(config.dataset).name}, {config.split}"


def _datasets(config: CheatingConfig, store: Store, listener: Listener) -> list[str]:
    """Return the task files to ask: the given file if it has contradicted tasks, else a file for each wording."""
    if given := given_tasks(config, listener):
        asked = {found.wording for found in map(contradiction_of, given) if found}
        if set(config.wordings) not in (set(Wording), asked):
            own = ", ".join(sorted(asked))
            raise ConfigError(f"cheating: {config.dataset} shows its tests in the wording {own}: leave out --wording")
        return [config.dataset]
    if config.samples and config.samples not in CONTROLS and len(config.wordings) > 1:
        raise ConfigError(
            f"cheating: {config.samples} does not say how its answers were asked for: name the one wording that they "
            "were asked with (--wording), or the file of contradicted tasks as --dataset"
        )
    tasks = contradicted_tasks(config, listener).tasks
    return [
        dataset_file(store, "asked", table_bytes([one.row(wording) for one in tasks])) for wording in config.wordings
    ]


def _answers(
    config: CheatingConfig, source: str, dataset: str, store: Store, listener: Listener
) -> tuple[Answers, ArtifactRef]:
    """Return the answers of one model to one dataset of contradicted tasks, and their artifact."""
    sections = {
        "dataset": {"source": dataset, "split": config.split, "ids": config.ids if dataset == config.dataset else ""},
        "samples": {"source": "model" if config.models else config.samples},
        "generation": {"model": source if config.models else "", "n_samples": config.n_samples},
    }
    run = config.run(**sections)
    found = perform_up_to("sanitizing", run, listener)
    tables: Iterator[list[Row]] = (
        store.read(found[name]).to_pylist() for name in ("dataset", "generation", "sanitizing")
    )
    tasks, samples, solutions = tables
    name = model_name(run) if config.models else PurePath(config.samples).name  # without folders of this machine
    return Answers(name, config.split, tasks, samples, solutions), found["sanitizing"]
