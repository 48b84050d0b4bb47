"""`bigcodeflow import`: take in results that the original evaluator wrote, so that they count beside those of here."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow.cli.console import notices, out, progress_listener
from bigcodeflow.cli.options import RecordedStore, Split, Subset
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, SamplesError


def import_results(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Result files: *_eval_results.json or *_eval_results.json.gz.")
    ] = None,
    dataset: Annotated[
        str,
        typer.Option(help="Tasks of the version it was made with: file, bigcode/bigcodebench@v0.1.4, or 'starter'."),
    ] = "bigcode/bigcodebench",
    samples: Annotated[
        str, typer.Option(help="Sample file that was evaluated, for the raw answers; with one result file only.")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the run; with one result file only. [default: the file's]")] = "",
    split: Annotated[
        Split | None, typer.Option(help="Which prompts were answered. [default: as name and scores of the file tell]")
    ] = None,
    subset: Annotated[
        Subset | None, typer.Option(help="Part of the benchmark. [default: as name and scores of the file tell]")
    ] = None,
    from_space: Annotated[
        str, typer.Option(help="Address or OWNER/NAME of the original's evaluator, which judges --samples first.")
    ] = "",
    out_folder: Annotated[
        str,
        typer.Option(
            "--out",
            help="Folder for the result files of --from-space. [default: one of its own in results/runs]",
            show_default=False,
        ),
    ] = "",
    ids: Annotated[str, typer.Option(help="Only these task numbers or ids, such as 1,5-9; empty takes all.")] = "",
    store: RecordedStore = Path("results/store"),
) -> None:
    """Record result files of the original evaluator as runs: for the catalog, compare, inspect and report.

    The *_pass_at_k.json beside a file tells model, split, subset and which ground truths failed; without one, ground
    truths count as not executed. Nothing is executed. The same file again gives the same run; no record is replaced.
    Names, scores and options that contradict each other are refused. A file that does not fit is named with all its
    defects and not taken in; the others are.
    """
    prompts, part = split.value if split else "", subset.value if subset else ""
    if from_space:
        if files:
            raise ConfigError("--from-space brings its own result file: name no other")
        from bigcodeflow.cli.space import results_from_space
        from bigcodeflow.importing import agreed, claims_of_options
        from bigcodeflow.pipeline.outputs import own_folder

        # The space takes minutes; what it gives would then be refused.
        agreed(Path(samples), claims_of_options({"split": prompts, "subset": part}, samples=samples, name=name))
        title = f"{Path(samples).name.partition('.jsonl')[0]}-{part or 'full'}-{prompts}"
        out_place = Path(out_folder or own_folder("results/runs", title, datetime.now(UTC)))
        files = [results_from_space(from_space, samples, split=prompts, subset=part or "full", ids=ids, out=out_place)]
    if not files:
        raise ConfigError("name result files, or --from-space with --samples and --split")
    if len(files) > 1 and (samples or name):
        raise ConfigError("--samples and --name are of one result file: import that file alone")
    settings = {"source": dataset, "ids": ids, "split": prompts, "subset": part}
    _import_each(files, settings, store=store, samples=samples, name=name)


def _import_each(files: Sequence[Path], settings: dict[str, str], *, store: Path, samples: str, name: str) -> None:
    """Import every file that can be, then tell of the others."""
    failures = []
    for file in files:
        try:
            _import(file, settings, store=store, samples=samples, name=name)
        except BigCodeFlowError as error:
            if len(files) == 1:
                raise
            failures.append(str(error))
    if failures:
        raise SamplesError("\n".join(failures))


def _import(file: Path, settings: dict[str, str], *, store: Path, samples: str, name: str) -> None:
    from bigcodeflow import importing, results
    from bigcodeflow.results.formatting import title_of
    from bigcodeflow.store import open_store

    with progress_listener() as listener:
        run = importing.import_results(
            file, settings=settings, store=store, listener=listener, samples=samples, name=name
        )
    kept = open_store(store)
    failures = results.ground_truth_failures(kept.path(run.ground_truth)) if run.ground_truth else []
    view = run.config.dataset
    title = title_of(run.model, view.subset, view.split)
    out.print(results.render_summary(kept.read(run.metrics), failures=failures, title=title))
    if run.ground_truth is None:
        notices.print("ground truths: not known, since no pass_at_k.json beside the file tells which ones failed")
    notices.print(f"recorded   {kept.root / 'runs' / run.record}.json", markup=False, soft_wrap=True)
