"""Claims about a result file: values of model, split and other fields, as several sources state them.

Sources are the file's name, its scores file (the ``*_pass_at_k.json`` next to it), options and samples. If two sources
state a field differently, the result file is refused: either value could put a score under a wrong name. A result file
that does not fit the tasks, or its sample file, is refused too.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.config import Variant
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.datasets.sources import raise_problems
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, hard_task_ids
from bigcodeflow.pipeline.outputs import cut_model
from bigcodeflow.results.statistics import pass_at_k
from bigcodeflow_harnesses.importing.reading import Entry, ResultsFile, read_json, scores_path

Row = Mapping[str, Any]
Value = str | int | float | bool

#: MODEL--bigcodebench[-hard]-SPLIT[--BACKEND-TEMPERATURE-SAMPLES…], as the original names its files.
_NAME = re.compile(r"(?P<model>.+?)--bigcodebench(?P<hard>-hard)?-(?P<split>complete|instruct)(?P<rest>-.*)?")
#: BACKEND-TEMPERATURE-SAMPLES. The temperature is a float as Python prints it, such as 1e-05; inf and nan do not match.
_SETTING = re.compile(
    r"--(?![\w-]+?-(?:default|inf|nan)-).+?(?<!-)-(?P<temperature>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
    r"-(?P<n_samples>[1-9]\d*)(?:-|$)",
    re.IGNORECASE,
)
#: Endings of file names from older versions of the original evaluator, and whether such files are calibrated. Later
#: versions write 'sanitized_calibrated' into every name, even if an option turns calibration off.
_CALIBRATED = {"-sanitized-calibrated": True, "-uncalibrated": False}
_REMEDY = (
    "correct the wrong source (rename the file, restore its own pass_at_k.json, omit the option) and import it again"
)
_SHOWN = {"True": "yes", "False": "no"}
_SAMPLES_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
#: Endings of file names: for sample files of other programs, the original states the file's name as the model.
_NO_MODEL = re.compile(r"\.(jsonl?|parquet|csv|tsv|txt)(\.gz)?$", re.IGNORECASE)
_K = re.compile(r"pass@([1-9]\d*)")
_VALUES: Mapping[str, tuple[str | bool, ...]] = {
    "split": ("complete", "instruct"),
    "subset": ("full", "hard"),
    "calibrated": (True, False),
}


class Claim(NamedTuple):
    """Value of one field of a result file, as one source states it."""

    field: str  # model, split, subset, calibrated, temperature or n_samples
    value: Value
    source: str  # name of the source in messages, such as '--split'


def agreed(path: Path, claims: Iterable[Claim]) -> Mapping[str, Value]:
    """Return the value of every claimed field; if sources spell the model differently, the first spelling is used.

    Raises a SamplesError with a line for each field with contradicting values; the line names every source and value.
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
        elif field == "n_samples":  # if tasks differ in their number of samples, the field has no value
            conflict = several and not all(claim.source.startswith("its samples") for claim in stated)
        else:
            conflict = several
        if conflict:
            sources = ", ".join(f"{_SHOWN.get(repr(one.value), repr(one.value))} by {one.source}" for one in stated)
            problems.append(f"{path}: {field} is stated in several ways: {sources}: {_REMEDY}")
        elif field == "model" or not several:
            values[field] = stated[0].value
    if problems:
        raise SamplesError("\n".join(problems))
    return values


def _same_model(one: str, other: str) -> bool:
    """Tell if two names may mean one model: either may be shortened, or lack organisation or revision 'main'."""
    if one == cut_model(other) or other == cut_model(one):
        return True
    first, second = (name.replace("/", "--").casefold().removesuffix("--main").split("--") for name in (one, other))
    shorter = min(len(first), len(second))
    return first[-shorter:] == second[-shorter:]


def claims_of_options(settings: Mapping[str, Any], *, samples: str, name: str) -> Iterator[Claim]:
    """Yield claims, such as model and split, that options, the run's name and the sample file's name state."""
    for field in ("split", "subset"):
        if settings.get(field):
            yield Claim(field, settings[field], f"--{field}")
    yield from claims_of_name(name, "--name")
    yield from claims_of_name(_SAMPLES_SUFFIX.sub("", Path(samples).name), "the name of --samples")


def claims_of_name(stem: str, source: str) -> Iterator[Claim]:
    """Yield the claims that `stem`, a file name without ending, states if it has the original evaluator's form."""
    named = _NAME.fullmatch(stem)
    if named is None:
        return
    yield Claim("model", named["model"], source)
    yield Claim("split", named["split"], source)
    yield Claim("subset", "hard" if named["hard"] else "full", source)
    rest = named["rest"] or ""
    if (setting := _SETTING.match(rest)) and math.isfinite(float(setting["temperature"])):
        yield Claim("temperature", float(setting["temperature"]), source)
        yield Claim("n_samples", int(setting["n_samples"]), source)
    for ending, calibrated in _CALIBRATED.items():
        if rest.endswith(ending):
            yield Claim("calibrated", calibrated, source)


def claims_of_samples(task_ids: Sequence[str]) -> Iterator[Claim]:
    """Yield claims about subset and number of samples, from the task ids of a file's samples."""
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


def unnamed_model(found: ResultsFile, scores: "Scores") -> str:
    """Return a name for an unknown model: the result file's stem, or 'unknown (FOLDER/SAMPLE FILE, HASH)'."""
    if not scores.sample_file:
        return found.stem
    return f"unknown ({found.path.absolute().parent.name}/{Path(scores.sample_file).name}, {found.sha256[:8]})"


class Scores(NamedTuple):
    """Content of the scores file next to a result file; fields are empty or None if there is no such file."""

    path: Path
    claims: tuple[Claim, ...]
    sample_file: str  # name of the sample file, if the scores state it in place of a model
    pass_at_k: Mapping[int, float]  # k → pass@k over all tasks; empty if tasks were excluded
    failed_tasks: frozenset[str] | None
    """Tasks whose ground truth failed; None if the results of the ground truths are not known."""
    gt_pass_rate: float | None


def scores_of(results: Path) -> Scores:
    """Read the scores file next to a result file, gzipped or not; raise SamplesError if it is damaged or ambiguous."""
    path, content = scores_path(results), {}
    there = {file: read_json(file) for file in (path, path.with_name(f"{path.name}.gz")) if file.is_file()}
    if len({found.sha256 for found in there.values()}) > 1:
        raise SamplesError(f"{results}: its scores files {' and '.join(map(str, there))} differ: move one away")
    for file, found in there.items():
        if not isinstance(found.value, dict) or found.repeated_keys:
            raise SamplesError(f"{file}: is no JSON object of scores, or has a key twice: restore it, or move it away")
        path, content = file, found.value
    failed, rate = content.get("failed_tasks"), content.get("gt_pass_rate")
    known = _is_number(rate) and isinstance(failed, list) and all(isinstance(one, str) for one in failed)
    by_k = {}
    if not content.get("excluded_task_count"):  # else pass@k was computed over fewer tasks than the file has
        by_k = {int(k[1]): float(one) for key, one in content.items() if (k := _K.fullmatch(key)) and _is_number(one)}
    return Scores(
        path=path,
        claims=tuple(_claims_of_scores(path, content)),
        sample_file=model if isinstance(model := content.get("model"), str) and _NO_MODEL.search(model) else "",
        pass_at_k=by_k,
        failed_tasks=frozenset(failed) if known and failed is not None else None,
        gt_pass_rate=float(rate) if known and rate is not None else None,
    )


def failed_ground_truths(scores: Scores, n_tasks: int) -> frozenset[str] | None:
    """Return the tasks whose ground truth failed; None if the scores file does not state them or contradicts itself."""
    # With --no_gt the original executes no ground truth; it writes a rate of 0 and lists every task as failed.
    if scores.failed_tasks is None or not scores.gt_pass_rate or not n_tasks:
        return None
    share = 1 - len(scores.failed_tasks) / n_tasks
    # If the rate belongs to another set of tasks, tasks that nobody executed would count as passed.
    return scores.failed_tasks if math.isclose(share, scores.gt_pass_rate, abs_tol=0.5 / n_tasks) else None


def contradictions(scores: Scores, results: Path, entries: list[Entry]) -> Iterator[str]:
    """Yield a message for each contradiction between the samples of a result file and its scores file."""
    given = Counter(entry.task_id for entry in entries)
    judged = Counter(entry.task_id for entry in entries if entry.status != "infra_error")
    passed = Counter(entry.task_id for entry in entries if entry.status == "pass")
    remedy = "the two files are of different evaluations; move the wrong file away"
    for k, recorded in scores.pass_at_k.items():
        fewest = min(given.values(), default=0)
        if fewest < k:
            yield f"{results}: has tasks of {fewest} samples, too few for pass@{k} in {scores.path}: {remedy}"
            continue
        values = [pass_at_k(judged[task_id], passed[task_id], k) for task_id in given if judged[task_id] >= k]
        ours = math.fsum(values) / len(values) if values else math.nan
        if not math.isclose(ours, recorded, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{results}: its samples give pass@{k} {ours}, and {scores.path} says {recorded}: {remedy}"
    if foreign := sorted((scores.failed_tasks or frozenset()) - given.keys()):
        yield f"{results}: has no result of {foreign[0]}, and {scores.path} says that its ground truth failed: {remedy}"


def _claims_of_scores(path: Path, content: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield the claims of a scores file; skip null fields; raise SamplesError for a value that is not allowed."""
    model = content.get("model")
    if not isinstance(model, str | None):
        raise SamplesError(f"{path}: model {model!r} is not a text like 'openai/gpt-4o': correct or remove the field")
    if model and not _NO_MODEL.search(model):
        yield Claim("model", model, path.name)
    for field, allowed in _VALUES.items():
        value = content.get(field)
        if value is None:
            continue
        if type(value) is not type(allowed[0]) or value not in allowed:
            words = " or ".join(str(one).lower() for one in allowed)
            raise SamplesError(f"{path}: {field} {value!r} is not {words}: correct the field, or remove it")
        yield Claim(field, value, path.name)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Matched(NamedTuple):
    """Samples of the selected tasks, in the order of the tasks."""

    variant: Variant  # how the programs were executed: calibrated if they begin with their tasks' code_prompt
    entries: list[Entry]
    solutions: dict[tuple[str, int], str]
    """Programs by task and sample index, without the text that calibration put in front of them."""


def match(
    results: ResultsFile,
    tasks: Sequence[Row],
    claims: Sequence[Claim],
    known_task_ids: Collection[str],
) -> Matched:
    """Assign the samples of a file to the tasks; raise a SamplesError with all defects, including `results.defects`.

    Samples of known tasks that are not selected are ignored, and a task without a sample is no defect.
    """
    path = results.path
    prefixes = {task["task_id"]: calibrate(task["code_prompt"], "") for task in tasks}
    places = {task_id: place for place, task_id in enumerate(prefixes)}
    entries = [entry for entry in results.entries if entry.task_id in places]
    if results.lacks_setup:
        entries = [entry._replace(program=prefixes[entry.task_id] + entry.program) for entry in entries]
    entries.sort(key=lambda entry: places[entry.task_id])
    calibrated = _is_calibrated(results, entries, prefixes, claims)
    there = dict.fromkeys(entry.task_id for entry in results.entries)
    foreign = [task_id for task_id in there if task_id not in known_task_ids]
    remedy = "choose the dataset of this file with --dataset"
    defects = [*results.defects, *(f"{path}: task {one} is not in the dataset: {remedy}" for one in foreign)]
    # If a program begins differently from the calibration of these tasks, its verdict belongs to another task version.
    defects += [
        f"{path}: task {entry.task_id}, sample {entry.sample_index} does not begin with the dataset's code_prompt, as "
        "calibrated programs do: choose the dataset version of this file with --dataset"
        for entry in entries
        if calibrated and not entry.program.startswith(prefixes[entry.task_id])
    ]
    if not entries and not defects:
        defects.append(f"{path}: holds no sample of the selected tasks: widen --ids, or take another file")
    raise_problems(defects, SamplesError)
    solutions = {
        (entry.task_id, entry.sample_index): entry.program.removeprefix(prefixes[entry.task_id] if calibrated else "")
        for entry in entries
    }
    return Matched("calibrated" if calibrated else "raw", entries, solutions)


def _is_calibrated(
    results: ResultsFile, entries: Sequence[Entry], prefixes: Mapping[str, str], claims: Sequence[Claim]
) -> bool:
    """Tell if the programs are calibrated: as the claims say; without claims, if most begin with their code_prompt."""
    looks = Counter(entry.program.startswith(prefixes[entry.task_id]) for entry in entries)
    stated = [claim for claim in claims if claim.field == "calibrated"]
    if len(looks) == 1:
        [calibrated] = looks
        which = "every one begins" if calibrated else "none begins"
        stated.append(Claim("calibrated", calibrated, f"its samples ({which} with its task's code_prompt)"))
    return bool(agreed(results.path, stated).get("calibrated", looks[True] > looks[False]))


def check_samples(results: ResultsFile, matched: Matched, samples: Sequence[Row], name: str) -> None:
    """Raise SamplesError if the rows `samples` of sample file `name` are not exactly the executed programs."""
    given = {(row["task_id"], row["sample_index"]): row["given_solution"] for row in samples}
    executed = matched.solutions
    problems = dict.fromkeys(executed.keys() - given.keys(), f"is missing, but {results.path} has its result")
    problems |= dict.fromkeys(given.keys() - executed.keys(), f"has no result in {results.path}")
    for entry in matched.entries:
        place = (entry.task_id, entry.sample_index)
        # A sample file may already hold the calibrated text. A raw answer alone (None) gives no program to compare.
        if given.get(place) not in {None, executed[place], entry.program}:
            problems[place] = f"is another program than the executed program in {results.path}"
    remedy = "give the sample file that was evaluated"
    lines = [
        f"{name}: task {task_id}, sample {index} {problem}" for (task_id, index), problem in sorted(problems.items())
    ]
    raise_problems([f"{line}: {remedy}" for line in lines], SamplesError)
