"""`bigcodeflow sweep --dry-run` and `bigcodeflow clean`, as a user meets them."""

import os
from pathlib import Path

import pytest

from bigcodeflow.cli.run import sweep
from bigcodeflow.cli.store import clean
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.schemas import TASKS
from bigcodeflow.store import open_store


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_dry_run_plans_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every run is named with what is to be done, and the store does not come into being."""
    sweep(file="starter", settings=["dataset.ids=0-2"], dry_run=True)
    output = capsys.readouterr().out
    assert "Sweep starter: 12 runs" in output
    assert "stub · full · complete · robust" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("execution.workers", "is not of the form section.key=value"),
        ("execution.workers=[", "the value is not YAML"),
        ("execution.workers=many", "execution.workers: Input should be a valid integer"),
        ("dataset.split=instruct", "is set by the sweep: change its field 'splits'"),
    ],
)
def test_a_wrong_override_is_reported_once(setting: str, message: str) -> None:
    """The message names the setting, and is one line although it concerns every run."""
    with pytest.raises(ConfigError) as caught:
        sweep(file="starter", settings=[setting], dry_run=True)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_cleaning_lists_first_and_removes_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --delete nothing is removed, and the output names the way to do it."""
    store = open_store(tmp_path / "store")
    store.publish("dataset", "unused", TASKS.empty_table(), settings={})
    for path in store.folder("dataset", "unused").iterdir():
        os.utime(path, (0, 0))
    clean(store=str(store.root))
    output = capsys.readouterr()
    assert "dataset/unused" in output.out
    assert "add --delete to remove this" in output.err
    assert store.folder("dataset", "unused").exists()
    clean(store=str(store.root), delete=True)
    assert "removed: 1 x artifact" in capsys.readouterr().err
    assert not store.folder("dataset", "unused").exists()
    clean(store=str(store.root))
    assert "may go: nothing" in capsys.readouterr().err


def test_a_bound_is_reported_with_its_name(tmp_path: Path) -> None:
    """An age below a day is refused with the option's name."""
    with pytest.raises(ConfigError, match="older_than_days: Input should be greater than or equal to 1"):
        clean(store=str(tmp_path), older_than_days=0.1)
