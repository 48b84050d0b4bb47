"""Answers to tasks: from a model, from files in the original's formats, or from controls that need no model."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from bigcodeflow.config import SamplesConfig
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.generation.controls import CONTROLS, control_samples
from bigcodeflow.generation.model_settings import (
    expand_grid,
    identity,
    ledger_key,
    provider_and_model,
    require_one_setting,
)
from bigcodeflow.generation.replay import read_samples, replay_fingerprint, replay_samples

__all__ = [
    "CONTROLS",
    "VERSION",
    "expand_grid",
    "fingerprint",
    "identity",
    "ledger_key",
    "load_samples",
    "provider_and_model",
    "require_one_setting",
    "sample_lines",
]

#: Part of every samples artifact's key; bump when this package makes other rows of the same source.
VERSION = 3


def fingerprint(config: SamplesConfig) -> dict[str, str]:
    """Return the identity of existing samples: the hash of a file or folder, or a control's name."""
    if config.source in CONTROLS:
        return {"control": config.source}
    return replay_fingerprint(_path(config))


def load_samples(
    config: SamplesConfig, tasks: pa.Table, *, known_task_ids: frozenset[str], selection: bool
) -> pa.Table:
    """Return the tasks' samples as a table of the SAMPLES schema, by task order and sample_index.

    Samples of known tasks that are not in ``tasks`` are skipped. With ``selection``, a task without a sample is left
    out, which is no error.

    Raises:
        SamplesError: all defects of the source at once, each with file, line, task id and remedy.
    """
    if config.source in CONTROLS:
        return control_samples(config.source, tasks)
    return replay_samples(_path(config), tasks, known_task_ids=known_task_ids, selection=selection, name=config.source)


def sample_lines(config: SamplesConfig) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return the whole JSON object of each line of a sample file, by task; lists are empty for controls."""
    found = defaultdict[str, list[Mapping[str, Any]]](list)
    if config.source not in CONTROLS:
        for sample in read_samples(_path(config), config.source, frozenset()).samples:
            found[sample.task_id].append(sample.record)
    return found


def _path(config: SamplesConfig) -> Path:
    if config.source == "starter":
        return shipped("data/starter/answers.jsonl")
    return user_path(config.source)
