"""A corpus in any format is searched with the same result, whose places can be looked up."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.paths import shipped
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow.studies import recorded_studies
from bigcodeflow_studies.contamination import ContaminationConfig
from bigcodeflow_studies.contamination.corpus import PIECE_CHARACTERS, CorpusFile, open_corpus, texts_of
from bigcodeflow_studies.contamination.study import run_study
from bigcodeflow_studies.contamination.tables import tables
from tests.doubles.hub import HubDouble

TASKS = [json.loads(line) for line in shipped("data/starter/tasks.jsonl").read_text().splitlines()[:3]]
#: The solution of one task among other things, and nothing of the others.
PLANTED = "# kept here\n" + TASKS[1]["canonical_solution"] + "\nprint('and more that is of no interest at all')\n"


def search(corpus: Path, store: Path, **settings: Any) -> list[dict[str, object]]:
    dataset = DatasetConfig(ids="0-2")
    config = ContaminationConfig(corpus=str(corpus), dataset=dataset, store=str(store), **settings)
    with progress_listener(quiet=True) as listener:
        ref = run_study(config, listener)
        assert run_study(config, listener) == ref
    return open_store(store).read(ref).to_pylist()


def _jsonl(path: Path) -> None:
    path.write_text("\n\n".join(json.dumps(row) for row in ({"n": 1}, {"meta": {"texts": ["short", PLANTED]}})))


def _gzip(path: Path) -> None:
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"meta": {"texts": ["", PLANTED]}}) + "\n")


def _parquet(path: Path) -> None:
    path.write_bytes(_content({"id": [1, 2, 3], "code": ["x", None, PLANTED]}))


def _content(columns: dict[str, list[Any]]) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), buffer)
    return bytes(buffer.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write", "record"),
    [
        ("folder/b.py", lambda path: path.write_text(PLANTED), "1"),
        ("b.jsonl", _jsonl, "3 meta.texts[1]"),
        ("b.jsonl.gz", _gzip, "1 meta.texts[1]"),
        ("b.parquet", _parquet, "3 code"),
    ],
)
def test_a_copy_is_found_in_every_format(
    tmp_path: Path, name: str, write: Callable[[Path], object], record: str
) -> None:
    """With file, record and character; the other tasks are not."""
    corpus = tmp_path / "corpus"
    (corpus / name).parent.mkdir(parents=True)
    write(corpus / name)
    (corpus / "a.txt").write_text("nothing of interest")
    first, second, third = search(corpus, tmp_path / "store")
    assert (second["fuzzy_score"], second["fuzzy_part"]) == (1.0, "canonical_solution")
    assert (second["longest_file"], second["longest_record"]) == (name, record)
    offset = int(str(second["longest_offset"]))
    assert PLANTED[offset:].startswith(str(second["longest_text"])[:40])
    assert second["solution_share"] == 1
    assert second["contaminated"]
    for other in (first, third):
        assert not other["contaminated"]
        assert (other["ngram_share"], other["longest_offset"], other["longest_text"]) == (0, -1, "")


@pytest.mark.slow
def test_the_result_is_a_study_with_the_passages(tmp_path: Path) -> None:
    """Summary, tasks, and what was found beside where it was found."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(PLANTED)
    search(corpus, tmp_path / "store")
    store = open_store(tmp_path / "store")
    [record] = recorded_studies(store)
    assert record.title.startswith("starter in ")
    summary, found, passages = tables(store.read(record.ref))
    assert summary.rows[1][1] == 1
    assert [row[0] for row in found.rows] == [TASKS[1]["task_id"]]
    assert "corpus.txt, record 1, character" in passages.to_markdown()
    # Thresholds decide what is called contaminated, and are part of the result's identity.
    assert not any(
        row["contaminated"] for row in search(corpus, tmp_path / "store", fuzzy_threshold=1, ngram_threshold=1)[::2]
    )
    assert len(recorded_studies(store)) == 2


def test_a_long_text_is_read_in_pieces_that_overlap(tmp_path: Path) -> None:
    """Every place of it is in one piece together with what stands around it."""
    text = "".join(f"{number:07} " for number in range(PIECE_CHARACTERS // 4))
    path = tmp_path / "long.txt"
    path.write_text(text)
    pieces = list(texts_of(CorpusFile(path, "long.txt", len(text))))
    assert len(pieces) > 1
    assert max(len(piece.text) for piece in pieces) <= PIECE_CHARACTERS
    assert all(text[piece.offset :].startswith(piece.text) for piece in pieces)
    ends = [piece.offset + len(piece.text) for piece in pieces]
    assert all(after.offset < end - 60_000 for after, end in zip(pieces[1:], ends, strict=False))
    assert ends[-1] == len(text)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"a": 1}\n{"a"\n', "a.jsonl, line 2: is not JSON in UTF-8"),
        ("a.jsonl.gz", b"no gzip", r"a.jsonl.gz: cannot be read \("),
        ("a.parquet", b"no parquet", r"a.parquet: cannot be read \("),
        ("a.csv", b"", "has no known ending: name a file that ends in .txt, .md, .py"),
        ("empty.jsonl", b"", r"\(1 files\): holds no word of text: name a corpus with text"),
        ("numbers.jsonl", b'{"n": 1}\n', "holds no word of text"),
        ("signs.txt", b" \n--\n", "holds no word of text"),
    ],
)
def test_a_file_that_is_damaged_or_without_text_is_named(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    """In one line, with what to do."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        search(tmp_path / name, tmp_path / "store")


def test_a_corpus_that_is_none_is_refused(tmp_path: Path) -> None:
    """No name, an empty folder, nothing of that name; the starter set's answers are one, to try it."""
    assert [file.name for file in open_corpus("starter").files] == ["answers.jsonl"]
    for corpus, message in (
        ("", "corpus: is missing: give a folder"),
        (str(tmp_path), "holds no file that ends in"),
        (str(tmp_path / "absent"), "is neither a folder, nor a file, nor a hub dataset"),
    ):
        with pytest.raises(DatasetError, match=message):
            open_corpus(corpus)


@pytest.mark.slow
def test_files_of_other_kinds_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """How many, and how they end: a rate of nothing found is one of the files that were read."""
    corpus, store = tmp_path / "corpus", tmp_path / "store"
    corpus.mkdir()
    for name in ("a.txt", "b.json", "c.json", "d.csv", "README"):
        (corpus / name).write_text(PLANTED)
    search(corpus, store)
    [record] = recorded_studies(open_store(store))
    assert record.title.endswith("(1 files; left out 4: 2 .json, 1 no ending, 1 .csv)")
    assert caplog.messages[0].endswith(
        "files of other kinds are not searched: left out 4: 2 .json, 1 no ending, 1 .csv"
    )


def test_a_dataset_of_the_hub_is_read_at_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shard of the split that is named; what is cached is not asked for again."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with HubDouble() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        shards = [_content({"content": [text]}) for text in ("first text", "second text")]
        sha = hub.commit("me/code", {f"data/train-0000{n}-of-00002.parquet": one for n, one in enumerate(shards)})
        corpus = open_corpus("me/code@train")
        assert corpus.fingerprint == {"hub": "me/code", "version": "train", "commit": sha}
        texts = [(text.record, text.text) for file in corpus.files for text in texts_of(file)]
        assert texts == [("1 content", "first text"), ("1 content", "second text")]
        with pytest.raises(DatasetError, match="has no version 'test'; available: train"):
            open_corpus("me/code@test")
    assert open_corpus(f"me/code@train#{sha}").fingerprint == corpus.fingerprint
