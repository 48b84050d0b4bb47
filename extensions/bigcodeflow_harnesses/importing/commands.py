"""`bigcodeflow import`: record results of other evaluators, so that they count like runs of this project."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow import results
from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, out, perform_each
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import ServiceConfig
from bigcodeflow.core.errors import ConfigError, DatasetError, SamplesError
from bigcodeflow.core.plugins import load_plugin, plugin_entries
from bigcodeflow.core.settings import SettingOption
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, parse_ids
from bigcodeflow.pipeline.outputs import own_folder
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.results.runs import recorded_run
from bigcodeflow.store import open_store
from bigcodeflow_harnesses import importing

_FROM_FILE = "as name and scores of the file tell"


@settings_options(
    options.DATASET,
    SettingOption("name", shown="the file's", help="Name of the run; with one result file only."),
    SettingOption("dataset.split", shown=_FROM_FILE),
    SettingOption("dataset.subset", shown=_FROM_FILE),
    SettingOption("out", shown="one of its own in results/runs", help="Folder for the result files of --from-space."),
    "dataset.ids",
    "store",
)
def import_results(
    given: dict[str, Any],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Result files: *_eval_results.json, also gzipped, or files of other harnesses."),
    ] = None,
    samples: Annotated[
        str, typer.Option(help="Sample file that was evaluated, for the raw answers; with one result file only.")
    ] = "",
    from_space: Annotated[
        str, typer.Option(help="Address or OWNER/NAME of the original's evaluator, which judges --samples first.")
    ] = "",
) -> None:
    """Record result files of the original evaluator or of other harnesses as runs, which compare and report accept.

    A *_pass_at_k.json next to a file states model, split, subset and failed ground truths; without it, ground truths
    count as not executed. Nothing is executed. Importing a file again gives the same run; no record is replaced. Files
    whose name, scores and options contradict each other are refused. A file with defects is not imported, and all its
    defects are named; the remaining files are imported. Harnesses: Inspect, lm-evaluation-harness, evalscope, evalplus
    and NeMo-Skills. See docs/inspect.md.
    """
    dataset = {name: given.get(f"dataset.{name}", "") for name in ("source", "ids", "split", "subset")}
    name = given.get("name", "")
    if from_space:
        if files:
            raise ConfigError("--from-space makes the result file itself: name no result files, or omit --from-space")
        files = [_results_from_space(from_space, samples, dataset, name=name, folder=given.get("out", ""))]
    if not files:
        raise ConfigError("no result file is named: name result files, or give --from-space with --samples and --split")
    if len(files) > 1 and (samples or name):
        raise ConfigError("--samples and --name are for one result file, but several are named: import each file alone")
    store = given.get("store", "results/store")
    resolver = Resolver()

    def take_in(file: Path) -> None:
        with progress_listener() as listener:
            shared: Any = {"store": Path(store), "listener": listener, "resolver": resolver}
            run = importing.import_results(file, settings=dataset, samples=samples, name=name, **shared)
        _show(run, store)

    # If the tasks cannot be loaded, no file can be imported.
    perform_each(files, take_in, SamplesError, name=lambda _: "", fatal=(DatasetError,))


def _show(run: importing.ImportedRun, store: str) -> None:
    kept = open_store(store)
    failures = results.ground_truth_failures(kept.path(run.ground_truth)) if run.ground_truth else []
    title = recorded_run(kept, run.record).title
    out.print(results.render_summary(kept.read(run.metrics), failures=failures, title=title))
    if run.ground_truth is None:
        notice("ground truths: not known, because no pass_at_k.json next to the result file states which failed")
    notice(f"recorded   {kept.root / 'runs' / run.record}.json")


def _results_from_space(address: str, samples: str, dataset: dict[str, str], *, name: str, folder: str) -> Path:
    split, subset = dataset["split"], dataset["subset"]
    # Check contradictions first: the space takes minutes, and the import would then refuse its results.
    importing.agreed(
        Path(samples), importing.claims_of_options({"split": split, "subset": subset}, samples=samples, name=name)
    )
    if not samples:
        raise ConfigError("--from-space needs a sample file to judge: name it with --samples")
    if split not in {"complete", "instruct"}:
        raise ConfigError("--from-space needs the split of the answered prompts: add --split complete or instruct")
    evaluator = plugin_entries("bigcodeflow.evaluators")["space"].value
    results_of_space = load_plugin(evaluator, "--from-space", extra="gradio-client")
    question = {"split": split, "subset": subset or "full", "selective_evaluate": task_numbers(dataset["ids"])}
    title = f"{Path(samples).name.partition('.jsonl')[0]}-{subset or 'full'}-{split}"
    results_folder = Path(folder or own_folder("results/runs", title, datetime.now(UTC)))
    notice(f"{address} evaluates {samples}: this takes some minutes")
    return Path(results_of_space(ServiceConfig(url=address), Path(samples), results_folder, **question))


def task_numbers(ids: str) -> str:
    """Convert task ids and ranges to task numbers, such as '0,1,12', as the original evaluator's space takes them."""
    chosen = parse_ids(ids, BIGCODEBENCH_IDS) if ids.strip() else ()
    return ",".join(map(str, sorted(int(task_id.rpartition("/")[2]) for task_id in chosen)))
