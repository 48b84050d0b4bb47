"""The hub is asked once, its cache stands in for it, and every refusal says what to do."""

import io
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.datasets import known_task_ids, load_tasks, resolve
from tests.doubles.hub import HubDouble

_REPO = "bigcode/bigcodebench"
_HARD = "bigcode/bigcodebench-hard"


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


@pytest.fixture
def files(make_task) -> dict[str, bytes]:
    """A repository with a version in one shard and a version in two."""
    tasks = [make_task(task_id=f"BigCodeBench/{number}") for number in (13, 0, 15)]
    return {
        "README.md": b"# tasks\n",
        "data/v0.1.4-00000-of-00001.parquet": _parquet(tasks),
        "data/v0.1.0_hf-00000-of-00002.parquet": _parquet(tasks[:1]),
        "data/v0.1.0_hf-00001-of-00002.parquet": _parquet(tasks[1:2]),
    }


@pytest.fixture
def sha(hub: HubDouble, files: dict[str, bytes]) -> str:
    """The commit of a repository with these files."""
    return hub.commit(_REPO, files)


def _config(source: str = _REPO, **settings: Any) -> DatasetConfig:
    return DatasetConfig(source=source, **settings)


def _ids(config: DatasetConfig) -> list[str]:
    return load_tasks(config, resolve(config))["task_id"].to_pylist()


def test_resolving_takes_one_request_and_reads_no_file(hub: HubDouble, sha: str) -> None:
    """The commit is pinned by one question to the hub, and the fingerprint can be stored as JSON."""
    resolved = resolve(_config())
    assert resolved.fingerprint == {"hub": _REPO, "version": "v0.1.4", "commit": sha}
    assert json.loads(json.dumps(resolved.fingerprint)) == resolved.fingerprint
    assert resolved.describe == f"{_REPO} v0.1.4 at commit {sha[:12]}"
    assert [request.path for request in hub.requests] == [f"/api/datasets/{_REPO}"]


def test_tasks_are_read_at_the_pinned_commit(hub: HubDouble, sha: str, make_task) -> None:
    """A later push changes nothing for a resolved run nor for a named commit, whose hard tasks are picked by id."""
    resolved = resolve(_config())
    hub.commit(_REPO, {"data/v0.1.4-00000-of-00001.parquet": _parquet([make_task()])})
    assert load_tasks(_config(), resolved)["task_id"].to_pylist() == [f"BigCodeBench/{n}" for n in (13, 0, 15)]
    assert len(_ids(_config(f"{_REPO}@v0.1.4#{sha}"))) == 3
    assert _ids(_config(f"{_REPO}@v0.1.4#{sha}", subset="hard")) == ["BigCodeBench/13", "BigCodeBench/15"]


def test_what_is_cached_at_a_pinned_commit_needs_no_request(hub: HubDouble, sha: str) -> None:
    """Loading again at the same commit, or naming it in the source, never asks the hub."""
    resolved = resolve(_config())
    load_tasks(_config(), resolved)
    hub.requests.clear()
    load_tasks(_config(), resolved)
    pinned = _config(f"{_REPO}@v0.1.4#{sha}")
    assert resolve(pinned) == resolved
    load_tasks(pinned, resolve(pinned))
    assert hub.requests == []


def test_the_hard_subset_comes_from_its_own_repository(hub: HubDouble, sha: str, make_task) -> None:
    """Hard reads bigcodebench-hard at the same version, and still knows the ids of the whole benchmark."""
    hard = hub.commit(_HARD, {"data/v0.1.4-00000-of-00001.parquet": _parquet([make_task(task_id="BigCodeBench/13")])})
    config = _config(subset="hard")
    resolved = resolve(config)
    assert resolved.fingerprint == {"hub": _HARD, "version": "v0.1.4", "commit": hard}
    assert load_tasks(config, resolved)["task_id"].to_pylist() == ["BigCodeBench/13"]
    assert "BigCodeBench/1139" in known_task_ids(config, resolved)


@pytest.mark.parametrize("way", ["setting", "variable", "no network", "server errors", "rate limit"])
def test_the_cache_stands_in_and_says_so(
    hub: HubDouble, sha: str, way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Offline, without network or with an ailing hub the commit last seen is used; a notice names a hub's silence."""
    online = resolve(_config())
    tasks = load_tasks(_config(), online)
    hub.requests.clear()
    if way == "variable":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    elif way == "no network":
        hub.stop()
    elif way == "server errors":
        hub.server_errors = 9
    elif way == "rate limit":
        hub.rate_limits = ["3600"]
    config = _config(offline=way == "setting")
    with caplog.at_level(logging.WARNING):
        resolved = resolve(config)
    assert resolved.fingerprint == online.fingerprint
    assert "from the cache" in resolved.describe
    assert load_tasks(config, resolved).equals(tasks)
    if way in {"setting", "variable"}:
        assert (hub.requests, caplog.text) == ([], "")
    else:
        assert "from the cache (the hub does not answer" in caplog.text


def test_offline_takes_the_newest_complete_copy(hub: HubDouble, files: Mapping[str, bytes], tmp_path: Path) -> None:
    """All shards are read in order; a later commit whose shards were not all downloaded is passed over."""
    config = _config(f"{_REPO}@v0.1.0_hf")
    complete = hub.commit(_REPO, files)
    assert _ids(config) == ["BigCodeBench/13", "BigCodeBench/0"]
    hub.commit(_REPO, {**files, "more.txt": b""})
    _ids(config)
    newest = resolve(config).fingerprint["commit"]
    next((tmp_path / "hf").rglob(f"snapshots/{newest}/data/*-00001-of-00002.parquet")).unlink()
    resolved = resolve(_config(f"{_REPO}@v0.1.0_hf", offline=True))
    assert resolved.fingerprint["commit"] == complete


def test_a_rate_limit_is_waited_for(hub: HubDouble, sha: str) -> None:
    """Short Retry-After times are honoured when resolving and when downloading."""
    hub.rate_limits = ["0", "0"]
    resolved = resolve(_config())
    assert len(hub.requests) == 3
    hub.rate_limits = ["0"]
    assert load_tasks(_config(), resolved).num_rows == 3


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no/such", r"no/such: is not a dataset on the hub.*dataset\.source.*HF_TOKEN"),
        (f"{_REPO}@v9", r"has no version 'v9'; available: v0\.1\.0_hf, v0\.1\.4:"),
        ("me/empty@v1", r"available: none \(no data/VERSION-\*\.parquet\)"),
        (f"{_REPO}@v0.1.4#{'a' * 40}", f"has no commit {'a' * 40}"),
    ],
)
def test_what_the_hub_does_not_have_is_named(hub: HubDouble, sha: str, source: str, message: str) -> None:
    """A wrong repository, version, layout or commit each lead to what there is or to the setting to correct."""
    hub.commit("me/empty", {"README.md": b""})
    with pytest.raises(DatasetError, match=message):
        resolve(_config(source))


def test_a_gated_repository_opens_with_a_token(hub: HubDouble, sha: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the account's token the message says how to get one; with it the tasks are read."""
    hub.gated.add(_REPO)
    with pytest.raises(DatasetError, match=r"is gated: accept its conditions.*HF_TOKEN"):
        _ids(_config())
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert len(_ids(_config())) == 3


@pytest.mark.parametrize("offline", [True, False])
def test_neither_network_nor_cache_is_one_clear_error(hub: HubDouble, offline: bool) -> None:  # noqa: FBT001
    """With nothing to fall back on, the message names the choices."""
    hub.stop()
    with pytest.raises(DatasetError, match=r"holds no copy: run once with network, or set dataset\.source to a file"):
        resolve(_config(offline=offline))


def test_a_network_lost_before_the_download_is_named(hub: HubDouble, sha: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that goes away between resolving and loading gives a typed error, online and offline."""
    resolved = resolve(_config())
    with pytest.raises(DatasetError, match="is not cached, and the run is offline"):
        load_tasks(_config(offline=True), resolved)
    hub.stop()
    monkeypatch.setattr(time, "sleep", lambda _: None)  # the client tries again for 23 s
    with pytest.raises(DatasetError, match="is not cached and the hub does not answer"):
        load_tasks(_config(), resolved)


def test_a_file_gone_from_the_commit_is_reported(sha: str) -> None:
    """A repository whose history was rewritten gives a typed error."""
    resolved = resolve(_config())._replace(files=("data/v0.1.4-00000-of-00009.parquet",))
    with pytest.raises(DatasetError, match="is not on the hub: start a new run"):
        load_tasks(_config(), resolved)


def test_a_bad_file_from_the_hub_is_named(hub: HubDouble) -> None:
    """What is no Parquet file is reported with its path in the cache."""
    hub.commit(_REPO, {"data/v0.1.4-00000-of-00001.parquet": b"PAR1 broken"})
    with pytest.raises(DatasetError, match=r"00000-of-00001\.parquet: is not a readable Parquet file"):
        _ids(_config())


def test_an_endpoint_that_is_no_hub_is_reported(hub: HubDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy's error page or a wrong address is not mistaken for a missing dataset."""
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/elsewhere")
    with pytest.raises(DatasetError, match="bigcode/bigcodebench: the hub refused the request"):
        resolve(_config())
