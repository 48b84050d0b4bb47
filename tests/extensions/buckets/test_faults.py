"""Damage, torn uploads and a network that fails: a store on S3 never hands out what is not whole, and says what is wrong."""

import subprocess
import sys
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.store import open_store
from bigcodeflow_buckets import bucket as bucket_module
from bigcodeflow_buckets.remote_store import RemoteStore
from tests.doubles.faulty_proxy import FaultyProxy
from tests.store.conftest import Machine
from tests.store.s3 import forget_servers
from tests.store.test_conformance import TABLE, flipped, publish


@pytest.mark.parametrize("name", ["a*b", "[1]", "a?b", "k=5"])
def test_a_store_removes_its_own_objects_only(name: str) -> None:
    """What its path reads like is no pattern; what is gone already is no error."""
    system = fsspec.filesystem("memory")
    own, other = (bucket_module.Bucket("memory://", system, f"/bucket/{one}") for one in (name, "axb"))
    for bucket in (own, other):
        bucket.write("runs/r.json", b"{}")
    own.delete(["runs/gone.json", "runs/r.json"])
    assert (list(own.objects("runs")), list(other.objects("runs"))) == ([], ["r.json"])


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncate", "flip", "no_part", "no_manifest", "bad_manifest"])
def test_damaged_objects_are_a_miss(s3_machine: Machine, damage: str) -> None:
    """Nothing that fails its checksum gets into a replica; publishing again repairs it. A replica is brought again."""
    store = s3_machine("one")
    ref = publish(store)
    for lost in (store.path(ref), store.path(ref).with_name("manifest.json")):
        lost.unlink()
        assert store.find("execution", "key") == ref
        assert store.read(ref).equals(TABLE)
    bucket, part, manifest = store.bucket, f"execution/key/{ref.sha256}.parquet", "execution/key/manifest.json"
    damages = {
        "truncate": lambda: bucket.write(part, bucket.read(part)[:-1]),
        "flip": lambda: bucket.write(part, flipped(bucket.read(part))),
        "no_part": lambda: bucket.delete([part]),
        "no_manifest": lambda: bucket.delete([manifest]),
        "bad_manifest": lambda: bucket.write(manifest, bucket.read(manifest)[:40]),
    }
    damages[damage]()
    other = s3_machine("other")
    assert other.find("execution", "key") is None
    assert other.published("execution") == []
    assert publish(other) == s3_machine("third").find("execution", "key")


def _is_put(method: str, path: str, torn: str) -> bool:
    return method == "PUT" and path.partition("?")[0].endswith(torn)


@pytest.mark.slow
@pytest.mark.parametrize("torn", [".parquet", "manifest.json"])
def test_what_does_not_arrive_publishes_nothing(
    s3_machine: Machine, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, torn: str
) -> None:
    """Where the part or the manifest is lost on its way there is a miss, and the next publisher's artifact is whole."""
    monkeypatch.setattr(bucket_module, "_PAUSES_SECONDS", ())
    proxy.fault = lambda method, path: "cut before the request" if _is_put(method, path, torn) else ""
    with pytest.raises(ArtifactError, match="cannot be reached"):
        publish(s3_machine("publisher"))
    store = s3_machine("observer")
    assert store.find("execution", "key") is None
    assert store.published("execution") == []
    proxy.fault = lambda _method, _path: ""
    ref = publish(store)
    assert s3_machine("other").read(ref).equals(TABLE)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["unavailable", "cut before the request"])
def test_what_fails_for_a_moment_is_tried_again(
    s3_machine: Machine, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Every request fails the first time: publishing, finding, listing and reading do not notice."""
    monkeypatch.setattr(bucket_module, "_PAUSES_SECONDS", (0.0,) * 5)
    proxy.fault = lambda method, path: fault if proxy.seen.count((method, path)) == 1 else ""
    ref = publish(s3_machine("one"))
    other = s3_machine("other")
    assert other.find("execution", "key") == ref
    assert other.read(ref).equals(TABLE)
    assert len(s3_machine("third").published("execution")) == 1


@pytest.mark.slow
def test_a_store_out_of_reach_is_no_miss(
    s3_machine: Machine, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that is there must not be done again because the network is down: one line says so."""
    monkeypatch.setattr(bucket_module, "_PAUSES_SECONDS", ())
    store = s3_machine("one")
    publish(store)
    proxy.fault = lambda _method, _path: "unavailable"
    message = r"store s3://bucket-\w+/some/prefix cannot be reached .* finished work is kept"
    with pytest.raises(ArtifactError, match=message):
        store.find("execution", "key")


@pytest.mark.slow
def test_what_the_user_has_to_mend_is_one_line(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bucket, credentials and protocol: each is named, with what to do."""

    def problem(url: str) -> str:
        with pytest.raises(ArtifactError) as raised:
            open_store(url).find("execution", "key")
        return str(raised.value)

    assert "bucket does not exist: create the bucket" in problem("s3://bucket-that-is-not-there/prefix")
    assert "store memory://x: ends with this process; use a folder or a URL" in problem("memory://x")
    assert "store foo://x: Protocol not known: foo: use a folder or a URL" in problem("foo://x")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no"))
    forget_servers()
    assert "access is refused (Unable to locate credentials): give credentials" in problem(f"{s3_url}/private")
    forget_servers()


@pytest.mark.slow
def test_a_missing_package_is_named() -> None:
    """With the extra that brings it."""
    program = """if True:
    import sys
    sys.modules["s3fs"] = None
    from bigcodeflow.store import open_store
    open_store("s3://some-bucket").find("execution", "key")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "the package for s3:// is not installed: pip install 'bigcodeflow[s3]'" in done.stderr


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    """It is published by rename like any folder."""
    store = open_store(f"file://{tmp_path}/store")
    assert store.root == tmp_path / "store"
    assert not isinstance(store, RemoteStore)
    ref = store.publish("execution", "key", pa.table({"n": [1]}), settings={})
    assert open_store(tmp_path / "store").find("execution", "key") == ref
