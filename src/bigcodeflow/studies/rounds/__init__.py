"""Repair rounds of a run, reported apart from its score: samples asked again, samples repaired, and costs."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from bigcodeflow.config import RunConfig
from bigcodeflow.core.schemas import ROUNDS
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.core.table import Table
from bigcodeflow.generation.repair import deciding_verdicts, levels_by_template
from bigcodeflow.pipeline.outputs import model_name, run_title
from bigcodeflow.pipeline.stages import RoundArtifacts, RunArtifacts
from bigcodeflow.store import ArtifactRef, Store, artifact_key
from bigcodeflow.studies.records import publish_study
from bigcodeflow.studies.registry import Study

#: Raise it when the same rounds give other rows.
VERSION = 1
_COPIED = ("task_id", "sample_index", "prompt_tokens", "completion_tokens", "cost_usd", "latency_seconds")


def publish_rounds(config: RunConfig, artifacts: RunArtifacts, store: Store) -> ArtifactRef | None:
    """Publish the study of a run's rounds, unless the store has it, and return it; None for a run of one round."""
    if not artifacts.rounds:
        return None
    first = RoundArtifacts(artifacts.generation, artifacts.sanitizing, artifacts.execution)
    rounds = (first, *artifacts.rounds)
    inputs = [ref for one in rounds for ref in (one.generation, one.execution)]
    title = f"{run_title(config)}, {len(rounds)} rounds, feedback {config.generation.feedback}"
    # By content: a round with samples that could not be judged is executed again under the same key.
    identity: dict[str, Any] = {"title": title, "content": [ref.sha256 for ref in inputs]}
    if left_out := _left_out(config, artifacts):
        identity["left_out"] = sorted(left_out)
    key = artifact_key("rounds", VERSION, identity, [ref.key for ref in inputs])
    if found := store.find("rounds", key):
        return found
    levels = levels_by_template(config.dataset.split, config.generation.prompt)
    each = (row for number, one in enumerate(rounds, start=1) for row in _rows(store, number, one, levels))
    rows = (row for row in each if row["task_id"] not in left_out)
    settings = {"generation.rounds": config.generation.rounds, "generation.feedback": config.generation.feedback}
    return publish_study(
        store, "rounds", key, rows, title=title, models=[model_name(config)], settings=settings, inputs=inputs
    )


def _left_out(config: RunConfig, artifacts: RunArtifacts) -> frozenset[str]:
    """Return the ids of tasks that the run's score leaves out."""
    listed = artifacts.aggregation.statistics.get("quarantined_tasks", ())
    return frozenset(listed if config.execution.quarantine == "exclude" else ())


def _rows(store: Store, number: int, artifacts: RoundArtifacts, levels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    verdicts = deciding_verdicts(store.read(artifacts.execution))
    for sample in store.read(artifacts.generation).to_pylist():
        verdict = verdicts[sample["task_id"], sample["sample_index"]]
        yield {
            **{name: sample[name] for name in _COPIED},
            "round": number,
            "passed": verdict["status"] == "pass",
            "status": verdict["status"],
            "failure_kind": verdict["failure_kind"],
            "feedback": levels.get(sample["template_sha"] or "", "") if number > 1 else "",
        }


class Rounds(Study[SettingsModel]):
    """Published by runs of several rounds."""

    title = "Repair rounds"
    description = (
        "What a model corrects when it is told that its answers failed: scores, recall, cost and tokens by round."
    )
    schema = ROUNDS
    is_of_one_run = True

    def tables(self, rows: pa.Table) -> list[Table]:
        from bigcodeflow.studies.rounds.tables import tables

        return tables(rows)
