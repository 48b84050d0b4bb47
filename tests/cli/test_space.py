"""What ``import --from-space`` needs before it asks anybody."""

from pathlib import Path

import pytest

from bigcodeflow.cli.space import _numbers, results_from_space
from bigcodeflow.core.errors import ConfigError

_NOBODY = "http://127.0.0.1:9"


def test_numbers_are_spelled_out_for_the_space() -> None:
    """It knows neither ranges nor prefixes."""
    assert _numbers("1,5-7, BigCodeBench/12") == "1,5,6,7,12"
    assert not _numbers("")
    with pytest.raises(ConfigError, match="no task number"):
        _numbers("1,x")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """The sample file, and the prompts that it answers."""
    with pytest.raises(ConfigError, match="--samples"):
        results_from_space(_NOBODY, "", split="complete", subset="full", out=tmp_path)
    with pytest.raises(ConfigError, match="--split"):
        results_from_space(_NOBODY, "x.jsonl", split="", subset="full", out=tmp_path)
