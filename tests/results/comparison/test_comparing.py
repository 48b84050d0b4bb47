"""Comparisons of recorded runs: what is read, what is refused, what is said beside the numbers."""

import gzip
import json
import math
import shlex

import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results.comparison.common_tasks import By
from bigcodeflow.results.comparison.comparison import compare
from bigcodeflow.results.comparison.paired_tests import mcnemar, mean_interval, score_interval
from bigcodeflow.results.comparison.pairs import Method
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.comparison.text_tables import tables
from bigcodeflow.results.inspection.samples import Filters, inspect_run
from bigcodeflow.results.runs import find_run
from tests.results.comparison.conftest import Runs, judged_by
from tests.results.conftest import recorded_files
from tests.store.s3 import new_bucket

QUICK = Method(rounds=200)
TEN = [f"Demo/{number}" for number in range(10)]


def test_one_sample_a_task_is_tested_by_mcnemar(runs, outcomes):
    """Difference, discordant tasks and p follow from the verdicts by hand: 5 to 1 of ten tasks."""
    runs.add("a", outcomes("+++++-++--"))
    runs.add("b", outcomes("-----+++--"))
    found = runs.compare("a", "b", k=(1, 5), method=QUICK)
    [pair] = found.pairs
    assert (pair.first_score, pair.second_score, pair.n_tasks) == (0.7, 0.3, 10)
    assert pair.difference == pytest.approx(0.4)
    assert (pair.test, pair.p, pair.p_holm) == ("mcnemar", mcnemar(5, 1), mcnemar(5, 1))
    assert pair.interval == score_interval(5, 1, 10)
    assert found.k == (1,)
    assert found.notes == ()
    assert found.discordant[0].only_first == tuple(TEN[:5])
    assert found.discordant[0].only_second == ("Demo/5",)
    assert found.solved_by_all == ("Demo/6", "Demo/7")
    assert found.unsolved_by_all == ("Demo/8", "Demo/9")
    [pair] = runs.compare("a", "b", method=Method(rounds=200, mid_p=True)).pairs
    assert (pair.test, pair.p) == ("mcnemar mid-p", mcnemar(5, 1, mid_p=True))
    assert [one.rate for one in found.solve_rates] == [0.5] * 6 + [1.0] * 2 + [0.0] * 2


def test_several_samples_are_compared_by_pass_at_k(runs):
    """With four samples pass@1 and pass@2 are compared by the sign-flip test, and pass@5 is said to be missing."""
    runs.add("a", {"Demo/0": ["pass"] * 4, "Demo/1": ["pass", "fail", "fail", "fail"]})
    runs.add("b", {"Demo/0": ["pass", "pass", "fail", "fail"], "Demo/1": ["fail"] * 4})
    found = runs.compare("a", "b", k=(1, 2, 5), method=QUICK)
    assert [pair.k for pair in found.pairs] == [1, 2]
    assert found.pairs[0].difference == pytest.approx((0.5 + 0.25) / 2)
    assert found.pairs[1].difference == pytest.approx(((1 - 5 / 6) + 0.5) / 2)
    assert {pair.test for pair in found.pairs} == {"sign flip"}
    assert found.pairs[1].interval == pytest.approx(mean_interval([1 - 5 / 6, 0.5], rounds=200))
    assert any("pass@5" in note for note in found.notes)


def test_unjudged_samples_leave_the_pair_and_are_reported(runs, outcomes):
    """An infra_error is neither pass nor fail: its task leaves the pair, and the scores are called provisional."""
    runs.add("a", outcomes("+!+-"))
    runs.add("b", outcomes("-+-+"))
    found = runs.compare("a", "b", method=QUICK)
    [pair] = found.pairs
    assert (pair.n_tasks, pair.n_left_out) == (3, 1)
    assert pair.first_score == pytest.approx(2 / 3)
    assert any("pass@1: 1 of 4 tasks (Demo/1)" in note for note in found.notes)
    assert any("1 samples of a · full · complete were not judged" in note for note in found.notes)
    assert found.rates[0].infra_error_rate == 0.25
    assert [score.provisional for score in found.scores if score.k == 1] == [True, False]


def test_runs_are_restricted_to_common_tasks(runs, outcomes):
    """Tasks that one run lacks, and tasks of another test text, are left out, and both is said."""
    runs.add("a", outcomes("++++"), facts={"Demo/1": {"test": "an older test"}})
    runs.add("b", outcomes("---"))
    found = runs.compare("a", "b", method=QUICK)
    assert found.task_ids == ("Demo/0", "Demo/2")
    assert any("2 tasks that all runs have" in note and "a · full · complete: 1" in note for note in found.notes)
    assert any("test text is not the same" in note and "Demo/1" in note for note in found.notes)
    runs.add("c", outcomes("++++"))
    notes = runs.compare("a", "b", "c", method=QUICK).notes
    assert any(note.endswith("has them: a · full · complete, c · full · complete: 1.") for note in notes)


@pytest.mark.parametrize(
    ("task_id", "split", "problem"),
    [
        ("Other/1", "complete", r"no task in common.*a · full · complete 2, b · full · complete 1"),
        ("Demo/0", "instruct", "a · full · complete answers complete prompts, b · full · instruct instruct prompts"),
    ],
)
def test_runs_without_common_tasks_or_of_two_splits_are_refused(runs, outcomes, task_id, split, problem):
    """Other tasks, and other prompts, are different questions."""
    runs.add("a", outcomes("++"))
    runs.add("b", {task_id: "pass"}, split=split)
    with pytest.raises(ArtifactError, match=problem):
        runs.compare("a", "b")


def test_what_else_differs_is_said(runs, outcomes):
    """Another environment, harness or limit may explain a difference, so each is named with both values."""
    limits = {"execution": {"limits": {"time_seconds": 240.0, "disk_mib": 64}, "integrity": "passes"}}
    runs.add("a", outcomes("+-"), config=limits)
    limits = {"execution": {"limits": {"time_seconds": 10.0, "disk_mib": 64}, "integrity": "off"}}
    runs.add("b", outcomes("-+"), config=limits, settings=judged_by(1, "f"), judged=[{"environment_sha": "f" * 64}] * 2)
    notes = "".join(runs.compare("a", "b", method=QUICK).notes).replace(" · full · complete", "")
    assert "different environments: a: eeeeeeeeeeee; b: ffffffffffff" in notes
    assert "harness versions: a: 2; b: 1" in notes
    assert "settings, time_seconds: a: 240.0; b: 10.0" in notes
    assert "settings, integrity: a: passes; b: off" in notes
    assert "disk_mib" not in notes
    [run, _] = open_runs(runs.root, ["b", "a"])
    run.recorded.path("execution").with_name("manifest.json").unlink()  # costs a warning, not the comparison
    [*_, note] = [note for note in runs.compare("a", "b", method=QUICK).notes if "harness versions" in note]
    assert note.endswith("b · full · complete: unknown.")


def test_tampering_is_not_known_where_nothing_was_checked(runs, outcomes):
    """A pass that nobody contradicted is no sign of honesty; a run without a pass has nothing to check."""
    runs.add("checked", outcomes("+-"), judged=[{"integrity": "checked"}])
    runs.add("unchecked", outcomes("+-"), judged=[{"integrity": None}, {"integrity": None}])
    runs.add("failed", outcomes("--"))
    found = runs.compare("checked", "unchecked", "failed", method=QUICK)
    assert [row.tampered_rate for row in found.rates] == [0.0, None, 0.0]


def test_two_sanitizers_can_be_compared(runs, outcomes):
    """Each run is taken in its own sanitizer unless one is asked for; one that is not there is refused by name."""
    runs.add("a", outcomes("+-"), sanitizer="parity")
    runs.add("b", outcomes("++"), sanitizer="robust")
    found = runs.compare("a", "b", method=QUICK)
    assert [run.sanitizer for run in found.runs] == ["parity", "robust"]
    assert any("differ in sanitizer" in note for note in found.notes)
    with pytest.raises(ArtifactError, match="no verdicts of calibrated, robust; it has: calibrated, parity"):
        runs.compare("a", "b", sanitizer="robust")


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "a@calibrated"], ["a", "latest"]])
def test_comparing_a_run_with_itself_is_refused(runs, outcomes, names):
    """One run alone, or the same one under two names, is a mistake worth one line."""
    runs.add("a", outcomes("+-"))
    with pytest.raises(ConfigError, match=r"compare: "):
        open_runs(runs.root, names)


def test_too_few_samples_for_any_k_are_refused(runs, outcomes):
    """Asking for pass@5 alone of one sample a task names the run and the task that lack samples."""
    runs.add("a", outcomes("+-"))
    runs.add("b", outcomes("-+"))
    with pytest.raises(ArtifactError, match="has 1 samples of task Demo/0"):
        runs.compare("a", "b", k=(5,))


def test_p_is_adjusted_over_all_pairs(runs, outcomes):
    """Of three runs, Holm's p of the smallest of three p-values is three times as large; the matrix has every pair."""
    runs.add("a", outcomes("+" * 12))
    runs.add("b", outcomes("+" * 6 + "-" * 6))
    runs.add("c", outcomes("-" * 12))
    found = runs.compare("a", "b", "c", method=QUICK)
    p = {(pair.first[0], pair.second[0]): pair for pair in found.pairs}
    assert len(p) == 3
    assert p["a", "c"].p == 2 * 0.5**12
    assert p["a", "c"].p_holm == pytest.approx(3 * 2 * 0.5**12)
    assert p["a", "b"].p_holm == pytest.approx(2 * 2 * 0.5**6)
    assert [pair.significant for pair in found.pairs] == [False, True, False]
    assert [row.rank for row in found.ratings.rows] == [1, 2, 3]


def test_slices_part_the_tasks(runs, outcomes):
    """Domains, libraries, their number, prompt length and subset: each slice has its tasks and no others."""
    facts = {
        task_id: {
            "domains": ["Network"] if number < 4 else ["Math", "Network"],
            "libs": [f"lib{one}" for one in range(number)],
            "hard": number == 0,
            "complete_prompt": "x" * (100 - number),
        }
        for number, task_id in enumerate(TEN)
    }
    runs.add("a", outcomes("+" * 10), facts=facts)
    runs.add("b", outcomes("-" * 10), facts=facts)

    def sizes(by):
        return {pair.slice: pair.n_tasks for pair in runs.compare("a", "b", by=[by], method=QUICK).slices}

    assert sizes(By.domain) == {"Math": 6, "Network": 10}
    assert sizes(By.library) == {f"lib{one}": 9 - one for one in range(9)}
    assert sizes(By.libraries) == {"0": 1, "1": 1, "2": 1, "3": 1, "4": 1, "5 or more": 5}
    assert sizes(By.length) == {"1 (shortest)": 2, "2": 3, "3": 2, "4 (longest)": 3}
    assert sizes(By.subset) == {"hard": 1, "not hard": 9}


def test_a_slice_without_judged_tasks_has_no_numbers(runs, outcomes):
    """Where nothing can be compared the score is NaN, and neither interval nor p is made up."""
    facts = {"Demo/0": {"domains": ["Network"]}, "Demo/1": {"domains": ["Math"]}}
    runs.add("a", outcomes("!+"), facts=facts)
    runs.add("b", outcomes("+-"), facts=facts)
    pairs = {pair.slice: pair for pair in runs.compare("a", "b", by=[By.domain], method=QUICK).slices}
    assert math.isnan(pairs["Network"].difference)
    assert pairs["Network"].interval is pairs["Network"].p is pairs["Network"].p_holm is None
    assert pairs["Math"].p == pairs["Math"].p_holm == 1.0


def test_a_seed_repeats_every_digit(runs, outcomes):
    """The same seed gives an equal comparison, another one another interval."""
    runs.add("a", outcomes("+++--++-+-" * 3))
    runs.add("b", outcomes("-++-++--+-" * 3))
    first, again, other = (runs.compare("a", "b", method=Method(seed=seed, rounds=300)) for seed in (1, 1, 3))
    assert first == again
    assert first.pairs[0].interval != other.pairs[0].interval or first.ratings != other.ratings


def test_usage_is_summed_and_unknown_stays_unknown(runs, outcomes):
    """Tokens, cost, refusals and latency come from the samples; a run without a samples table has none of them."""
    row = {"raw_text": "", "provider": "openai", "attempts": 1, "sample_index": 0}
    samples = [
        {**row, "task_id": "Demo/0", "finish_reason": "refusal", "prompt_tokens": 10, "completion_tokens": 5},
        {**row, "task_id": "Demo/1", "finish_reason": "stop", "prompt_tokens": 20, "cost_usd": 0.25},
    ]
    runs.add("a", outcomes("+t"), answers=samples)
    runs.add("b", outcomes("-+"))
    found, without = runs.compare("a", "b", method=QUICK).rates
    assert (found.prompt_tokens, found.completion_tokens, found.cost_usd, found.n_cost_known) == (30, 5, 0.25, 1)
    assert (found.refusal_rate, found.timeout_rate, found.truncated_rate, found.cpu_seconds) == (0.5, 0.5, 0.0, 2.0)
    assert {without.prompt_tokens, without.cost_usd, without.refusal_rate, without.truncated_rate} == {None}


@pytest.mark.real_data
def test_published_verdicts_give_the_published_difference(runs, reference_data):
    """Two models' recorded verdicts on all 1,140 tasks: scores are the published ones, and the smaller model is worse."""
    published = {}
    for name in ("gemma-3-4b-it", "qwen2.5-coder-7b-instruct"):
        results, scores, _ = recorded_files(reference_data, name)
        content = json.loads(gzip.decompress(results.read_bytes()))["eval"]
        runs.add(name, {task_id: samples[0]["status"] for task_id, samples in sorted(content.items())})
        published[name] = scores["pass@1"]
    found = runs.compare(*published)
    [pair] = found.pairs
    assert [score.value for score in found.scores] == pytest.approx(list(published.values()), abs=5e-4)
    assert pair.significant
    assert pair.interval.high < 0
    assert pair.n_tasks == 1140
    assert pair.n_second_better - pair.n_first_better == round(-pair.difference * 1140)
    assert [row.rank_worst for row in found.ratings.rows] == [2, 1]


def test_seconds_that_nobody_measured_are_unknown(runs, outcomes):
    """An imported run has NaN for every sample: no sum, and a dash in the table; one that has some sums those."""
    runs.add("a", outcomes("+-"), judged=[{"cpu_seconds": math.nan}] * 2)
    runs.add("b", outcomes("-+"), judged=[{"cpu_seconds": 2.0}, {"cpu_seconds": math.nan}])
    found = runs.compare("a", "b", method=QUICK)
    assert [rates.cpu_seconds for rates in found.rates] == [None, 2.0]
    [spent] = [table for table in tables(found) if table.title.startswith("What each run took")]
    assert [row[-1] for row in spent.rows] == ["-", "2"]


@pytest.mark.parametrize(
    ("mode", "task_ids", "note"),
    [
        ("exclude", TEN[1:4], "as a · full · complete leaves them out of its score: 1 quarantined tasks (Demo/0)"),
        ("flag", TEN[:4], "1 of the compared tasks are in quarantine (Demo/0)"),
    ],
)
def test_quarantined_tasks_are_left_out_of_all_or_named(runs, outcomes, mode, task_ids, note):
    """What one score leaves out is compared for none; a difference on the others may be chance, as the note says."""
    runs.add("a", outcomes("+++-"), config={"execution": {"quarantine": mode}}, quarantine={"tasks": ["Demo/0"]})
    runs.add("b", outcomes("-+--"))
    found = runs.compare("a", "b", method=QUICK)
    assert found.task_ids == tuple(task_ids)
    assert any(note in one for one in found.notes)


def test_only_quarantined_tasks_in_common_are_refused(runs, outcomes):
    """Nothing is left to compare, and the error says why."""
    runs.add("a", outcomes("+"), config={"execution": {"quarantine": "exclude"}}, quarantine={"tasks": ["Demo/0"]})
    runs.add("b", outcomes("-"))
    with pytest.raises(ArtifactError, match="every task that the runs have in common is in quarantine"):
        runs.compare("a", "b")


def test_a_grid_has_the_parameters_that_vary(runs, outcomes):
    """Of everything that was asked only what differs is a column; what was left to the provider is None and last."""

    def asked(**sampling):
        return {"samples": {"source": "model"}, "generation": {"sampling": {"seed": 1, **sampling}, "n_samples": 1}}

    for name, sampling in (("a", {"top_p": 0.9}), ("b", {}), ("c", {"top_p": 0.5})):
        runs.add(name, outcomes("+-"), model="m", config=asked(temperature=0.8, **sampling))
    runs.add("other", outcomes("+-"), model="n", config=asked(temperature=0.1))
    [grid] = runs.compare("a", "b", "c", "other", method=QUICK).grids
    assert (grid.model, grid.parameters) == ("m", ("top_p",))
    assert [(setting.label, setting.values) for setting in grid.settings] == [
        (f"m · full · complete · top p {value or 'default'}", (value,)) for value in (0.5, 0.9, None)
    ]
    assert [score.value for score in grid.settings[0].scores] == [0.5]


@pytest.fixture
def bucket(s3_endpoint, tmp_path, monkeypatch, outcomes):
    """URL of a store with two runs, seen from a machine that has nothing of it yet."""
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "writer"))
    runs = Runs(f"s3://{new_bucket()}/some/prefix")
    for name, line, version in (("a", "+++-", 2), ("b", "-+--", 1)):
        runs.add(name, outcomes(line), settings=judged_by(version))
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "reader"))
    return runs.root


@pytest.mark.slow
def test_comparisons_and_stories_read_from_the_bucket(bucket):
    """Differences and harness versions are those that the runs were published with."""
    found = compare(open_runs(bucket, ["a", "b"]), method=Method(rounds=100))
    assert found.pairs[0].difference == pytest.approx(0.5)
    assert [run.harness_version for run in found.runs] == [2, 1]
    assert (found.solved_by_all, found.unsolved_by_all) == (("Demo/1",), ("Demo/3",))
    # A story's command names the store as it was given, and no folder of this machine.
    with inspect_run(find_run(bucket, "a")) as found:
        [detail] = found.details(found.samples(Filters()))
    words = shlex.split(detail.rerun_command)
    assert words[words.index("--store") + 1] == bucket
