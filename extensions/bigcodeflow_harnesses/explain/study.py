"""Search for the cause of each difference: try one change at a time until the verdict flips."""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from bigcodeflow.config import LimitsConfig, Sanitizer
from bigcodeflow.core.tracebacks import HEAD, exception_line
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.comparison.run_selection import ComparedRun, open_runs
from bigcodeflow.results.formatting import cause_line
from bigcodeflow.results.inspection.samples import SampleDetail, details_of
from bigcodeflow.results.run_tables import open_tables, tables_of
from bigcodeflow.sanitizing import sanitize
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow.studies import publish_study
from bigcodeflow_harnesses.explain import CAUSES, ExplainConfig
from bigcodeflow_harnesses.explain.conditions import CONDITIONS, NETWORK, foreign_line, sign
from bigcodeflow_harnesses.explain.trials import SCRIPTS, Result, Trial, Trials

#: Version of the rows; raise it if the same verdicts give other rows.
VERSION = 2
#: Attributes of a trial that change together, by cause, in the order in which they are tried.
_FACTORS = {
    "extraction": ("solution",),
    "calibration": ("setup",),
    "version": ("test", "task"),
    "limit": ("seconds", "is_raised"),
    "memory": ("memory_mib",),
    "condition": ("condition",),
    "runner": ("runner",),
    "environment": ("environment",),
}
_NAMES = ("first", "second")
_MODES: tuple[Sanitizer, ...] = ("robust", "parity", "fenced", "none")
_MORE_EXECUTIONS = 5  # times the usual number, where nothing else explains a difference
_FAILING_TEST = "import unittest\nclass TestCases(unittest.TestCase):\n    def test(self):\n        self.fail()\n"


Pairs = Sequence[tuple[SampleDetail, SampleDetail]]


class Difference(NamedTuple):
    """A sample with different verdicts in the two results; each field except ``row`` has a value for each result."""

    row: dict[str, Any]
    samples: Sequence[SampleDetail]
    bases: Sequence[Trial]
    """For each result, the trial that executes the sample with the settings that the result states."""
    passed: Sequence[bool]

    def untold(self, trials: Trials) -> list[int]:
        """Return the positions (0 or 1) of the results whose trial in `bases` did not give the recorded verdict."""
        return [side for side, base in enumerate(self.bases) if trials.results[base].passed != self.passed[side]]


class Harness:
    """Facts about the harness that made a result; in each of ``pairs``, the first sample is from that result."""

    def __init__(self, pairs: Pairs) -> None:
        failed = (one for one, other in pairs if not other.passed and other.verdict["tests_run"])
        self.has_runner = any(one.verdict["status"] == "fail" for one in failed)  # it fails programs that load
        times = (other.verdict["wall_seconds"] for one, other in pairs if one.passed and other.passed)
        self.slowest_pass = max((seconds or 0.0 for seconds in times), default=0.0)


def run_study(config: ExplainConfig, listener: Listener) -> ArtifactRef:
    """Run the study and return its result; raise ArtifactError or ConfigError if a run cannot be compared."""
    store, runs = open_store(config.store), open_runs(config.store, [config.first, config.second])
    settings = config.model_dump(mode="json", exclude={"store"})
    key = artifact_key("explain", VERSION, settings, [key for run in runs for key in run.recorded.keys.values()])
    models = list(dict.fromkeys(run.recorded.model for run in runs))
    title = " and ".join(run.label for run in runs)
    rows = _rows(config, runs, listener)  # a generator, which is not read if the store has the result
    return publish_study(store, "explain", key, rows, title=title, models=models, settings=settings)


def _rows(config: ExplainConfig, runs: Sequence[ComparedRun], listener: Listener) -> Iterator[dict[str, Any]]:
    first, second = map(_samples, runs)
    pairs = [(one, second[owner]) for owner, one in first.items() if owner in second]
    pairs = [pair for pair in pairs if None not in (pair[0].passed, pair[1].passed)]
    counts = Counter(sample.task_id for sample, _ in pairs)
    differences = [_difference(config, runs, pair, counts) for pair in pairs if pair[0].passed != pair[1].passed]
    harnesses = Harness(pairs), Harness([(other, one) for one, other in pairs])
    trials = Trials(config, listener)
    searches = [_search(one, harnesses, config, trials) for one in differences if not one.row["cause"]]
    while needed := {search: found for search in searches if (found := next(search, None))}:
        trials.execute(chain(*needed.values()))  # all trials that the searches need next, in one batch
        searches = list(needed)
    yield from (one.row for one in differences)


def _difference(
    config: ExplainConfig, runs: Sequence[ComparedRun], pair: Sequence[SampleDetail], counts: Mapping[str, int]
) -> Difference:
    passed, task_id = [bool(sample.passed) for sample in pair], pair[0].task_id
    failing, statuses = pair[passed[0]], [sample.verdict["status"] for sample in pair]
    row = dict.fromkeys(("cause", "detail", "evidence", "right", "reason"), "") | {
        "task_id": task_id,
        "sample_index": pair[0].sample_index,
        **{f"{name}_status": status for name, status in zip(_NAMES, statuses, strict=True)},
        "share": (passed[0] - passed[1]) / counts[task_id],
        "n_tasks": len(counts),
    }
    if "tampered" in statuses:
        row |= {"cause": "tampering", "evidence": "; ".join(failing.verdict["tampering"])}
        row |= {"right": _NAMES[passed[0]], "reason": CAUSES["tampering"]}
    elif failing.ground_truth_status not in (None, "pass"):
        row |= {"right": _NAMES[not passed[0]], "reason": "the reference solution failed in that result too"}
    return Difference(row, pair, [_base(config, run, sample) for run, sample in zip(runs, pair, strict=True)], passed)


def _samples(run: ComparedRun) -> Mapping[tuple[str, int], SampleDetail]:
    where = "variant = $variant AND sanitizer = $sanitizer"
    with open_tables([tables_of(run.recorded)]) as connection:
        details = details_of(run.recorded, connection, where, variant=run.variant, sanitizer=run.sanitizer)
        return {(one.task_id, one.sample_index): one for one in details}


def _base(config: ExplainConfig, run: ComparedRun, sample: SampleDetail) -> Trial:
    execution = run.recorded.config.get("execution") or {}
    limits, default = execution.get("limits") or {}, LimitsConfig()
    return Trial(
        task=sample.row,
        solution=sample.solution or "",
        setup=sample.row["code_prompt"] if sample.variant == "calibrated" else "",
        test=sample.test,
        environment=execution.get("environment") or config.environment,
        seconds=limits.get("time_seconds") or default.time_seconds,
        is_raised=not (run.recorded.imported and limits.get("time_seconds")),
        memory_mib=limits.get("memory_mib") or default.memory_mib,
        answer=sample.answer,
    )


def _search(
    one: Difference, harnesses: Sequence[Harness], config: ExplainConfig, trials: Trials
) -> Iterator[list[Trial]]:
    """Find and record the cause of a difference; yield trials that must be executed before the search continues."""
    if (yield from _is_noise(one, one.bases, config.executions, trials)) or _is_another_test(one, trials):
        return
    for factor, side, trial, expected in _changes(one, harnesses, config, trials):
        yield [trial]
        errors = _errors(one.samples[side]) if expected == one.row[f"{_NAMES[side]}_status"] else set()
        if _is_expected(trial, trials.results[trial], expected, errors):
            copies = _copies(trial, 2 * config.executions)
            yield copies
            # A change may have come with another hash seed, which programs from equal libraries share.
            for base in (one.bases[side], replace(one.bases[side], runner="script")):
                if (yield from _is_noise(one, [base], len(copies), trials)):
                    return
            if all(_is_expected(copy, trials.results[copy], expected, errors) for copy in copies):
                yield from _settle(one, factor, side, trial, trials)
                return
    untold, count = [one.bases[side] for side in one.untold(trials)] or one.bases, _MORE_EXECUTIONS * config.executions
    scripts = [replace(base, runner="script") for base in untold]
    is_noise = (yield from _is_noise(one, untold, count, trials)) or (
        yield from _is_noise(one, scripts, 2 * config.executions, trials)
    )
    if not is_noise and not _is_observed(one, count, trials):
        told = (f"as the {name} tells it: {trials.results[base]}" for name, base in zip(_NAMES, one.bases, strict=True))
        one.row.update(cause="unexplained", evidence="; ".join(told))


def _copies(trial: Trial, count: int) -> list[Trial]:
    """Return `count` repetitions of a trial; trials that run as a script get different hash seeds."""
    is_script = trial.runner in SCRIPTS
    return [replace(trial, repetition=one, hash_seed=str(one) if is_script else "") for one in range(count)]


def _errors(sample: SampleDetail) -> set[str]:
    """Return the types of the exceptions in the tracebacks of a recorded failure."""
    traces = [test["trace"] or "" for test in sample.failing_tests]
    return {exception_line(trace).partition(":")[0] for trace in traces if HEAD in trace}


def _is_expected(trial: Trial, result: Result, status: str, errors: set[str]) -> bool:
    if trial.condition == NETWORK:
        return result.asks_network
    if status == "fail" and errors and trial.runner not in SCRIPTS and result.why.partition(":")[0] not in errors:
        return False  # it fails for another reason
    return result.status == "timeout" if status == "timeout" else result.passed == (status == "pass")


def _is_another_test(one: Difference, trials: Trials) -> bool:
    for side in one.untold(trials):
        if line := foreign_line(one.samples[side]):
            evidence = f"the trace of the {_NAMES[side]} names {line}, where the test's text here has no such line"
            one.row.update(cause="version", detail="text of the test", evidence=evidence)
            return True
    return False


def _is_observed(one: Difference, count: int, trials: Trials) -> bool:
    """Return True and record the cause 'environment' if a traceback, the reference solution or a timeout shows it."""
    for side in one.untold(trials):
        sample, result, detail = one.samples[side], trials.results[one.bases[side]], "machine"
        here = f"{count} executions here: {result}"
        if shown := sign(result.why if one.passed[side] else sample.failures):
            detail, seen = shown, "" if one.passed[side] else f"it failed there with {cause_line(sample.failures)}"
        elif sample.ground_truth_status and (sample.ground_truth_status == "pass") != (result.reference == "pass"):
            seen = f"the reference solution has {sample.ground_truth_status} there and {result.reference} here"
        elif sample.verdict["status"] == "timeout":
            seen = f"it did not end there and takes {result.seconds:.1f} s here"
        else:
            continue
        one.row.update(cause="environment", detail=detail, evidence="; ".join(filter(None, (seen, here))))
        return True
    return False


def _is_noise(
    one: Difference, bases: Sequence[Trial], count: int, trials: Trials
) -> Generator[list[Trial], None, bool]:
    yield [copy for base in bases for copy in _copies(base, count)]
    for base in bases:
        passes = [trials.results[copy].passed for copy in _copies(base, count)].count(True)
        if 0 < passes < count:
            seeds = "hash seeds" if base.runner in SCRIPTS else "repeated"
            one.row.update(cause="noise", detail=seeds, evidence=f"{passes} of {count} executions pass ({seeds})")
            return True
    return False


def _changes(
    one: Difference, harnesses: Sequence[Harness], config: ExplainConfig, trials: Trials
) -> Iterator[tuple[str, int, Trial, str]]:
    """Yield each change to try: factor, position of the result (0, 1), changed trial, status that proves the cause.

    A factor is a group of a trial's attributes, see _FACTORS. If the trials of both results give the recorded verdicts,
    each trial gets the other result's values. Otherwise, only a trial that does not give its recorded verdict is
    changed: it gets values with which its result may have been made.
    """
    is_timeout = "timeout" in (one.row["first_status"], one.row["second_status"])
    as_told = [trials.results[base].passed == passed for base, passed in zip(one.bases, one.passed, strict=True)]
    for factor in sorted(_FACTORS, key=lambda name: name == "limit" and not is_timeout):  # else a limit comes last
        for side, base in enumerate(one.bases):
            values = [{name: getattr(one.bases[1 - side], name) for name in _FACTORS[factor]}]
            expected = one.row[f"{_NAMES[side]}_status"]
            if all(as_told):
                expected = "fail" if one.passed[side] else "pass"
            elif as_told[side]:
                continue
            elif factor != "version":
                values = _untold(factor, one, side, harnesses[side], config, trials.results[base])
            for trial in (replace(base, **value) for value in values):
                if trial != base:
                    yield factor, side, trial, expected


def _untold(
    factor: str, one: Difference, side: int, harness: Harness, config: ExplainConfig, result: Result
) -> list[dict[str, Any]]:
    """Return possible values of a factor for a result that does not state them; skip values that verdicts rule out."""
    base, passed, values = one.bases[side], one.passed[side], list[dict[str, Any]]()
    if factor == "extraction" and base.solution == base.answer:  # else the result states the program
        values = [{"solution": program} for program in _extracted(base).values()]
    elif factor == "calibration":
        values = [{"setup": "" if base.setup else base.task["code_prompt"]}]
    elif factor == "limit" and not passed:
        limits = [limit for limit in config.time_limits if harness.slowest_pass < limit < result.seconds]
        values = [{"seconds": float(limit), "is_raised": False} for limit in limits[-1:]]
    elif factor == "limit" and result.status == "timeout":
        values = [{"seconds": 10 * base.seconds}]
    elif factor == "memory" and result.status == "out_of_memory":
        values = [{"memory_mib": 8 * base.memory_mib}]
    elif factor == "runner":
        values = [{"runner": name} for name in SCRIPTS if "without" not in name or (passed and not harness.has_runner)]
    elif factor == "environment":
        values = [{"environment": name} for name in config.environments]
    elif factor == "condition":
        possible = [name for name, condition in CONDITIONS.items() if not passed or condition.cause != "noise"]
        values = [{"condition": name} for name in possible]
    return values


def _extracted(base: Trial) -> dict[str, str]:
    """Return the programs that our sanitizer extracts from a trial's raw answer; keys are the sanitizer's modes."""
    if base.answer is None:
        return {}
    return {mode: sanitize(base.answer, entry_point=base.task["entry_point"], mode=mode) for mode in _MODES}


def _settle(one: Difference, factor: str, side: int, trial: Trial, trials: Trials) -> Iterator[list[Trial]]:
    """Record the cause, its evidence and, if executions show it, the right verdict; yield trials to execute first."""
    base, result, value = one.bases[side], trials.results[trial], getattr(trial, _FACTORS[factor][0])
    changed = factor if factor in ("extraction", "calibration", "version") else f"{factor} {value}"
    told = f"as the {_NAMES[side]} tells it: {trials.results[base]}"
    condition, detail = CONDITIONS.get(trial.condition), str(value)
    if factor in ("extraction", "calibration", "version"):
        modes = (mode for mode, program in _extracted(trial).items() if program == trial.solution)
        detail = ", ".join(modes) if factor == "extraction" else ""
    changed_to = trial.condition or f"another {changed}"
    one.row.update(cause=factor, detail=detail, evidence=f"{told}; with {changed_to}: {result}")
    if condition:
        one.row.update(cause=condition.cause, detail=condition.detail)
    passing, failing = _NAMES if one.passed[0] else reversed(_NAMES)
    reference = trials.results[base if result.passed or trial.condition == NETWORK else trial].reference
    if reference != "pass":
        one.row.update(right=passing, reason=f"where the program fails, the reference solution has {reference}")
    worthless = replace(trial, test=_FAILING_TEST)
    if factor == "runner" and result.passed:
        yield [worthless]
        if trials.results[worthless].passed:
            one.row.update(right=failing, reason=f"with {changed} it also passes a test that no program passes")
