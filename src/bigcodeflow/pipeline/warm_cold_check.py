"""Judge the same samples with warm and with cold start, and compare the verdicts; repetitions reveal flaky samples."""

from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.config import RunConfig, Start
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import Listener

_STARTS: tuple[Start, ...] = ("warm", "cold")
_Sample = tuple[str, int, str]


class StartDifference(NamedTuple):
    """Sample whose verdict or test outcomes differ between warm and cold start."""

    sample: _Sample
    """Task, sample index and variant."""
    warm: tuple[str, ...]
    """Status of each execution, the first execution first."""
    cold: tuple[str, ...]
    tests: tuple[str, ...]
    """Names of the tests whose outcome differed between the first warm and the first cold execution."""
    flaky: bool
    """True if executions with the same start also disagree, so that the start may not be the cause."""


class StartComparison(NamedTuple):
    """Result of a comparison: the number of compared samples, and the samples with a difference."""

    samples: int
    differences: list[StartDifference]


def compare_starts(config: RunConfig, listener: Listener, *, again: int = 3) -> StartComparison:
    """Judge every sample with warm and with cold start; judge samples that differ ``again`` further times.

    Each start and repetition has a separate store below the configured store. So no execution reuses verdicts of
    another, and an interrupted comparison continues from its finished parts.
    """
    first = {start: _outcomes(config, start, "first", listener) for start in _STARTS}
    different = sorted(sample for sample, warm in first["warm"].items() if warm != first["cold"][sample])
    runs = {start: [first[start]] for start in _STARTS}
    if different:
        tasks = ",".join(dict.fromkeys(sample[0] for sample in different))
        fewer = config.model_copy(update={"dataset": config.dataset.model_copy(update={"ids": tasks})})
        for number in range(1, again + 1):
            for start in _STARTS:
                runs[start].append(_outcomes(fewer, start, f"again-{number}", listener))
    return StartComparison(len(first["warm"]), [_difference(sample, runs) for sample in different])


def _difference(sample: _Sample, runs: dict[Start, list[dict[_Sample, Any]]]) -> StartDifference:
    warm, cold = ([run[sample] for run in runs[start]] for start in _STARTS)
    outcomes = dict(cold[0][1])
    return StartDifference(
        sample,
        warm=tuple(status for status, _ in warm),
        cold=tuple(status for status, _ in cold),
        tests=tuple(name for name, outcome in warm[0][1] if outcomes.get(name) != outcome),
        flaky=len(set(warm)) > 1 or len(set(cold)) > 1,
    )


def _outcomes(config: RunConfig, start: Start, name: str, listener: Listener) -> dict[_Sample, Any]:
    store = Path(config.store) / "starts" / f"{start}-{name}"
    execution = config.execution.model_copy(update={"start": start})
    run = resolve(config.model_copy(update={"store": str(store), "execution": execution}))
    artifacts = perform_all(run, listener)
    return {
        (row["task_id"], row["sample_index"], row["variant"]): (
            row["status"],
            tuple((test["name"], test["outcome"]) for test in row["tests"]),
        )
        for row in run.store.read(artifacts.execution).to_pylist()
    }
