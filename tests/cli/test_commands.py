"""The command line as a user meets it: real files, exit codes, and never a traceback."""

import gzip
import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer.main

from bigcodeflow.cli.examples import EXAMPLES
from bigcodeflow.cli.main import app
from bigcodeflow.core.schemas import VERDICTS
from bigcodeflow.results.runs import find_run
from docs.command_line import commands, page
from tests.command import command_in
from tests.conftest import ROOT, Command

pytestmark = pytest.mark.sandbox

STARTER = ("--dataset", "starter", "--environment", "starter", "--workers", "1")
EVALUATE = ("evaluate", "--samples", "clean.jsonl", *STARTER, "--ids", "0-2")
TASKS = [json.loads(line) for line in (ROOT / "data" / "starter" / "tasks.jsonl").read_text().splitlines()]


def write_lines(path: Path, *rows: dict[str, object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_documentation_of_the_commands_is_current() -> None:
    """docs/cli.md is what docs/command_line.py writes, and each option explains itself."""
    assert (ROOT / "docs" / "cli.md").read_text() == page(), "run: python docs/command_line.py"
    unexplained = [
        (path, parameter.name)
        for path, command in commands(typer.main.get_command(app))
        for parameter in command.params
        if not parameter.help
    ]
    assert unexplained == []


def test_every_command_has_examples_that_it_understands() -> None:
    """Shown below its help; each is parsed by the command that it calls, and no example is of another command."""
    found = {path.removeprefix("bigcodeflow "): command for path, command in commands(typer.main.get_command(app))}
    assert found.keys() == EXAMPLES.keys()
    for name, lines in EXAMPLES.items():
        for line in lines:
            words = shlex.split(line)
            assert words[: 1 + len(name.split())] == ["bigcodeflow", *name.split()]
            found[name].make_context(name, words[1 + len(name.split()) :])
            assert line in found[name].epilog
            assert len(line) < 78


def test_the_list_of_commands_says_what_each_command_says() -> None:
    """`bigcodeflow --help` imports no command; its lines are the first paragraphs of the commands' own help."""
    group = typer.main.get_command(app)
    for name in group.list_commands(None):
        listed = group.commands[name]
        own = listed.load().help
        assert listed.help == " ".join(inspect.cleandoc(own).split("\n\n")[0].split()) != "", name


@pytest.mark.parametrize("command", ["--help", "--version", "status --help"])
def test_a_command_starts_without_what_it_does_not_use(command: str) -> None:
    """All tables, databases and workflow engines take seconds to import; a command imports its own module only."""
    program = (
        f"import sys; sys.argv = ['bigcodeflow', *{command.split()}]\n"
        "from bigcodeflow.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = 'dask distributed duckdb numpy polars prefect pyarrow scipy'.split()\n"
        "assert not (found := {*heavy} & sys.modules.keys()), found"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory, starter_environment: object) -> Path:
    """A folder in which answers to three tasks were sanitized, checked and evaluated, each by its own command.

    Its first program leaves the imports of its task out.
    """
    folder = tmp_path_factory.mktemp("evaluated")
    programs = [task["code_prompt"] + "\n" + task["canonical_solution"] for task in TASKS[:3]]
    programs[0] = "def task_func" + programs[0].partition("def task_func")[2]
    with gzip.open(folder / "raw.jsonl.gz", "wt") as file:
        for number, program in enumerate(programs):
            answer = f"Here you are:\n```python\n{program}\n```\nEnjoy!"
            file.write(json.dumps({"task_id": f"Starter/{number}", "raw_solution": answer}) + "\n")
    command, dataset = command_in(folder), ("--dataset", "starter")
    command("sanitize", "--samples", "raw.jsonl.gz", *dataset, "--mode", "robust", "--out", "clean.jsonl")
    lines = [json.loads(line) for line in (folder / "clean.jsonl").read_text().splitlines()]
    assert [line["solution"].rstrip() for line in lines] == [program.rstrip() for program in programs]
    assert all(line["raw_solution"].startswith("Here you are") for line in lines)
    assert "3 of 3 solutions compile" in command("syncheck", "--samples", "clean.jsonl", *dataset).stderr
    assert "100.0 %" in command(*EVALUATE, "--out", "out").stdout
    return folder


def test_evaluate_writes_the_originals_files(evaluated: Path) -> None:
    """Results, pass@k and verdicts, in the formats that other tools read.

    Asked again, every stage comes from the cache.
    """
    results = json.loads((evaluated / "out" / "clean_eval_results.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", results["date"])
    assert list(results["eval"]) == ["Starter/0", "Starter/1", "Starter/2"]
    assert [sample["status"] for samples in results["eval"].values() for sample in samples] == ["pass"] * 3
    score = json.loads((evaluated / "out" / "clean_pass_at_k.json").read_text())
    assert (score["pass@1"], score["gt_pass_rate"], score["failed_tasks"], score["calibrated"]) == (1.0, 1.0, [], True)
    assert pq.read_schema(evaluated / "out" / "verdicts.parquet").equals(VERDICTS)
    again = command_in(evaluated)(*EVALUATE, "--out", "again").stderr
    assert again.count("from cache") == 6
    record = json.loads((evaluated / "again" / "run.json").read_text())["record"]
    assert f"bigcodeflow inspect {record}\n" in again
    assert "bigcodeflow explore --open\n" in again
    assert "Prefect" not in again
    assert (evaluated / "results" / "latest").resolve() == evaluated / "again"


def test_a_cached_run_writes_no_new_folder(evaluated: Path) -> None:
    """It writes into the folder of the run that did the work, and results/latest leads there."""
    command = command_in(evaluated)
    (evaluated / "results" / "latest").unlink(missing_ok=True)
    first = command(*EVALUATE, "--name", "twice")
    folder = (evaluated / "results" / "latest").resolve()
    assert folder.parent == evaluated / "results" / "runs"
    again = command(*EVALUATE, "--name", "twice")
    assert [len(list(folder.parent.glob("*twice*"))), (evaluated / "results" / "latest").resolve()] == [1, folder]
    assert str(folder.relative_to(evaluated)) in first.stderr
    assert str(folder.relative_to(evaluated)) in again.stderr


def test_a_file_of_some_tasks_is_judged_on_these(evaluated: Path) -> None:
    """Title, score file and board say so; the same with a limit, which chooses tasks before they are executed."""
    command = command_in(evaluated)
    done = command("evaluate", "--samples", "clean.jsonl", *STARTER, "--name", "some")
    assert "clean · full · complete · some · 3 of 45 tasks: 3 samples of 3 tasks" in done.stdout
    assert "3 of 45 tasks were judged; the score is of these alone" in done.stderr
    folder = (evaluated / "results" / "latest").resolve()
    assert json.loads((folder / "clean_pass_at_k.json").read_text())["selection"] == "3 of 45 tasks"
    run = find_run(evaluated / "results" / "store", "some")
    assert (run.board, run.config["dataset"]["ids"]) == ("full · complete · 3 of 45 tasks", "0-2")
    done = command("evaluate", "--samples", "clean.jsonl", *STARTER, "--limit", "2", "--name", "two")
    assert "2 of 45 tasks: 2 samples of 2 tasks" in done.stdout


def test_options_of_the_original_are_answered_with_ours(bigcodeflow: Command) -> None:
    """One line for each, with exit code 2; a misspelt option of ours is left to the usual message."""
    given = ("--no_gt", "--parallel", "4", "--pass_k=1,5", "--selective-evaluate", "0")
    done = bigcodeflow("evaluate", "--samples", "a.jsonl", *given, check=False)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    assert [line.rpartition("here: ")[2] for line in lines[1:]] == ["--workers", "--k", "--ids"]
    assert "No such option" in bigcodeflow("evaluate", "--sampls", "a.jsonl", check=False).stderr
    begun = bigcodeflow("run", "starter", "--n", "5", "--max=3", check=False)
    assert begun.returncode == 2
    assert begun.stderr.splitlines() == [
        "error: --n is no option: write --n-samples",
        "error: --max is no option: write --max-cost-usd, --max-tokens",
    ]


def test_the_package_is_a_command(bigcodeflow: Command) -> None:
    words = [sys.executable, "-m", "bigcodeflow", "--version"]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == bigcodeflow("--version").stdout


@pytest.mark.parametrize("start", [("run", "starter"), ("sweep", "models.yaml"), ("generate", "--dataset", "starter")])
def test_a_dry_run_counts_requests(bigcodeflow: Command, tmp_path: Path, start: tuple[str, ...]) -> None:
    """The same options choose tasks everywhere; a huge number of samples costs no time."""
    (tmp_path / "models.yaml").write_text(
        "models: [{model: 'openai:gpt-4o'}]\ncommon: {generation.n_samples: 100000, generation.requests.attempts: 1}\n"
    )
    model = () if start[0] == "sweep" else ("--model", "openai:gpt-4o", "--n-samples", "100000")
    chosen = ("--subset", "full", "--split", "instruct", "--ids", "0-9", "--limit", "3", "--name", "huge")
    done = bigcodeflow(*start, *model, *chosen, "--dry-run")
    assert re.search(r"huge|gpt-4o", done.stdout)
    assert done.stdout.count("300,000") == 2
    assert "$" in done.stdout
    assert not (tmp_path / "results" / "runs").exists()


def test_a_dry_run_checks_a_sample_file(bigcodeflow: Command, tmp_path: Path) -> None:
    """It tells how many tasks are answered, and has the defects that the run would have."""
    write_lines(tmp_path / "two.jsonl", *({"task_id": f"Starter/{one}", "solution": ""} for one in (0, 2)))
    done = bigcodeflow("evaluate", "--samples", "two.jsonl", *STARTER, "--dry-run")
    assert "two.jsonl answers 2 of 45 tasks" in done.stderr
    (tmp_path / "list.jsonl").write_text(json.dumps([{"task_id": "Starter/0", "solution": ""}], indent=1))
    refused = bigcodeflow("evaluate", "--samples", "list.jsonl", *STARTER, "--dry-run", check=False)
    assert refused.returncode == 1
    assert "list.jsonl: is a JSON list" in refused.stderr


@pytest.mark.slow
def test_uncalibrated_failures_are_rerun_and_counted(evaluated: Path) -> None:
    """A program that leaves the imports out passes calibrated only; what fails again is not flaky."""
    done = command_in(evaluated)(*EVALUATE, "--out", "alone", "--uncalibrated", "--reruns", "1")
    shown = " ".join(done.stdout.split())
    assert "1 of 3 samples (raw, none) were executed more than once; 0 of them came out differently" in shown
    score = json.loads((evaluated / "alone" / "clean_pass_at_k.json").read_text())
    assert (score["pass@1"], score["calibrated"]) == (pytest.approx(2 / 3), False)
    assert pq.read_table(evaluated / "alone" / "verdicts.parquet")["attempts"].to_pylist() == [2, 1, 1]


def test_syncheck_names_what_does_not_compile(bigcodeflow: Command, tmp_path: Path) -> None:
    """Exit code 1, with task, message and line."""
    write_lines(tmp_path / "s.jsonl", {"task_id": "Starter/0", "solution": "x = 1\ndef f(:\n"})
    done = bigcodeflow("syncheck", "--samples", "s.jsonl", "--dataset", "starter", check=False)
    assert done.returncode == 1
    assert "Starter/0" in done.stdout
    assert "line 2" in done.stdout


def test_syncheck_tells_what_holds_no_program(bigcodeflow: Command, tmp_path: Path) -> None:
    """Neither empty solutions nor those without their entry point count; tasks without a sample are named."""
    solutions = ["", "# task_func", '"""Text."""', "import os", "task_func = abs", "def f(:"]
    write_lines(
        tmp_path / "s.jsonl", *({"task_id": f"Starter/{n}", "solution": one} for n, one in enumerate(solutions))
    )
    done = bigcodeflow("syncheck", "--samples", "s.jsonl", "--dataset", "starter", "--ids", "0-7", check=False)
    assert done.returncode == 1
    assert (done.stdout.count("holds no code"), done.stdout.count("does not define task_func")) == (3, 1)
    assert "1 of 6 solutions compile" in done.stderr
    assert "2 of 8 tasks have no sample: Starter/6, Starter/7" in done.stderr


def test_sanitize_keeps_what_else_a_line_states(bigcodeflow: Command, tmp_path: Path) -> None:
    """Every key goes along, known or not, with its own sample; program and answer are replaced."""
    more = {"model": "m", "finish_reason": "length", "usage": {"prompt_tokens": 7}, "cost_usd": 0.25, "own": [None]}
    answers = [("Starter/1", 0), ("Starter/0", 1), ("Starter/1", 2)]
    lines = [{"task_id": one, "raw_solution": "x = 1", **more, "latency_seconds": n} for one, n in answers]
    write_lines(tmp_path / "raw.jsonl", *lines)
    bigcodeflow("sanitize", "--samples", "raw.jsonl", "--dataset", "starter", "--out", "clean.jsonl")
    clean = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()]
    assert [(line["task_id"], line["latency_seconds"]) for line in clean] == [answers[1], answers[0], answers[2]]
    assert all(line.keys() == {*lines[0], "solution"} and line.items() >= more.items() for line in clean)


def test_a_terminal_without_unicode(bigcodeflow_process: Command, tmp_path: Path) -> None:
    """What it cannot show is replaced, in every line; files are UTF-8."""
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    write_lines(tmp_path / "s.jsonl", {"task_id": "Starter/0", "raw_solution": "x = '→'"})
    chosen = ("--samples", "s.jsonl", "--dataset", "starter")
    done = bigcodeflow_process("sanitize", *chosen, "--out", "→.jsonl", **variables)
    assert "Traceback" not in done.stderr
    assert "solutions to" in done.stderr
    done = bigcodeflow_process("syncheck", *chosen, "--ids", "0", check=False, PYTHONIOENCODING="latin-1:strict")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "holds no code" in done.stdout or "does not define" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["evaluate", "--samples", "nowhere.jsonl", *STARTER], ["nowhere.jsonl"]),
        (["evaluate", "--samples", "broken.jsonl", *STARTER], ["broken.jsonl", "line 2"]),
        (["evaluate", "--samples", "foreign.jsonl", *STARTER], ["foreign.jsonl", "line 1", "Other/1"]),
        (["evaluate", "--samples", "oracle", *STARTER, "--ids", "999"], ["999"]),
        (["evaluate", "--samples", "oracle", *STARTER, "--k", "one"], ["--k", "1,5,10"]),
        (["evaluate", "--samples", "oracle", "--dataset", "starter", "--environment", "other"], ["other", "bigcodebench, bigcodebench-current, readers, starter"]),
        (["evaluate", "--samples", "raw.jsonl", *STARTER, "--ids", "0"], ["raw.jsonl", "bigcodeflow sanitize"]),
        (["evaluate", "--samples", "oracle", "--dataset", "nowhere.parquet"], ["nowhere.parquet"]),
        (["run", "starter", "--set", "execution.wrkers=1"], ["execution.wrkers", "workers"]),
        (["run", "nopreset"], ["nopreset", "starter"]),
        (["env", "build", "other"], ["other", "bigcodebench, bigcodebench-current, readers, starter"]),
        (["dataset", "show", "starter", "99"], ["99"]),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message_without_a_traceback(
    bigcodeflow: Command, tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    """What was wrong and where, exit code 1, and nothing written."""
    (tmp_path / "broken.jsonl").write_text('{"task_id": "Starter/0", "solution": ""}\n{"task_id": \n')
    (tmp_path / "foreign.jsonl").write_text('{"task_id": "Other/1", "solution": ""}\n')
    (tmp_path / "raw.jsonl").write_text('{"task_id": "Starter/0", "raw_solution": "Sure!"}\n')
    done = bigcodeflow(*arguments, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr
    assert not (tmp_path / "results" / "latest").exists()


def test_a_mistake_starts_no_run_on_a_server(bigcodeflow: Command, starter_environment: object) -> None:
    """It is answered before Prefect is asked: here nothing listens at the server's address."""
    server = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    done = bigcodeflow("run", "starter", "--set", "samples.source=absent.jsonl", check=False, **server)
    assert done.returncode == 1
    assert done.stderr.startswith("error: absent.jsonl: cannot be opened")


def test_dataset_show_and_validate(bigcodeflow: Command, tmp_path: Path) -> None:
    """Tasks are listed and shown whole; a bad file is named row by row with exit code 1."""
    assert "Starter/0" in bigcodeflow("dataset", "show", "starter").stdout
    assert "class TestCases" in bigcodeflow("dataset", "show", "starter", "3").stdout
    assert "every row is valid" in bigcodeflow("dataset", "validate", "starter").stderr
    broken, repeated = TASKS[0] | {"test": "x = ("}, TASKS[2] | {"task_id": TASKS[1]["task_id"]}
    write_lines(tmp_path / "mine.jsonl", broken, TASKS[1], repeated)
    done = bigcodeflow("dataset", "validate", "mine.jsonl", check=False)
    assert done.returncode == 1
    assert "line 1" in done.stdout
    assert "line 3" in done.stdout


def test_env_list_and_doctor_tell_the_state(bigcodeflow: Command, tmp_path: Path, starter_environment: object) -> None:
    """What is built is listed with its identity; what is not says how to build it."""
    assert starter_environment.environment_sha[:12] in bigcodeflow("env", "list").stdout
    empty = bigcodeflow("env", "list", BIGCODEFLOW_ENVIRONMENTS=str(tmp_path / "none")).stdout
    assert "bigcodeflow env build starter" in empty
    assert "network namespaces" in " ".join(bigcodeflow("doctor", check=False).stdout.split())


@pytest.mark.slow
def test_env_check_names_what_cannot_be_judged(
    bigcodeflow: Command, tmp_path: Path, starter_environment: object
) -> None:
    """A task whose library the environment lacks, without blame of a model, and one whose tests let a stub pass."""
    prompts = {name: "import tensorflow\n" + TASKS[0][name] for name in ("complete_prompt", "code_prompt")}
    test = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n        pass\n"
    write_lines(tmp_path / "mine.jsonl", TASKS[0] | prompts, TASKS[1] | {"test": test})
    done = bigcodeflow("env", "check", "starter", "--dataset", "mine.jsonl", "--workers", "1", check=False)
    assert done.returncode == 1
    for part in ("a library", "infra_error", "oracle: 1 of 2 pass", "control stub failed: Starter/1 passes"):
        assert part in done.stdout
    assert "1 of 2 tasks can be judged" in done.stderr


@pytest.mark.slow
def test_env_check_runs_the_controls_and_counts_repetitions(
    bigcodeflow: Command, tmp_path: Path, starter_environment: object
) -> None:
    """One line a control with its counts, and a quarantine list whose counts grow with every repeated check."""
    arguments = ("env", "check", "starter", "--ids", "0-2", "--repeat", "2", "--workers", "1")
    shown = bigcodeflow(*arguments).stdout
    assert "oracle: 3 of 3 pass" in shown
    assert "tests run: 3 of 3 ran exactly the expected tests" in shown
    assert "stub: 3 of 3 do not pass" in shown
    assert "cheat: 3 of 3 do not pass" in shown
    assert "quarantine: 0 of 3 tasks, after 6 executions in all" in shown
    again = bigcodeflow(*arguments, "--no-controls", "--set", "execution.slots_per_worker=1")
    assert "after 12 executions in all" in again.stdout
    assert "stub" not in again.stdout
    assert f"{starter_environment.environment_sha}.parquet" in again.stderr
