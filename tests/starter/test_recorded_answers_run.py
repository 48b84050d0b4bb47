"""The recorded answers through the real pipeline: every label is what the sandbox finds."""

import json
from pathlib import Path

import pytest

from bigcodeflow.config import load_config
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.store import open_store
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]


def _found(folder: Path, mode: str) -> dict[tuple[str, int], dict]:
    overrides = (f"store={folder / 'store'}", f"sanitizing.mode={mode}", "execution.variants=[calibrated]")
    config = load_config("starter", overrides)
    rows = open_store(config.store).read(perform_all(resolve(config), RecordingListener()).execution).to_pylist()
    return {(row["task_id"], row["sample_index"]): row for row in rows}


@pytest.mark.slow
def test_every_answer_gets_the_verdict_that_its_label_states(tmp_path: Path, starter_environment: object) -> None:
    """Parity and robust, status and failure kind; and together they show every status that a model can cause."""
    answers = [json.loads(line) for line in (ROOT / "data/starter/answers.jsonl").read_text().splitlines()]
    parity, robust = _found(tmp_path, "parity"), _found(tmp_path, "robust")
    seen: dict[str, int] = {}
    wrong = []
    for answer in answers:
        index = seen.setdefault(answer["task_id"], 0)
        seen[answer["task_id"]] += 1
        place = (answer["task_id"], index)
        stated = (answer["expected_status"], answer["expected_failure_kind"] or "", answer["expected_status_robust"])
        found = (parity[place]["status"], parity[place]["failure_kind"], robust[place]["status"])
        if stated != found:
            wrong.append((place, stated, found))
    assert wrong == []
    statuses = {row["status"] for row in parity.values()}
    assert statuses == {"pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered"}
