"""What a model's own page can show of an entry: the hub's evaluation results, or a model card's model-index."""

from typing import Any, Literal

import yaml

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.leaderboard.benchmark import HUB_DATASETS
from bigcodeflow.results.leaderboard.entries import Entry
from bigcodeflow.results.leaderboard.wording import interval_of, score

CardFormat = Literal["eval-results", "model-index"]


def card(entry: Entry, form: CardFormat = "eval-results") -> str:
    """YAML for the model's repository, with pass@1 in percent.

    'eval-results' is the content of ``.eval_results/bigcodebench.yaml``; 'model-index' belongs into the front matter of
    the model's README.md.
    """
    content: Any = _model_index(entry) if form == "model-index" else _eval_results(entry)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)


def _eval_results(entry: Entry) -> list[dict[str, Any]]:
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    found = EvalResultEntry(
        dataset_id=HUB_DATASETS[entry.subset],
        task_id=entry.split,
        value=_percent(entry),
        dataset_revision=_revision(entry),
        date=_date(entry),
        notes=_notes(entry),
    )
    return eval_result_entries_to_yaml([found])


def _model_index(entry: Entry) -> dict[str, Any]:
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    found = EvalResult(
        task_type="text-generation",
        task_name="Code generation",
        dataset_type=HUB_DATASETS[entry.subset],
        dataset_name=f"BigCodeBench {entry.subset}, {entry.split}",
        dataset_args={"split": entry.split},
        dataset_revision=_revision(entry),
        metric_type="pass@1",
        metric_name=f"calibrated pass@1, 95 % interval {interval_of(entry)}",
        metric_value=_percent(entry),
    )
    return {"model-index": eval_results_to_model_index(entry.model, [found])}


def _percent(entry: Entry) -> float:
    return round(100 * entry.pass_at_1, 2)


def _revision(entry: Entry) -> str | None:
    """Commit of the dataset, where the tasks came from the very one that is named."""
    run = entry.run
    named = run is not None and run.dataset.partition("@")[0] == HUB_DATASETS[entry.subset]
    return run.dataset_revision if run and named else None


def _date(entry: Entry) -> str | None:
    return entry.evaluated_at.strftime("%Y-%m-%dT%H:%M:%SZ") if entry.evaluated_at else None


def _notes(entry: Entry) -> str:
    told = [
        "calibrated pass@1",
        f"95 % interval {interval_of(entry)}",
        entry.setting,
        f"sanitizer {entry.sanitizer or UNKNOWN}",
        f"ground truths {UNKNOWN if entry.ground_truth_rate is None else score(entry.ground_truth_rate) + ' %'}",
        f"environment {(entry.environment_sha or UNKNOWN)[:12]}",
        entry.source,
        *entry.remarks,
    ]
    return "; ".join(told)
