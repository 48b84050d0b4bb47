"""Settings that each stage may read, and those that are part of its artifact's key.

A stage gets a view of the run's settings that lacks all others, so it cannot depend on a setting outside of its key:
two runs that differ in such a setting would silently share one artifact.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, TypeVar

from pydantic import BaseModel

from bigcodeflow.config import RunConfig

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Reads:
    """The settings of one stage, as paths such as 'execution.limits'; a section stands for all that is in it."""

    identity: tuple[str, ...] = ()
    """Held by the key as they are."""
    content: tuple[str, ...] = ()
    """Contents, keys of CONTENT: what they name is looked up once a run, and its fingerprint is held by the key."""
    neutral: tuple[str, ...] = ()
    """Not in the key; each is in NEUTRAL."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all settings that the stage may read."""
        named = (path for content in self.content for path in CONTENT[content])
        return (*self.identity, *named, *self.neutral)


#: Settings that name a resource whose content is part of the key; 'quarantine' is a list in the store.
CONTENT: Mapping[str, tuple[str, ...]] = {
    "dataset": ("dataset.source", "dataset.solve_rates", "dataset.overlay"),
    "samples": ("samples.source",),
    "environment": (
        "execution.environment",
        "execution.docker.image",
        "execution.docker.url",
        "execution.e2b.template",
        "execution.service.url",
    ),
    "quarantine": (),
}

#: Settings that change no row of any artifact, each with the reason.
NEUTRAL: Mapping[str, str] = {
    "name": "it names the run",
    "store": "it says where artifacts lie",
    "out": "it says where result files lie",
    "dataset.offline": "content is identified by its commit or checksum, wherever it was read",
    "generation.api_key_variable": "who pays does not change an answer",
    "generation.samples_per_request": "samples of one task are independent draws, however many a request brings",
    "generation.rounds": "further rounds are artifacts of their own, whose keys hold those of the rounds before",
    "generation.feedback": "held by the keys of further rounds; the first one is asked without",
    "generation.reasoning_max_tokens": "it fills generation.sampling.max_tokens, which is held",
    "generation.requests": "speed and spending limits; an answer that is missing is an error, not a row",
    "generation.offline.download": "the model's revision is held, not the way by which it came here",
    "generation.offline.tensor_parallel": "the same arithmetic on more devices; rounding may differ as it does anyway",
    "generation.offline.memory_share": "room for the cache of the same computation",
    "generation.offline.batch_size": "prompts are answered independently of one another",
    "execution.fallback": "its libraries have to be the same; every verdict names the backend that gave it",
    "execution.docker.runtime": "isolation around the sandbox, which decides",
    "execution.docker.containers": "speed",
    "execution.docker.memory_mib": "how many samples run at once; a sample's own limit is execution.limits.memory_mib",
    "execution.docker.processes": "as memory_mib: a sample's own limit is execution.limits.processes",
    "execution.e2b.sandboxes": "speed",
    "execution.e2b.timeout_seconds": "clean-up after a killed run",
    "execution.e2b.usd_per_hour": "an estimate for people",
    "execution.service.key_variable": "who asks does not change a verdict",
    "execution.service.concurrency": "speed",
    "execution.service.timeout_seconds": "a verdict that does not come is an infra_error, which is never reused",
    "execution.start": "verdicts are the same either way, which `evaluate --both-starts` checks",
    "execution.workers": "speed; CPU time is what is limited",
    "execution.slots_per_worker": "speed; CPU time is what is limited",
    "execution.scheduler_address": "workers refuse another version or environment",
    "execution.cluster": "workers refuse another version or environment",
}

#: Settings that are newer than existing keys; with this value, a setting is left out of the key.
_YOUNGER: Mapping[str, Any] = {
    "dataset.difficulty": "",
    "dataset.limit": 0,
    "dataset.released_after": "",
    "dataset.view": "original",
    "execution.limits.time_policy": "fixed",
    "execution.fail_fast": False,
    "generation.unanswerable": "stop",
    "generation.prompt.stop": [],
}
_SELECTIONS = ("ids", "limit", "libraries", "domains", "difficulty", "view", "released_after")
_CHOSEN_TASKS = tuple(f"dataset.{name}" for name in _SELECTIONS)
_OFFLINE_NAMES = ("environment", "revision", "tokenizer", "dtype", "max_model_tokens", "lora", "trust_remote_code")
_ASKED = (
    "dataset.split",
    "generation.model",
    "generation.base_url",
    "generation.n_samples",
    "generation.prompt",
    "generation.sampling",
    "generation.unanswerable",
    "generation.extra_body",
    *(f"generation.offline.{name}" for name in _OFFLINE_NAMES),
)
_ASKED_NEUTRAL = tuple(path for path in NEUTRAL if path.startswith("generation."))
_JUDGING_IDENTITY = ("execution.backend", "execution.limits", "execution.allow_unisolated")
_JUDGING_NEUTRAL = tuple(path for path in NEUTRAL if path.startswith("execution."))

#: Reads by stage. The stage generation has two variants: answers of a model, and recorded answers. 'repair' asks again
#: for samples that failed in the round before.
READS: Mapping[str, Reads] = {
    "dataset": Reads(
        identity=("dataset.subset", *_CHOSEN_TASKS),
        content=("dataset",),
        neutral=("dataset.offline",),
    ),
    "generation by a model": Reads(identity=_ASKED, neutral=_ASKED_NEUTRAL),
    "repair": Reads(identity=(*_ASKED, "generation.feedback"), neutral=_ASKED_NEUTRAL),
    "generation from records": Reads(
        identity=_CHOSEN_TASKS,
        content=("dataset", "samples"),
        neutral=("dataset.offline",),
    ),
    "sanitizing": Reads(identity=("sanitizing",), content=("samples",)),
    "ground truth": Reads(identity=_JUDGING_IDENTITY, content=("environment",), neutral=_JUDGING_NEUTRAL),
    "execution": Reads(
        identity=(
            *_JUDGING_IDENTITY,
            *(f"execution.{name}" for name in ("variants", "reruns", "integrity", "fail_fast")),
        ),
        content=("environment",),
        neutral=_JUDGING_NEUTRAL,
    ),
    "aggregation": Reads(
        identity=("dataset.split", "dataset.subset", "aggregation", "execution.quarantine"), content=("quarantine",)
    ),
}


def view(config: M, paths: Iterable[str]) -> M:
    """Return a copy of ``config`` with only the settings in ``paths``; other settings raise AttributeError if read."""
    below: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition(".")
        below.setdefault(name, []).append(rest)
    seen = {
        name: getattr(config, name) if "" in rests else view(getattr(config, name), rests)
        for name, rests in below.items()
    }
    found = config.model_copy()
    found.__dict__.clear()
    found.__dict__.update(seen)
    return found


def identity_settings(config: RunConfig, reads: Reads) -> dict[str, Any]:
    """Return the settings that are part of a stage's key, as JSON-compatible values by path."""
    settings = config.model_dump(mode="json")
    for path, value in _YOUNGER.items():
        *sections, name = path.split(".")
        section = reduce(getitem, sections, settings)
        if section[name] == value:
            del section[name]
    found: dict[str, Any] = {}
    for path in reads.identity:
        *sections, name = path.split(".")
        section = reduce(getitem, sections, settings)
        found |= {path: section[name]} if name in section else {}
    return found
