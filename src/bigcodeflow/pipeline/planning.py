"""Determine the remaining work of a run, by the keys of its stages."""

from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.rounds import further_rounds
from bigcodeflow.pipeline.stages import RunArtifacts, Stage, finished_artifact, in_order, stage_of
from bigcodeflow.store import ArtifactRef, open_store


def planned_run(run: ResolvedRun) -> tuple[RunArtifacts, tuple[str, ...]]:
    """Return the artifacts that a run has or would have, and the titles of remaining stages; compute nothing."""
    store = open_store(run.config.store)
    missing: list[str] = []

    def find(stage: Stage) -> ArtifactRef:
        ref = finished_artifact(stage, store)
        if ref is None:
            missing.append(stage.title)
            # A key depends only on the keys above it, so that it is known before its inputs exist.
            return ArtifactRef(stage=stage.folder, key=stage.key, rows=0, sha256="")
        return ref

    artifacts = in_order(run, find)
    rounds = further_rounds(run.config, artifacts.by_stage, lambda name, refs: find(stage_of(name, run, refs)))
    return artifacts._replace(rounds=rounds), tuple(missing)
