"""A store in a folder: damage, keys, and compressed files; what all stores do is in `test_conformance`."""

import json
from pathlib import Path

import pytest

from bigcodeflow.core.files import write_atomically
from bigcodeflow.store import artifact_key, open_store

from .test_conformance import TABLE, flipped, publish


@pytest.mark.parametrize("damage", ["truncate", "flip", "no_part", "no_manifest", "bad_manifest", "other_manifest"])
def test_a_damaged_artifact_is_a_miss(tmp_path: Path, damage: str) -> None:
    """Nothing that fails its checksum is ever handed out; publishing again repairs it."""
    store = open_store(tmp_path / "store")
    ref = publish(store)
    part, manifest = store.path(ref), store.folder("execution", "key") / "manifest.json"
    damages = {
        "truncate": lambda: part.write_bytes(part.read_bytes()[:-1]),
        "flip": lambda: part.write_bytes(flipped(part.read_bytes())),
        "no_part": part.unlink,
        "no_manifest": manifest.unlink,
        "bad_manifest": lambda: manifest.write_text(manifest.read_text()[:40]),
        "other_manifest": lambda: manifest.write_text(json.dumps({"artifact": {"stage": "stage"}})),
    }
    damages[damage]()
    assert store.find("execution", "key") is None
    assert publish(store) == store.find("execution", "key")
    assert store.read(ref).equals(TABLE)


def test_keys_tell_stage_version_and_inputs_apart() -> None:
    """Every part of the identity counts, inputs in their order, settings in any."""
    assert artifact_key("a", 1, {"x": 1, "y": 2}) == artifact_key("a", 1, {"y": 2, "x": 1})
    keys = {
        artifact_key("a", 1, {"x": 1}, ["x", "y"]),
        artifact_key("a", 1, {"x": True}, ["x", "y"]),  # 1 == True in Python, but not in a setting
        artifact_key("a", 1, {}, ["x", "y"]),
        artifact_key("b", 1, {}, ["x", "y"]),
        artifact_key("a", 2, {}, ["x", "y"]),
        artifact_key("a", 1, {}, ["y", "x"]),
        artifact_key("a", 1, {}, ["xy"]),
    }
    assert len(keys) == 7


def test_a_compressed_file_is_the_same_every_time(tmp_path: Path) -> None:
    """No time stamp gets into a gzip file, so that equal results have equal bytes."""
    one = write_atomically(tmp_path / "deep" / "a.gz", b"text", compress=True)
    other = write_atomically(tmp_path / "b.gz", b"text", compress=True)
    assert one.read_bytes() == other.read_bytes()
