"""What a model's own page can show, read back by the hub's own client."""

import yaml
from huggingface_hub import ModelCardData, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from bigcodeflow.leaderboard.outputs import card


def test_eval_results_are_the_hubs_format(entry):
    """The hub's client reads them; the score is in percent, the dataset is pinned, the notes say how it was judged."""
    [found] = parse_eval_result_entries(yaml.safe_load(card(entry(pass_at_1=0.49561))))
    assert (found.dataset_id, found.task_id, found.value) == ("bigcode/bigcodebench", "complete", 49.56)
    assert (found.dataset_revision, found.date) == ("c" * 40, "2026-11-01T12:00:00Z")
    assert "95 % interval 47.0 to 53.0" in found.notes
    assert "openai, temperature 0" in found.notes


def test_only_the_benchmarks_own_dataset_is_named_with_its_commit(entry):
    """A file, or a copy, has no revision in the benchmark's repository; BigCodeBench-Hard is another repository."""
    run = {"record": "r", "dataset": "mine/copy@v0.1.4", "dataset_revision": "d" * 40, "artifacts": {}}
    [found] = parse_eval_result_entries(yaml.safe_load(card(entry(subset="hard", n_tasks=148, run=run))))
    assert (found.dataset_id, found.dataset_revision) == ("bigcode/bigcodebench-hard", None)


def test_the_model_index_is_the_hubs_format(entry):
    """Model, dataset and metric come back from the front matter as the hub's client reads it."""
    content = yaml.safe_load(card(entry(split="instruct"), "model-index"))
    name, [found] = model_index_to_eval_results(content["model-index"])
    assert name == "acme/nova-7b"
    assert (found.dataset_type, found.metric_type, found.metric_value) == ("bigcode/bigcodebench", "pass@1", 50.0)
    assert found.dataset_args == {"split": "instruct"}
    assert ModelCardData(**content, model_name=name).eval_results == [found]
