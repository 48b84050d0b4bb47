"""The original's result files: their keys, their statuses and, from recorded verdicts, their very numbers."""

import json
from datetime import datetime

import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.exports import write_eval_results, write_pass_at_k

EVALUATED_AT = datetime(2025, 5, 7, 20, 56, 31)  # noqa: DTZ001 - the files carry local time without zone


def eval_results(tables, out, variant="calibrated", sanitizer="parity"):
    paths = tables.paths()
    del paths["ground_truth"]
    write_eval_results(out, **paths, variant=variant, sanitizer=sanitizer, evaluated_at=EVALUATED_AT)
    return json.loads(out.read_text())


def pass_at_k(tables, out, k=(1,), variant="calibrated", sanitizer="parity"):
    of = {"model": "m--main", "variant": variant, "sanitizer": sanitizer}
    write_pass_at_k(out, metrics=tables.metrics(k), ground_truth=tables.paths()["ground_truth"], **of)
    return json.loads(out.read_text())


def outcome(name, outcome, trace=""):
    return {"name": name, "outcome": outcome, "seconds": 0.1, "trace": trace}


class TestEvalResults:
    """``<stem>_eval_results.json``."""

    def test_file_has_date_and_samples_by_task(self, tables, tmp_path):
        """Tasks stand in dataset order, the samples of a task by index, the date to the minute."""
        for task_id in ("Demo/7", "Demo/3"):
            tables.task(task_id)
            for index in (1, 0):
                tables.sample(task_id, index=index)
        content = eval_results(tables, tmp_path / "new" / "x_eval_results.json")
        assert list(content) == ["date", "eval"]
        assert content["date"] == "2025-05-07 20:56"
        assert list(content["eval"]) == ["Demo/7", "Demo/3"]
        assert [entry["solution"][-1] for entry in content["eval"]["Demo/3"]] == ["0", "1"]
        assert list(content["eval"]["Demo/3"][0]) == ["task_id", "solution", "status", "details"]

    def test_solution_is_the_executed_text(self, tables, tmp_path):
        """Calibrated text has the task's imports and signature in front, raw text is the solution alone."""
        tables.task("Demo/1", code_prompt="import os\ndef task_func():\n")
        tables.sample("Demo/1", variants=("calibrated", "raw"), solution="def task_func(): ...")
        out = tmp_path / "out.json"
        [calibrated] = eval_results(tables, out)["eval"]["Demo/1"]
        [raw] = eval_results(tables, out, variant="raw")["eval"]["Demo/1"]
        assert calibrated["solution"] == "import os\ndef task_func():\n\n    pass\ndef task_func(): ..."
        assert raw["solution"] == "def task_func(): ..."

    @pytest.mark.parametrize(
        "status", ["pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered", "infra_error"]
    )
    def test_status_is_the_originals(self, tables, tmp_path, status):
        """Everything but pass and timeout is a fail; a sample that was not judged never becomes one."""
        tables.task("Demo/1")
        tables.sample("Demo/1", status)
        exported = status if status in {"pass", "timeout", "infra_error"} else "fail"
        assert eval_results(tables, tmp_path / "out.json")["eval"]["Demo/1"][0]["status"] == exported

    @pytest.mark.parametrize(
        ("verdict", "details"),
        [
            ({"status": "pass", "tests": [outcome("test_a", "pass")]}, {}),
            ({"status": "timeout", "tests": [outcome("test_a", "missing")], "kind": "timeout"}, {}),
            ({"status": "fail", "tests": [outcome("a", "fail", "T1"), outcome("b", "pass")]}, {"a": "T1"}),
            ({"status": "fail", "tests": [outcome("a", "fail", "T1"), outcome("b", "error", "T2")]}, {"a": "T1", "b": "T2"}),
            (
                {"status": "fail", "module_trace": "ImportError", "tests": [outcome("test_a", "missing")]},
                {"ALL": "ImportError"},
            ),
            ({"status": "crash", "kind": "crash", "exit": "signal 11"}, {"ALL": "crash (crash): signal 11\n"}),
            (
                {"status": "out_of_memory", "kind": "memory", "exit": "signal 9", "tests": [outcome("a", "missing")]},
                {"a": "out_of_memory (memory): signal 9\n"},
            ),
            (
                {"status": "fail", "tests": [outcome("a", "unexpected_success")]},
                {"ALL": "fail (no cause recorded): exit 0\n"},
            ),
        ],
    )  # fmt: skip
    def test_details_say_why(self, tables, tmp_path, verdict, details):
        """A fail names its failing tests or the module's own trace and never comes without a reason."""
        tables.task("Demo/1")
        tables.sample("Demo/1", **verdict)
        assert eval_results(tables, tmp_path / "out.json")["eval"]["Demo/1"][0]["details"] == details

    def test_a_variant_that_was_not_run_or_a_solution_that_is_gone(self, three_tasks, tmp_path):
        """A variant without verdicts is named, verdicts beside foreign solutions are refused; nothing is written."""
        with pytest.raises(ArtifactError, match="no verdict of variant raw, sanitizer parity"):
            eval_results(three_tasks, tmp_path / "out.json", variant="raw")
        del three_tasks.rows["solutions"][0]
        with pytest.raises(ArtifactError, match="task Demo/2, sample_index 0 has a verdict but no parity solution"):
            eval_results(three_tasks, tmp_path / "out.json")
        assert not (tmp_path / "out.json").exists()

    def test_the_file_appears_whole(self, three_tasks, tmp_path):
        """An existing file is replaced and nothing else is left in the folder."""
        out = tmp_path / "files" / "out.json"
        out.parent.mkdir()
        out.write_text("old")
        assert "eval" in eval_results(three_tasks, out)
        assert list(out.parent.iterdir()) == [out]


class TestPassAtK:
    """``<stem>_pass_at_k.json``."""

    def test_keys_are_the_originals_in_its_order(self, three_tasks, tmp_path):
        """A judged run has exactly the original's keys."""
        expected = {"pass@1": 2 / 3, "model": "m--main", "split": "complete", "subset": "full", "calibrated": True}
        expected |= {"gt_pass_rate": 2 / 3, "failed_tasks": ["Demo/3"]}
        assert list(pass_at_k(three_tasks, tmp_path / "out.json").items()) == list(expected.items())

    def test_every_reported_k_has_a_key(self, tables, tmp_path):
        """Ks stand in ascending order, those without enough samples are absent."""
        tables.task("Demo/1")
        for index in range(10):
            tables.sample("Demo/1", "pass" if index < 3 else "fail", index=index)
        content = pass_at_k(tables, tmp_path / "out.json", k=(10, 100, 2, 1))
        assert [key for key in content if key.startswith("pass@")] == ["pass@1", "pass@2", "pass@10"]
        assert content["pass@10"] == 1.0

    def test_raw_is_not_calibrated(self, tables, tmp_path):
        """The raw variant's file says calibrated false and carries the raw score."""
        tables.task("Demo/1")
        tables.sample("Demo/1", "fail")
        tables.verdict("Demo/1", "pass", variant="raw")
        content = pass_at_k(tables, tmp_path / "out.json", variant="raw")
        assert (content["calibrated"], content["pass@1"]) == (False, 1.0)

    def test_unjudged_samples_are_said(self, tables, tmp_path):
        """Where nothing was judged the score is null, not 0 and not NaN, and the count of such samples stands there."""
        tables.task("Demo/1")
        tables.sample("Demo/1", "infra_error")
        content = pass_at_k(tables, tmp_path / "out.json")
        assert (content["pass@1"], content["infra_error_count"]) == (None, 1)

    def test_a_sanitizer_that_was_not_run(self, three_tasks, tmp_path):
        """Asking for a sanitizer without metrics names it."""
        with pytest.raises(ArtifactError, match="variant calibrated, sanitizer robust"):
            pass_at_k(three_tasks, tmp_path / "out.json", sanitizer="robust")
