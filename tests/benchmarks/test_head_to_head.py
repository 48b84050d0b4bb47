"""Which programs are executed, by which ways, and what the rounds come to."""

import json
import subprocess
import sys

import head_to_head
import pytest
from head_to_head import Round

from tests.conftest import ROOT


def test_medians_are_told_a_second_and_core_and_beside_ours():
    """Executions over the median round's wall time; the fewest that passed, so that no failing round hides."""
    rounds = {
        "fresh": [Round(20.0, 30.0, 80), Round(10.0, 16.0, 79), Round(9.0, 16.0, 80)],
        "ours": [Round(2.0, 1.6, 80)],
    }
    report = head_to_head.report_of(rounds, 80, 2)
    assert "| fresh | 10.0 | 8.0 | 4.00 | 200 | 5.0 | 79 |" in report
    assert "| ours | 2.0 | 40.0 | 20.00 | 20 | 1.0 | 80 |" in report


@pytest.mark.slow
@pytest.mark.sandbox
def test_what_is_not_there_is_left_out_by_name(starter_environment, tmp_path):
    """The original needs other libraries: it is named, and the others are measured."""
    command = [sys.executable, "benchmarks/head_to_head.py", "--tasks", "starter", "--executions", "3", "--rounds", "1"]
    command += ["--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {name: rounds[0]["passed"] for name, rounds in figures["rounds"].items()} == {"fresh": 3, "ours": 3}
    assert "--environment" in figures["left_out"]["original"]
