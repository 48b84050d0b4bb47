"""Which samples are found, what is said of them, and what keeps a sample from being executed again."""

import json

import pytest
from typer.testing import CliRunner

from bigcodeflow.cli.main import app
from bigcodeflow.core.difficulty import published_solve_rates
from bigcodeflow.core.errors import ArtifactError, ConfigError, EnvironmentUnusableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline.rerun import rerun_sample
from bigcodeflow.results.inspection.samples import Filters, inspect_run, sections
from bigcodeflow.results.runs import find_run


def found(run, **filters):
    with inspect_run(run) as opened:
        return [(row["task_id"], row["variant"]) for row in opened.samples(Filters(**filters))]


def test_a_difficulty_takes_the_tasks_of_its_published_solve_rates(record, tables):
    """By a level's name or a range; what is neither is refused with what would do."""
    for number in range(20):
        tables.task(f"BigCodeBench/{number}")
        tables.sample(f"BigCodeBench/{number}", "fail", kind="assertion")
    run = record(tables)

    def call(difficulty):
        arguments = [
            "inspect",
            run.record,
            "--difficulty",
            difficulty,
            "--format",
            "json",
            "--store",
            run.store.location,
        ]
        return CliRunner().invoke(app, arguments)

    rates = published_solve_rates()
    hard = [f"BigCodeBench/{number}" for number in range(20) if rates[f"BigCodeBench/{number}"] <= 0.2]
    assert 0 < len(hard) < 20
    assert [row["task_id"] for row in json.loads(call("hard").stdout)] == hard
    assert len(json.loads(call("0-1").stdout)) == 20
    assert "--difficulty: 'harder' is neither hard, medium, easy" in str(call("harder").exception)


def detail(run, task, **filters):
    with inspect_run(run) as opened:
        [one] = opened.details(opened.samples(Filters(statuses=("all",), task=task, **filters)))
        return one


def sections_of(run, task, **filters):
    return {section.title: section for section in sections(detail(run, task, **filters))}


@pytest.mark.parametrize(
    ("filters", "tasks"),
    [
        ({}, "1123 4"),
        ({"statuses": ("all",)}, "1123 45"),
        ({"statuses": ("timeout", "pass")}, "45"),
        ({"statuses": ("TIMEOUT",)}, "4"),
        ({"kinds": ("wrong_api", "import")}, "23"),
        ({"libraries": ("Pandas",)}, "113"),
        ({"domains": ("general", "computation")}, "1123"),
        ({"libraries": ("pandas",), "domains": ("Computation",)}, "11"),
        ({"variants": ("raw",)}, "1"),
        ({"text": "needle()"}, "2"),
        ({"text": "Y = 2"}, "2"),
        ({"text": "wall TIME"}, "4"),
        ({"text": "%"}, ""),
        ({"task": "1", "variants": ("calibrated",)}, "1"),
        ({"task": "Demo/3", "sample_index": 1}, ""),
        ({"task_ids": frozenset({"Demo/2", "Demo/5", "Other/2"})}, "2"),
        ({"task_ids": frozenset()}, ""),
    ],
)
def test_filters(record, failures, filters, tasks):
    """Without any, what did not pass; every filter narrows; several values of one widen it; case does not matter."""
    assert [task_id[-1] for task_id, _ in found(record(failures), **filters)] == list(tasks.replace(" ", ""))


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"statuses": ("failed",)}, r"--status failed: run .*-mine has no such value: choose from fail, pass, timeout"),
        ({"kinds": ("memory",)}, r"--kind memory: .* assertion, import, timeout, wrong_api"),
        ({"libraries": ("scipy", "numpy")}, r"--library scipy: .* numpy, pandas"),
        ({"variants": ("other",)}, r"--variant other: .* calibrated, raw"),
        ({"task": "99"}, r"no task '99': choose from 5 tasks, such as Demo"),
        ({"task": "Demo/11"}, r"no task 'Demo/11'.*Demo/1"),
    ],
)
def test_a_filter_that_the_run_cannot_meet(record, failures, filters, message):
    """An empty list would hide the slip of the pen: the message says what there is."""
    with pytest.raises(ConfigError, match=message):
        found(record(failures), **filters)


def test_a_number_that_several_tasks_have(record, tables):
    """A number means a task only where one task ends in it."""
    for task_id in ("Demo/1", "Mine/1"):
        tables.task(task_id)
        tables.sample(task_id)
    with pytest.raises(ConfigError, match=r"may be any of Demo/1, Mine/1"):
        found(record(tables), task="1")


def test_a_story_goes_from_prompt_to_ground_truth(record, failures):
    """Prompt, answer, what the sanitizer changed, program, failing test and ground truth, each from its own table."""
    answer = "Sure!\nx = 1\ny = 2"
    parts = sections_of(record(failures, answers=[("Demo/2", answer)]), "2")
    assert parts["prompt"].text == "def task_func(): # two\n"
    assert parts["raw answer"].text == answer
    assert parts["answer → solution (parity)"].text.splitlines()[3:] == ["-Sure!", " x = 1", " y = 2"]
    assert parts["executed program"].text == "import math\ndef task_func(x):\n\n    pass\nx = 1\ny = 2"
    assert "TypeError: =Needle()" in parts["test_a: error"].text
    assert parts["ground truth: fail"].text == "def task_func(): # two\n    return 1\n"
    assert parts["why the ground truth fails"].text == "exit 0"


def test_tests_are_numbered_as_tracebacks_count(record, failures):
    """A traceback's line number leads to the program or, behind it, to the tests, as in the text that was executed."""
    one = detail(record(failures), "1", variants=("raw",))
    executed = f"{one.program}\n{one.test}".split("\n")
    assert one.program == "solution 0"
    assert executed[one.first_test_line - 1] == "import unittest"


def test_the_prompt_is_that_of_the_split_and_an_unchanged_answer_is_said(record, failures):
    """An Instruct run answered prose; where the sanitizer changed nothing a sentence says so."""
    parts = sections_of(record(failures, answers=[("Demo/4", "solution 0")], split="instruct"), "4")
    assert parts["prompt"].text == "Write four."
    assert parts["answer → solution"].text == "the solution is the answer, unchanged"


@pytest.mark.parametrize(
    ("without", "title", "sentence"),
    [
        (("generation",), "raw answer", "not in the store: an imported run"),
        (("generation", "sanitizing"), "executed program", "not in the store"),
        (("ground_truth",), "ground truth: not executed", "def task_func(): # one"),
    ],
)
def test_what_the_store_lacks_is_said(record, failures, without, title, sentence):
    """Answers, programs and ground truths may be gone; the rest of the detail is shown."""
    run = record(failures, without=without)
    with inspect_run(run) as opened:
        assert len(opened.absent) == len(without)
    parts = sections_of(run, "1", variants=("calibrated",))
    assert parts[title].text.startswith(sentence)
    assert "AssertionError" in parts["test_a: fail"].text


def test_a_run_without_verdicts_is_one_error(record, failures):
    """Nothing can be shown without verdicts: one line says which artifact is gone."""
    with pytest.raises(ArtifactError, match="its execution artifact is not in"):
        found(record(failures, without=("execution",)))


PLACE = {"task_id": "Demo/1", "sample_index": 0, "variant": "calibrated", "sanitizer": "parity"}


def configured(run, **execution):
    """The run with other execution settings."""
    path = run.store.root / "runs" / f"{run.record}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"config": {"execution": execution}}))
    return find_run(run.store.root, run.record)


def test_settings_that_no_longer_exist(record, failures):
    """A record of another version may name what this one does not know."""
    run = configured(record(failures), backend="abacus")
    with pytest.raises(ConfigError, match="this version cannot use the execution settings of the run") as caught:
        rerun_sample(run, **PLACE)
    assert "\n" not in str(caught.value)


def test_an_environment_that_is_not_there(record, failures):
    """The remedy is another environment, by name."""
    with pytest.raises(EnvironmentUnusableError, match="nowhere"):
        rerun_sample(record(failures), **PLACE, environment="nowhere")


def test_a_program_that_is_gone(record, failures, starter_environment: InstalledEnvironment):
    """Without the solutions there is nothing to execute."""
    with pytest.raises(ArtifactError, match="its sanitizing artifact is not in"):
        rerun_sample(record(failures, without=("sanitizing",)), **PLACE)


def test_a_sample_that_the_safety_policy_blocks(record, failures, starter_environment: InstalledEnvironment):
    """Looking again is no way around the policy of the run."""
    failures.rows["solutions"][0] |= {
        "blocked": True,
        "findings": [{"rule": "process", "line": 1, "detail": "os.system"}],
    }
    with pytest.raises(ConfigError, match=r"blocked by the safety policy: process in line 1: os\.system\): name"):
        rerun_sample(record(failures), **PLACE)
