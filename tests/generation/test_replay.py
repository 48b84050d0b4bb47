"""Recorded samples are read as the original reads them; controls answer every task without a model."""

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bigcodeflow.config import SamplesConfig
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.generation import fingerprint, load_samples
from bigcodeflow.generation.controls import CHEATS, cheat, cheat_name, oracle, stub
from bigcodeflow.sanitizing.parity import parity_solution
from bigcodeflow.sanitizing.robust import robust_solution

KNOWN = frozenset(f"BigCodeBench/{number}" for number in range(20))
_ZERO, _ONE, _TWO = "BigCodeBench/0", "BigCodeBench/1", "BigCodeBench/2"


def load(path: Path, tasks: pa.Table, *, selection: bool = False, known: frozenset[str] = KNOWN) -> pa.Table:
    return load_samples(SamplesConfig(source=str(path)), tasks, known_task_ids=known, selection=selection)


@pytest.mark.parametrize(
    ("line", "raw_text", "given"),
    [
        ({"raw_solution": "raw", "solution": "sol", "completion": "com"}, "raw", "sol"),
        ({"raw_solution": "raw"}, "raw", None),
        ({"raw_solution": "raw", "completion": "com"}, "raw", "{prompt}com"),
        ({"solution": "sol", "completion": "com"}, "sol", "sol"),
        ({"solution": "sol", "raw_solution": None}, "sol", "sol"),
        ({"completion": "com"}, "{prompt}\ncom", "{prompt}com"),
        ({"raw_solution": "", "solution": ""}, "", ""),
        ({"solution": "x = '\x00'"}, "x = '\x00'", "x = '\x00'"),
    ],
)
def test_raw_text_and_given_solution_follow_the_original(
    make_tasks, write_lines, line: dict, raw_text: str, given: str | None
) -> None:
    """What is sanitized and what is executed come from the keys that the original takes, joined as it joins them."""
    tasks = make_tasks(_ZERO)
    prompt = tasks["complete_prompt"][0].as_py()
    (row,) = load(write_lines({"task_id": _ZERO, **line}), tasks).to_pylist()
    assert row["raw_text"] == raw_text.format(prompt=prompt)
    assert row["given_solution"] == (None if given is None else given.format(prompt=prompt))


def test_gzip_and_plain_files_are_the_same(make_tasks, write_lines) -> None:
    line = {"task_id": _ZERO, "solution": "é\u2028\r\n"}
    plain = load(write_lines(line), make_tasks(_ZERO))
    packed = write_lines(b"\xef\xbb\xbf" + json.dumps(line, ensure_ascii=False).encode(), "", name="s.jsonl.gz")
    assert load(packed, make_tasks(_ZERO)).equals(plain)
    assert plain["raw_text"].to_pylist() == ["é\u2028\r\n"]


def test_known_keys_become_columns(make_tasks, write_lines) -> None:
    """What a line tells about its making is kept; private and unknown keys are not."""
    same = {"finish_reason": "length", "cost_usd": 1, "latency_seconds": 0.5, "seed": -7, "attempts": 2, "error": None}
    tokens, reasoning = {"prompt_tokens": 3, "completion_tokens": 5}, {"reasoning_tokens": 4}
    line = {"task_id": _ZERO, "solution": "s", "_identifier": {"any": "thing"}, "unknown": [1], "model": "m-1", **same}
    line["usage"] = {**tokens, "completion_tokens_details": reasoning}
    table = load(write_lines(line), make_tasks(_ZERO))
    assert table.schema.equals(SAMPLES)
    (row,) = table.to_pylist()
    own = {"task_id": _ZERO, "sample_index": 0, "raw_text": "s", "given_solution": "s", "provider": "replay"}
    empty = ("request_id", "prompt_sha", "template_sha", "request", "reasoning", "cached_tokens")
    assert row == {**dict.fromkeys(empty), **own, **same, **tokens, **reasoning, "served_model": "m-1"}


def test_half_an_emoji_is_replaced(make_tasks, write_lines) -> None:
    path = write_lines('{"task_id": "BigCodeBench/0", "solution": "# \\ud83d\\ude00 \\ud83d"}')
    assert load(path, make_tasks(_ZERO))["raw_text"].to_pylist() == ["# 😀 \ufffd"]


@given(st.lists(st.tuples(st.integers(0, 2), st.text()), min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_a_row_in_its_place(make_tasks, write_lines, answers: list[tuple[int, str]]) -> None:
    """Whatever models write, no answer is lost, doubled, altered or moved to another task."""
    lines = [{"task_id": f"BigCodeBench/{task}", "solution": text, "n": n} for n, (task, text) in enumerate(answers)]
    rows = load(write_lines(*lines), make_tasks(_TWO, _ZERO, _ONE), selection=True).to_pylist()
    expected = [
        (f"BigCodeBench/{task}", index, text)
        for task in (2, 0, 1)
        for index, text in enumerate(text for number, text in answers if number == task)
    ]
    assert [(row["task_id"], row["sample_index"], row["raw_text"]) for row in rows] == expected


def test_samples_outside_the_view_are_skipped(make_tasks, write_lines) -> None:
    path = write_lines(*[{"task_id": task, "solution": task} for task in (_ZERO, _ONE, _TWO)])
    assert load(path, make_tasks(_TWO))["raw_text"].to_pylist() == [_TWO]


def test_a_selection_may_lack_samples(make_tasks, write_lines) -> None:
    path = write_lines({"task_id": _ONE, "solution": "s"})
    assert load(path, make_tasks(_ZERO, _ONE), selection=True)["task_id"].to_pylist() == [_ONE]


def _folder(root: Path, programs: dict[str, str]) -> Path:
    for name, program in programs.items():
        path = root / "answers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(program, encoding="utf-8")
    return root / "answers"


def test_a_folder_of_programs_is_read_by_number(make_tasks, tmp_path: Path) -> None:
    """Folders are tasks, files are samples by their number, and other files are no concern."""
    programs = {f"BigCodeBench_1/{number}.py": f"p{number}" for number in (10, 2, 0)}
    path = _folder(tmp_path, {**programs, "BigCodeBench_1/notes.txt": "", "readme.md": "", "logs/out.txt": ""})
    rows = load(path, make_tasks(_ONE)).to_pylist()
    assert [(row["sample_index"], row["raw_text"], row["given_solution"]) for row in rows] == [
        (0, "p0", "p0"),
        (1, "p2", "p2"),
        (2, "p10", "p10"),
    ]


def test_task_ids_with_underscores_are_found_in_folders(make_tasks, tmp_path: Path) -> None:
    """A folder's name stands for the task id that it was made of, not for the first that looks alike."""
    path = _folder(tmp_path, {"my_set_3/0.py": "p"})
    table = load(path, make_tasks("my_set/3"), known=frozenset({"my_set/3"}))
    assert table["task_id"].to_pylist() == ["my_set/3"]


def test_fingerprints_follow_the_content(write_lines, tmp_path: Path) -> None:
    """Equal content has one identity wherever it lies; another byte, name or program has another."""

    def of(path: Path) -> dict[str, Any]:
        return fingerprint(SamplesConfig(source=str(path)))

    first = of(write_lines({"a": 1}, name="a.jsonl"))
    assert first == of(write_lines({"a": 1}, name="b.jsonl"))
    assert first == json.loads(json.dumps(first))
    assert first != of(write_lines({"a": 2}, name="b.jsonl"))
    folder = _folder(tmp_path, {"A_1/0.py": "x"})
    before = of(folder)
    _folder(tmp_path, {"A_1/note.txt": "x"})
    assert of(folder) == before
    _folder(tmp_path, {"A_1/1.py": "x"})
    assert of(folder) != before


@pytest.mark.real_data
@pytest.mark.parametrize("model", ["qwen2.5-coder-7b-instruct", "gemma-3-4b-it"])
def test_real_sample_files_are_read_whole(make_tasks, reference_data: Path, model: str) -> None:
    """Each of the 1,140 real answers keeps its raw text and the solution that was executed."""
    (path,) = (reference_data / "samples" / model).glob("*calibrated.jsonl.gz")
    tasks = make_tasks(*[f"BigCodeBench/{number}" for number in range(1140)])
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = {line["task_id"]: line for line in map(json.loads, file)}
    rows = load(path, tasks).to_pylist()
    assert [row["task_id"] for row in rows] == tasks["task_id"].to_pylist()
    assert all(row["raw_text"] == lines[row["task_id"]]["raw_solution"] for row in rows)
    assert all(row["given_solution"] == lines[row["task_id"]]["solution"] for row in rows)


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
