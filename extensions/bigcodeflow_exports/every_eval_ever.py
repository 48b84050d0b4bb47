"""Export of a run as files of Every Eval Ever: a JSON file of scores and their origin, and a JSON line for each sample.

Paths are those of the project's datastore: ``data/{benchmark}/{developer}/{model}/{uuid}.json`` and
``…_samples.jsonl``. The format's own package, every-eval-ever, checks the files in the tests and need not be installed.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import bigcodeflow
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.formatting import json_text
from bigcodeflow.results.inspection.samples import SampleDetail
from bigcodeflow.results.models import Row
from bigcodeflow_exports.exported_run import ExportedRun, messages_of, tokens_of

Relationship = Literal["first_party", "third_party", "collaborative", "other"]

_SCHEMA_VERSION = "0.2.2"
_NOT_PORTABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
#: Generation settings for which the schema has a field.
_GENERATION_ARGUMENTS = ("temperature", "top_p", "top_k", "max_tokens")
_SAMPLE_FACTS = ("sample_index", "status", "failure_kind", "ground_truth_status", "finish_reason", "backend", "hard")


class Evaluator(NamedTuple):
    """Person or organisation that ran an evaluation."""

    organization: str = ""
    """Name of the organisation; empty if unknown."""
    relationship: Relationship = "other"
    """Relationship of the evaluator to the model's developer."""


_UNKNOWN_EVALUATOR = Evaluator()


def write_every_eval_ever(
    run: ExportedRun,
    folder: Path,
    *,
    evaluator: Evaluator = _UNKNOWN_EVALUATOR,
    samples: bool = True,
    now: datetime | None = None,
) -> list[Path]:
    """Write the run's files below a folder and return their paths; files of an earlier export are replaced.

    Samples that were not judged get no line. A run without any pass@k gets no result and no sample lines.

    Args:
        run: recorded run, as `exported_run` opens it.
        folder: folder in which ``data/`` is created.
        evaluator: name of the evaluator and its relationship to the developer.
        samples: write prompts, answers and programs too.
        now: time of the export; None takes the current time.
    """
    log = _log(run, evaluator, now or datetime.now(UTC))
    # A UUID, as the format requires; the same run always gets the same one, so that it is not stored twice.
    name = str(uuid.UUID(bytes=hashlib.sha256(log["evaluation_id"].encode()).digest()[:16], version=4))
    developer, _, model = _model_id(run).partition("/")
    # Folder names that are valid on every operating system.
    parts = (_NOT_PORTABLE.sub("_", part).rstrip(". ") or "_" for part in (run.benchmark, developer, model))
    place = Path("data", *parts)
    written = []
    if samples and log["evaluation_results"]:
        lines = [json.dumps(line) + "\n" for line in _lines(run, log)]
        content = "".join(lines).encode()
        companion = place / f"{name}_samples.jsonl"
        log["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": companion.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(content).hexdigest(),
            "total_rows": len(lines),
        }
        written.append(write_atomically(folder / companion, content))
    return [write_atomically(folder / place / f"{name}.json", (json_text(log) + "\n").encode()), *written]


def _log(run: ExportedRun, evaluator: Evaluator, now: datetime) -> dict[str, Any]:
    recorded = run.recorded
    evaluated = recorded.finished_at or recorded.started_at
    model_id = _model_id(run)
    evaluation_id = f"{run.task}/{model_id}/{recorded.started_at.timestamp():.6f}"
    if run.variant != "calibrated":
        evaluation_id += f"-{run.variant}"
    details = {"exported_by": f"bigcodeflow {bigcodeflow.__version__}", **run.facts}
    library = {"name": "bigcodeflow", "version": bigcodeflow.__version__}
    if recorded.imported:  # judged by the original's evaluator; result files do not state its version
        library = {"name": "bigcodebench", "version": UNKNOWN}
    return {
        "schema_version": _SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "evaluation_timestamp": evaluated.isoformat(),
        "retrieved_timestamp": f"{now.timestamp():.6f}",
        "source_metadata": {
            "source_name": "bigcodeflow",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization or UNKNOWN,
            "evaluator_relationship": evaluator.relationship,
            "additional_details": _texts(details),
        },
        "eval_library": library,
        "model_info": _model_info(run),
        "evaluation_results": [_result(run, evaluation_id, k, row) for k, row in run.pass_at_k.items()],
    }


def _model_id(run: ExportedRun) -> str:
    """Return DEVELOPER/MODEL, or unknown/MODEL if the developer is not known."""
    return run.model.id if "/" in run.model.id else f"{UNKNOWN}/{run.model.id}"


def _model_info(run: ExportedRun) -> dict[str, Any]:
    model = run.model
    details = {"deployment_type": model.deployment, "model_availability": UNKNOWN, "revision": model.revision}
    found: dict[str, Any] = {
        "name": model.name,
        "id": _model_id(run),
        "developer": model.developer or UNKNOWN,
        "additional_details": {name: text for name, text in details.items() if text},
    }
    if model.deployment == "self_deployed":
        found["inference_engine"] = {"name": model.provider, "version": UNKNOWN}
    elif model.deployment == "externally_managed":
        found["inference_platform"] = model.provider
    return found


def _result(run: ExportedRun, evaluation_id: str, k: int, row: Row) -> dict[str, Any]:
    description = (
        f"pass@{k} on {row['n_tasks']} tasks of {run.benchmark}, {run.recorded.split} prompts, {run.variant} programs: "
        "a task is solved where every unittest of it passes"
    )
    return {
        "evaluation_result_id": f"{evaluation_id}#pass@{k}",
        "evaluation_name": run.task.replace("-", "_"),
        "source_data": _source_data(run),
        "metric_config": {
            "evaluation_description": description,
            "metric_id": "pass_at_k",
            "metric_name": f"pass@{k}",
            "metric_kind": "pass_rate",
            "metric_unit": "proportion",
            "metric_parameters": {"k": k},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": row["value"],
            "details": _texts({**run.counts, "n_tasks": row["n_tasks"], "n_samples": row["n_samples"]}),
            "uncertainty": _uncertainty(row),
        },
        "generation_config": _generation_config(run),
    }


def _source_data(run: ExportedRun) -> dict[str, Any]:
    dataset = run.dataset
    repository, _, version = dataset.dataset.partition("@")
    source = {"source_type": "hf_dataset", "hf_repo": repository} if version else {"source_type": "other"}
    details = _texts({"version": version, "revision": dataset.dataset_revision or ""})
    return {"dataset_name": run.benchmark, **source, "additional_details": details}


def _uncertainty(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": row["n_tasks"]}
    if row["standard_error"] is not None:
        found["standard_error"] = {"value": row["standard_error"], "method": "across tasks"}
    if row["ci_low"] is not None and row["ci_high"] is not None:
        bounds = {"lower": row["ci_low"], "upper": row["ci_high"], "confidence_level": 0.95}
        found["confidence_interval"] = {**bounds, "method": "over tasks, see bigcodeflow's docs/statistics.md"}
    return found


def _generation_config(run: ExportedRun) -> dict[str, Any]:
    parameters = run.parameters
    arguments: dict[str, Any] = {
        name: parameters[name] for name in _GENERATION_ARGUMENTS if parameters.get(name) is not None
    }
    if "time_seconds" in run.limits:
        arguments["eval_limits"] = {"time_limit": int(run.limits["time_seconds"])}
    if run.backends:
        environment = run.facts.get("environment")
        arguments["sandbox"] = {"type": run.backends[0], **({"config": environment} if environment else {})}
    rest = {name: value for name, value in parameters.items() if name not in arguments}
    rest |= {f"limits.{name}": value for name, value in run.limits.items()}
    return {"generation_args": arguments, "additional_details": _texts(rest)}


def _lines(run: ExportedRun, log: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a JSON object for each judged sample; each refers to the first result (the smallest k of pass@k)."""
    result = log["evaluation_results"][0]
    common = {
        "schema_version": _SCHEMA_VERSION,
        "evaluation_id": log["evaluation_id"],
        "model_id": log["model_info"]["id"],
        "evaluation_name": result["evaluation_name"],
        "evaluation_result_id": result["evaluation_result_id"],
    }
    for sample in run.samples():
        if sample.passed is not None:
            yield common | _line(run, sample, passed=sample.passed)


def _line(run: ExportedRun, sample: SampleDetail, *, passed: bool) -> dict[str, Any]:
    row = sample.row
    reference = [row["canonical_solution"]]
    asked = {"raw": sample.prompt, "reference": reference}
    identity = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    formatted = "\n\n".join(turn["content"] for turn in messages_of(sample))
    facts = {name: row[name] for name in _SAMPLE_FACTS} | sample.measurements
    counted = row["prompt_tokens"] is not None and row["completion_tokens"] is not None
    latency = row["latency_seconds"]
    return {
        "sample_id": row["task_id"],
        "sample_hash": hashlib.sha256(identity.encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": asked | ({"formatted": formatted} if formatted != sample.prompt else {}),
        "output": {
            "raw": [] if sample.answer is None else [sample.answer],
            "reasoning_trace": [row["reasoning"]] if row["reasoning"] else None,
        },
        "answer_attribution": [_attribution(run, sample)] if row["solution"] is not None else [],
        "evaluation": {"score": float(passed), "is_correct": passed},
        "token_usage": tokens_of(row) if counted else None,
        "performance": None if latency is None else {"latency_ms": 1000 * latency},
        "error": None if passed else row["failure_kind"] or row["status"],
        "metadata": _texts(facts),
    }


def _attribution(run: ExportedRun, sample: SampleDetail) -> dict[str, Any]:
    return {
        "turn_idx": 0,
        # For imported results the program may be known without the answer.
        "source": "output.raw" if sample.answer is not None else "program of the result file",
        "extracted_value": sample.row["solution"],
        "extraction_method": f"sanitizer {run.sanitizer}",
        "is_terminal": True,
    }


def _texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Convert values to texts, as the format's ``additional_details`` require; leave out unknown and empty values."""
    known = {name: value for name, value in facts.items() if value is not None and value not in ("", (), [], {})}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in known.items()}
