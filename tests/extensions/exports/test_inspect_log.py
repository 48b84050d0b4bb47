"""`.eval` logs: what stands in them, and what the real inspect-ai and its viewer read."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow_exports.exported_run import exported_run
from bigcodeflow_exports.inspect_log import write_inspect_log

from .conftest import HOSTILE, TRACE, read_by, serving


def written(run: RecordedRun, folder: Path, **options: Any) -> Path:
    with exported_run(run) as found:
        return write_inspect_log(found, folder, **options)


def content(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_a_log_holds_the_run_its_scores_and_every_sample(model_run: RecordedRun, tmp_path: Path) -> None:
    """One file a sample and epoch, summaries in the same order, and a header with model, settings and pass@k."""
    path = written(model_run, tmp_path / "logs")
    assert path.name.startswith("2026-11-21T10-00-00+00-00_bigcodebench-complete_")
    found = content(path)
    names = [f"samples/BigCodeBench/{number}_epoch_{epoch}.json" for number in range(3) for epoch in (1, 2)]
    assert [name for name in found if name.startswith("samples/")] == names
    assert [(one["id"], one["epoch"]) for one in found["summaries.json"]] == [
        (f"BigCodeBench/{number}", epoch) for number in range(3) for epoch in (1, 2)
    ]
    header = found["header.json"]
    assert (header["version"], header["status"], header["eval"]["model"]) == (2, "success", "openai/nova-7b")
    assert header["eval"]["model_generate_config"] == {"temperature": 0.2, "max_tokens": 1280}
    assert header["eval"]["metadata"]["dataset_revision"] == "c" * 40
    [score] = header["results"]["scores"]
    assert (score["scored_samples"], score["unscored_samples"]) == (5, 1)
    assert score["metrics"]["pass@1"]["value"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert {"pass@1", "ground_truth_rate"} <= score["metrics"].keys()
    usage = header["stats"]["model_usage"]["openai/nova-7b"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (600, 135)


def test_a_sample_has_what_was_asked_answered_executed_and_found(model_run: RecordedRun, tmp_path: Path) -> None:
    """Prompt, turns as sent, answer with its reasoning, program, verdict, and why it failed."""
    found = content(written(model_run, tmp_path))
    passed = found["samples/BigCodeBench/0_epoch_1.json"]
    assert passed["input"] == "def task_func(): # one\n"
    assert [turn["role"] for turn in passed["messages"]] == ["system", "user", "assistant"]
    assert [part["type"] for part in passed["messages"][-1]["content"]] == ["reasoning", "text"]
    assert passed["output"]["completion"] == "```python\nsolution 0\n```"
    assert passed["scores"]["verdict"]["value"] == "C"
    assert passed["scores"]["verdict"]["answer"].endswith("solution 0")
    failed = found["samples/BigCodeBench/0_epoch_2.json"]["scores"]["verdict"]
    assert (failed["value"], failed["metadata"]["failure_kind"]) == ("I", "assertion")
    program, _, failure = failed["explanation"].partition("\n\n**test")
    assert program.startswith("```python\n")
    assert TRACE.strip() in failure
    assert found["samples/BigCodeBench/1_epoch_1.json"]["output"]["choices"][0]["stop_reason"] == "max_tokens"


def test_what_was_not_judged_has_an_error_and_no_score(model_run: RecordedRun, tmp_path: Path) -> None:
    """A fail there would be a wrong score of the model."""
    found = content(written(model_run, tmp_path))
    sample = found["samples/BigCodeBench/2_epoch_2.json"]
    assert "scores" not in sample
    assert "worker lost" in sample["error"]["message"]
    assert "worker lost" in found["summaries.json"][-1]["error"]


def test_an_imported_run_says_only_what_is_known(imported_run: RecordedRun, tmp_path: Path) -> None:
    """No answer, no times, no ground truths and no version of ours; the programs and verdicts are there."""
    found = content(written(imported_run, tmp_path))
    header, sample = found["header.json"], found["samples/BigCodeBench/0_epoch_1.json"]
    assert (header["eval"]["model"], header["eval"]["tags"]) == ("acme/Old-7B", ["imported"])
    assert header["eval"]["packages"] == {}
    assert header["plan"]["steps"] == []
    assert header["eval"]["model_generate_config"] == {"temperature": 0.0}
    assert "sanitizer" not in header["eval"]["metadata"]
    assert sample["output"]["choices"] == []
    assert [turn["role"] for turn in sample["messages"]] == ["user"]
    assert sample["input"] == "Write one."
    assert sample["scores"]["verdict"]["answer"].endswith("solution 0")
    assert (
        not {"wall_seconds", "ground_truth_status"}
        & (sample["scores"]["verdict"]["metadata"] | sample["metadata"]).keys()
    )


def test_the_same_run_gives_the_same_bytes_and_scores_alone_no_sample(model_run: RecordedRun, tmp_path: Path) -> None:
    """A log that is written again replaces itself."""
    first = written(model_run, tmp_path).read_bytes()
    assert written(model_run, tmp_path).read_bytes() == first
    assert len([*tmp_path.glob("*.eval")]) == 1
    assert sorted(content(written(model_run, tmp_path, samples=False))) == ["_journal/start.json", "header.json"]


def test_a_variant_that_the_run_lacks_names_those_that_it_has(model_run: RecordedRun) -> None:
    """The message names variant and sanitizer."""
    with (
        pytest.raises(ArtifactError, match=r"no verdicts of variant raw: choose from calibrated \(parity\)"),
        exported_run(model_run, "raw"),
    ):
        pass


_READ = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries, list_eval_logs
path = sys.argv[1]
log = read_eval_log(path)
header = read_eval_log(path, header_only=True)
sample = read_eval_log_sample(path, "BigCodeBench/0", epoch=1)
summaries = read_eval_log_sample_summaries(path)
print(json.dumps({
    "status": log.status, "model": log.eval.model, "task": header.eval.task, "created": log.eval.created,
    "metrics": {name: one.value for name, one in log.results.scores[0].metrics.items()},
    "samples": [[one.id, one.epoch, one.scores["verdict"].value if one.scores else None] for one in log.samples],
    "errors": [one.error.message for one in log.samples if one.error],
    "hostile": [one.scores["verdict"].answer for one in log.samples if one.id == "BigCodeBench/2" and one.scores],
    "completion": sample.output.completion, "text": sample.messages[-1].text, "input": sample.input,
    "usage": {name: one.model_dump() for name, one in log.stats.model_usage.items()},
    "summaries": [[one.id, one.epoch] for one in summaries], "listed": len(list_eval_logs(".")),
}))
"""


@pytest.mark.slow
def test_the_real_inspect_reads_the_log(model_run: RecordedRun, tmp_path: Path, readers: InstalledEnvironment) -> None:
    """Header, samples, summaries and scores come back through inspect-ai's own functions."""
    path = written(model_run, tmp_path / "logs")
    found = read_by(readers, _READ, path, cwd=path.parent)
    assert (found["status"], found["model"], found["task"]) == ("success", "openai/nova-7b", "bigcodebench-complete")
    assert found["metrics"]["pass@1"] == pytest.approx(1 / 3)
    scores = {(id_.rpartition("/")[2], epoch): value for id_, epoch, value in found["samples"]}
    assert scores == {("0", 1): "C", ("0", 2): "I", ("1", 1): "I", ("1", 2): "C", ("2", 1): "I", ("2", 2): None}
    assert len(found["errors"]) == 1
    assert [answer.endswith(HOSTILE) for answer in found["hostile"]] == [True]
    assert found["completion"] == "```python\nsolution 0\n```"
    assert found["text"].endswith(found["completion"])
    assert found["usage"]["openai/nova-7b"]["output_tokens"] == 135
    assert len(found["summaries"]) == 6
    assert found["listed"] == 1


@pytest.mark.slow
def test_the_real_inspect_reads_an_imported_run(
    imported_run: RecordedRun, tmp_path: Path, readers: InstalledEnvironment
) -> None:
    """What is left out is no error there."""
    path = written(imported_run, tmp_path / "logs")
    found = read_by(readers, _READ, path, cwd=path.parent)
    assert (found["model"], found["completion"], found["usage"]) == ("acme/Old-7B", "", {})
    assert len(found["samples"]) == 6


@pytest.mark.slow
def test_the_log_opens_in_inspects_viewer(
    model_run: RecordedRun, tmp_path: Path, readers: InstalledEnvironment, chromium: Any
) -> None:
    """The viewer lists the log, and shows a sample with its program and its failure."""
    path = written(model_run, tmp_path / "logs")
    view = (readers.python.with_name("inspect"), "view", "--log-dir", path.parent, "--host", "127.0.0.1")
    with serving(*view, "--port", "{port}", cwd=tmp_path) as address:
        page = chromium.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{address}/#/logs/{path.name}", timeout=60_000)
        page.get_by_text("pass@1").first.wait_for(timeout=60_000)
        page.get_by_text("BigCodeBench/0").nth(1).click()
        page.get_by_text("Be brief.").first.wait_for(timeout=60_000)
        page.get_by_text("Scoring").first.click()
        page.get_by_text("AssertionError: 1 != 2").first.wait_for(timeout=60_000)
        page.close()
