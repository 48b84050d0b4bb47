"""The ``*_pass_at_k.json`` beside a result file: what it says of model, view, ground truths and scores."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core.errors import SamplesError
from bigcodeflow.importing.claims import Claim
from bigcodeflow.importing.reading import Entry, read_json, stem_of
from bigcodeflow.results.statistics import pass_at_k

_K = re.compile(r"pass@([1-9]\d*)")
_VALUES: Mapping[str, tuple[str | bool, ...]] = {
    "split": ("complete", "instruct"),
    "subset": ("full", "hard"),
    "calibrated": (True, False),
}


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
    path, content = _beside(results)
    failed, rate = content.get("failed_tasks"), content.get("gt_pass_rate")
    known = _is_number(rate) and isinstance(failed, list) and all(isinstance(one, str) for one in failed)
    return Scores(
        path=path,
        claims=tuple(_claims(path, content)),
        pass_at_k=_pass_at_k(content),
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


def _beside(results: Path) -> tuple[Path, dict[str, Any]]:
    plain = results.with_name(f"{stem_of(results)}_pass_at_k.json")
    there = {path: read_json(path) for path in (plain, plain.with_name(f"{plain.name}.gz")) if path.is_file()}
    if len({found.sha256 for found in there.values()}) > 1:
        raise SamplesError(f"{results}: {' and '.join(map(str, there))} differ: move the wrong one away")
    for path, found in there.items():
        if not isinstance(found.value, dict) or found.twice:
            raise SamplesError(f"{path}: holds no object of scores, or a key twice: restore it, or move it away")
        return path, found.value
    return plain, {}


def _claims(path: Path, content: Mapping[str, Any]) -> Iterator[Claim]:
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


def _pass_at_k(content: Mapping[str, Any]) -> dict[int, float]:
    if content.get("excluded_task_count"):  # over other tasks than the file's
        return {}
    found = ((_K.fullmatch(key), value) for key, value in content.items())
    return {int(match[1]): float(value) for match, value in found if match and _is_number(value)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
