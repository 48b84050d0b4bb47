"""What a run's settings name, looked up once: its tasks, its samples, its environment and the quarantine list.

Everything that asks somebody else (the hub, a container engine, a service) happens here, before the first key is
computed. A key then follows from the resolved run alone.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bigcodeflow import datasets, generation
from bigcodeflow.config import DatasetConfig, ExecutionConfig, RunConfig
from bigcodeflow.environments import Environment
from bigcodeflow.sandbox.protocol import HARNESS_VERSION
from bigcodeflow.store import open_store


class Content(NamedTuple):
    """What a setting names."""

    identity: Any
    """Held by keys; JSON-able."""
    value: Any = None
    """Handed to the stages that declare it."""


_NO_QUARANTINE = Content([], frozenset())


@dataclass(frozen=True, slots=True)
class ResolvedRun:
    """A run with the contents that its settings name, by their names in config.reads.CONTENT."""

    config: RunConfig
    contents: Mapping[str, Content]

    @property
    def environment(self) -> Environment | None:
        """Where samples are executed; None where a dry run cannot know it without asking."""
        found: Environment | None = self.contents["environment"].value
        return found


class Resolver:
    """Resolves runs; what several of them name alike, such as the members of a sweep, is looked up once."""

    def __init__(self, *, dry_run: bool = False) -> None:
        """Make a resolver; one for dry runs asks nobody.

        It takes the dataset of the hub cache, and of a backend elsewhere the environment of the last run, or none.
        """
        self._dry_run = dry_run
        self._found: dict[str, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, config: RunConfig) -> ResolvedRun:
        """Resolve everything that a whole run reads: the first stages, its environment and the quarantine list."""
        run = self.up_to_sanitizing(config)
        from bigcodeflow.execution.backend_registry import execution_environment, remembered_environment

        look_up = remembered_environment if self._dry_run else execution_environment
        environment = self._once("environment", config.execution, look_up)
        sha = environment.environment_sha if environment else ""
        identity = {"environment_sha": sha, "harness_version": HARNESS_VERSION}
        contents = {"environment": Content(identity, environment), "quarantine": _quarantine(config, sha)}
        return ResolvedRun(run.config, {**run.contents, **contents})

    def up_to_sanitizing(self, config: RunConfig) -> ResolvedRun:
        """Resolve what the stages before any execution read."""
        view = config.dataset.model_copy(update={"offline": True}) if self._dry_run else config.dataset
        dataset: datasets.ResolvedDataset = self._once("dataset", view, datasets.resolve)
        asked = config.samples.source == "model"
        if asked:
            generation.require_one_setting(config.generation)
        samples = Content("model" if asked else generation.fingerprint(config.samples))
        content = dataset.fingerprint
        # What is cached at these commits is then found without asking the hub again.
        pinned = {"source": content, "solve_rates": content.get("solve_rates", {})}
        commits = {name: _at_commit(found) for name, found in pinned.items() if "commit" in found}
        config = config.model_copy(update={"dataset": config.dataset.model_copy(update=commits)})
        contents = {"dataset": Content(content, dataset), "samples": samples, "quarantine": _NO_QUARANTINE}
        return ResolvedRun(config, contents)

    def _once(self, kind: str, settings: DatasetConfig | ExecutionConfig, look_up: Callable[[Any], Any]) -> Any:
        key = f"{kind} {settings.model_dump_json(exclude={'split'})}"  # both prompts stand in the same rows
        with self._lock:  # so that another thread does not look up the same
            if key not in self._found:
                self._found[key] = look_up(settings)
            return self._found[key]


def resolve(config: RunConfig) -> ResolvedRun:
    """Everything that one run reads; see :meth:`Resolver.__call__` for what it raises."""
    return Resolver()(config)


def _at_commit(fingerprint: Mapping[str, Any]) -> str:
    """A hub dataset at the commit that was looked up, as settings name it."""
    return f"{fingerprint['hub']}@{fingerprint['version']}#{fingerprint['commit']}"


def _quarantine(config: RunConfig, environment_sha: str) -> Content:
    """Quarantined tasks of the environment, each with the sha256 of its test text."""
    if config.execution.quarantine == "off" or not environment_sha:
        return _NO_QUARANTINE
    from bigcodeflow.execution.quarantine import quarantined, read_quarantine

    rows = quarantined(read_quarantine(open_store(config.store), environment_sha))
    suspects = sorted({(row["task_id"], row["test_sha256"]) for row in rows})
    return Content([list(suspect) for suspect in suspects], frozenset(suspects))
