"""Runs whose model was asked the prompts of another split are found by the requests in the store."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.cli.env import _recorded_runs
from bigcodeflow.config import PromptConfig
from bigcodeflow.config.generation import FORMS, template_sha256
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.report import select_runs
from bigcodeflow.report.overview import scores
from bigcodeflow.results import rebuild_catalog
from bigcodeflow.results.runs import RecordedRun, asked_splits, find_run, is_mismatched, recorded_runs, split_mismatch
from bigcodeflow.store import open_store
from bigcodeflow_leaderboard.measured_entries import entry_of
from tests.results.conftest import Tables, blank, publish_run, write_record
from tests.store.s3 import new_bucket

texts = st.text(st.characters(codec="utf-8"), max_size=20)
prompts = st.builds(PromptConfig, system=texts, instruction_prefix=texts, response_prefix=texts)


def _recorded(store: Path, split: str, prompt: dict[str, object], **keys: str) -> RecordedRun:
    config = {"dataset": {"split": split}, "generation": {"prompt": prompt}}
    write_record(open_store(store), "r", run="r", config=config, artifacts=keys)
    return find_run(store, "r")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("splits")


@given(prompt=prompts, form=st.sampled_from(FORMS), split=st.sampled_from(("complete", "instruct")))
def test_the_template_tells_the_split_whatever_the_prompt(folder: Path, prompt, form, split):
    """Every form and every text around the task; rows of both splits are reported as both."""
    run = _recorded(folder, "complete", prompt.model_dump(mode="json"))
    template = template_sha256(split, form, prompt)
    assert asked_splits(run, [template, "of another version"]) == (split,)
    assert is_mismatched(run, [template]) is (split == "instruct")
    assert is_mismatched(run, []) is None
    other = template_sha256("complete", form, prompt)
    assert is_mismatched(run, {template, other}) is (split == "instruct")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A store with a run of complete, and one that the same answers were recorded with as instruct."""
    tables, store = Tables(tmp_path / "tables"), open_store(tmp_path / "store")
    tables.task("Demo/0")
    tables.sample("Demo/0")
    asked = {"template_sha": template_sha256("complete", "chat", PromptConfig()), "provider": "openai", "attempts": 1}
    answers = [blank(SAMPLES) | {"task_id": "Demo/0", "sample_index": 0, "raw_text": "x"} | asked]
    for record, run, split in (("a", "good", "complete"), ("b", "wrong", "instruct")):
        config = {"dataset": {"split": split, "subset": "full"}, "samples": {"source": "model"}}
        content = {"answers": answers, "metrics": tables.metrics(), "run": run, "model": "m", "config": config}
        publish_run(store, tables, record, **content)
    return store.root


def test_a_run_of_another_split_is_named_marked_and_refused(stored: Path) -> None:
    """By doctor, in the catalog, by the leaderboard, and in a report; the right run is not, nor is a store of it."""
    message = "it is recorded as instruct, but its model was asked the complete prompts"
    [shown] = _recorded_runs(str(stored))
    assert shown.subject == "recorded run b"
    assert shown.details.startswith(message)
    with duckdb.connect(rebuild_catalog(stored), read_only=True) as catalog:
        for view in ("runs", "pass_at_k"):
            rows = catalog.execute(f"SELECT DISTINCT run, split_mismatch FROM {view} ORDER BY run").fetchall()
            assert rows == [("good", False), ("wrong", True)]
    with pytest.raises(ArtifactError, match=message):
        entry_of(find_run(stored, "wrong"))
    assert split_mismatch(find_run(stored, "good")) == ""
    [note] = scores(select_runs(stored, ["wrong"])).table.notes
    assert message in note
    (stored / "runs" / "b.json").unlink()
    [shown] = _recorded_runs(str(stored))
    assert (shown.works, shown.details) == (True, "1, each asked the prompts of its split")


def test_an_unreadable_record_is_a_defect_and_no_store_is_none(tmp_path: Path) -> None:
    assert list(_recorded_runs(str(tmp_path))) == []
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.json").write_text("{")
    [diagnosis] = _recorded_runs(str(tmp_path))
    assert not diagnosis.works
    assert "is not a run record" in diagnosis.details


@pytest.mark.slow
def test_a_store_at_a_url_is_read_too(s3_endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples come into the replica; samples without requests say nothing."""
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "replica"))
    store = open_store(f"s3://{new_bucket()}/prefix")
    asked = template_sha256("complete", "chat", PromptConfig())
    for name, templates in (("wrong", [asked, None]), ("replayed", [None, None])):
        store.publish("generation", name, pa.table({"template_sha": pa.array(templates, pa.string())}), settings={})
        config = {"dataset": {"split": "instruct"}}
        write_record(store, name, run=name, config=config, artifacts={"generation": name})
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "another machine"))
    assert [bool(split_mismatch(run)) for run in recorded_runs(store.location)] == [False, True]


def test_a_lost_or_older_samples_table_says_nothing(folder: Path) -> None:
    """No traceback where the artifact is gone or was written without templates."""
    run = _recorded(folder, "instruct", {"of": "another version"}, generation="k")
    assert split_mismatch(run) == ""
    path = folder / "generation" / "k" / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"task_id": ["a"]}), path)
    assert split_mismatch(run) == ""
