"""Further rounds of a run: generation, sanitizing and execution of the samples that failed in the previous round.

Each artifact has its own key, which contains the keys of all earlier rounds. So a run that is killed between
or within rounds continues from there, and a run with more rounds reuses the finished ones.
"""

from collections.abc import Callable, Mapping

from bigcodeflow.config import RunConfig
from bigcodeflow.pipeline.repair import ROUND_STAGES, round_input
from bigcodeflow.pipeline.stages import RoundArtifacts, each_stage
from bigcodeflow.store import ArtifactRef

Refs = Mapping[str, ArtifactRef]


def further_rounds(
    config: RunConfig, first: Refs, obtain: Callable[[str, Refs], ArtifactRef]
) -> tuple[RoundArtifacts, ...]:
    """Return the artifacts of the rounds after the first, in order; each is obtained after its inputs.

    Args:
        config: sets the number of rounds; recorded answers and controls have one.
        first: artifacts of the first round, with dataset and ground truths, by stage.
        obtain: returns the artifact of a stage, given its name and the artifacts that it may read.
    """
    found: list[RoundArtifacts] = []
    before = {round_input(stage, 1): first[stage] for stage in ROUND_STAGES}
    count = config.generation.rounds if config.samples.source == "model" else 1
    for number in range(2, count + 1):
        generation = obtain("repair", {"dataset": first["dataset"], **before})
        given = {"dataset": first["dataset"], "ground_truth": first["ground_truth"], "generation": generation}
        refs = each_stage(obtain, target="execution", given=given)
        found.append(RoundArtifacts(*(refs[stage] for stage in ROUND_STAGES)))
        before |= {round_input(stage, number): refs[stage] for stage in ROUND_STAGES}
    return tuple(found)
