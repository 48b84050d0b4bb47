"""What identifies an artifact, and what one stage hands to the next."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ArtifactRef(BaseModel):
    """What one stage hands to the next: where a table lies and what it must hash to."""

    model_config = ConfigDict(frozen=True)

    stage: str
    key: str
    rows: int
    sha256: str
    statistics: dict[str, Any] = Field(default_factory=dict)
    """What the stage counted while it worked, such as rows executed and rows reused."""


def artifact_key(stage: str, version: int, settings: Mapping[str, Any], inputs: Sequence[str] = ()) -> str:
    """Identity of a stage's output: sha256 of everything that can change it, as 64 hex digits.

    Args:
        stage: the stage's name.
        version: the stage's version constant, bumped when its code changes the outcome.
        settings: JSON-able settings that the stage reads; never ones that only change speed.
        inputs: keys of the artifacts that it reads.
    """
    identity = json.dumps([stage, version, settings, list(inputs)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(identity.encode()).hexdigest()
