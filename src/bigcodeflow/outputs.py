"""What a finished run leaves for people: result files, the run record, and the catalog over the store."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow import results
from bigcodeflow.artifacts import ArtifactRef, Store, write_atomically
from bigcodeflow.config import RunConfig
from bigcodeflow.stages import RunArtifacts

_SAMPLE_SUFFIXES = (".jsonl.gz", ".jsonl")


class Outputs(NamedTuple):
    """Where a run's results lie."""

    files: tuple[Path, ...]
    catalog: Path


def file_stem(config: RunConfig) -> str:
    """Beginning of the result files' names: the sample file's own name, or run, benchmark and split."""
    source = config.samples.source
    if source in ("oracle", "stub", "starter"):
        hard = "-hard" if config.dataset.subset == "hard" else ""
        name = source if config.name == "run" else config.name
        return f"{name}--bigcodebench{hard}-{config.dataset.split}"
    name = Path(source).name
    suffix = next((suffix for suffix in _SAMPLE_SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix)


def model_name(config: RunConfig) -> str:
    """The model as the original's file names state it: what stands before '--bigcodebench'."""
    return file_stem(config).partition("--bigcodebench")[0]


def write_outputs(
    config: RunConfig, artifacts: RunArtifacts, store: Store, *, started_at: datetime, evaluated_at: datetime
) -> Outputs:
    """Write the original's result files, verdicts.parquet and metrics.parquet into ``config.out``.

    The run is recorded in the store and the catalog is built anew, so that it shows up there.
    """
    files: list[Path] = []
    for variant in config.execution.variants:
        files += _exports(config, artifacts, store, variant=variant, evaluated_at=evaluated_at)
    for name, ref in (("verdicts", artifacts.execution), ("metrics", artifacts.aggregation)):
        files.append(write_atomically(Path(config.out).expanduser() / f"{name}.parquet", store.path(ref).read_bytes()))
    _record(config, artifacts, store, started_at, evaluated_at)
    return Outputs(tuple(files), results.rebuild_catalog(store.root))


def _exports(
    config: RunConfig, artifacts: RunArtifacts, store: Store, *, variant: str, evaluated_at: datetime
) -> list[Path]:
    out = Path(config.out).expanduser()
    stem = file_stem(config)
    if variant == "raw" and "calibrated" in config.execution.variants:
        stem += "-uncalibrated"
    sanitizer = config.sanitizing.mode
    return [
        results.write_eval_results(
            out / f"{stem}_eval_results.json",
            tasks=store.path(artifacts.dataset),
            solutions=store.path(artifacts.sanitizing),
            verdicts=store.path(artifacts.execution),
            variant=variant,
            sanitizer=sanitizer,
            evaluated_at=evaluated_at,
        ),
        results.write_pass_at_k(
            out / f"{stem}_pass_at_k.json",
            metrics=store.read(artifacts.aggregation),
            ground_truth=store.path(artifacts.ground_truth),
            model=model_name(config),
            variant=variant,
            sanitizer=sanitizer,
        ),
    ]


def _record(
    config: RunConfig, artifacts: RunArtifacts, store: Store, started_at: datetime, finished_at: datetime
) -> None:
    record: dict[str, Any] = {
        "run": config.name,
        "started_at": started_at.astimezone(UTC).isoformat(),
        "finished_at": finished_at.astimezone(UTC).isoformat(),
        "config": config.model_dump(mode="json"),
        "artifacts": {name: ref.key for name, ref in artifacts._asdict().items() if isinstance(ref, ArtifactRef)},
    }
    folder = store.root / "runs"
    stamp = started_at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f")
    write_atomically(folder / f"{stamp}-{config.name}.json", json.dumps(record, indent=2).encode())
