"""A store that another distribution brings, by the protocol of its URL."""

from pathlib import Path

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.store import open_store
from tests.command import add_distribution, process_in
from tests.store.test_conformance import TABLE, publish

PROGRAM = """
from pathlib import Path
from bigcodeflow.store import Store

def open_shelf(url):
    return Store(Path("/" + url.partition("://")[2]), url)
"""


def test_a_store_of_another_distribution_keeps_artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its URL is its location; a plug-in that cannot be loaded is named; other URLs are buckets."""
    add_distribution(tmp_path, "shelf", "[bigcodeflow.stores]\nshelf = my_shelf:open_shelf\nbroken = absent:open\n")
    (tmp_path / "my_shelf.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    url = f"shelf://{str(tmp_path / 'store')[1:]}"
    store = open_store(url)
    assert store.location == url
    assert store.read(publish(store)).equals(TABLE)
    assert open_store(tmp_path / "store").find("execution", "key")
    with pytest.raises(ConfigError, match="the store of broken:// is a plug-in, absent:open, that cannot be loaded"):
        open_store("broken://x")
    assert open_store("s3://bucket/prefix").location == "s3://bucket/prefix"


def test_commands_take_such_a_store(tmp_path: Path) -> None:
    """In place of a folder or a bucket; one that does not load is one line."""
    add_distribution(tmp_path, "shelf", "[bigcodeflow.stores]\nshelf = my_shelf:open_shelf\nbroken = absent:open\n")
    (tmp_path / "my_shelf.py").write_text(PROGRAM)
    url = f"shelf://{str(tmp_path / 'store')[1:]}"
    said = {}
    for place in (url, "broken://x"):
        said[place] = process_in(tmp_path)("runs", "--store", place, check=False, PYTHONPATH=str(tmp_path)).stderr
        assert "Traceback" not in said[place]
    assert url in said[url]
    assert "the store of broken:// is a plug-in, absent:open, that cannot be loaded: No module" in said["broken://x"]


def test_a_plug_in_that_fails_or_opens_no_store_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if its package's name begins as ours do."""
    declared = "none = bigcodeflow_shelf:nothing\nfails = bigcodeflow_shelf:fails\ntext = bigcodeflow_shelf:TEXT\n"
    add_distribution(tmp_path, "shelf", f"[bigcodeflow.stores]\n{declared}lost = bigcodeflow_lost:open\n")
    program = "TEXT = 'x'\ndef nothing(url):\n    pass\ndef fails(url):\n    raise ValueError('odd')\n"
    (tmp_path / "bigcodeflow_shelf.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    said = {
        "none": "whose result is not a Store",
        "fails": "fails: ValueError: odd",
        "text": "TypeError",
        "lost": "cannot be loaded",
    }
    for protocol, reason in said.items():
        with pytest.raises(ConfigError, match=reason):
            open_store(f"{protocol}://x")
