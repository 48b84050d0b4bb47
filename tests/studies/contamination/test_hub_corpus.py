"""A dataset of the hub is a corpus: its Parquet files at one commit."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.errors import DatasetError
from bigcodeflow.studies.contamination.corpus import open_corpus, texts_of
from tests.doubles.hub import HubDouble


def test_a_dataset_of_the_hub_is_read_at_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shard of the split that is named; what is cached is not asked for again."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with HubDouble() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        shards = [_parquet({"content": [text]}) for text in ("first text", "second text")]
        sha = hub.commit("me/code", {f"data/train-0000{n}-of-00002.parquet": one for n, one in enumerate(shards)})
        corpus = open_corpus("me/code@train")
        assert corpus.fingerprint == {"hub": "me/code", "version": "train", "commit": sha}
        texts = [(text.record, text.text) for file in corpus.files for text in texts_of(file)]
        assert texts == [("1 content", "first text"), ("1 content", "second text")]
        with pytest.raises(DatasetError, match="has no version 'test'; available: train"):
            open_corpus("me/code@test")
    assert open_corpus(f"me/code@train#{sha}").fingerprint == corpus.fingerprint


def _parquet(columns: dict[str, list[str]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()
