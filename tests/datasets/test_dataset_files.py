"""Task files are read whole or refused with every reason."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.schemas import HUB_COLUMNS, TASKS
from bigcodeflow.datasets import known_task_ids, load_tasks, parse_source, resolve
from bigcodeflow.datasets.hub import HubSource
from bigcodeflow.datasets.sources import FileSource, read_rows

from .conftest import load


def _write_jsonl(path: Path, rows: list[dict]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def test_all_formats_give_the_same_table(tmp_path: Path, make_task, write_parquet) -> None:
    """Parquet, JSONL and JSONL.gz of the same rows are the same tasks, and so is the table that a run has written."""
    rows = [make_task(number, doc_struct="\u2028") for number in range(3)]
    first = load(write_parquet(rows))
    pa.parquet.write_table(first, tmp_path / "again.parquet")
    others = [_write_jsonl(tmp_path / name, rows) for name in ("t.jsonl", "t.jsonl.gz")]
    assert first.schema.equals(TASKS)
    assert all(first.equals(load(other)) for other in (*others, tmp_path / "again.parquet"))
    assert first["task_id"].to_pylist() == ["Mine/0", "Mine/1", "Mine/2"]


def test_derived_columns_are_computed(make_task, write_parquet) -> None:
    """Libraries come from the text of a list, domains from the table, tests from the text, in sorted order."""
    task = load(write_parquet([make_task(libs="['json', 'numpy', 'nobody_knows_me', 'sklearn.svm']")])).to_pylist()[0]
    assert task["libs"] == ["json", "numpy", "nobody_knows_me", "sklearn.svm"]
    assert task["domains"] == ["Computation", "General", "System"]
    assert task["expected_tests"] == ["test_two"]
    assert task["hard"] is False
    assert task["position"] == 0


def test_own_columns_win_over_derived_ones(make_task, tmp_path: Path) -> None:
    """A file may state libs as a list, domains, hard and expected tests itself; nulls are computed."""
    own = {"libs": ["json"], "domains": ["Zoo", "Art", "Zoo"], "hard": True, "expected_tests": ["test_z", "test_a"]}
    path = _write_jsonl(tmp_path / "t.jsonl", [make_task(0, **own), make_task(1, **{**dict.fromkeys(own), "libs": []})])
    stated, computed = load(path).to_pylist()
    assert stated["domains"] == ["Art", "Zoo"]
    assert stated["hard"] is True
    assert stated["expected_tests"] == ["test_a", "test_z"]
    assert (computed["domains"], computed["hard"], computed["expected_tests"]) == ([], False, ["test_two"])


def test_blank_lines_and_a_byte_order_mark_are_no_defects(make_task, tmp_path: Path) -> None:
    """Editors' leftovers do not keep a file from being read, and line numbers count them."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(make_task()).encode() + b"\r\n\n" + json.dumps(make_task(1)).encode())
    assert [row.place for row in read_rows(path)] == [f"{path}, line 1", f"{path}, line 3"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", b"", "holds no tasks"),
        ("t.jsonl", b'{"task_id": "a"}\n{"task_id": \n[1]\n', "line 2: is not JSON"),
        ("t.jsonl", b'{"task_id": "a"}\n{"task_id": \n[1]\n', "line 3: holds a list"),
        ("t.jsonl", b'{"task_id": "\xff"}\n', "line 1: is not JSON in UTF-8"),
        ("t.jsonl", b"[" * 100_000, "line 1: is not JSON"),
        ("t.jsonl.gz", gzip.compress(b"{}" * 9999, mtime=0)[:-20], "cannot be read to its end"),
        ("t.jsonl.gz", b"plain text", "cannot be read to its end"),
        ("t.parquet", b"PAR1 nothing", "is not a readable Parquet file"),
        ("t.jsonl", b"no\n" * 33, "line 5: [^\n]*\n… and 28 more"),
        ("t.jsonl", None, r"cannot be opened .* correct dataset\.source"),
    ],
)
def test_damaged_files_are_refused_with_place_and_reason(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    """A file that cannot be read says which line or what about it is wrong; five problems of a kind are spelled out."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DatasetError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_file_is_its_content(make_task, tmp_path: Path) -> None:
    """Equal bytes have equal fingerprints wherever they lie; tasks are never read from others than those pinned."""
    paths = [_write_jsonl(tmp_path / name, [make_task()]) for name in ("a.jsonl", "b.jsonl")]
    configs = [DatasetConfig(source=str(path)) for path in paths]
    first, second = map(resolve, configs)
    assert first.fingerprint == second.fingerprint == json.loads(json.dumps(first.fingerprint))
    assert str(paths[0]) in first.describe
    _write_jsonl(paths[0], [make_task(1)])
    with pytest.raises(DatasetError, match="was changed"):
        load_tasks(configs[0], first)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("bigcode/bigcodebench", HubSource("bigcode/bigcodebench")),
        ("bigcode/bigcodebench@v0.1.0_hf", HubSource("bigcode/bigcodebench", "v0.1.0_hf")),
        ("me/own.set@v1#" + "a" * 40, HubSource("me/own.set", "v1", "a" * 40)),
        ("folder/tasks.jsonl", FileSource(Path("folder/tasks.jsonl"), "folder/tasks.jsonl")),
        ("tasks.jsonl.gz", FileSource(Path("tasks.jsonl.gz"), "tasks.jsonl.gz")),
    ],
)
def test_source_texts_are_told_apart(text: str, source: object) -> None:
    """The ending of a file wins over the shape of a hub name; the version defaults to v0.1.4."""
    assert parse_source(text) == source


@pytest.mark.parametrize("text", ["", "nothing", "a/b/c", "a/b@", "a b/c", "a/b#123", "tasks.csv"])
def test_other_source_texts_are_refused_with_the_choices(text: str, tmp_path: Path) -> None:
    """A text that means nothing is answered by what is possible; an existing file is never taken for a hub name."""
    with pytest.raises(DatasetError, match=r"starter.*bigcode/bigcodebench@v0\.1\.4.*\.jsonl\.gz"):
        parse_source(text)
    (tmp_path / "tasks.csv").touch()
    with pytest.raises(DatasetError, match=r"ends in \.parquet"):
        parse_source(str(tmp_path / "tasks.csv"))


def test_known_ids_are_those_before_any_view(make_task, write_parquet) -> None:
    """A part of BigCodeBench knows the ids of all of it: answers to all are no strangers to a file of a few tasks."""
    own = DatasetConfig(source=str(write_parquet([make_task(1), make_task(2)])), ids="1")
    assert known_task_ids(own, resolve(own)) == {"Mine/1", "Mine/2"}
    part = DatasetConfig(source=str(write_parquet([make_task(task_id="BigCodeBench/13")])))
    assert len(known_task_ids(part, resolve(part))) == 1140


@pytest.mark.real_data
@pytest.mark.slow
def test_the_real_dataset_loads(reference_data: Path) -> None:
    """All 1,140 tasks are sound, in order, 148 of them hard, with the domains that their authors state."""
    path = reference_data / "bigcodebench-v0.1.4.parquet"
    table = load(path)
    assert table["task_id"].to_pylist() == [f"BigCodeBench/{number}" for number in range(1140)]
    assert set(HUB_COLUMNS) < set(table.schema.names)
    stated = json.loads((reference_data / "task_domains.json").read_text(encoding="utf-8"))
    domains = zip(table["task_id"].to_pylist(), table["domains"].to_pylist(), strict=True)
    assert {task_id: found for task_id, found in domains if found != sorted(set(stated[task_id]))} == {}
    hard = json.loads((reference_data / "hard_task_ids.json").read_text(encoding="utf-8"))
    assert sorted(load(path, subset="hard")["task_id"].to_pylist()) == sorted(hard)


@pytest.mark.parametrize("column", ["test", "canonical_solution", "libs"])
def test_a_text_that_is_too_large_is_named(make_task, tmp_path: Path, write_parquet, column: str) -> None:
    """With line, column, size and limit; it is not parsed, which would take minutes and gigabytes."""
    rows = [make_task(0), make_task(1, **{column: "a\n" * 1_650_000})]
    for path, place in ((_write_jsonl(tmp_path / "t.jsonl", rows), "line 2"), (write_parquet(rows), "row 2")):
        with pytest.raises(DatasetError) as caught:
            load(path)
        problem = f"{column} has 3,300,000 characters; the limit is 200,000 characters: shorten it"
        assert str(caught.value) == f"{path}, {place}: {problem}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tasks.jsonl", "tasks.jsonl.gz"])
def test_a_line_that_is_too_long_is_named(make_task, tmp_path: Path, name: str) -> None:
    """It is refused before it is read to its end."""
    path = _write_jsonl(tmp_path / name, [make_task(0), make_task(1, doc_struct="#" * (17 << 20))])
    with pytest.raises(DatasetError, match="line 2 is longer than 16 MiB, the limit of a line: shorten or remove"):
        read_rows(path)
