"""Options that several commands share: which tasks, which settings."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Split(StrEnum):
    """Prompt style of the samples."""

    complete = "complete"
    instruct = "instruct"


class Subset(StrEnum):
    """Part of the benchmark."""

    full = "full"
    hard = "hard"


class Variant(StrEnum):
    """How solutions were executed."""

    calibrated = "calibrated"
    raw = "raw"


class Sanitizer(StrEnum):
    """How programs were taken out of answers."""

    none = "none"
    parity = "parity"
    robust = "robust"


class BackendChoice(StrEnum):
    """Where solutions are executed."""

    local = "local"
    docker = "docker"
    e2b = "e2b"
    gradio = "gradio"
    http = "http"


Dataset = Annotated[
    str, typer.Option(help="Parquet or JSONL file, hub dataset such as bigcode/bigcodebench@v0.1.4, or 'starter'.")
]
Ids = Annotated[str, typer.Option(help="Only these task numbers or ids, such as 1,5-9; empty takes all.")]
Environment = Annotated[
    str, typer.Option(help="Sandbox environment, see `bigcodeflow env list`. [default: the dataset's]")
]
Backend = Annotated[
    BackendChoice | None,
    typer.Option(
        help="Where solutions are executed; all give the same verdicts, see docs/backends.md. [default: local]"
    ),
]
Fallback = Annotated[
    BackendChoice | None, typer.Option(help="Backend that takes over what the first one cannot execute.")
]
ServiceUrl = Annotated[
    str, typer.Option(help="Address of the service, for the backends http and gradio, such as http://127.0.0.1:8017.")
]
Workers = Annotated[int, typer.Option(min=0, help="Samples that compute at the same time; 0 takes one a core.")]
Reruns = Annotated[
    int,
    typer.Option(min=0, max=100, help="Execute samples that do not pass so many more times; the majority decides."),
]
AllowUnisolated = Annotated[
    bool, typer.Option("--allow-unisolated", help="Run without bubblewrap where it is missing. Risks this machine.")
]
Store = Annotated[
    Path,
    typer.Option(
        help="Folder or URL (s3://bucket/prefix) of cached artifacts and answers; no work is done, or paid for, twice.",
        envvar="BIGCODEFLOW_STORE",
    ),
]

RecordedStore = Annotated[
    Path,
    typer.Option(
        help="Folder or URL (s3://bucket/prefix) of the store with the recorded runs.", envvar="BIGCODEFLOW_STORE"
    ),
]

RecordedVariant = Annotated[Variant, typer.Option(help="Take solutions with code_prompt in front, or alone.")]
RecordedSanitizer = Annotated[
    Sanitizer | None, typer.Option(help="Take the solutions of this sanitizer. [default: each run's own]")
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        help="Folder for the result files, which must not hold those of another run. [default: one of its own in "
        "results/runs]",
        show_default=False,
    ),
]


def backend_settings(backend: BackendChoice | None, fallback: BackendChoice | None, service_url: str) -> dict[str, Any]:
    """What the three options say, as fields of the section execution; empty where they say nothing."""
    chosen: dict[str, Any] = {}
    if backend:
        chosen["backend"] = backend.value
    if fallback:
        chosen["fallback"] = fallback.value
    if service_url:
        chosen["service"] = {"url": service_url}
    return chosen


def flat_overrides(prefix: str, settings: dict[str, Any]) -> Iterator[str]:
    """Settings as ``--set`` states them, one each."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flat_overrides(f"{prefix}.{name}", value)
        else:
            yield f"{prefix}.{name}={json.dumps(value)}"
