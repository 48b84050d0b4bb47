"""What ``import --from-space`` needs before it asks anybody."""

import pytest

from bigcodeflow.cli.importing import import_results, task_numbers
from bigcodeflow.core.errors import ConfigError

_NOBODY = "http://127.0.0.1:9"


def test_numbers_are_spelled_out_for_the_space() -> None:
    """It knows neither ranges nor prefixes."""
    assert task_numbers("1,5-7, BigCodeBench/12") == "1,5,6,7,12"
    assert not task_numbers("")
    with pytest.raises(ConfigError, match="no task number"):
        task_numbers("1,x")


def test_what_is_missing_is_named() -> None:
    """The sample file, and the prompts that it answers."""
    with pytest.raises(ConfigError, match="--samples"):
        import_results(from_space=_NOBODY, split="complete")
    with pytest.raises(ConfigError, match="--split"):
        import_results(from_space=_NOBODY, samples="x.jsonl")
