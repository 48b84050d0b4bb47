"""What a run of a sweep has left to do, told by the keys of its stages before anything runs."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.pipeline.outputs import recorded_in
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.stages import RunArtifacts, Stage, finished_artifact, in_order
from bigcodeflow.pipeline.sweeps.members import Member
from bigcodeflow.results.runs import RecordedRun, recorded_runs
from bigcodeflow.store import ArtifactRef, open_store

#: What another key of an artifact means where the keys of what it is made from are the same.
_CAUSES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "dataset": ((), "other tasks"),
    "generation": (("dataset",), "other answers"),
    "ground_truth": (("dataset",), "another environment or other limits"),
    "sanitizing": (("dataset", "generation"), "another sanitizer"),
    "execution": (("sanitizing", "ground_truth"), "other variants or reruns"),
    "aggregation": (("execution",), "other scores asked for"),
}


class Plan(NamedTuple):
    """What is to be done for one run."""

    member: Member
    artifacts: RunArtifacts | None
    """All of the run's artifacts, where every one is there already."""
    missing: tuple[str, ...]
    """Titles of the stages that are to be done, in order."""
    cause: str
    """Why, compared with the last recorded run of that name."""
    problem: str = ""
    """Why it cannot be told; the run itself then fails for the same reason."""
    recorded: RecordedRun | None = None
    """The last recorded run of that name, where it has exactly these artifacts."""


def last_runs(store_root: str) -> dict[str, RecordedRun]:
    """The latest recorded run of each name.

    Raises:
        ArtifactError: a record that cannot be read.
    """
    return {run.run: run for run in recorded_runs(store_root)}


def plan_of(member: Member, last: RecordedRun | None, resolver: Resolver) -> Plan:
    """What is left to do for a run; nothing is computed.

    Args:
        member: the run.
        last: the latest recorded run of that name.
        resolver: looks up what the run names, for all members of a sweep; one for dry runs asks nobody.
    """
    store = open_store(member.config.store)
    missing: list[str] = []

    def obtain(stage: Stage) -> ArtifactRef:
        ref = finished_artifact(stage, store)
        if ref is None:
            missing.append(stage.title)
            # A key depends on the keys above it only, so that one can be told for what is not there yet.
            return ArtifactRef(stage=stage.folder, key=stage.key, rows=0, sha256="")
        return ref

    try:
        run = resolver(member.config)
        artifacts = in_order(run, obtain)
    except BigCodeFlowError as error:
        return Plan(member, None, (), "", str(error))
    asks = "" if run.environment else f"; the environment of backend {member.config.execution.backend} is not known yet"
    keys = {name: ref.key for name, ref in artifacts._asdict().items()}
    recorded = last if last is not None and dict(last.keys) == keys else None
    if missing:
        return Plan(member, None, tuple(missing), _cause(keys, last) + asks, recorded=recorded)
    return Plan(member, artifacts, (), "", recorded=recorded)


def placed(plan: Plan, folder: str) -> Plan:
    """The plan with a folder for the files of its run, where the sweep names none.

    Args:
        plan: what is to be done for the run.
        folder: the sweep's own folder. A run that is reused stays in the folder that it was written to.
    """
    config, recorded = plan.member.config, plan.recorded
    if config.out:
        return plan
    kept = str(recorded.config.get("out", "")) if recorded and plan.artifacts else ""
    if not recorded or recorded_in(kept) != recorded.record:
        kept = f"{folder}/{plan.member.name}"
    return plan._replace(member=plan.member._replace(config=config.model_copy(update={"out": kept})))


def _cause(keys: Mapping[str, str], last: RecordedRun | None) -> str:
    if last is None:
        return "new"
    changed = {name for name, key in keys.items() if last.keys.get(name) != key}
    if not changed:
        return "artifacts gone, or samples left unjudged"
    return ", ".join(_causes(changed))


def _causes(changed: set[str]) -> Iterable[str]:
    return [told for name, (inputs, told) in _CAUSES.items() if name in changed and not changed.intersection(inputs)]
