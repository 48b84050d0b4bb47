"""What is stated of a result file, and by whom: its name, the ``*_pass_at_k.json`` beside it, options, its own samples.

A field that two of them state differently is refused: whichever was taken, a score might stand under a false name.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core.errors import SamplesError
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, hard_task_ids
from bigcodeflow.importing.reading import Entry, read_json, stem_of
from bigcodeflow.results.statistics import pass_at_k

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
_SAMPLES_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
_K = re.compile(r"pass@([1-9]\d*)")
_VALUES: Mapping[str, tuple[str | bool, ...]] = {
    "split": ("complete", "instruct"),
    "subset": ("full", "hard"),
    "calibrated": (True, False),
}


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
    problems, values = [], {}
    for field, stated in fields.items():
        several = len({claim.value for claim in stated}) > 1
        if field == "model":
            names = [str(claim.value) for claim in stated]
            conflict = not all(_same_model(one, other) for one, other in combinations(names, 2))
        elif field == "n_samples":  # tasks may differ in their number of samples; then there is no such number
            conflict = several and not all(claim.source.startswith("its samples") for claim in stated)
        else:
            conflict = several
        if conflict:
            words = {True: "yes", False: "no"}
            said = ", ".join(
                f"{words[claim.value] if isinstance(claim.value, bool) else repr(claim.value)} says {claim.source}"
                for claim in stated
            )
            problems.append(f"{path}: {field} is stated in several ways: {said}: {_REMEDY}")
        elif field == "model" or not several:
            values[field] = stated[0].value
    if problems:
        raise SamplesError("\n".join(problems))
    return values


def _same_model(one: str, other: str) -> bool:
    """Whether two names may be of one model: either may lack the organisation or the revision main."""
    first, second = (name.replace("/", "--").casefold().removesuffix("--main").split("--") for name in (one, other))
    shorter = min(len(first), len(second))
    return first[-shorter:] == second[-shorter:]


def claims_of_options(settings: Mapping[str, Any], *, samples: str, name: str) -> Iterator[Claim]:
    """What the user says of a file, with options and with the names that are given with them."""
    for field in ("split", "subset"):
        if settings.get(field):
            yield Claim(field, settings[field], f"--{field}")
    yield from claims_of_name(name, "--name")
    yield from claims_of_name(_SAMPLES_SUFFIX.sub("", Path(samples).name), "the name of --samples")


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


class Scores(NamedTuple):
    """What stands beside a result file; empty and None where nothing does."""

    path: Path
    claims: tuple[Claim, ...] = ()
    """What it states of the file."""
    pass_at_k: Mapping[int, float] = {}
    """k → pass@k over all tasks, where nothing was left out of it."""
    failed_tasks: frozenset[str] | None = None
    """Tasks whose ground truth failed; None: it is not known how ground truths came out."""
    gt_pass_rate: float | None = None


def scores_of(results: Path) -> Scores:
    """The scores beside a result file.

    Raises:
        SamplesError: they cannot be read, state a view that there is not, or stand there twice.
    """
    path, content = results.with_name(f"{stem_of(results)}_pass_at_k.json"), {}
    there = {file: read_json(file) for file in (path, path.with_name(f"{path.name}.gz")) if file.is_file()}
    if len({found.sha256 for found in there.values()}) > 1:
        raise SamplesError(f"{results}: {' and '.join(map(str, there))} differ: move the wrong one away")
    for file, found in there.items():
        if not isinstance(found.value, dict) or found.twice:
            raise SamplesError(f"{file}: holds no object of scores, or a key twice: restore it, or move it away")
        path, content = file, found.value
    failed, rate = content.get("failed_tasks"), content.get("gt_pass_rate")
    known = _is_number(rate) and isinstance(failed, list) and all(isinstance(one, str) for one in failed)
    by_k = {}
    if not content.get("excluded_task_count"):  # else they are over other tasks than the file's
        by_k = {int(k[1]): float(one) for key, one in content.items() if (k := _K.fullmatch(key)) and _is_number(one)}
    return Scores(
        path=path,
        claims=tuple(_claims_of_scores(path, content)),
        pass_at_k=by_k,
        failed_tasks=frozenset(failed) if known and failed is not None else None,
        gt_pass_rate=float(rate) if known and rate is not None else None,
    )


def failed_ground_truths(scores: Scores, n_tasks: int) -> frozenset[str] | None:
    """Tasks whose ground truth failed, or None where the scores do not tell, or contradict themselves.

    Args:
        scores: what stands beside the results.
        n_tasks: tasks that the results hold.
    """
    # With --no_gt the original executes no ground truth, and writes a rate of 0 and every task as failed.
    if scores.failed_tasks is None or not scores.gt_pass_rate or not n_tasks:
        return None
    share = 1 - len(scores.failed_tasks) / n_tasks
    # The rate of another set of tasks would let tasks pass that nobody executed.
    return scores.failed_tasks if math.isclose(share, scores.gt_pass_rate, abs_tol=0.5 / n_tasks) else None


def contradictions(scores: Scores, results: Path, entries: list[Entry]) -> Iterator[str]:
    """What the scores say that the samples of the file do not give: they are of another evaluation then."""
    counts: dict[str, list[int]] = {}
    for entry in entries:
        given = counts.setdefault(entry.task_id, [0, 0, 0])
        given[0] += 1
        given[1] += entry.status != "infra_error"
        given[2] += entry.status == "pass"
    remedy = "the two are not of the same evaluation; move the wrong one away"
    for k, recorded in scores.pass_at_k.items():
        fewest = min((n_given for n_given, _, _ in counts.values()), default=0)
        if fewest < k:
            yield f"{results}: has tasks of {fewest} samples, and {scores.path} states pass@{k}: {remedy}"
            continue
        values = [pass_at_k(n_judged, n_passed, k) for _, n_judged, n_passed in counts.values() if n_judged >= k]
        ours = math.fsum(values) / len(values) if values else math.nan
        if not math.isclose(ours, recorded, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{results}: its samples give pass@{k} {ours}, and {scores.path} says {recorded}: {remedy}"
    if foreign := sorted((scores.failed_tasks or frozenset()) - counts.keys()):
        yield f"{results}: has no result of {foreign[0]}, and {scores.path} says that its ground truth failed: {remedy}"


def _claims_of_scores(path: Path, content: Mapping[str, Any]) -> Iterator[Claim]:
    """A value that is none is no claim; one that there is not may be a misspelt other one, so it is refused."""
    model = content.get("model")
    if model is not None and not (isinstance(model, str) and model):
        raise SamplesError(f"{path}: model {model!r} is no name: correct it, or remove it")
    if model:
        yield Claim("model", model, path.name)
    for field, allowed in _VALUES.items():
        value = content.get(field)
        if value is None:
            continue
        if type(value) is not type(allowed[0]) or value not in allowed:
            words = " or ".join(str(one).lower() for one in allowed)
            raise SamplesError(f"{path}: {field} {value!r} is not {words}: correct it, or remove it")
        yield Claim(field, value, path.name)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
