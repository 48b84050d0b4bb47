"""Export of a run as a log file of Inspect (inspect-ai), which Inspect's library and viewer read: ``.eval``, version 2.

The file is a zip archive of JSON: ``header.json`` with the evaluation, its scores and token usage, ``samples/`` with
one file for each sample and epoch, ``summaries.json`` with shortened samples, and ``_journal/start.json`` with the
facts known at the start. The export works if Inspect is not installed.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import bigcodeflow
from bigcodeflow.core.display_text import markdown_block, markdown_text
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.results.exports import failure_details
from bigcodeflow.results.formatting import plain
from bigcodeflow.results.inspection.samples import SampleDetail
from bigcodeflow_exports.exported_run import ExportedRun, messages_of, tokens_of

_VERSION = 2
_SCORER = "verdict"
#: Length of a text in the summaries, in characters; Inspect cuts them in the same way.
_SUMMARY_CHARACTERS = 1_000
_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "refusal": "content_filter"}
#: Generation settings that Inspect has under the same name and accepts with any value.
_GENERATE_CONFIG = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_SAMPLE_FACTS = ("entry_point", "libs", "domains", "hard", "test", "code_prompt", "ground_truth_status")
_ANSWER_FACTS = ("provider", "finish_reason", "seed", "cost_usd", "latency_seconds")
_VERDICT_FACTS = (
    "status", "failure_kind", "tests_expected", "tests_run", "attempts", "flaky", "integrity", "backend",
    "environment_sha", "exit", "stdout", "stderr", "blocked", "omitted_setup", "placeholder", "truncated", "shortened",
)  # fmt: skip


def write_inspect_log(run: ExportedRun, folder: Path, *, samples: bool = True) -> Path:
    """Write the run's log into a folder and return its path; the same run always gives the same bytes.

    Sample indexes become epochs, starting at 1. A sample that was not judged has an error and no score. Without
    ``samples`` the log holds the scores only.
    """
    started = run.recorded.started_at
    name = f"{started:%Y-%m-%dT%H-%M-%S+00-00}_{run.task}_{_identifier(run, 'task')}.eval"
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        start = {"version": _VERSION, "eval": _evaluation(run), "plan": _plan(run)}
        _add(archive, "_journal/start.json", start, started)
        summaries: list[dict[str, Any]] = []
        for sample in run.samples():
            found = _sample(run, sample)
            summaries.append(_summary(found))
            if samples:
                _add(archive, f"samples/{found['id']}_epoch_{found['epoch']}.json", found, started)
        if not summaries:
            raise ArtifactError(
                f"run {run.recorded.record}: no sample of variant {run.variant} was executed: export another variant"
            )
        if samples:
            _add(archive, "summaries.json", summaries, started)
        finished = run.recorded.finished_at or started
        stats = {
            "started_at": started.isoformat(),
            "completed_at": finished.astimezone(UTC).isoformat(),
            "model_usage": {_model(run): tokens_of(run.usage)} if "completion_tokens" in run.usage else {},
        }
        header = {**start, "status": "success", "results": _results(run, summaries), "stats": stats}
        _add(archive, "header.json", header, started)
    return write_atomically(folder / name, content.getvalue())


def _add(archive: ZipFile, name: str, value: Any, moment: datetime) -> None:
    info = ZipInfo(name, date_time=moment.timetuple()[:6])
    text = json.dumps(_without_nulls(plain(value)), allow_nan=False)
    archive.writestr(info, text, compress_type=ZIP_DEFLATED, compresslevel=5)


def _without_nulls(value: Any) -> Any:
    """Return a JSON value without the null fields of its objects at every level, as Inspect writes it."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _identifier(run: ExportedRun, *of: str) -> str:
    """Return 22 hex digits, as Inspect's ids have; they depend only on the run and ``of``, which names the object."""
    text = "\n".join((run.recorded.record, run.variant, run.sanitizer, *of))
    return hashlib.sha256(text.encode()).hexdigest()[:22]


def _evaluation(run: ExportedRun) -> dict[str, Any]:
    recorded, dataset = run.recorded, run.dataset
    packages = {} if recorded.imported else {"bigcodeflow": bigcodeflow.__version__}
    parameters = run.parameters
    return {
        "eval_id": _identifier(run, "evaluation"),
        "run_id": _identifier(run, "run"),
        "task_id": _identifier(run, "task"),
        "created": recorded.started_at.isoformat(),
        "task": run.task,
        "task_version": dataset.dataset.partition("@")[2] or 0,
        "task_args": {"split": recorded.split, "subset": recorded.subset, "variant": run.variant},
        "tags": ["imported"] if recorded.imported else None,
        "dataset": {"name": run.benchmark, "location": dataset.dataset, "shuffled": False},
        "model": _model(run),
        "model_generate_config": _generate_config(parameters),
        "model_args": {"revision": run.model.revision or None},
        "config": {"epochs": parameters.get("n_samples")},
        "packages": packages,
        "metadata": {
            **run.facts,
            "run": recorded.run,
            "generation": parameters or None,
            "limits": run.limits or None,
            "exported_by": f"bigcodeflow {bigcodeflow.__version__}",
        },
    }


def _model(run: ExportedRun) -> str:
    """Return the model's name in Inspect's form: PROVIDER/MODEL."""
    model = run.model
    known = not model.provider or model.id.startswith(f"{model.provider}/")
    return model.id if known else f"{model.provider}/{model.id}"


def _generate_config(parameters: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: parameters[name] for name in _GENERATE_CONFIG if name in parameters}
    stop = parameters.get("stop")
    return found | ({"stop_seqs": [*stop]} if stop else {})


def _plan(run: ExportedRun) -> dict[str, Any]:
    steps = []
    if run.model.provider:
        steps.append({"solver": "bigcodeflow/generation", "params": run.parameters, "params_passed": {}})
    if not run.recorded.imported:
        mode = {"mode": run.sanitizer}
        steps.append({"solver": "bigcodeflow/sanitizing", "params": mode, "params_passed": {}})
    return {"name": "bigcodeflow", "steps": steps, "config": _generate_config(run.parameters)}


def _results(run: ExportedRun, summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    judged = sum(summary["scores"] is not None for summary in summaries)
    metrics: dict[str, Any] = {}
    for k, row in run.pass_at_k.items():
        bounds = {name: row[name] for name in ("ci_low", "ci_high", "n_tasks", "n_samples")}
        metrics[f"pass@{k}"] = _metric(f"pass@{k}", row["value"], bounds)
        if row["standard_error"] is not None:
            metrics[f"pass@{k}_stderr"] = _metric(f"pass@{k}_stderr", row["standard_error"])
    if "ground_truth_rate" in run.counts:
        metrics["ground_truth_rate"] = _metric("ground_truth_rate", run.counts["ground_truth_rate"])
    score = {
        "name": _SCORER,
        "scorer": _SCORER,
        "scored_samples": judged,
        "unscored_samples": len(summaries) - judged,
        "params": {"variant": run.variant, "sanitizer": run.facts.get("sanitizer")},
        "metrics": metrics,
    }
    return {"total_samples": len(summaries), "completed_samples": judged, "scores": [score], "metadata": run.counts}


def _metric(name: str, value: float, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "params": {}, "metadata": metadata}


def _sample(run: ExportedRun, sample: SampleDetail) -> dict[str, Any]:
    row = sample.row
    usage = {_model(run): tokens_of(row)} if row["completion_tokens"] is not None else {}
    answer = [] if sample.answer is None else [_answer(run, sample)]
    facts = {name: row[name] for name in (*_SAMPLE_FACTS, *_ANSWER_FACTS)}
    facts |= {"sample_index": row["sample_index"], "solution": row["solution"]}
    return {
        "id": row["task_id"],
        "epoch": row["sample_index"] + 1,
        "input": sample.prompt,
        "target": row["canonical_solution"],
        "messages": [*({**turn, "source": "input"} for turn in messages_of(sample)), *answer],
        "output": _output(run, sample, answer),
        "scores": {_SCORER: _score(sample)} if sample.passed is not None else None,
        "metadata": facts,
        "store": {},
        "events": [],
        "model_usage": usage,
        "uuid": _identifier(run, row["task_id"], str(row["sample_index"])),
        "error": _error(sample.row) if sample.passed is None else None,
        "attachments": {},
    }


def _answer(run: ExportedRun, sample: SampleDetail) -> dict[str, Any]:
    """Return the assistant's message, with the answer and, if it is known, the reasoning."""
    content: Any = sample.answer
    if sample.row["reasoning"]:
        thought = {"type": "reasoning", "reasoning": sample.row["reasoning"], "redacted": False}
        content = [thought, {"type": "text", "text": sample.answer}]
    # A model writes an answer; recorded answers have no model that Inspect knows.
    source = "generate" if run.model.provider else None
    return {"role": "assistant", "content": content, "source": source, "model": sample.row["served_model"]}


def _output(run: ExportedRun, sample: SampleDetail, answer: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row = sample.row
    reason = _STOP_REASONS.get(row["finish_reason"] or "", "unknown")
    return {
        "model": row["served_model"] or _model(run),
        "choices": [{"message": message, "stop_reason": reason} for message in answer],
        "completion": sample.answer or "",
        "usage": tokens_of(row) if row["completion_tokens"] is not None else None,
        "time": row["latency_seconds"],
        "error": row["error"],
    }


def _score(sample: SampleDetail) -> dict[str, Any]:
    row = sample.row
    facts = {name: row[name] for name in _VERDICT_FACTS if row[name] not in ("", False)} | sample.measurements
    facts["tests"] = {test["name"]: test["outcome"] for test in row["tests"] or ()}
    # Code blocks of Markdown: Inspect's viewer would join the lines of plain text.
    blocks = [markdown_block(sample.program, "python")] if sample.program is not None else []
    for test, trace in failure_details(row).items():
        blocks.append(f"**{markdown_text(test)}**\n\n{markdown_block(trace)}")
    return {
        "value": "C" if sample.passed else "I",
        "answer": sample.program,
        "explanation": "\n\n".join(blocks),
        "metadata": facts,
    }


def _error(row: Mapping[str, Any]) -> dict[str, str]:
    """Return Inspect's error object for a sample that was not judged: its message states the reason."""
    text = f"not judged, for a reason outside of the sample: {row['exit']}"
    return {"message": text, "traceback": row["module_trace"], "traceback_ansi": row["module_trace"]}


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Make a sample's entry of summaries.json: texts are cut, and facts that are lists or dicts are left out."""
    scores = sample["scores"]
    if scores is not None:
        scores = {name: _thin(score) | {"metadata": _thin(score["metadata"])} for name, score in scores.items()}
    return {
        **{name: sample[name] for name in ("id", "epoch", "model_usage", "uuid")},
        "input": sample["input"][:_SUMMARY_CHARACTERS],
        "target": sample["target"][:_SUMMARY_CHARACTERS],
        "metadata": _thin(sample["metadata"]),
        "scores": scores,
        "error": sample["error"]["message"] if sample["error"] else None,
        "completed": True,
        "message_count": len(sample["messages"]),
    }


def _thin(facts: Mapping[str, Any]) -> dict[str, Any]:
    plain_facts = {name: value for name, value in facts.items() if not isinstance(value, list | dict)}
    return {
        name: value[:_SUMMARY_CHARACTERS] if isinstance(value, str) else value for name, value in plain_facts.items()
    }
