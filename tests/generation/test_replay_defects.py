"""A sample file is sound, or every defect is named with file, line, task and remedy."""

import gzip
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import SamplesConfig
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.generation import fingerprint
from bigcodeflow.generation.replay import read_samples

from .test_replay import _ONE, _TWO, _ZERO, KNOWN, load

_LONG = "#" * (17 << 20)  # a line may have 16 MiB
_GOOD = {"task_id": _ZERO, "solution": "good"}


def _error(path: Path, tasks: pa.Table, *, selection: bool = False) -> str:
    with pytest.raises(SamplesError) as caught:
        load(path, tasks, selection=selection)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"task_id": "BigCodeBench/1", "solu', "is not JSON, or is cut off (column 31: Unterminated string"),
        ("NaN nonsense", "is not JSON, or is cut off (column 5: Extra data)"),
        ("9" * 5000, "is not usable JSON"),
        (b'{"task_id": "\xff"}', "is not UTF-8 (byte 14 of the line)"),
        ("[1]", "holds a list, not an object: write an object with task_id and solution"),
        ("3", "holds a number"),
        ({"solution": "s"}, "has no task_id: add the id of"),
        ({"task_id": 7, "solution": "s"}, "task_id must be text, not a number"),
        ({"task_id": _ONE}, f"(task {_ONE}) has neither solution nor completion nor raw_solution"),
        ({"task_id": _ONE, "solution": None}, f"(task {_ONE}) has neither solution nor completion"),
        ({"task_id": _ONE, "solution": ["s"]}, f"(task {_ONE}) solution must be text, not a list"),
        ({"task_id": _ONE, "completion": {}}, f"(task {_ONE}) completion must be text, not an object"),
        ({"task_id": _ONE, "solution": "s", "raw_solution": 1.5}, "raw_solution must be text, not a number"),
        ({"task_id": _ONE, "solution": "s", "seed": "7"}, "seed must be a whole number, not text"),
        ({"task_id": _ONE, "solution": "s", "attempts": True}, "attempts must be a whole number, not true or false"),
        ({"task_id": _ONE, "solution": "s", "prompt_tokens": 2**31}, "prompt_tokens is 2147483648, which is out of"),
        ({"task_id": _ONE, "solution": "s", "usage": [1]}, "usage must be an object, not a list"),
        (
            {"task_id": "Other/9", "solution": "s"},
            "answers task 'Other/9', which is not in the dataset: remove the sample",
        ),
    ],
)
def test_each_defect_of_a_line_is_named(make_tasks, write_lines, line: object, said: str) -> None:
    """A bad line between good ones is reported once, by file and line, with what to do."""
    path = write_lines(_GOOD, "", line)
    message = _error(path, make_tasks(_ZERO))
    assert message.startswith(f"{path}, line 3: ")
    assert said in message
    assert len(message.splitlines()) == 1
    assert ": " in message.removeprefix(f"{path}, line 3: ")


def test_all_defects_are_reported_at_once(make_tasks, write_lines) -> None:
    """Tasks may lack samples only where no line is broken, which may hold the sample that is missed."""
    foreign = {"task_id": "X/1", "solution": "s"}
    path = write_lines("broken", foreign, {"task_id": _ONE, "solution": 1})
    lines = _error(path, make_tasks(_ZERO, _ONE)).splitlines()
    assert [line.removeprefix(f"{path}, ").split(":")[0] for line in lines] == ["line 1", "line 3", "line 2"]
    first, second, third = _error(write_lines(_GOOD, foreign), make_tasks(_ZERO, _ONE, _TWO)).splitlines()
    assert "'X/1'" in first
    assert second == f"{path}: has no sample of task {_ONE}: generate it, or select the answered tasks with dataset.ids"
    assert _TWO in third


def test_a_file_of_another_dataset_is_told_its_ids(make_tasks, write_lines) -> None:
    """Not every task as well, which all lack a sample."""
    [line] = _error(write_lines({"task_id": "X/1", "solution": "s"}), make_tasks(_ZERO, _ONE)).splitlines()
    assert line.endswith(f"this dataset has ids such as {_ZERO!r}")


def test_a_selection_without_any_sample_is_an_error(make_tasks, write_lines) -> None:
    message = _error(write_lines(_GOOD), make_tasks(_ONE), selection=True)
    assert "holds no sample of the selected tasks" in message


def test_five_defects_of_a_kind_are_spelled_out_and_the_rest_counted(make_tasks, write_lines) -> None:
    """A file of the wrong dataset does not flood the terminal, and hides no other kind of defect."""
    path = write_lines(*[{"task_id": f"X/{number}", "solution": "s"} for number in range(50)], "broken")
    lines = _error(path, make_tasks(_ZERO), selection=True).splitlines()
    assert len(lines) == 7
    assert "line 51" in lines[0]
    assert lines[-1] == "… and 45 more like these"


@pytest.mark.parametrize("written", ["1", "BigCodeBench_1", "bigcodebench/1", "BigCodeBench/01"])
def test_a_task_that_is_spelled_differently_is_named_as_the_dataset_does(make_tasks, write_lines, written: str) -> None:
    message = _error(write_lines(_GOOD, {"task_id": written, "solution": "s"}), make_tasks(_ZERO), selection=True)
    assert f"answers task {written!r}, which the dataset calls {_ONE!r}: write task ids as the dataset does" in message


def test_a_file_in_utf_16_is_one_defect(make_tasks, tmp_path: Path) -> None:
    (tmp_path / "windows.jsonl").write_bytes(f"{json.dumps(_GOOD)}\n{json.dumps(_GOOD)}\n".encode("utf-16"))
    message = _error(tmp_path / "windows.jsonl", make_tasks(_ZERO))
    assert "is UTF-16: save it as UTF-8" in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "hint"), [("BigCodeBench_0.py", "such as BigCodeBench_0/0.py"), ("a.jsonl", "to the file in it")]
)
def test_a_folder_without_a_folder_for_each_task_is_explained(make_tasks, tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / name).write_text("x = 1\n")
    message = _error(tmp_path / "answers", make_tasks(_ZERO))
    assert name in message
    assert hint in message


def test_a_line_that_was_written_twice_is_an_error(make_tasks, write_lines) -> None:
    """In a greedy file a repeated line would count its task twice; the message names both lines."""
    lines = [{"task_id": task, "solution": "s"} for task in (_ZERO, _ONE, _TWO, _ONE)]
    path = write_lines(*lines[:3], {**lines[3], "_identifier": "not part of the answer"})
    message = _error(path, make_tasks(_ZERO, _ONE, _TWO))
    assert message == f"{path}: line 4 repeats line 2 (task {_ONE}): remove one of them"


@pytest.mark.parametrize(
    "answers",
    [
        [(_ZERO, "s"), (_ZERO, "s"), (_ONE, "s"), (_ONE, "s")],
        [(_ZERO, "s"), (_ZERO, "s"), (_ZERO, "t"), (_ONE, "s")],
        [(_ZERO, "s"), (_ZERO, "t"), (_ONE, "s")],
    ],
)
def test_equal_answers_among_several_are_legitimate(make_tasks, write_lines, answers: list[tuple[str, str]]) -> None:
    """A model that is asked n times may say the same twice, and tasks may have different numbers of answers."""
    path = write_lines(*[{"task_id": task, "solution": text} for task, text in answers])
    assert load(path, make_tasks(_ZERO, _ONE)).num_rows == len(answers)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("s.jsonl", b"", "is empty: write one JSON object per line"),
        ("s.jsonl", b"\n \n", "is empty"),
        ("s.jsonl.gz", b"", "is empty"),
        ("s.jsonl.gz", gzip.compress(b"{}")[:4], "the gzip stream is damaged or cut off"),
        ("s.jsonl.gz", b"no gzip at all", "the gzip stream is damaged or cut off after line 0"),
        ("s.json", b"{}", "is not a sample file: give a .jsonl or .jsonl.gz file, or a folder"),
        ("s.txt.gz", b"{}", "is not a sample file"),
    ],
)
def test_files_that_are_no_sample_files_are_refused(
    make_tasks, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert _error(path, make_tasks(_ZERO)).startswith(f"{path}: {said}")


def test_a_cut_off_gzip_file_tells_its_last_line(make_tasks, tmp_path: Path) -> None:
    """A copy that was interrupted is reported as such instead of as missing tasks."""
    lines = "".join(json.dumps({"task_id": f"BigCodeBench/{n}", "solution": "s" * n}) + "\n" for n in range(20))
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-8])
    message = _error(path, make_tasks(*sorted(KNOWN)))
    assert "the gzip stream is damaged or cut off after line 20" in message
    assert "copy or write the file again" in message


def test_absent_sources_are_named_with_the_choices(make_tasks, tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    with pytest.raises(SamplesError, match=r"none\.jsonl: cannot be opened .*oracle, stub, cheat or starter"):
        fingerprint(SamplesConfig(source=str(path)))
    assert "cannot be read (No such file or directory)" in _error(path, make_tasks(_ZERO))


def test_folders_without_programs_and_of_strangers_are_refused(make_tasks, tmp_path: Path) -> None:
    """An empty folder, an unknown task's folder and a program of other bytes than UTF-8 are defects."""
    assert _error(tmp_path, make_tasks(_ZERO)).startswith(f"{tmp_path}: holds no program")
    for name in ("BigCodeBench_0", "Other_9"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.py").write_text("pass", encoding="utf-8")
    (tmp_path / "BigCodeBench_0" / "1.py").write_bytes(b"\xff")
    first, second = _error(tmp_path, make_tasks(_ZERO)).splitlines()
    assert first.startswith(f"{tmp_path}, BigCodeBench_0/1.py: cannot be read")
    assert "'Other_9', which is not in the dataset" in second


@given(st.binary(max_size=60))
def test_any_bytes_are_samples_or_one_typed_error(content: bytes) -> None:
    """No content of a file raises anything but the error that names it."""
    schema = pa.schema([("task_id", pa.string()), ("complete_prompt", pa.string())])
    tasks = pa.Table.from_pylist([{"task_id": _ZERO, "complete_prompt": ""}], schema=schema)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("s.jsonl", "s.jsonl.gz"):
            path = Path(folder, name)
            path.write_bytes(content)
            assert _error(path, tasks)


@pytest.mark.parametrize("linked", ["BigCodeBench_0", "BigCodeBench_0/0.py"])
def test_links_in_a_sample_folder_are_not_followed(make_tasks, tmp_path: Path, linked: str) -> None:
    """Neither a task's folder nor a program may lie elsewhere; the folder as a whole may."""
    private, samples, named = tmp_path / "private", tmp_path / "samples", tmp_path / "named"
    (private / "BigCodeBench_0").mkdir(parents=True)
    (private / "BigCodeBench_0" / "0.py").write_text("SECRET = 1\n")
    (samples / linked).parent.mkdir(parents=True)
    (samples / linked).symlink_to(private / linked)
    named.symlink_to(samples)
    with pytest.raises(SamplesError) as caught:
        fingerprint(SamplesConfig(source=str(named)))
    for message in (_error(named, make_tasks(_ZERO)), str(caught.value)):
        assert f"{linked}: is a symbolic link" in message
        assert "SECRET" not in message
    named.unlink()
    named.symlink_to(private)
    assert fingerprint(SamplesConfig(source=str(named)))


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.jsonl.gz"])
def test_a_line_that_is_too_long_is_named(make_tasks, write_lines, name: str) -> None:
    """With its number and the limit; it is not read, and neither is what follows."""
    said = _error(
        write_lines(_GOOD, {"task_id": _ONE, "solution": _LONG}, "no JSON", name=name), make_tasks(_ZERO, _ONE)
    )
    assert "line 2 is longer than 16 MiB, the limit of a line, and what follows it was not read" in said
    assert len(said) < 1_000
    assert "line 3" not in said


def test_a_program_file_that_is_too_large_is_named(make_tasks, tmp_path: Path) -> None:
    (tmp_path / "BigCodeBench_0").mkdir()
    (tmp_path / "BigCodeBench_0" / "0.py").write_text(_LONG)
    said = _error(tmp_path, make_tasks(_ZERO))
    assert "BigCodeBench_0/0.py: is larger than 16 MiB, the limit of a program's file" in said


def test_a_file_of_defects_is_not_read_to_its_end(tmp_path: Path) -> None:
    """16 KB of gzip hold millions of lines: what is kept of them is bounded."""
    path = tmp_path / "bomb.jsonl.gz"
    for line in (b"x\n", b'{"task_id": "Foreign/0", "solution": ""}\n'):
        path.write_bytes(gzip.compress(line * 50_000))
        read = read_samples(path, "bomb", frozenset({"Own/0"}))
        assert len(read.samples) + len(read.defects) == 1_001
        assert read.defects[-1] == "bomb, line 1000: is defect 1,000: the rest was not read"
