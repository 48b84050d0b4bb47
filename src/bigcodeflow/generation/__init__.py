"""Answers to tasks: from a model, from files in the original's formats, or from controls that need no model."""

from bigcodeflow.generation.controls import CONTROLS
from bigcodeflow.generation.model_settings import (
    expand_grid,
    identity,
    ledger_key,
    provider_and_model,
    require_one_setting,
)
from bigcodeflow.generation.replay import answered_task_ids, fingerprint, load_samples, sample_lines

__all__ = [
    "CONTROLS",
    "VERSION",
    "answered_task_ids",
    "expand_grid",
    "fingerprint",
    "identity",
    "ledger_key",
    "load_samples",
    "provider_and_model",
    "require_one_setting",
    "sample_lines",
]

#: Part of every samples artifact's key; increase it when this package makes other rows from the same settings.
VERSION = 3
