"""Entries from recorded runs, and what is refused."""

import gzip
import json
import re
import shutil

import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS
from bigcodeflow.results.run_settings import setting_of
from bigcodeflow.results.runs import find_run, recorded_runs
from bigcodeflow_leaderboard.entries import published_entries, rankings
from bigcodeflow_leaderboard.measured_entries import Allowance, entry_of, measured_entries, other_tests
from tests.extensions.leaderboard.conftest import ALLOW, HARD


def measured(lab, *, allow=ALLOW, runs=()):
    return measured_entries(lab.store.root, allow=allow, runs=runs)


def test_an_entry_says_where_its_score_comes_from(lab):
    """Score, interval, counts, environment, date, sanitizer and the run behind it."""
    record = lab.run(passing=74)
    [entry] = measured(lab).entries
    assert (entry.origin, entry.model, entry.revision) == ("ours", "acme/nova-7b", None)
    assert (entry.pass_at_1, entry.n_tasks, entry.n_samples, entry.ground_truth_rate) == (0.5, 148, 148, 1.0)
    assert entry.ci_low < 0.5 < entry.ci_high
    assert (entry.split, entry.subset, entry.sanitizer) == ("complete", "hard", "parity")
    assert (entry.environment, entry.environment_sha) == ("bigcodebench", "e" * 64)
    assert entry.evaluated_at.isoformat() == "2026-11-02T12:05:00+00:00"
    assert entry.run.record == record
    assert (entry.run.dataset, entry.run.dataset_revision) == ("bigcode/bigcodebench-hard@v0.1.4", "c" * 40)
    assert (lab.store.root / "execution" / entry.run.artifacts["execution"]).is_dir()


def test_quarantined_tasks_that_count_are_remarked(lab):
    """A score over tasks whose own solution does not always pass is published, and says so."""
    lab.run(flagged=HARD[:3])
    [entry] = measured(lab).entries
    assert "3 of its tasks are in quarantine and count" in entry.remarks


def test_the_calibrated_score_is_the_one(lab):
    """A run that was also judged raw is shown by its calibrated score; one that was judged raw only is refused."""
    lab.run(passing=74, variants=("calibrated", "raw"))
    assert [entry.pass_at_1 for entry in measured(lab).entries] == [0.5]
    lab.run("other--main", variants=("raw",))
    [refusal] = measured(lab).refusals
    assert "no calibrated pass@1" in refusal


def test_the_latest_run_of_a_kind_stands(lab):
    """Runs of one model, setting, split and subset are one entry; another of either is one more."""
    lab.run(passing=10)
    lab.run(passing=20)
    lab.run(passing=30, split="instruct")
    lab.run(passing=40, config={"generation": {"sampling": {"temperature": 0.8}}})
    lab.run("acme--nova-70b--main", passing=50)
    lab.run("acme--nova-7b--v2", passing=60)
    assert sorted(round(148 * entry.pass_at_1) for entry in measured(lab).entries) == [20, 30, 40, 50, 60]


def test_a_refused_run_does_not_hide_an_earlier_one(lab):
    """The run before it stays, and the refusal is reported all the same."""
    lab.run(passing=10)
    refused = lab.run(passing=20, tasks=HARD[:5])
    found = measured(lab)
    assert [round(148 * entry.pass_at_1) for entry in found.entries] == [10]
    assert [refused in refusal for refusal in found.refusals] == [True]


def test_controls_are_no_models(lab):
    """The ground truths' own run is neither an entry nor a complaint; named, it is refused."""
    record = lab.run("oracle", source="oracle", passing=148)
    assert measured(lab) == ((), ())
    with pytest.raises(ArtifactError, match="oracle control"):
        measured(lab, runs=[record])


@pytest.mark.parametrize(
    ("given", "problem", "remedy"),
    [
        ({"tasks": HARD[:20]}, "20 of the 148 tasks of BigCodeBench hard only", "without ids"),
        ({"tasks": [*HARD[:147], "Mine/1"]}, "147 of the 148 tasks of BigCodeBench hard and 1 others", "whole subset"),
        ({"tasks": HARD, "subset": "full"}, "148 of the 1,140 tasks of BigCodeBench full", "whole subset"),
        ({"k": (5,), "samples": 5}, "no calibrated pass@1", "aggregation.k including 1"),
        ({"unjudged": 2}, "provisional, 2 of its samples were not judged", "run it again"),
        ({"excluded": HARD[:3]}, "leaves out 3 quarantined tasks", "execution.quarantine=flag"),
        ({"broken": 3}, "98.0 % of the ground truths pass", "--allow ground-truth"),
    ],
)
def test_what_is_refused(lab, given, problem, remedy):
    """One line: the run, what is wrong, what to do."""
    record = lab.run(**given)
    assert measured(lab).entries == ()
    [line] = measured(lab).refusals
    assert line.startswith(f"run {record} (acme/nova-7b · ")
    assert problem in line
    assert remedy in line
    assert "\n" not in line


def test_other_tests_are_refused_unless_allowed(lab):
    """A score over edited tests is no score of the benchmark: it is refused, or allowed and marked."""
    lab.run()
    [refusal] = measured(lab, allow=()).refusals
    assert re.search(r"the tests of 14\d tasks are not those of v0.1.4 \(.*…\): .* --allow tests", refusal)
    [entry] = measured(lab).entries
    assert len(entry.remarks) == 1
    assert "not those of v0.1.4" in entry.remarks[0]


@pytest.mark.slow
def test_a_poor_environment_can_be_allowed_and_is_marked(lab):
    """98 % of the ground truths must pass: 2 failing ones of 148 are fine, 3 need to be allowed."""
    lab.run(broken=2)
    assert measured(lab).refusals == ()
    lab.run("other--main", broken=3)
    found = measured(lab, allow=(*ALLOW, Allowance.ground_truth))
    assert found.refusals == ()
    remarks = {entry.model: " ".join(entry.remarks) for entry in found.entries}
    assert "ground truths" in remarks["other"]
    assert "ground truths" not in remarks["acme/nova-7b"]


def test_an_artifact_that_is_gone_refuses_the_run_only(lab):
    """A store that was tidied up still has a leaderboard of the rest."""
    lab.run()
    gone = lab.run("other--main")
    shutil.rmtree(lab.store.folder("aggregation", find_run(lab.store.root, gone).keys["aggregation"]))
    found = measured(lab)
    assert [entry.model for entry in found.entries] == ["acme/nova-7b"]
    assert ["run it again" in refusal for refusal in found.refusals] == [True]


def test_named_runs_only(lab):
    """A name takes that run; an unknown or refused one is an error, not an omission."""
    lab.run(passing=37)
    assert entry_of(find_run(lab.store.root, "latest"), allow=ALLOW).pass_at_1 == 0.25
    lab.run("other--main", passing=20)
    assert [entry.model for entry in measured(lab, runs=["other--main"]).entries] == ["other"]
    with pytest.raises(ArtifactError, match="no recorded run is called"):
        measured(lab, runs=["nobody"])
    lab.run("third--main", tasks=HARD[:1])
    with pytest.raises(ArtifactError, match="1 of the 148 tasks"):
        measured(lab, runs=["third--main"])


def test_imported_results_are_a_setting_of_their_own(lab):
    """The same samples judged elsewhere and here are two entries, and the file's ending is no part of the setting."""
    stem = "m--main--bigcodebench-hard-complete--vllm-0-1"
    for end in ("-sanitized_calibrated.jsonl.gz", ".jsonl", "-sanitized_calibrated_eval_results.json.gz"):
        lab.run(config={"samples": {"source": f"{stem}{end}"}}, tasks=HARD[:1], scored=False)
    here, unmarked, imported = (setting_of(run) for run in recorded_runs(lab.store.root))
    assert here == unmarked
    assert here.key != imported.key
    assert (here.text, imported.text) == ("vllm-0-1", "vllm-0-1, imported results")


def test_a_setting_is_what_can_change_the_score(lab):
    """Speed makes no other setting; the server, sampling, limits, checks and sanitizer do."""
    same = [
        {},
        {"generation": {"requests": {"concurrency": 3}}},
        {"execution": {"workers": 7}},
        {"dataset": {"offline": True}},
    ]
    other = [
        {"generation": {"n_samples": 5}},
        {"generation": {"sampling": {"max_tokens": 9000}}},
        {"generation": {"prompt": {"system": "Think."}}},
        {"execution": {"limits": {"time_seconds": 10}}},
        {"execution": {"reruns": 2}},
        {"execution": {"integrity": "off"}},
        {"execution": {"quarantine": "exclude"}},
        {"generation": {"unanswerable": "fail"}},
        {"generation": {"base_url": "http://127.0.0.1:1/v1"}},
        {"sanitizing": {"mode": "robust"}},
        {"sanitizing": {"safety_policy": "block"}},
        {"samples": {"source": "m--main--bigcodebench-hard-complete--vllm-0-1-sanitized_calibrated.jsonl.gz"}},
    ]
    for config in (*same, *other):
        lab.run(config=config, tasks=HARD[:1], scored=False)
    settings = [setting_of(run) for run in recorded_runs(lab.store.root)]
    assert len({setting.key for setting in settings[: len(same)]}) == 1
    assert len({setting.key for setting in settings}) == 1 + len(other)
    assert settings[0].text == "openai, temperature 0, 1 sample a task"
    assert "max_tokens 9000" in settings[len(same) + 1].text
    assert "system changed" in settings[len(same) + 2].text
    assert "time_seconds 10" in settings[len(same) + 3].text
    assert settings[-1].text == "vllm-0-1"


@pytest.mark.real_data
@pytest.mark.slow
def test_a_recorded_run_of_the_original_stands_beside_its_published_figure(lab, reference_data):
    """Qwen's 1,140 recorded verdicts on the real tasks need no allowance: 49.6, published 48.8."""
    tasks = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=["task_id", "test"]).to_pylist()
    [path] = (reference_data / "samples" / "qwen2.5-coder-7b-instruct").glob("*_eval_results.json.gz")
    verdicts = json.loads(gzip.decompress(path.read_bytes()))["eval"]
    ids = [task["task_id"] for task in tasks]
    failing = [number for number, task_id in enumerate(ids) if verdicts[task_id][0]["status"] != "pass"]
    lab.run(
        "Qwen2.5-Coder-7B-Instruct--main", tasks=ids, passing=1140, failing=failing, subset="full", broken=3,
        tests={task["task_id"]: task["test"] for task in tasks},
    )  # fmt: skip
    found = measured(lab, allow=())
    assert (found.refusals, [entry.remarks for entry in found.entries]) == ((), [()])
    ranking = next(iter(rankings([*published_entries(), *found.entries])))
    [rank] = [rank for rank in ranking.ranks if rank.entry.origin == "ours"]
    assert rank.entry.pass_at_1 == pytest.approx(0.4956140350877193, abs=1e-15)
    assert (rank.published, round(rank.difference_points, 1)) == (0.488, 0.8)


@pytest.mark.real_data
def test_an_edited_test_is_noticed(reference_data):
    """The real tasks are those of the benchmark; one blank line more in a test, and that task is named."""
    tasks = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=["task_id", "test"]).to_pylist()
    assert {task["task_id"] for task in tasks} == BIGCODEBENCH_IDS
    assert other_tests(tasks) == []
    tasks[7]["test"] += "\n"
    assert other_tests(tasks) == [tasks[7]["task_id"]]
