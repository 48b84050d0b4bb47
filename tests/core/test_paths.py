"""Paths that users write: what they mean, and what is said of those that no file can have."""

import re
from pathlib import Path

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import located, user_path
from bigcodeflow.pipeline.forms import judged_run
from bigcodeflow.pipeline.preflight import problems_of
from tests.conftest import ROOT

IMPOSSIBLE = ["~no-such-user/x", "x" * 300, "a\0b"]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_a_path_that_no_file_can_have_is_named(text: str, tmp_path: Path) -> None:
    """In a line, whichever setting has it; before a run starts, too."""
    for read in (user_path, located):
        with pytest.raises(ConfigError, match="is not a valid path") as raised:
            read(text)
        assert len(str(raised.value)) < 250
    for name in ("store", "out"):
        run = judged_run(samples="stub", preset="starter", settings={"store": str(tmp_path)})
        [problem] = problems_of([run.model_copy(update={name: text})])
        assert "is not a valid path" in problem


def test_parquet_is_opened_in_one_module_only() -> None:
    """Elsewhere a folder's name could become a column or a pattern; SQL says that it must not."""
    opens = re.compile(
        r"(read_parquet|scan_parquet|ds\.dataset|(pq|parquet)\.read_table)\((?!.*hive_partitioning = false)"
    )
    files = [
        file for top in ("src", "flows", "tasks") for file in (ROOT / top).rglob("*") if file.suffix in {".py", ".sql"}
    ]
    found = {file.name for file in files if opens.search(file.read_text(encoding="utf-8"))}
    assert found == {"parquet.py"}


def test_a_path_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/new/folder") == tmp_path / "new" / "folder"
