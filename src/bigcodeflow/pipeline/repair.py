"""The generation of a further round: samples that failed in the previous round are asked for again."""

import logging
from typing import TYPE_CHECKING

from bigcodeflow import generation
from bigcodeflow.generation.repair import RoundTables, repaired_samples
from bigcodeflow.store import LogFiles

if TYPE_CHECKING:
    from bigcodeflow.pipeline.stages import Computed, Work

logger = logging.getLogger(__name__)

#: Stages that leave an artifact in each round, in order.
ROUND_STAGES = ("generation", "sanitizing", "execution")


def round_input(stage: str, number: int) -> str:
    """Return the name of a round's artifact, by the round's number from 1, among the inputs of later rounds."""
    return f"{stage} {number}"


def repair(work: "Work") -> "Computed":
    """Ask again for the samples that failed in the last round among the stage's inputs."""
    count = (len(work.inputs) - 1) // len(ROUND_STAGES)
    rounds = [
        RoundTables(*(work.table(round_input(stage, number)) for stage in ROUND_STAGES))
        for number in range(1, count + 1)
    ]
    config, answers = work.config.generation, work.store.root / "answers"
    own = answers / generation.ledger_key(config)
    with work.store.synchronized(own, LogFiles.ANSWERS), work.store.synchronized(own / "batches", LogFiles.BATCHES):
        table, counts = repaired_samples(
            config,
            work.table("dataset").to_pylist(),
            work.config.dataset.split,
            rounds,
            answers_folder=answers,
            report=work.progress,
            notify=logger.warning,
            **({"shared_limit": work.shared_limit} if work.shared_limit else {}),
        )
    # A sample that could not be judged may be asked for once it is judged: until then this round is unfinished.
    open_before = work.inputs[round_input("execution", count)].statistics.get("infra_errors", 0)
    return table, {**counts, "infra_errors": open_before}
