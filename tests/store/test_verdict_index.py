"""Known verdicts are found through an index, which never says what the store does not hold."""

from pathlib import Path

import pyarrow as pa
import pytest

from bigcodeflow.core.schemas import VERDICTS, table_of
from bigcodeflow.execution import verdict_index
from bigcodeflow.execution.costs import Cost
from bigcodeflow.execution.verdict_index import VerdictIndex
from bigcodeflow.store import Store, open_store

_EMPTY = {pa.string(): "", pa.bool_(): False, pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0}


def verdict(key: str, status: str = "pass", **columns: object) -> dict[str, object]:
    """A row of VERDICTS."""
    rest = {field.name: _EMPTY.get(field.type, []) for field in VERDICTS if not field.nullable}
    own = {"task_id": f"Task/{key}", "verdict_key": key, "status": status, "wall_seconds": 2.0, "max_rss_mib": 9.0}
    return rest | own | columns


def publish(store: Store, name: str, *rows: dict[str, object]) -> None:
    store.publish("execution", name, table_of(rows, schema=VERDICTS), settings={})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setattr(verdict_index, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def found(store: Store, *keys: str) -> set[tuple[str, str]]:
    """Key and status of the verdicts that a new process finds."""
    return {(row["verdict_key"], row["status"]) for row in VerdictIndex(store).verdicts(keys)}


@pytest.mark.slow
def test_verdicts_of_every_artifact_are_found_on_every_machine(machine):
    """Artifacts that are published after the first look too, and every outcome of an execution."""
    publish(machine("a"), "one", verdict("k1"), verdict("k2", "fail"))
    assert found(machine("a"), "k1", "k2", "k3") == {("k1", "pass"), ("k2", "fail")}
    publish(machine("b"), "two", verdict("k1", "fail"), verdict("k3"))
    expected = {("k1", "pass"), ("k1", "fail"), ("k2", "fail"), ("k3", "pass")}
    assert found(machine("a"), "k1", "k2", "k3") == found(machine("b"), "k1", "k2", "k3") == expected
    assert found(machine("a")) == found(machine("a"), "k4") == set()


def test_what_says_nothing_of_the_program_is_not_found(machine):
    store = machine("a")
    publish(store, "one", verdict("k1", "infra_error"), verdict("k2", "fail", failure_kind="safety_policy"))
    assert found(store, "k1", "k2") == set()


def test_an_artifact_that_is_gone_or_another_is_read_again(machine):
    """A deleted artifact's verdicts are not found, those of one that was published again are as they are now."""
    store = machine("a")
    publish(store, "one", verdict("k1"), verdict("k2", "infra_error"))
    publish(store, "two", verdict("k3"))
    assert found(store, "k1", "k2", "k3") == {("k1", "pass"), ("k3", "pass")}
    publish(store, "one", verdict("k1"), verdict("k2", "fail"), verdict("k4"))
    store.discard(store.folder("execution", "two"))
    assert found(store, "k1", "k2", "k3", "k4") == {("k1", "pass"), ("k2", "fail"), ("k4", "pass")}


def test_costs_are_means_over_measured_executions(machine):
    store = machine("a")
    publish(store, "one", verdict("k1", wall_seconds=1.0, max_rss_mib=300.0), verdict("k2", "timeout"))
    another = verdict("k9", task_id="Task/k1", wall_seconds=4.0, max_rss_mib=100.0)
    publish(store, "two", another, verdict("k3", "fail", backend="imported"))
    assert VerdictIndex(store).costs() == {"Task/k1": Cost(2.5, 300.0)}


@pytest.mark.parametrize("damage", ["garbage", "truncated"])
def test_a_damaged_index_is_made_again(tmp_path: Path, cache: Path, damage: str) -> None:
    """It costs one reading of the store, and no run."""
    store = open_store(tmp_path / "store")
    publish(store, "one", verdict("k1"))
    assert found(store, "k1")
    [path] = cache.rglob("*.sqlite")
    path.write_bytes(b"no database" * 1000 if damage == "garbage" else path.read_bytes()[:5000])
    assert found(store, "k1") == {("k1", "pass")}


def test_a_cache_that_cannot_be_written_costs_time_only(
    tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path / "store")
    publish(store, "one", verdict("k1"))
    cache.mkdir()
    (cache / "verdict-index").write_text("a file where the folder would be")
    assert found(store, "k1") == {("k1", "pass")}
    assert "cannot be used" in caplog.text


@pytest.mark.slow
def test_a_lookup_reads_no_artifact_that_it_does_not_need(s3_machine, tmp_path: Path) -> None:
    """Another machine brings one of three artifacts of a bucket here."""
    for number in range(3):
        publish(s3_machine("a"), f"run-{number}", verdict(f"k{number}"))
    assert found(s3_machine("b"), "k1") == {("k1", "pass")}
    assert [path.parent.name for path in (tmp_path / "b").rglob("*.parquet")] == ["run-1"]
