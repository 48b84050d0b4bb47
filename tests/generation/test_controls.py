"""Controls answer every task without a model; those that attack the judge take turns, and sanitizers keep them."""

import warnings

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import SamplesConfig
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.generation import fingerprint, load_samples
from bigcodeflow.generation.controls import CHEATS, cheat, cheat_name, oracle, stub
from bigcodeflow.sanitizing.parity import parity_solution
from bigcodeflow.sanitizing.robust import robust_solution


def _load(source: str, tasks):
    return load_samples(SamplesConfig(source=source), tasks, known_task_ids=frozenset(), selection=False)


@pytest.mark.parametrize(
    ("source", "program"),
    [("oracle", 'def task_func(x):\n    """A/1"""\n    return 2 * x'), ("stub", "def task_func(x):\n    pass\n")],
)
def test_controls_give_one_program_a_task(make_tasks, source: str, program: str) -> None:
    """Oracle joins prompt and canonical solution, stub leaves the body empty; raw and given text are the same."""
    table = _load(source, make_tasks("A/1", "A/0"))
    assert table.schema.equals(SAMPLES)
    assert table["task_id"].to_pylist() == ["A/1", "A/0"]
    first = table.to_pylist()[0]
    assert first["raw_text"] == first["given_solution"] == program
    assert (first["sample_index"], first["provider"], first["attempts"]) == (0, source, 1)
    assert first["error"] is None


def test_fingerprints_are_the_names() -> None:
    assert fingerprint(SamplesConfig(source="oracle")) == {"control": "oracle"}
    assert fingerprint(SamplesConfig(source="stub")) == {"control": "stub"}


@pytest.mark.real_data
def test_oracle_programs_compile_for_all_real_tasks(reference_data) -> None:
    rows = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet").to_pylist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the docstrings of some tasks hold old escapes
        for row in rows:
            for program in (f"{row['code_prompt']}\n    pass\n{oracle(row)}", stub(row)):
                assert compile(program, row["task_id"], "exec", dont_inherit=True)
    assert len(rows) == 1140


def _task(position: int) -> dict:
    return {"position": position, "entry_point": "answer"}


def test_every_attack_takes_its_turn() -> None:
    names = [cheat_name(_task(position)) for position in range(2 * len(CHEATS))]
    assert names == [*CHEATS, *CHEATS]


@pytest.mark.parametrize("position", range(len(CHEATS)), ids=list(CHEATS))
def test_a_cheat_is_a_program_that_sanitizers_keep(position: int) -> None:
    """It defines the task's entry point and compiles, also after a sanitizer: else it would attack nothing."""
    program = cheat(_task(position))
    kept = {line for line in program.splitlines() if line.strip()}
    for text in (program, parity_solution(program, "answer"), robust_solution(program, "answer")):
        compile(text, "cheat", "exec")
        assert "def answer(" in text
        assert {line for line in text.splitlines() if line.strip()} == kept
