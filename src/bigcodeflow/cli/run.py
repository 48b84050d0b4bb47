"""`bigcodeflow run`, `evaluate` and `sweep`: the pipeline as a Prefect flow, or in this process."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from bigcodeflow import results
from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, notices, out, perform_each, print_study, print_table
from bigcodeflow.cli.estimates import check_samples, confirm_requests, estimates, print_estimates
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import DatasetConfig, RunConfig, load_config, parse_override
from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.core.settings import SettingOption, validated
from bigcodeflow.core.table import Column, Table
from bigcodeflow.generation import expand_grid
from bigcodeflow.pipeline import sweep_results
from bigcodeflow.pipeline.outputs import model_name, run_title
from bigcodeflow.pipeline.preflight import problems_of, require_model
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import planned_run
from bigcodeflow.pipeline.sweeps import Member, SweepConfig, load_sweep, members_of
from bigcodeflow.recording import FinishedRun, begin_run, perform_and_record, record_run, reused_result
from bigcodeflow.results import verified
from bigcodeflow.results.runs import RecordedRun

#: Environment variables that are set before Prefect is imported, unless the user has set them.
_PREFECT_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # A loaded machine needs more than the default 20 s to start the server.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
#: Columns of long texts, with their least width in a narrow terminal.
_WRAPPED = (Column("to do", min_width=20), Column("done", min_width=12), Column("why", min_width=8))
_NARROW = (Column("run", wrap="elide", min_width=14), Column("ground truths"))
_COLUMNS = {column.heading: column for column in (*_NARROW, *_WRAPPED)}
#: Settings that `run` and `evaluate` name alike, besides samples and dataset.
_COMMON = (
    *options.TASKS,
    *options.VIEW,
    SettingOption("execution.environment"),
    *options.BACKEND,
    *map(SettingOption, ("execution.workers", "execution.reruns", "aggregation.k", "name", "out", "store")),
)
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, with requests, tokens and cost of models, and stop.")
]


@settings_options(
    *(option._replace(shown="the preset's") for option in (*options.MODEL, *options.ROUNDS)),
    SettingOption("samples.source", "samples", shown="the preset's"),
    SettingOption("dataset.source", "dataset", shown="the preset's"),
    *(option._replace(shown="the preset's") for option in _COMMON),
)
def run(
    given: dict[str, Any],
    preset: Annotated[
        str, typer.Argument(help="Preset: a YAML file, or the name of a shipped one such as 'starter'.")
    ] = "starter",
    settings: options.Overrides = None,
    no_prefect: Annotated[
        bool, typer.Option("--no-prefect", help="Run the same stages in this process, without a Prefect server.")
    ] = False,
    dry_run: DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Run every stage on a preset: load, ask the model, sanitize, execute, aggregate.

    Without --model or --samples, the answers come from the source in the preset. Finished stages are reused. The run
    appears on the running Prefect server (`bigcodeflow up` in this folder, or PREFECT_API_URL); if none runs, a server
    is started for the run, unless every stage is in the cache.
    """
    if "generation.model" in given and given.setdefault("samples.source", "model") != "model":
        raise ConfigError("--model and --samples are both given: give only one, a model to ask or existing answers")
    base_url = given.get("generation.base_url", "")
    require_model(given.get("generation.model", "openai:NAME"), base_url)
    config = load_config(preset, tuple(settings or ()), given)
    if base_url and config.samples.source == "starter":  # else the recorded answers would be judged
        require_model(config.generation.model, base_url)
    runs = expand_grid(config)
    if dry_run:
        _show_plans(runs)
        return
    for one in runs:
        whole = DatasetConfig(source=one.dataset.source, split=one.dataset.split) == one.dataset
        if whole and one.samples.source == "model" and one.dataset.source.startswith("bigcode/bigcodebench"):
            notice(f"{one.name}: all 1,140 tasks of the benchmark; --subset hard takes 148")
    confirm_requests(runs, yes=yes)

    def perform(one: RunConfig) -> None:
        if len(runs) > 1:
            notices.rule(one.name)
        _run(one, with_prefect=not no_prefect)

    perform_each(runs, perform, ExecutionError, name=lambda one: f"{one.name}: ", fatal=(ConfigError,))


@settings_options(
    options.SAMPLES._replace(
        help="Sample file (JSONL, JSONL.gz), folder, 'oracle' (ground truths), 'stub', 'cheat' or 'starter'."
    ),
    options.DATASET,
    *(one._replace(shown="the dataset's") if one.path == "execution.environment" else one for one in _COMMON),
    "execution.allow_unisolated",
)
def evaluate(
    given: dict[str, Any],
    uncalibrated: Annotated[
        bool, typer.Option("--uncalibrated", help="Run solutions alone, without code_prompt in front.")
    ] = False,
    both_starts: Annotated[
        bool,
        typer.Option("--both-starts", help="Judge warm and cold and report where verdicts differ, instead of scoring."),
    ] = False,
    settings: options.Overrides = None,
    dry_run: DryRun = False,
) -> None:
    """Execute samples in sandboxes and score them.

    Writes STEM_eval_results.json and STEM_pass_at_k.json in the original evaluator's formats, verdicts.parquet and
    report.html.
    Samples are executed exactly as in their file: sanitize raw answers first, or use `bigcodeflow run`.
    """
    given["sanitizing.mode"] = "parity" if given["samples.source"] == "starter" else "none"
    if uncalibrated:
        given["execution.variants"] = ["raw"]
    options.take_environment(given)
    config = load_config(None, tuple(settings or ()), given)
    if dry_run:
        _show_plans([config])
    elif both_starts:
        _report_starts(config)
    else:
        _run(config, with_prefect=False)


class _WithoutPandas(MetaPathFinder):
    """Import finder that makes the import of pandas fail."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ImportError


def _spare_pandas() -> None:
    """Hide pandas from pyarrow's first conversion of a list, since an import of pandas takes 0.3 s of CPU.

    pyarrow imports pandas later if a conversion needs it.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, finder := _WithoutPandas())
        pa.array([])
        sys.meta_path.remove(finder)


def _show_plans(runs: Sequence[RunConfig]) -> None:
    """Print what each run would do and why, and the requests that it would send to a model."""
    check_samples(runs[0])  # a grid of settings shares tasks and samples
    print_estimates(estimates(runs))  # loads the tasks, from the hub if necessary, which the plans need in its cache
    members = [Member(one.name, model_name(one), "", one) for one in runs]
    _print_plans(members, "Dry run", sweep_results.last_runs(runs[0].store), Resolver(dry_run=True))


def _print_plans(
    members: Sequence[Member], title: str, recorded: Mapping[str, RecordedRun], resolver: Resolver
) -> list[sweep_results.Plan]:
    plans = [sweep_results.plan_of(member, recorded.get(member.name), resolver) for member in members]
    print_table(_sweep_table(sweep_results.plan_rows(plans), title))
    return plans


def _run(config: RunConfig, *, with_prefect: bool) -> None:
    """Perform every stage and show the results; with Prefect, use the running server or start a temporary server."""
    _spare_pandas()
    if not with_prefect:
        with progress_listener() as listener:
            finished = perform_and_record(config, listener)
        show_results(finished)
        return
    if ui_url := _prepare_prefect():
        # Errors are reported here, so that the server gets no failed run; it may have keys that are not here.
        if problems := problems_of([config], lambda _: True):
            raise ConfigError("\n".join(problems))
    else:
        context = begin_run(config, Resolver())
        artifacts, missing = planned_run(context.resolved)
        if not missing:  # starting a temporary server would take longer than all the rest
            notices.print("every stage is in the cache: nothing to run")
            show_results(record_run(context, artifacts))
            return
        from flows.own_server import start_own_server

        notices.print("starting a Prefect server for this run (`bigcodeflow up` starts one that stays) …")
        start_own_server()
    from flows.benchmark import benchmark

    with progress_listener() if sys.stderr.isatty() else nullcontext():
        finished = benchmark(config)
    show_results(finished, ui_url)


def _prepare_prefect() -> str:
    """Set the environment variables that Prefect reads at import; return the UI's URL if a server runs, else ''."""
    if not os.environ.get("PREFECT_API_URL") and (service := _service()) and (settings := service.running_server()):
        notice(f"on the Prefect server of this folder: {settings.ui_url}")
        os.environ |= {"PREFECT_API_URL": settings.api_url, "PREFECT_UI_URL": f"{settings.ui_url}/v2"}
    for name, value in _PREFECT_SETTINGS.items():
        os.environ.setdefault(name, value)
    if sys.stderr.isatty():  # bars replace the log, which the server keeps
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
    return os.environ.get("PREFECT_API_URL", "").removesuffix("/").removesuffix("/api")


def _service() -> Any:
    """Import and return the module that reads the service's state; return None if no service was started here."""
    started = Path(os.environ.get("BIGCODEFLOW_STATE", ".bigcodeflow"), "service.json").is_file()
    return import_module("bigcodeflow.prefect_service.folder") if started else None


def show_results(run: FinishedRun, ui_url: str = "") -> None:
    """Print the scores of a run, its files, and the commands and addresses that show more."""
    config, store, artifacts, outputs = run
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    title = run_title(config, outputs.selection)
    out.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=title))
    scores = verified.verified_scores(store.path(artifacts.dataset), store.path(artifacts.execution))
    print_table(verified.verified_table(scores))
    if outputs.rounds:
        print_study(store, outputs.rounds)
    if outputs.selection:
        notice(f"note: {outputs.selection} were judged; the score is of these alone, and is not ranked with other runs")
    # For a store at a URL, the catalog is in this machine's replica.
    folder = store.root if config.store == store.location else config.store
    if score := results.brief_score(store.read(artifacts.aggregation)):
        notice(f"score      {score}")
    notice(f"results    {config.out}")
    if outputs.report:
        notice(f"report     {outputs.report.resolve().as_uri()}")
    notice(f"artifacts  {config.store}")
    notice(f"catalog    {folder}/{results.CATALOG_NAME}  (for any DuckDB client)")
    notice(f"failures   bigcodeflow inspect {outputs.record}{_store_option(config.store)}")
    notice(f"explorer   {_explorer(config.store, f'/runs/{outputs.record}')}")
    if ui_url:
        notice(f"Prefect UI {ui_url}")


def _explorer(store: str, page: str = "") -> str:
    """Return the address of a page of this folder's running explorer, or else the command that starts an explorer."""
    service = _service()
    address = service.explorer_url(store) if service else ""
    return f"{address}{page}" if address else f"bigcodeflow explore --open{_store_option(store)}"


def _store_option(store: str) -> str:
    return "" if store == RunConfig().store else f" --store {shlex.quote(store)}"


def _report_starts(config: RunConfig) -> None:
    """Judge every sample with warm and cold start; exit with code 1 if a verdict depends on the start."""
    from bigcodeflow.pipeline.warm_cold_check import compare_starts

    with progress_listener() as listener:
        comparison = compare_starts(config, listener)
    headings = ("task", "sample", "variant", "warm", "cold", "tests that differ", "cause")
    rows = [
        (*one.sample, " ".join(one.warm), " ".join(one.cold), one.tests, "flaky" if one.flaky else "the start")
        for one in comparison.differences
    ]
    print_table(Table.of(headings, rows))
    flaky = sum(one.flaky for one in comparison.differences)
    notices.print(f"{comparison.samples:,} samples judged warm and cold: {len(rows)} differ, of these {flaky} flaky")
    if len(rows) > flaky:
        raise typer.Exit(1)


@settings_options(
    *(option._replace(shown="the file's") for option in options.TASKS),
    SettingOption("name", shown="the file's", help="Name of the sweep."),
    SettingOption("out", shown="the file's, or one of its own in results/sweeps", help="Folder for the results."),
    SettingOption("store", shown="the file's", help="Folder or URL (s3://bucket/prefix) of cached artifacts."),
)
def sweep(
    given: dict[str, Any],
    file: Annotated[
        str, typer.Argument(help="Sweep: a YAML file, or the name of a shipped one, starter or nightly.")
    ] = "starter",
    settings: options.Overrides = None,
    dry_run: DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Run every model on every benchmark, under every split, subset and setting.

    Artifacts in the store are reused. A failed run does not stop the other runs; the same command later does only the
    unfinished work. The sweep appears on the running Prefect server (`bigcodeflow up` in this folder, or
    PREFECT_API_URL); if none runs, a server is started for the sweep, unless nothing is left to do. Exit code 1 if a
    run failed. See docs/sweeps.md.
    """
    overrides = {".".join(path): value for path, value in map(parse_override, settings or ())}
    for field in ("split", "subset"):
        if chosen := given.pop(f"dataset.{field}", None):
            given[f"{field}s"] = (chosen,)
    overrides = {path: given.pop(path) for path in ("dataset.ids", "dataset.limit") if path in given} | overrides
    config = load_sweep(file, overrides)
    config = validated(SweepConfig, {**config.model_dump(), **given}, "command line")
    members, resolver = members_of(config), Resolver(dry_run=dry_run)
    title = f"Sweep {config.name}: {len(members):,} runs"
    plans = _print_plans(members, title, sweep_results.last_runs(config.store), resolver)
    if dry_run:
        print_estimates(estimates([one.config for one in members]))
        return
    confirm_requests([one.config for one in members], yes=yes)
    done, folder, failure = _perform_sweep(config, plans, resolver)
    print_table(_sweep_table(sweep_results.brief_rows(done), f"Sweep {config.name}"))
    notice(f"results    {folder}")
    notice(f"explorer   {_explorer(config.store)}")
    if failure is not None:
        raise failure


def _perform_sweep(
    config: SweepConfig, plans: Sequence[sweep_results.Plan], resolver: Resolver
) -> tuple[Sequence[sweep_results.MemberResult], str, sweep_results.SweepFailedError | None]:
    if not _prepare_prefect():
        if all(plan.artifacts is not None for plan in plans):  # a temporary server would take longer than the rest
            notices.print("every stage of every run is in the store: nothing to run")
            folder = sweep_results.folder_of(config, datetime.now(UTC))
            reused = [reused_result(plan.placed(folder), plan.artifacts, resolver) for plan in plans if plan.artifacts]
            sweep_results.write_results(config, reused, folder)
            return reused, folder, None
        from flows.own_server import start_own_server

        notices.print("starting a Prefect server for this sweep (`bigcodeflow up` would keep one running) …")
        start_own_server()
    from flows.sweep import sweep as sweep_flow

    done: Sequence[sweep_results.MemberResult]
    try:
        with progress_listener() if sys.stderr.isatty() else nullcontext():
            done, failure = sweep_flow(config), None
    except sweep_results.SweepFailedError as error:
        done, failure = error.results, error
    # The flow names its folder after its own flow run, so take the folder from a member that was not reused.
    folders = [str(Path(one.out).parent) for one in done if one.outcome != "reused"]
    return done, config.out or next(iter(folders), "results/sweeps"), failure


def _sweep_table(rows: Sequence[Mapping[str, str]], title: str) -> Table:
    columns = [_COLUMNS.get(name) or Column(name, wrap="never") for name in (rows[0] if rows else ())]
    return Table.of_records(rows, title=title, columns=columns)
