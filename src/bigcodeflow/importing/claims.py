"""What is said of a result file, and by whom: its name, the scores beside it, options, a sample file, its own samples.

A field that two of them state differently is refused: whichever was taken, a score might stand under a false name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.errors import SamplesError
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, hard_task_ids

Value = str | int | float | bool

#: MODEL--bigcodebench[-hard]-SPLIT[--BACKEND-TEMPERATURE-SAMPLES…], as the original names its files.
_NAME = re.compile(r"(?P<model>.+?)--bigcodebench(?P<hard>-hard)?-(?P<split>complete|instruct)(?P<rest>-.*)?")
_SETTING = re.compile(r"--(?!\w+-default-).+?-(?P<temperature>\d+(?:\.\d+)?)-(?P<n_samples>[1-9]\d*)(?:-|$)")
#: Only the older original took from the name that it should calibrate. The later one writes 'sanitized_calibrated'
#: into every name, also where it is then told not to.
_CALIBRATED = {"-sanitized-calibrated": True, "-uncalibrated": False}
_REMEDY = (
    "correct the wrong one (rename the file, put its own pass_at_k.json beside it, drop the option) and import it again"
)


class Claim(NamedTuple):
    """One field of a result file, as one source states it."""

    field: str
    """model, split, subset, calibrated, temperature or n_samples."""
    value: Value
    source: str
    """Who says so, in words that follow 'says'."""


def agreed(path: Path, claims: Iterable[Claim]) -> Mapping[str, Value]:
    """The value of every field that is stated; where several sources name a model, the first one's words count.

    Args:
        path: the result file, for messages.
        claims: all that is said of it.

    Raises:
        SamplesError: one line for each field that is stated in two ways, with every source and its value.
    """
    fields: dict[str, list[Claim]] = {}
    for claim in claims:
        fields.setdefault(claim.field, []).append(claim)
    problems = [_problem(path, said) for said in fields.values() if not _compatible(said)]
    if problems:
        raise SamplesError("\n".join(problems))
    # Tasks may differ in their number of samples; then there is no such number.
    several = {field for field, said in fields.items() if field != "model" and len({one.value for one in said}) > 1}
    return {field: said[0].value for field, said in fields.items() if field not in several}


def claims_of_name(stem: str, source: str) -> Iterator[Claim]:
    """What a name in the original's form states; nothing for any other name.

    Args:
        stem: the name without its ending.
        source: what to call it in messages.
    """
    named = _NAME.fullmatch(stem)
    if named is None:
        return
    yield Claim("model", named["model"], source)
    yield Claim("split", named["split"], source)
    yield Claim("subset", "hard" if named["hard"] else "full", source)
    rest = named["rest"] or ""
    if setting := _SETTING.match(rest):
        yield Claim("temperature", float(setting["temperature"]), source)
        yield Claim("n_samples", int(setting["n_samples"]), source)
    for ending, calibrated in _CALIBRATED.items():
        if rest.endswith(ending):
            yield Claim("calibrated", calibrated, source)


def claims_of_samples(task_ids: Sequence[str]) -> Iterator[Claim]:
    """What the samples themselves tell of subset and number of samples.

    Args:
        task_ids: the task of every sample.
    """
    counts = Counter(task_ids)
    ours = BIGCODEBENCH_IDS & counts.keys()
    easy = len(ours - hard_task_ids())
    if easy:
        yield Claim("subset", "full", f"its samples ({easy:,} tasks are not of BigCodeBench-Hard)")
    elif ours == hard_task_ids():
        yield Claim("subset", "hard", f"its samples (exactly the {len(ours)} tasks of BigCodeBench-Hard)")
    for n_samples in sorted(set(counts.values())):
        tasks = [task_id for task_id, count in counts.items() if count == n_samples]
        yield Claim("n_samples", n_samples, f"its samples ({len(tasks):,} tasks, such as {tasks[0]})")


def _problem(path: Path, said: Sequence[Claim]) -> str:
    told = ", ".join(f"{_word(claim.value)} says {claim.source}" for claim in said)
    return f"{path}: {said[0].field} is stated in several ways: {told}: {_REMEDY}"


def _word(value: Value) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value!r}"


def _compatible(said: Sequence[Claim]) -> bool:
    if said[0].field == "model":
        return all(_same_model(str(one.value), str(other.value)) for one, other in combinations(said, 2))
    if said[0].field == "n_samples" and all(claim.source.startswith("its samples") for claim in said):
        return True  # nobody says that every task has the same number
    return len({claim.value for claim in said}) == 1


def _same_model(one: str, other: str) -> bool:
    """Whether two names may be of one model: either may lack the organisation or the revision main."""
    first, second = (name.replace("/", "--").casefold().removesuffix("--main").split("--") for name in (one, other))
    shorter = min(len(first), len(second))
    return first[-shorter:] == second[-shorter:]
