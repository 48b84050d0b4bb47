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
    """Record result files of the original evaluator or of other harnesses as runs, also for compare and report.

    The *_pass_at_k.json beside a file tells model, split, subset and which ground truths failed; without one, ground
    truths count as not executed. Nothing is executed. The same file again gives the same run; no record is replaced.
    Names, scores and options that contradict each other are refused. A file that does not fit is named with all its
    defects and not taken in; the others are. Harnesses: Inspect, lm-evaluation-harness, evalscope, evalplus and
    NeMo-Skills. See docs/inspect.md.
    """
    dataset = {name: given.get(f"dataset.{name}", "") for name in ("source", "ids", "split", "subset")}
    name = given.get("name", "")
    if from_space:
        if files:
            raise ConfigError("--from-space brings its own result file: name no other")
        files = [_results_from_space(from_space, samples, dataset, name=name, folder=given.get("out", ""))]
    if not files:
        raise ConfigError("name result files, or --from-space with --samples and --split")
    if len(files) > 1 and (samples or name):
        raise ConfigError("--samples and --name are of one result file: import that file alone")
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
        notice("ground truths: not known, since no pass_at_k.json beside the file tells which ones failed")
    notice(f"recorded   {kept.root / 'runs' / run.record}.json")


def _results_from_space(address: str, samples: str, dataset: dict[str, str], *, name: str, folder: str) -> Path:
    split, subset = dataset["split"], dataset["subset"]
    # Check contradictions first: the space takes minutes, and the import would then refuse its results.
    importing.agreed(
        Path(samples), importing.claims_of_options({"split": split, "subset": subset}, samples=samples, name=name)
    )
    if not samples:
        raise ConfigError("--from-space judges a sample file: name it with --samples")
    if split not in {"complete", "instruct"}:
        raise ConfigError("--from-space has to know which prompts were answered: add --split complete or instruct")
    evaluator = plugin_entries("bigcodeflow.evaluators")["space"].value
    results_of_space = load_plugin(evaluator, "--from-space", extra="gradio-client")
    question = {"split": split, "subset": subset or "full", "selective_evaluate": task_numbers(dataset["ids"])}
    title = f"{Path(samples).name.partition('.jsonl')[0]}-{subset or 'full'}-{split}"
    results_folder = Path(folder or own_folder("results/runs", title, datetime.now(UTC)))
    notice(f"{address} evaluates {samples}: some minutes")
    return Path(results_of_space(ServiceConfig(url=address), Path(samples), results_folder, **question))


def task_numbers(ids: str) -> str:
    """Convert ids to task numbers for the space: comma-separated, without ranges and prefixes."""
    chosen = parse_ids(ids, BIGCODEBENCH_IDS) if ids.strip() else ()
    return ",".join(map(str, sorted(int(task_id.rpartition("/")[2]) for task_id in chosen)))
