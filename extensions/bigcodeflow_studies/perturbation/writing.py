"""Make variants of a dataset's tasks, execute reference solution and stub of each, and write the valid variants."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, RunConfig, SamplesConfig, SanitizingConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import user_path
from bigcodeflow.core.table import Headings, Table
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.formatting import numbers
from bigcodeflow.store import open_store
from bigcodeflow.studies.derived_files import dataset_file, hub_row, parquet_bytes
from bigcodeflow_studies.perturbation import PerturbationConfig
from bigcodeflow_studies.perturbation.task_texts import TaskTexts
from bigcodeflow_studies.perturbation.variants import variants_of

_SUFFIXES = (".parquet", ".jsonl")
Row = Mapping[str, Any]


class Perturbed(NamedTuple):
    """Dataset of valid variants, with their numbers by kind."""

    path: Path
    """File in the store."""
    rows: Sequence[Row]
    """Rows of the file, in the order of the original tasks."""
    table: Table
    """Numbers by kind: tasks, tasks with variants, tasks with valid variants, and variants that are kept."""


def make_variants(config: PerturbationConfig, listener: Listener) -> Perturbed:
    """Make variants, execute them, and put the valid ones into the store as a dataset file.

    A variant is valid if its reference solution passes its test and a stub fails the test. An ordinary run executes
    both programs, so that known verdicts are reused and an interrupted check continues.

    Raises:
        DatasetError: the tasks cannot be read, or no variant is valid.
    """
    run, store = config.run, open_store(config.run.store)
    tasks = datasets.load_tasks(run.dataset, datasets.resolve(run.dataset)).to_pylist()
    made, progress = list[Row](), listener.begin("variants")
    for number, task in enumerate(tasks, start=1):
        for kind in config.kinds:
            variants = variants_of(task, kind, seed=config.seed, per_task=config.per_task)
            made += (_row(texts, kind, task) for texts in variants)
        progress(number, len(tasks), f"{len(made):,} variants")
    if not made:
        raise DatasetError(f"{run.dataset.source}: no task has a variant of {', '.join(config.kinds)}: add other kinds")
    valid = valid_variants(run, Path(dataset_file(store, "candidates", made)), listener)
    held = groupby((row for row in made if row["task_id"] in valid), key=_task_and_kind)
    kept = [row for _, rows in held for row in islice(rows, config.per_task)]
    if not kept:
        raise DatasetError(
            f"{run.dataset.source}: none of {len(made):,} variants is valid in {run.execution.environment}: "
            "check the environment with `bigcodeflow env check`"
        )
    with_variants, with_kept = (Counter(kind for _, kind in set(map(_task_and_kind, rows))) for rows in (made, kept))
    n_kept = Counter(row["perturbation"] for row in kept)
    counts = [(kind, len(tasks), with_variants[kind], with_kept[kind], n_kept[kind]) for kind in config.kinds]
    columns: Headings = ("kind", *numbers("tasks", "with variants", "with valid ones", "kept"))
    path = Path(dataset_file(store, "variants", kept))
    return Perturbed(path, kept, Table.of(columns, counts, title="Variants"))


def valid_variants(run: RunConfig, candidates: Path, listener: Listener) -> frozenset[str]:
    """Return ids of the variants in a dataset file whose reference solution passes and whose stub fails."""
    execution = run.execution.model_copy(update={"integrity": "off", "variants": ("calibrated",)})
    check = run.model_copy(
        update={
            "name": "perturbation-check",
            "dataset": DatasetConfig(source=str(candidates)),
            "samples": SamplesConfig(source="stub"),
            "sanitizing": SanitizingConfig(mode="none"),
            "execution": execution,
        }
    )
    refs, store = perform_up_to("execution", check, listener), open_store(run.store)
    found = dict[str, frozenset[str]]()
    for stage, statuses in (("ground_truth", {"pass"}), ("execution", {"fail", "timeout", "crash", "out_of_memory"})):
        verdicts = store.read(refs[stage], ["task_id", "status"]).to_pylist()
        found[stage] = frozenset(row["task_id"] for row in verdicts if row["status"] in statuses)
    return found["ground_truth"] & found["execution"]


def require_suffix(out: str) -> None:
    """Check, before anything is executed, that ``out`` has a file ending that runs accept.

    Raises:
        DatasetError: the name does not end in .parquet or .jsonl.
    """
    if user_path(out).suffix not in _SUFFIXES:
        raise DatasetError(f"{out}: is neither Parquet nor JSONL: name a file that ends in {' or '.join(_SUFFIXES)}")


def write_dataset(perturbed: Perturbed, out: str) -> Path:
    """Write the variants as a Parquet or JSONL file that any run accepts as ``dataset.source``."""
    path = user_path(out)
    if path.suffix == ".parquet":
        return write_atomically(path, parquet_bytes(perturbed.rows))
    return write_atomically(path, "".join(json.dumps(row) + "\n" for row in perturbed.rows).encode())


def _row(texts: TaskTexts, kind: str, task: Row) -> Row:
    lists = {name: task[name] for name in ("domains", "expected_tests")}
    return hub_row(task, **texts.columns(), **lists, original_task_id=task["task_id"], perturbation=kind)


def _task_and_kind(row: Row) -> tuple[str, str]:
    return row["original_task_id"], row["perturbation"]
