"""Reader of evalscope: ``reviews/MODEL/BENCHMARK_SUBSET.jsonl``; ``predictions`` has the answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bigcodeflow.core.errors import SamplesError
from bigcodeflow.importing.reading import ResultsFile
from bigcodeflow_harnesses.samples import Sample, completion, first_row, inner, results_of, rows_of


def read(path: Path) -> ResultsFile | None:
    """Read a file of reviews, or the reviews that belong to a file of predictions; None for another file."""
    keys = first_row(path).keys()
    if "index" not in keys or not {"sample_score", "model_output"} & keys:
        return None
    folder, model = path.absolute().parents[2], path.absolute().parent.name
    reviews, predictions = (folder / part / model / path.name for part in ("reviews", "predictions"))
    reviews = path if "sample_score" in keys else reviews
    if not reviews.is_file():
        raise SamplesError(f"{path}: holds answers without verdicts, which belong into {reviews}: import that file")
    answers = {row["index"]: row for _, row in rows_of(predictions)} if predictions.is_file() else {}
    rows, config = rows_of(reviews), _config(folder)
    name = next((one for one in config.get("datasets") or () if path.stem.startswith(f"{one}_")), "")
    extra = inner(config, "dataset_args", name, "extra_params") or {}
    return results_of(
        reviews,
        "evalscope",
        (_sample(place, row, answers.get(row.get("index"))) for place, row in rows),
        date=folder.name.replace("_", "T"),
        model=config.get("model_id") or model,
        request=config.get("generation_config"),
        stated={"split": extra.get("split")},
        settings={"execution.limits.time_seconds": inner(_score(rows[0].values), "metadata", "timeout")},
        # BigCodeBench's programs are executed behind code_prompt, which the reviews lack, unless 'calibrate' is off.
        lacks_setup=path.stem.startswith("bigcodebench") and bool(extra.get("calibrate", True)),
    )


def _config(folder: Path) -> Mapping[str, Any]:
    """Return the settings of the latest run in a folder of outputs; empty if they are not there."""
    paths = sorted((folder / "configs").glob("task_config*.yaml"))
    try:
        content = yaml.safe_load(paths[-1].read_text(encoding="utf-8")) if paths else {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SamplesError(f"{paths[-1]}: cannot be read ({error}): correct it or move it away") from None
    return content if isinstance(content, dict) else {}


def _score(row: Mapping[str, Any]) -> dict[str, Any]:
    return inner(row.get("sample_score"), "score") or {}


def _sample(place: str, row: Mapping[str, Any], prediction: Any) -> Sample:
    score = _score(row)
    task_id = inner(score, "metadata", "task_id") or inner(row.get("sample_score"), "sample_metadata", "task_id")
    values = score.get("value") or {}
    value = values.get(score.get("main_score_name"), next(iter(values.values()), None))
    status = None if value is None else "pass" if value == 1 else "fail"
    if status == "fail" and inner(score, "metadata", "execution_result", "status") == "timeout":
        status = "timeout"
    program = score.get("extracted_prediction") or score.get("prediction")
    return Sample(
        place, task_id, program, status, completion(inner(prediction, "model_output")) or score.get("prediction")
    )
