"""What is read in a process of its own ends within limits, whatever it does."""

import math
import os
import subprocess
from pathlib import Path

import pytest

from bigcodeflow.core.untrusted_text import MOST_TEST_CHARACTERS, TooLargeError, call_in_child
from bigcodeflow.sanitizing import syntax_error


def test_a_result_comes_back_as_it_is() -> None:
    """Of any type; texts may hold what no encoding can."""
    assert call_in_child(sorted, ["b", "a\ud800"], reverse=True) == ["b", "a\ud800"]


@pytest.mark.slow
def test_larger_programs_are_parsed_there() -> None:
    """Here they are refused, since they would take memory of this process."""
    program = "x = 1\n" * (MOST_TEST_CHARACTERS // 6 + 1)
    assert syntax_error(program).startswith("too large to be read: 200,004 characters")
    assert not call_in_child(syntax_error, program)


def test_memory_is_limited() -> None:
    """What would take gigabytes is given up."""
    assert call_in_child(len, bytes(1 << 20)) == 1 << 20
    with pytest.raises(TooLargeError, match="within 20 s of CPU time and 1,024 MiB of memory"):
        call_in_child(bytes, 2 << 30)


@pytest.mark.slow
def test_time_is_limited() -> None:
    """Also where one call in C takes it."""
    with pytest.raises(TooLargeError):
        call_in_child(math.factorial, 10**8)


def test_a_crash_is_the_texts_own() -> None:
    """A parser that ends its process ends no other one."""
    with pytest.raises(TooLargeError):
        call_in_child(os.abort)


def test_other_failures_are_told_apart(capfd: pytest.CaptureFixture[str]) -> None:
    """They say nothing of the text's size."""
    with pytest.raises(subprocess.CalledProcessError):
        call_in_child(int, "x")
    assert capfd.readouterr().err.startswith("ValueError: invalid literal")


def test_modules_of_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is started anywhere, also beside a file called pickle.py."""
    (tmp_path / "pickle.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    assert call_in_child(len, "abc") == 3
