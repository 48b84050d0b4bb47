"""A sample file of degenerate answers and some good ones, through every command, with real sandboxes."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT, Command
from tests.doubles.degenerate_texts import answers_within, degenerate_texts

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]

_TASKS = 6
_STATUSES = {"pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered"}
_ALWAYS = (
    *("endless: module name", "endless: module path", "endless: names of a long path", "endless: f-string"),
    *("nested: attributes 1000", "nested: lambdas 1000", "damaged: low surrogate everywhere", "damaged: NUL alone"),
    *("foreign: rich markup", "foreign: HTML repeated", "endless: control sequences", "repeated: inner attributes"),
)
#: Small texts that no encoding holds, or that a terminal or rich would obey.
_NOT_TEXT = ("damaged: low surrogate everywhere", "damaged: NUL alone", "foreign: rich markup", "damaged: escape last")
#: Runs, and leaves texts in the verdict that no encoding holds and no terminal should obey.
_LOUD = """
import sys
def task_func(*args, **kwargs):
    for stream in (sys.stdout, sys.stderr):
        stream.buffer.write(b"\\xff\\xfe\\x00\\x1b[2J\\xed\\xa0\\x80" * 100)
        stream.reconfigure(errors="surrogatepass")
        print("\\ud800[/red]" + "x" * 100_000, file=stream)
    raise type("\\u202e\\x1b[2J" + "E" * 5_000, (Exception,), {})("\\ud83d\\x00\\x1b]0;t\\x07[/]" + "y" * 100_000)
"""


def _write_samples(path: Path, *, key: str, names: Sequence[str] = ()) -> int:
    tasks = [json.loads(line) for line in (ROOT / "data/starter/tasks.jsonl").read_text().splitlines()][:_TASKS]
    small, large = degenerate_texts(3_000), degenerate_texts(100_000)
    picked = sorted(random.Random(1).sample(sorted(small), 40))
    texts = [large[name] for name in _ALWAYS] + [small[name] for name in picked] + [_LOUD]
    texts = [small[name] for name in names] or texts
    chance = random.Random(2)
    with path.open("w", encoding="utf-8") as file:
        for task in tasks:
            program = task["complete_prompt"] + task["canonical_solution"]
            file.write(json.dumps({"task_id": task["task_id"], key: program}) + "\n")
        for number, text in enumerate(texts):
            task = tasks[number % len(tasks)]
            answer = chance.choice(list(answers_within(text, task["entry_point"])))
            file.write(json.dumps({"task_id": task["task_id"], key: answer if number % 2 else text}) + "\n")
    return len(texts) + len(tasks)


@pytest.mark.slow
def test_degenerate_answers_fail_alone(
    bigcodeflow_process: Command, tmp_path: Path, starter_environment: object
) -> None:
    """Every sample has a verdict, the good ones pass, and what shows the results shows these."""
    bigcodeflow = bigcodeflow_process  # a terminal's encoding refuses what the tests' own streams replace
    samples = _write_samples(tmp_path / "samples.jsonl", key="solution")
    chosen = ("--dataset", "starter", "--ids", f"0-{_TASKS - 1}")
    limits = ("--set", "execution.limits.time_seconds=4", "--set", "sanitizing.safety_policy=flag")
    done = bigcodeflow("evaluate", "--samples", "samples.jsonl", *chosen, *limits, "--out", "out")
    assert "Traceback" not in done.stderr
    listed = json.loads(bigcodeflow("inspect", "latest", "--status", "all", "--format", "json").stdout)
    assert len(listed) == samples
    assert {row["status"] for row in listed} <= _STATUSES
    assert [row["status"] for row in listed if row["sample_index"] == 0] == ["pass"] * _TASKS
    for form in ("table", "markdown", "csv", "json"):
        shown = bigcodeflow("inspect", "latest", "--format", form).stdout
        assert "\x1b" not in shown
    for number in range(_TASKS):
        assert "\x1b" not in bigcodeflow("inspect", "latest", str(number), "--format", "markdown").stdout
    assert "\x1b" not in bigcodeflow("inspect", "latest", "0").stdout
    bigcodeflow("inspect", "latest", "--export", "folder")
    bigcodeflow("report", "latest", "--out", "report.html")
    exported = json.loads((tmp_path / "out" / "samples_eval_results.json").read_text())
    assert sum(map(len, exported["eval"].values())) == samples
    assert bigcodeflow("syncheck", "--samples", "samples.jsonl", *chosen, check=False).returncode == 1


def test_degenerate_answers_can_be_sanitized(bigcodeflow: Command, tmp_path: Path) -> None:
    """The command ends well, with one solution for each answer, whatever its text."""
    samples = _write_samples(tmp_path / "answers.jsonl", key="raw_solution", names=_NOT_TEXT)
    chosen = ("--dataset", "starter", "--ids", f"0-{_TASKS - 1}", "--mode", "robust")
    done = bigcodeflow("sanitize", "--samples", "answers.jsonl", *chosen, "--out", "solutions.jsonl")
    assert "failed for a text" not in done.stderr
    assert len((tmp_path / "solutions.jsonl").read_text().splitlines()) == samples
