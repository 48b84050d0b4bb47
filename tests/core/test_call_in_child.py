"""What is read in a process of its own ends within limits, whatever it does."""

import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bigcodeflow.core.untrusted_text import MOST_TEST_CHARACTERS, TooLargeError, call_in_child
from bigcodeflow.sanitizing import syntax_error


def test_a_result_comes_back_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any type; texts may hold what no encoding can. A run is started anywhere, also beside a file pickle.py."""
    (tmp_path / "pickle.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    assert call_in_child(sorted, ["b", "a\ud800"], reverse=True) == ["b", "a\ud800"]
    assert call_in_child(len, bytes(1 << 20)) == 1 << 20


@pytest.mark.slow
def test_larger_programs_are_parsed_there() -> None:
    """Here they are refused, since they would take memory of this process."""
    program = "x = 1\n" * (MOST_TEST_CHARACTERS // 6 + 1)
    assert syntax_error(program).startswith("too long to parse: 200,004 characters")
    assert not call_in_child(syntax_error, program)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        pytest.param(bytes, [2 << 30], id="memory"),
        pytest.param(math.factorial, [10**8], id="time, also within one call in C", marks=pytest.mark.slow),
        pytest.param(os.abort, [], id="a parser that ends its process"),
    ],
)
def test_what_exceeds_the_limits_is_given_up(function: Callable[..., object], given: list[int]) -> None:
    """What would take gigabytes or minutes, and a crash, are the text's own, and end no other process."""
    with pytest.raises(TooLargeError, match="more than 20 s of CPU time or 1,024 MiB of memory"):
        call_in_child(function, *given)


def test_other_failures_are_told_apart(capfd: pytest.CaptureFixture[str]) -> None:
    """They say nothing of the text's size."""
    with pytest.raises(subprocess.CalledProcessError):
        call_in_child(int, "x")
    assert capfd.readouterr().err.startswith("ValueError: invalid literal")
