"""Small inputs that once gave wrong numbers: each case's own script runs with the installed commands."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

_CASES = ROOT.parent / "shared" / "cases"
#: The row of raw solutions is left out, as all its numbers are equal.
_ROBUST_PASSES = {r"^│ calibrated +│ robust +│ pass@1 │ 100\.0 %": 1, r"^│ raw +│ robust": 0}
_WITH_GROUND_TRUTHS = {r"147 of 148 pass .*; not judgeable here: BigCodeBench/13": 3, r"^recorded .*-my-model-": 2}
_KEPT = {r"'acme/coder-1', 'stop', 0\.25\), \('acme/coder-1', 'length', 0\.25\)": 2, r"\(False,\), \(True,\)": 2}
#: Patterns that lines of a case's output match, each with the number of these lines.
EXPECTED = {
    "01-key-equals-value-in-the-path": {
        r"^exit code 0$": 6,
        r'^  "pass@1": 0\.0,$': 6,
        r"^catalog: runs 1 \| left_out 0 \| k in pass_at_k \[\(1,\)\] \| verdicts \[\('fail',\)\]$": 6,
    },
    "02-proxy-in-the-environment": {
        r"^exit code 0 after": 4,
        r"Traceback': 0$": 3,
        r"^requests that went to the proxy: , such as": 1,
        r"still running": 0,
    },
    "03-future-import-in-brackets": _ROBUST_PASSES,
    "04-robust-in-two-steps": {r"^calibrated Mine/0 pass": 2},
    "05-think-tags-in-the-program": _ROBUST_PASSES,
    "06-notebook-magics": _ROBUST_PASSES,
    "07-end-marks-glued-to-the-last-line": _ROBUST_PASSES,
    "08-results-of-a-folder-of-samples": _WITH_GROUND_TRUTHS,
    "10-sanitize-drops-what-came-along": {**_KEPT, r"costs\.cost_usd: \[\(0\.5,\)\]": 2},
    "24-temperature-in-scientific-notation": {
        r"in the record: 1e-05$": 1,
        r'"temperature": ': 1,
        r"temperature.*: 1e-05$": 2,
    },
    "25-long-model-paths": {r'"model": ".*checkpoint-1000--main"': 1, r'"model": ".*checkpoint-2000--main"': 1},
}


@pytest.mark.parametrize(
    "name",
    # Their commands are ended after a minute or two, which a busy machine needs to start a Prefect server or a run.
    [pytest.param(name, marks=pytest.mark.long if name.startswith(("02", "25")) else ()) for name in EXPECTED],
)
def test_a_case_gives_what_is_right(name: str, tmp_path: Path, starter_environment: object) -> None:
    """Exit codes, scores, names and settings, read from what the script prints."""
    script = _CASES / name / "run.sh"
    if not script.is_file():
        pytest.skip("the cases are not beside this checkout")
    variables = os.environ | {"PROJECT": str(ROOT), "WORK": str(tmp_path), "COLUMNS": "160", "NO_COLOR": "1"}
    output = subprocess.run(["bash", script], capture_output=True, text=True, env=variables, check=False).stdout
    lines = output.splitlines()
    assert {line: sum(bool(re.search(line, one)) for one in lines) for line in EXPECTED[name]} == EXPECTED[name], output
