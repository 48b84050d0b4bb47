"""Which run judges existing samples again, and when that would cost something."""

from pathlib import Path

import pytest

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.pipeline.rescore import RescoreConfig, rescored
from bigcodeflow.pipeline.sweeps import SweepConfig, members_of
from bigcodeflow.store import open_store
from tests.results.conftest import write_record


def test_a_file_is_judged_with_the_preset(tmp_path: Path) -> None:
    """What is not said comes from the preset."""
    said = {"split": "instruct", "subset": "hard", "sanitizer": "none", "environment": "bigcodebench"}
    config = rescored(RescoreConfig(samples="mine.jsonl", **said, store=str(tmp_path)))
    assert (config.samples.source, config.sanitizing.mode) == ("mine.jsonl", "none")
    assert (config.dataset.split, config.dataset.subset) == ("instruct", "hard")
    assert (config.dataset.source, config.execution.environment) == ("starter", "bigcodebench")
    assert (config.store, config.out, config.name) == (str(tmp_path), "", "starter")
    assert rescored(RescoreConfig(samples="oracle", preset="bigcodebench")).dataset.source.startswith("bigcode/")


def test_a_run_keeps_its_own_settings(tmp_path: Path) -> None:
    """Only what is named is different; the form's default sample file does not replace the run's samples."""
    own = RunConfig.model_validate({"samples": {"source": "oracle"}, "execution": {"limits": {"time_seconds": 7}}})
    write_record(open_store(tmp_path), "mine", run="mine", config=own.model_dump(mode="json"))
    config = rescored(
        RescoreConfig(run="mine", sanitizer="robust", values={"execution.reruns": 2}, store=str(tmp_path))
    )
    assert (config.samples.source, config.execution.limits.time_seconds) == ("oracle", 7)
    assert (config.sanitizing.mode, config.execution.reruns, config.name) == ("robust", 2, "mine-rescored")


def test_a_model_is_never_asked(tmp_path: Path) -> None:
    """Where the answers are not in the store, judging again would mean to pay again, which is refused."""
    own = RunConfig.model_validate({"samples": {"source": "model"}, "generation": {"model": "openai:m"}})
    write_record(open_store(tmp_path), "paid", run="paid", config=own.model_dump(mode="json"))
    with pytest.raises(ConfigError, match="its answers under these settings are not in"):
        rescored(RescoreConfig(run="paid", store=str(tmp_path)))


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"preset": "absent"}, ConfigError, "preset 'absent' is neither"),
        ({"values": {"execution.x": 1}}, ConfigError, "execution.x is not a setting"),
        ({"run": "absent"}, ArtifactError, "no recorded run is called 'absent'"),
        ({"values": {"generation.model": "openai:m"}}, ConfigError, "asks no model"),
    ],
)
def test_mistakes_are_named(given: dict, kind: type[Exception], message: str, tmp_path: Path) -> None:
    """A preset, a setting or a run that does not exist, and a model beside a sample file."""
    with pytest.raises(kind) as caught:
        rescored(RescoreConfig(**given, store=str(tmp_path)))
    assert message in str(caught.value)


def test_something_must_be_judged() -> None:
    """Neither samples nor a run is a mistake of the form."""
    with pytest.raises(ValueError, match="give 'samples'"):
        RescoreConfig(samples="")


def test_the_form_as_it_stands_judges_the_starter_set() -> None:
    """The same limits, variants and k as `make run`; so do the sweep's runs."""
    made = load_config("starter")
    assert rescored(RescoreConfig()) == made
    for member in members_of(SweepConfig()):
        assert (member.config.execution, member.config.aggregation) == (made.execution, made.aggregation)
