"""Files that set variables: what is taken, and what is said of the rest, without what they hold."""

import os
from pathlib import Path

import pytest

from bigcodeflow.core.env_file import ENV_FILE_VARIABLE, read_env_file, take_env_file
from bigcodeflow.core.errors import ConfigError


def test_lines_are_read_as_shells_and_docker_read_them(tmp_path: Path) -> None:
    file = tmp_path / "keys.env"
    file.write_text("# keys\n\nA=1\nexport B='two words'\n C = \"x=y\" \nD=plain # comment\nE=#1\nF=\n")
    assert read_env_file(file) == {"A": "1", "B": "two words", "C": "x=y", "D": "plain", "E": "#1", "F": ""}
    file.write_text('\ufeffA="sk 1" # key\nB=  # put it here\nC=x\t# note\nD=\'a\' b\nE="a"b"\n', encoding="utf-8")
    assert read_env_file(file) == {"A": "sk 1", "B": "", "C": "x", "D": "'a' b", "E": '"a"b"'}


@pytest.mark.parametrize("line", ["canary", "1A=canary", "=canary", "A canary", "export canary"])
def test_a_line_that_sets_nothing_is_named_and_not_shown(line: str, tmp_path: Path) -> None:
    file = tmp_path / "keys.env"
    file.write_text(f"A=1\n{line}\n")
    with pytest.raises(ConfigError, match=r"keys\.env, line 2: sets no variable") as raised:
        read_env_file(file)
    assert "canary" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--env-file .*absent cannot be read \(No such file"):
        read_env_file(tmp_path / "absent")
    (tmp_path / "binary").write_bytes(b"\xff\xfe=")
    with pytest.raises(ConfigError, match="it is not a text file"):
        read_env_file(tmp_path / "binary")


def test_a_run_takes_what_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody set comes first, unless it is empty; without a file nothing happens; a link to nowhere is told."""
    file, link = tmp_path / "keys.env", tmp_path / "link"
    file.write_text("TAKEN=file\nSET=file\nEMPTY=file\n")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("SET", "environment")
    monkeypatch.setenv("TAKEN", "")  # so that what the run sets goes with the test
    monkeypatch.delenv("TAKEN")
    monkeypatch.setenv(ENV_FILE_VARIABLE, str(link))
    take_env_file()
    link.symlink_to(file)
    take_env_file()
    assert [os.environ[name] for name in ("TAKEN", "SET", "EMPTY")] == ["file", "environment", "file"]
    file.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        take_env_file()
