"""Damage, torn uploads and a network that fails: a store on S3 never hands out what is not whole, and says what is wrong."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.store import RemoteStore, open_store
from bigcodeflow.store import bucket as bucket_module
from tests.conftest import ROOT

from .conftest import Machine
from .s3 import FaultyProxy, faulty_proxy, variables
from .test_conformance import TABLE, flipped, publish


@pytest.mark.parametrize("damage", ["truncate", "flip", "no_part", "no_manifest", "bad_manifest"])
def test_damaged_objects_are_a_miss(s3_machine: Machine, damage: str) -> None:
    """Nothing that fails its checksum gets into a replica; publishing again repairs it."""
    store = s3_machine("one")
    ref = publish(store)
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


@pytest.mark.parametrize("damage", ["flip", "no_part", "no_manifest"])
def test_a_damaged_replica_is_brought_again(s3_machine: Machine, damage: str) -> None:
    """What a disk lost here is still there."""
    store = s3_machine("one")
    ref = publish(store)
    part = store.path(ref)
    damages = {
        "flip": lambda: part.write_bytes(flipped(part.read_bytes())),
        "no_part": part.unlink,
        "no_manifest": part.with_name("manifest.json").unlink,
    }
    damages[damage]()
    assert store.find("execution", "key") == ref
    assert store.read(ref).equals(TABLE)


_PUBLISHER = """
import sys
import pyarrow as pa
from bigcodeflow.store import open_store
table = pa.table({"n": list(range(1000))})
open_store(sys.argv[1]).publish("execution", "key", table, settings={})
"""


@pytest.mark.parametrize("torn", [".parquet", "manifest.json"])
def test_a_publisher_that_is_killed_publishes_nothing(
    s3_machine: Machine, s3_endpoint: str, tmp_path: Path, torn: str
) -> None:
    """kill -9 while the part or the manifest is on its way: a miss, and the next publisher's artifact is whole."""
    store = s3_machine("observer")
    with faulty_proxy(s3_endpoint) as proxy:
        proxy.fault = lambda method, path: (
            "hold" if method == "PUT" and path.partition("?")[0].endswith(torn) else "pass"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", _PUBLISHER, store.location],
            env=os.environ | variables(proxy.endpoint, tmp_path / "publisher"),
            cwd=ROOT,
        )
        deadline = time.monotonic() + 60
        while not any(method == "PUT" and torn in path for method, path in proxy.seen) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        process.wait()
        assert any(method == "PUT" and torn in path for method, path in proxy.seen)
    assert store.find("execution", "key") is None
    assert store.published("execution") == []
    ref = publish(store)
    assert s3_machine("other").read(ref).equals(TABLE)


@pytest.mark.parametrize("fault", ["unavailable", "drop"])
def test_what_fails_for_a_moment_is_tried_again(s3_machine: Machine, proxy: FaultyProxy, fault: str) -> None:
    """Every second request fails: publishing, finding, listing and reading do not notice."""
    proxy.fault = lambda _method, _path: fault if len(proxy.seen) % 2 else "pass"
    ref = publish(s3_machine("one"))
    other = s3_machine("other")
    assert other.find("execution", "key") == ref
    assert other.read(ref).equals(TABLE)
    assert len(s3_machine("third").published("execution")) == 1


def test_a_store_out_of_reach_is_no_miss(
    s3_machine: Machine, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that is there must not be done again because the network is down: one line says so."""
    monkeypatch.setattr(bucket_module, "_PAUSES_SECONDS", ())
    store = s3_machine("one")
    publish(store)
    proxy.fault = lambda _method, _path: "unavailable"
    message = r"store s3://bucket-\w+/some/prefix cannot be reached .* what is finished is kept"
    with pytest.raises(ArtifactError, match=message):
        store.find("execution", "key")


def _failure(location: str, *, prelude: str = "", **environment: str) -> str:
    """What a new process says when it opens a store."""
    program = f"import sys\n{prelude}\nfrom bigcodeflow.store import open_store\nfrom bigcodeflow.core.errors import ArtifactError\n"
    program += "try: open_store(sys.argv[1]).find('execution', 'key')\nexcept ArtifactError as error: print(error)\n"
    done = subprocess.run(
        [sys.executable, "-c", program, location],
        env={key: value for key, value in (os.environ | environment).items() if value},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.stdout


def test_what_the_user_has_to_mend_is_one_line(s3_endpoint: str, s3_url: str, tmp_path: Path) -> None:
    """Bucket, credentials, package and protocol: each is named, with what to do."""
    assert "bucket does not exist: create the bucket" in _failure("s3://bucket-that-is-not-there/prefix")
    nobody = _failure(
        s3_url, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="", HOME=str(tmp_path), AWS_CONFIG_FILE=str(tmp_path / "no")
    )
    assert "access is refused (Unable to locate credentials): give credentials" in nobody
    with pytest.raises(ArtifactError, match=r"store memory://x: is gone with the process; use a folder or a URL"):
        open_store("memory://x").find("execution", "key")
    with pytest.raises(ArtifactError, match=r"store foo://x: Protocol not known: foo: use a folder or a URL"):
        open_store("foo://x").find("execution", "key")
    without_extra = _failure("s3://some-bucket", prelude="sys.modules['s3fs'] = None")
    assert "what speaks s3:// is not installed: pip install 'bigcodeflow[s3]'" in without_extra


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    """It is published by rename like any folder."""
    store = open_store(f"file://{tmp_path}/store")
    assert store.root == tmp_path / "store"
    assert not isinstance(store, RemoteStore)
    ref = store.publish("execution", "key", pa.table({"n": [1]}), settings={})
    assert open_store(tmp_path / "store").find("execution", "key") == ref
