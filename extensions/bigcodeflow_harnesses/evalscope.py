"""Reader for evalscope: verdicts are in ``reviews/MODEL/BENCHMARK_SUBSET.jsonl``, answers in ``predictions/``."""

from pathlib import Path
from typing import Any

import yaml

from bigcodeflow.core.errors import SamplesError
from bigcodeflow_harnesses.samples import (
    Content,
    completion,
    content_of,
    first_row,
    inner,
    request_of,
    rows_of,
    sample_of,
)


def read(path: Path) -> Content | None:
    """Read a review file with its run's predictions and configuration; return None if the file has another format."""
    first, folder = first_row(path), path.absolute().parent.parent.parent
    model, name = path.absolute().parent.name, path.name
    if {"index", "model_output"} <= first.keys():
        reviews = folder / "reviews" / model / name
        raise SamplesError(f"{path}: holds answers without verdicts: import the file with the verdicts, {reviews}")
    if not {"index", "sample_score"} <= first.keys():
        return None
    predictions = folder / "predictions" / model / name
    answers = {row["index"]: row for _, row in rows_of(predictions)} if predictions.is_file() else {}
    config = _config(folder)
    benchmark = next((one for one in config.get("datasets") or () if name.startswith(f"{one}_")), "")
    extra = inner(config, "dataset_args", benchmark, "extra_params") or {}
    told = {
        "date": folder.name.replace("_", "T"),
        "model": config.get("model_id") or model,
        "split": extra.get("split"),
        "execution.limits.time_seconds": inner(first, "sample_score", "score", "metadata", "timeout"),
        **request_of(config.get("generation_config")),
    }
    samples = (_sample(row, answers.get(row.get("index"))) for _, row in rows_of(path))
    # BigCodeBench's programs are executed behind code_prompt, which the reviews lack, unless 'calibrate' is off.
    lacks_setup = name.startswith("bigcodebench") and bool(extra.get("calibrate", True))
    return content_of(path, "evalscope", samples, told, lacks_setup=lacks_setup)


def _config(folder: Path) -> Content:
    """Return the settings of the latest run in an output folder; empty if the folder has no settings."""
    paths = sorted((folder / "configs").glob("task_config*.yaml"))
    try:
        content = yaml.safe_load(paths[-1].read_text(encoding="utf-8")) if paths else {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SamplesError(f"{paths[-1]}: cannot be read ({error}): correct the file, or move it away") from None
    return content if isinstance(content, dict) else {}


def _sample(row: Content, prediction: Any) -> Content:
    score = inner(row, "sample_score", "score") or {}
    task_id = inner(score, "metadata", "task_id") or inner(row, "sample_score", "sample_metadata", "task_id")
    values = score.get("value") or {}
    value = values.get(score.get("main_score_name"), next(iter(values.values()), None))
    status = None if value is None else "pass" if value == 1 else "fail"
    result, details = inner(score, "metadata", "execution_result"), {}
    if status == "fail" and inner(result, "status") == "timeout":
        status = "timeout"
    elif status == "fail" and not inner(result, "status") and (why := inner(result or score.get("metadata"), "error")):
        status, details = "infra_error", {"ALL": f"its evaluator executed nothing: {why}"}
    told, answer = score.get("prediction"), completion(inner(prediction, "model_output"))
    return sample_of(task_id, score.get("extracted_prediction") or told, status, answer or told, details)
