"""Further rounds of a run: generation, sanitizing and execution of the samples that failed in the round before.

Each artifact has its own key, which holds those of all rounds before it. So a run that is killed between or within
rounds goes on where it was, and one that asks for more rounds reuses those that are there.
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
    """Artifacts of the rounds after the first one, in order; each is obtained after those that it is made from.

    Args:
        config: says how many rounds there are; recorded answers and controls have one.
        first: artifacts of the first round, with dataset and ground truths, by stage.
        obtain: gives the artifact of a stage, by its name and the artifacts that it may read.
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
