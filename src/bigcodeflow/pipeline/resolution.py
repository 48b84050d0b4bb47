"""Resolve the names in a run's settings, once per run: to tasks, samples, environment and quarantine list.

All requests to other systems (the dataset hub, Docker, a service) happen in this module, before the first key is
computed. Keys then depend only on the resolved run.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bigcodeflow import datasets, generation
from bigcodeflow.config import DatasetConfig, ExecutionConfig, RunConfig
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.guest.protocol import HARNESS_VERSION
from bigcodeflow.store import Store, open_store


class Content(NamedTuple):
    """Resolved content of a setting: for instance, the dataset that ``dataset.source`` names."""

    identity: Any
    """Identity of the content as JSON data; it is part of artifact keys."""
    value: Any = None
    """The content itself, passed to the stages that declare it in ``config.reads``."""


_NO_QUARANTINE = Content([], frozenset())


@dataclass(frozen=True, slots=True)
class ResolvedRun:
    """Settings of a run, their resolved contents (by the names in ``config.reads.CONTENT``), and the run's store."""

    config: RunConfig
    contents: Mapping[str, Content]
    store: Store
    """The store of ``config.store``, opened once for the whole run."""

    @property
    def environment(self) -> Environment | None:
        """Environment in which samples are executed; None in a dry run that cannot determine the environment."""
        found: Environment | None = self.contents["environment"].value
        return found


class Resolver:
    """Resolver of runs' settings; settings that several runs share, such as a sweep's dataset, are looked up once."""

    def __init__(self, *, dry_run: bool = False) -> None:
        """Make a resolver; with ``dry_run`` it sends no requests.

        A dry run reads datasets from the hub's local cache, and uses a remote backend's last known environment, if any.
        """
        self._dry_run = dry_run
        self._found: dict[str, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, config: RunConfig) -> ResolvedRun:
        """Resolve all contents that a run reads: dataset, samples, environment and quarantine list."""
        run = self.up_to_sanitizing(config)
        from bigcodeflow.judge.backend_registry import execution_environment, remembered_environment

        look_up = remembered_environment if self._dry_run else execution_environment
        environment = self._once("environment", config.execution, look_up)
        sha = environment.environment_sha if environment else ""
        identity = {"environment_sha": sha, "harness_version": HARNESS_VERSION}
        contents = {"environment": Content(identity, environment), "quarantine": _quarantine(config, run.store, sha)}
        return replace(run, contents={**run.contents, **contents})

    def up_to_sanitizing(self, config: RunConfig) -> ResolvedRun:
        """Resolve only the contents that the stages up to sanitizing read: dataset and samples, no environment."""
        view = config.dataset.model_copy(update={"offline": True}) if self._dry_run else config.dataset
        dataset: datasets.ResolvedDataset = self._once("dataset", view, datasets.resolve)
        asked = config.samples.source == "model"
        if asked:
            generation.require_one_setting(config.generation)
        samples = Content("model" if asked else generation.fingerprint(config.samples))
        content = dataset.fingerprint
        # Later look-ups at these commits then use the cache without asking the hub again.
        pinned = {"source": content, "solve_rates": content.get("solve_rates", {})}
        at_commit = "{hub}@{version}#{commit}".format_map
        commits = {name: at_commit(found) for name, found in pinned.items() if "commit" in found}
        config = config.model_copy(update={"dataset": config.dataset.model_copy(update=commits)})
        config = of_answered_tasks(config, dataset)
        contents = {"dataset": Content(content, dataset), "samples": samples, "quarantine": _NO_QUARANTINE}
        return ResolvedRun(config, contents, open_store(config.store))

    def _once(self, kind: str, settings: DatasetConfig | ExecutionConfig, look_up: Callable[[Any], Any]) -> Any:
        key = f"{kind} {settings.model_dump_json(exclude={'split'})}"  # the same rows hold both prompts
        with self._lock:  # so that another thread does not look up the same
            if key not in self._found:
                self._found[key] = look_up(settings)
            return self._found[key]


def of_answered_tasks(config: RunConfig, dataset: datasets.ResolvedDataset) -> RunConfig:
    """Return the settings; if a sample file answers only some of the selected tasks, select only the answered tasks."""
    if config.samples.source in ("model", "starter", *generation.CONTROLS):
        return config
    answered = generation.answered_task_ids(config.samples, datasets.known_task_ids(config.dataset, dataset))
    return config.model_copy(update={"dataset": datasets.narrowed(config.dataset, dataset, answered)})


def resolve(config: RunConfig) -> ResolvedRun:
    """Resolve all contents of one run; raises the same errors as :meth:`Resolver.__call__`."""
    return Resolver()(config)


def _quarantine(config: RunConfig, store: Store, environment_sha: str) -> Content:
    """Read the quarantined tasks of the environment, each with the sha256 of its test text."""
    if config.execution.quarantine == "off" or not environment_sha:
        return _NO_QUARANTINE
    from bigcodeflow.execution.quarantine import quarantined, read_quarantine

    rows = quarantined(read_quarantine(store, environment_sha))
    suspects = sorted({(row["task_id"], row["test_sha256"]) for row in rows})
    return Content([list(suspect) for suspect in suspects], frozenset(suspects))
