"""The audit: what survivors are evidence of, what recorded runs dispute, and one audit of starter tasks from end to end."""

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.schemas import table_of
from bigcodeflow.core.table import Table
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow.store import open_store
from bigcodeflow_studies.audit import AuditConfig
from bigcodeflow_studies.audit.findings import (
    COUNTED,
    TOO_WEAK,
    UNDECIDED,
    UNDERSPECIFIED,
    dispute_findings,
    named_runs,
    shared_failures,
)
from bigcodeflow_studies.audit.mutation import Mutant, Mutants
from bigcodeflow_studies.audit.recording import (
    NO_EFFECT,
    NOT_CALLED,
    NOT_COMPARABLE,
    NOT_EXECUTED,
    RESULT_DIFFERS,
    Call,
    Recording,
    effect_of,
    read_recording,
    recorded_program,
    recordings,
)
from bigcodeflow_studies.audit.schema import AUDIT
from bigcodeflow_studies.audit.study import mutation_findings
from bigcodeflow_studies.audit.tables import shown, tables
from tests.conftest import Command
from tests.extensions.studies.conftest import own_task
from tests.report.conftest import RecordedStore, failing_test


def recording(*texts: str, lines: Sequence[int] = (2, 3), loaded: bool = True) -> Recording:
    return Recording(tuple(Call(text, text) for text in texts), frozenset(lines), loaded)


def raising(*classes: str) -> Recording:
    return Recording((Call(classes[0], classes[0], classes),), frozenset({2}), is_loaded=True)


_ONE, _LATE = recording("1"), recording("1", loaded=False)
_RAISED, _DERIVED = raising("ValueError", "Exception"), raising("LinAlgError", "ValueError", "Exception")


def mutant(line: int = 2, *, apart: bool = False) -> Mutant:
    return Mutant(line, "constant", "1", "2", apart, f"program {line}", (line, line))


@pytest.mark.parametrize(
    ("own", "other", "kind"),
    [
        ((_ONE, _ONE), recording("2"), RESULT_DIFFERS),
        ((recording("1", "1"), recording("1", "1")), _ONE, RESULT_DIFFERS),
        ((_ONE, _ONE), _ONE, NO_EFFECT),
        ((_ONE, recording("2")), recording("3"), NOT_COMPARABLE),
        ((_ONE, _ONE), None, NOT_COMPARABLE),
        ((_LATE, _ONE), recording("2"), NOT_COMPARABLE),
        ((_ONE, _ONE), _LATE, NOT_COMPARABLE),
        ((_RAISED, _RAISED), _DERIVED, NO_EFFECT),
        ((_DERIVED, _DERIVED), _RAISED, RESULT_DIFFERS),
        ((recording("1", lines=[9]), _ONE), _ONE, NOT_EXECUTED),
        ((recording(), recording()), recording(), NOT_CALLED),
        ((recording(loaded=False), recording(loaded=False)), recording(), NOT_COMPARABLE),
        ((recording("?Thing"), recording("?Thing")), recording("?Other"), NO_EFFECT),
    ],
)
def test_a_survivor_is_evidence_only_where_it_changes_what_the_test_could_see(
    own: tuple[Recording, Recording], other: Recording | None, kind: str
) -> None:
    """Equal results, or exceptions that assertRaises accepts too, are no finding; a late recording compares nothing."""
    assert effect_of((2, 2), own, other).kind == kind


def test_evidence_shows_where_results_differ() -> None:
    """Long results are shown around the first difference."""
    text = effect_of((2, 2), (recording("a" * 500 + "x"), recording("a" * 500 + "x")), recording("a" * 500 + "y")).text
    assert text.endswith("aaaaay instead of …aaaaaaaaaaaaaaax")
    own, other = (Recording((Call(digest, "a" * 100),), frozenset(), is_loaded=True) for digest in "12")
    assert "begins alike: aaaa" in effect_of((2, 2), (own, own), other).text


@contextmanager
def executed(text: str) -> Iterator[Any]:
    """The function of a recorded program; tracing ends with the block."""
    names: dict[str, Any] = {}
    before = sys.gettrace()
    try:
        exec(compile(text, "<recorded>", "exec"), names)
        yield names["task_func"]
    finally:
        sys.settrace(before)
        threading.settrace(None)  # type: ignore[arg-type]


def test_a_program_records_its_calls_without_changing_them(capfd: pytest.CaptureFixture[str]) -> None:
    """Equal values are told alike, whatever their class; exceptions are told and passed on; lines are the program's."""
    program = "import collections\n\ndef task_func(x):\n    if x > 5:\n        raise ValueError(x)\n    return x\n"
    with executed(recorded_program(program, "task_func", trace=True)) as function:
        assert function(1.0) == 1.0
        assert function(1) == 1
        with pytest.raises(ValueError, match="7"):
            function(7)
    found = read_recording(f"noise\n{capfd.readouterr().out}@recorded-call@ broken")
    assert found.is_loaded
    assert found.digests[0] == found.digests[1] != found.digests[2]
    assert found.calls[2].text == "raises ValueError: 7"
    assert found.lines == {3, 4, 5, 6}


def test_lines_that_run_in_threads_or_after_the_call_are_lines_that_run(capfd: pytest.CaptureFixture[str]) -> None:
    """A test may use what the function returns, and replace what the recorder prints with."""
    program = (
        "import threading\n\ndef task_func(x):\n    def work():\n        x.append(1)\n"
        "    one = threading.Thread(target=work)\n    one.start()\n    one.join()\n"
        "    def later():\n        return x\n    return later\n"
    )
    text = recorded_program(program, "task_func", trace=True)
    with executed(text) as function, patch("builtins.print"), patch("json.dumps"), patch("hashlib.sha256"):
        assert function([])() == [1]
    found = read_recording(capfd.readouterr().out)
    assert len(found.digests) == 1
    assert found.lines >= {5, 10}


def test_where_tracing_takes_too_long_no_line_counts_as_never_executed(capfd: pytest.CaptureFixture[str]) -> None:
    """Loops of millions of iterations are recorded all the same."""
    program = "def task_func(x):\n    for one in range(x):\n        pass\n    return one\n"
    with executed(recorded_program(program, "task_func", trace=True).replace("2_000_000", "20")) as function:
        assert function(100) == 99
        assert sys.gettrace() is None
    found = read_recording(capfd.readouterr().out)
    assert found.lines >= {1, 2, 3, 4}
    assert len(found.digests) == 1


def test_an_execution_that_fails_is_no_recording() -> None:
    """The tests behind the failure would count as never executed."""
    row = {"task_id": "a", "sample_index": 0, "stdout": '@recorded-call@ [0, "", "", []]\n'}
    assert recordings([{**row, "status": "fail"}]) == {}
    assert recordings([{**row, "status": "pass"}])["a", 0].is_loaded


def test_a_function_that_draws_without_a_seed_gets_one(capfd: pytest.CaptureFixture[str]) -> None:
    """Else nothing could be said of its mutants; one that seeds itself, or draws nothing, is left alone."""
    program = "import random\n\ndef task_func():\n    return random.random()\n"
    found = []
    for number in (0, 1):
        with executed(recorded_program(program, "task_func", number=number)) as function:
            assert function() != function()
        found.append(read_recording(capfd.readouterr().out))
    assert found[0].is_seeded
    assert found[0].digests == found[1].digests
    for own in (program.replace("return", "random.seed(1); return"), "def task_func(x):\n    return x"):
        assert "seeded=False" in recorded_program(own, "task_func")


def counted_rows(statuses: Sequence[str], recorded: Sequence[Recording | None] = ()) -> list[dict[str, Any]]:
    mutants = [mutant(line) for line in range(2, 2 + len(statuses))]
    return rows_of(list(zip(mutants, statuses, strict=True)), recorded)


def rows_of(outcomes: Sequence[tuple[Mutant, str]], recorded: Sequence[Recording | None] = ()) -> list[dict[str, Any]]:
    made = Mutants(tuple(one for one, _ in outcomes), 3, 40)
    command = AuditConfig().command("starter", "a")
    return [one._asdict() for one in mutation_findings("a", made, outcomes, recorded, command)]


def test_a_timeout_is_noticed_and_an_infrastructure_error_is_nothing() -> None:
    """What the machine did says nothing of the test, nor does a mutant of a log's text."""
    (row,) = counted_rows(["fail", "timeout", "out_of_memory", "crash", "infra_error"])
    assert (row["killed"], row["survived"], row["unjudged"], row["equivalent"]) == (4, 0, 1, 3)
    (row,) = rows_of([(mutant(2, apart=True), "pass"), (mutant(3), "fail")])
    assert (row["killed"], row["survived"], row["apart"]) == (1, 0, 1)


def test_what_changes_a_result_is_too_weak_and_what_does_not_is_undecided() -> None:
    """A row a survivor, behind the task's counts; those in code that never runs share one."""
    own = recording("1", lines=[2, 3])
    rows = counted_rows(["pass", "pass", "pass"], [own, own, recording("2"), recording("1"), recording("1")])
    assert [(row["kind"], row["line"]) for row in rows] == [
        (COUNTED, None),
        (TOO_WEAK, 2),
        (UNDECIDED, 3),
        (TOO_WEAK, 4),
    ]
    assert rows[1]["command"].startswith("bigcodeflow audit --environment starter --dataset starter --ids a")


def test_another_draw_may_be_distributed_alike() -> None:
    """With a fixed seed a function that draws more or fewer values gives others, right as it may be."""
    own = recording("1")
    drawing = mutant()._replace(program="\nreturn random.choice(x[1:])")
    rows = rows_of([(drawing, "pass")], [own, own, recording("2")])
    assert [row["kind"] for row in rows] == [COUNTED, UNDECIDED]
    assert "distributed alike" in rows[1]["text"]


def test_the_score_is_the_mean_of_the_tasks_with_an_interval() -> None:
    """Each task counts once, however many mutants its code allows."""
    rows = table_of(counted_rows(["pass", "fail", "fail", "fail"]) + counted_rows(["fail"]), AUDIT)
    (note,) = tables(rows)[0].notes
    assert note.startswith("Mutation score: 87.5 % (")
    assert "4 of 5 mutants are noticed" in note
    assert tables(rows)[1].rows[0][1] == 0.75
    assert tables(pa.Table.from_pylist([], schema=AUDIT))[0].notes == ["No mutant could be judged."]


def verdict(status: str, *messages: str, task_id: str = "a") -> dict[str, Any]:
    tests = [
        {"name": f"test_{number}", "outcome": "fail", "trace": f"Traceback (most recent call last):\n  here\n{message}"}
        for number, message in enumerate(messages)
    ]
    return {"task_id": task_id, "variant": "calibrated", "status": status, "tests": tests}


def test_runs_dispute_a_task_where_all_give_the_same_other_value() -> None:
    """One pass, another value, another exception, or a run without the task, and the task is not suspect."""
    same = verdict("fail", "AssertionError: 3 != 4")
    assert list(shared_failures([[same], [same]])) == ["a"]
    assert not shared_failures([[same], [verdict("fail", "AssertionError: 2 != 4")]])
    assert not shared_failures([[same], [verdict("pass")]])
    assert not shared_failures([[same, verdict("pass")], [same]])
    assert not shared_failures([[same], []])
    for message in ("KeyError: 'x'", "AssertionError: False is not true : a figure"):  # neither tells a value
        own = verdict("fail", message)
        assert not shared_failures([[own], [own]])
    frames = [verdict("fail", f"AssertionError: DataFrame are different\n\n[left]: {value}") for value in (1, 2)]
    assert shared_failures([frames[:1], frames[:1]])
    assert not shared_failures([frames[:1], frames[1:]])


def disputing_runs(folder: Path, message: str) -> list[RecordedRun]:
    """Two runs of a task that fail one test alike."""
    recorded = RecordedStore(folder)
    trace = f"Traceback (most recent call last):\n  here\nAssertionError: {message}"
    for model in ("one", "other"):
        tables = recorded.tables()
        tables.task("Demo/0")
        tables.sample("Demo/0", "fail", tests=[failing_test(trace=trace)])
        recorded.record(tables, model=model, run=model, scored=False)
    return named_runs(str(folder), ["one", "other"])


@pytest.mark.parametrize(
    ("message", "text", "name"),
    [
        ("ValueError not raised : empty lists", "Return the mean.", "ValueError"),
        ("ValueError not raised by task_func", "Raises:\n  valueerror: if empty.", ""),
        ("ValueError not raised", "Raises MyValueError.", "ValueError"),
        ("Expected 'hist' to have been called once. Called 0 times.", "Draw a histogram.", "hist"),
        ("Expected 'hist' to have been called once. Called 0 times.", "Draw it with plt.hist().", ""),
        ("Expected 'hist' to have been called once. Called 2 times.", "Draw a histogram.", ""),
        ("Expected 'mock' to have been called.", "Download it.", ""),
        ("3 != 4", "Count them.", ""),
    ],
)
def test_a_task_is_underspecified_where_no_text_names_what_the_test_asks_for(
    message: str, text: str, name: str, tmp_path: Path
) -> None:
    """Whatever else models fail alike is undecided."""
    runs = disputing_runs(tmp_path, message)
    [task] = pq.read_table(runs[0].path("dataset")).to_pylist()
    found = dispute_findings(runs, [task | {"complete_prompt": text, "instruct_prompt": text}], str)[0]
    assert found.kind == (UNDERSPECIFIED if name else UNDECIDED)
    assert not name or found.text.endswith(f"; no text of the task names {name}")


def test_a_dispute_is_shown_again_by_its_command(tmp_path: Path) -> None:
    """The command names environment, dataset, task and runs; one run alone, however often named, is refused."""
    runs = disputing_runs(tmp_path, "1 != 2")
    config = AuditConfig(environment="bigcodebench", overrides=("dataset.view=verified",))
    command = partial(config.command, "mine.parquet")
    tasks = pq.read_table(runs[0].path("dataset")).to_pylist()
    assert dispute_findings(runs, [{**task, "test": "another"} for task in tasks], command) == []
    [found] = dispute_findings(runs, tasks, command)
    assert "fail test_a alike: AssertionError: 1 != 2" in found.text
    assert "--environment bigcodebench --dataset mine.parquet --ids Demo/0" in found.command
    assert " --set dataset.view=verified" in found.command
    assert [f"--run {run.record}" in found.command for run in runs] == [True, True]
    with pytest.raises(ConfigError, match="--run needs two runs or more"):
        named_runs(str(tmp_path), ["one", "one"])
    assert dispute_findings([], tasks, command) == []


@pytest.mark.slow
@pytest.mark.usefixtures("starter_environment")
def test_an_audit_finds_what_tests_do_not_check(bigcodeflow: Command, tmp_path: Path) -> None:
    """Of a sound test nothing; a test that never asserts, and one that looks at truth alone, are found, with commands.

    The second audit executes nothing.
    """
    tests = (
        "self.assertEqual(task_func(3), 6)",
        "for one in []:\n            self.assertEqual(task_func(one), 2)",
        "self.assertTrue(task_func(1), 2)",
    )
    head, libs = "import json\ndef task_func(x):\n", "['json']"
    tasks = [own_task(f"Mine/{n}", head, "Double it.", "return 2 * x", one, libs=libs) for n, one in enumerate(tests)]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    audit = ("audit", "--environment", "starter", "--dataset", "mine.jsonl", "--workers", "1", "--store", "store")
    first = bigcodeflow(*audit)
    assert "Mutation score: " in first.stdout
    again = bigcodeflow(*audit)
    assert again.stdout == first.stdout
    assert "executed" not in again.stderr
    found = bigcodeflow("audit", "show", "1", "--store", "store", "--code").stdout
    assert "the test never calls the function" in found
    assert "the reference does not fail test_it although line 5 of the test is contradicted" in found
    assert "bigcodeflow audit --environment starter --dataset mine.jsonl --ids Mine/1" in found
    assert "# program" in found
    store = open_store(tmp_path / "store")
    sound, weak = ("".join(map(Table.to_markdown, shown(store, task)[0])) for task in ("0", "Mine/2"))
    assert "gives 3 instead of 2" in weak
    assert "too weak" not in sound
    with pytest.raises(ArtifactError, match="has no audit of the task '99'"):
        shown(store, "99")
