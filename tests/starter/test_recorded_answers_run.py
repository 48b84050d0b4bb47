"""The recorded answers through the real pipeline: every label is what the sandbox finds."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bigcodeflow.config import load_config
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.store import open_store
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]


def _run(folder: Path, *overrides: str) -> tuple[list[dict], list[dict]]:
    """The verdicts of samples and of ground truths."""
    config = load_config("starter", (f"store={folder / 'store'}", "execution.variants=[calibrated]", *overrides))
    done, store = perform_all(resolve(config), RecordingListener()), open_store(config.store)
    return store.read(done.execution).to_pylist(), store.read(done.ground_truth).to_pylist()


@pytest.mark.slow
def test_every_answer_gets_the_verdict_that_its_label_states(tmp_path: Path, starter_environment: object) -> None:
    """Parity and robust, status and failure kind; and together they show every status that a model can cause."""
    answers = [json.loads(line) for line in (ROOT / "data/starter/answers.jsonl").read_text().splitlines()]
    found = {
        mode: {(row["task_id"], row["sample_index"]): row for row in _run(tmp_path, f"sanitizing.mode={mode}")[0]}
        for mode in ("parity", "robust")
    }
    seen: Counter[str] = Counter()
    wrong = []
    for answer in answers:
        place = (answer["task_id"], seen[answer["task_id"]])
        seen[answer["task_id"]] += 1
        stated = (answer["expected_status"], answer["expected_failure_kind"] or "", answer["expected_status_robust"])
        parity, robust = found["parity"][place], found["robust"][place]
        judged = (parity["status"], parity["failure_kind"], robust["status"])
        if stated != judged:
            wrong.append((place, stated, judged))
    assert wrong == []
    statuses = {row["status"] for row in found["parity"].values()}
    assert statuses == {"pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered"}


@pytest.mark.slow
def test_every_solution_passes_and_an_empty_body_fails(tmp_path: Path, starter_environment: object) -> None:
    """So the tests can tell; each test of a solution runs."""
    stubs, truths = _run(tmp_path, "samples.source=stub")
    assert [row["task_id"] for row in stubs if row["status"] == "pass"] == []
    assert {row["status"] for row in truths} == {"pass"}
    assert [row["task_id"] for row in truths if row["tests_run"] != row["tests_expected"]] == []
