"""Presets and overrides: what is accepted, and what is said about the rest."""

from pathlib import Path

import pytest
import yaml

from bigcodeflow.config import GenerationConfig, RunConfig, SamplesConfig, load_config
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.settings import SettingsModel, validated
from bigcodeflow.pipeline.rescore import RescoreConfig
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel, SweepSetting


def _fields(model: type, path: str = "") -> list[tuple[str, object]]:
    found = []
    for name, field in model.model_fields.items():
        found.append((f"{path}{name}", field))
        if hasattr(field.annotation, "model_fields"):
            found += _fields(field.annotation, f"{path}{name}.")
    return found


@pytest.mark.parametrize("preset", sorted(file.stem for file in shipped("configs").glob("*.yaml")))
def test_every_shipped_preset_is_valid(preset: str) -> None:
    """Each preset loads by its name and means what its file says."""
    config = load_config(preset)
    stated = yaml.safe_load(shipped(f"configs/{preset}.yaml").read_text())
    assert config.dataset.source == stated["dataset"]["source"]


def test_every_setting_explains_itself() -> None:
    """The form in the UI shows a sentence for every field."""
    unexplained = [path for path, field in _fields(RunConfig) if not field.description]
    assert unexplained == []


def test_overrides_win_over_the_preset_and_keep_their_types() -> None:
    """--set values are YAML, applied in order; texts, such as paths, are taken as they stand, if they are not quoted."""
    for text in ("/a #b/k=v", "[1]/x", "{x}", "%20/*", "null", "2025"):
        assert load_config("starter", (f"store={text}",)).store == text
    assert load_config("starter", ("store='/a b'",)).store == "/a b"
    config = load_config("starter", ("execution.workers=3", "aggregation.k=[1, 7]", "name=x", "name=y"))
    assert (config.execution.workers, config.aggregation.k, config.name) == (3, (1, 7), "y")
    assert config.execution.limits.time_seconds == 10


@pytest.mark.parametrize("setting", ["execution.integrity", "execution.quarantine", "sanitizing.safety_policy"])
def test_off_may_be_written_as_yaml_reads_it(setting: str, tmp_path: Path) -> None:
    """YAML takes the word off for false; 'no' means the same, other values stay wrong."""
    section, name = setting.split(".")
    assert getattr(getattr(load_config(None, (f"{setting}=off",)), section), name) == "off"
    preset = tmp_path / "run.yaml"
    preset.write_text(f"{section}:\n  {name}: off\n")
    assert getattr(getattr(load_config(preset), section), name) == "off"
    with pytest.raises(ConfigError, match=setting):
        load_config(None, (f"{setting}=on",))


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("execution.wrkers=2", ["--set execution.wrkers=2", "execution.wrkers", "workers"]),
        ("dataset.split=both", ["dataset.split", "'complete' or 'instruct'", "'both'"]),
        ("execution.limits.memory_mib=1", ["execution.limits.memory_mib", "64"]),
        ("execution.workers=many", ["execution.workers", "integer", "'many'"]),
        ("execution.variants=[raw, raw]", ["execution.variants", "calibrated, raw"]),
        ("aggregation.k=[0]", ["aggregation", "positive"]),
        ("dataset.source=my.parquet", ["samples.source", "oracle"]),
        ("name=a b", ["name: must be letters, digits and . _ - + only", "'a b'"]),
        ("name=..", ["--set name=..", "not only dots", "(given: '..')"]),
        ("nonsense", ["section.key=value"]),
        ("name.first=x", ["name is a value, not a section"]),
        ("name: [", ["section.key=value"]),
        ("execution.workers=[", ["not YAML"]),
    ],
)
def test_a_wrong_setting_is_one_clear_line(override: str, parts: list[str]) -> None:
    """The message names where it stands, the key, the value and the remedy."""
    with pytest.raises(ConfigError) as raised:
        load_config("starter", (override,))
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    for part in parts:
        assert part in message


@pytest.mark.parametrize("form", [RunConfig, RescoreConfig, SweepConfig, SweepModel, SweepSetting])
@pytest.mark.parametrize("name", [".", "..", "...", "../above", "a/b", "/a"])
def test_a_name_is_one_part_of_a_path(form: type[SettingsModel], name: str) -> None:
    """A name becomes part of file names, so it stands for no folder; dots within one are fine."""
    with pytest.raises(ConfigError, match=r"^told: name: must be letters.*not only dots \(given: "):
        validated(form, {"name": name}, "told")
    assert RunConfig(name=".v1..2").name == ".v1..2"


def test_a_file_with_several_mistakes_names_them_all(tmp_path: Path) -> None:
    """One run of the command is enough to find every mistake."""
    file = tmp_path / "mine.yaml"
    file.write_text("dataset: {split: neither}\nexecution: {limits: {processes: -1}}\nextra: 1\n")
    with pytest.raises(ConfigError) as raised:
        load_config(file)
    lines = str(raised.value).splitlines()
    assert len(lines) == 3
    assert all(str(file) in line for line in lines)


@pytest.mark.parametrize("text", ["[1, 2]", "a: b: c", "\x00"])
def test_a_file_that_is_no_mapping_is_named(tmp_path: Path, text: str) -> None:
    """A preset that YAML cannot read, or that holds no sections, is refused by name; a mistyped one with the known."""
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"broken\.yaml"):
        load_config(file)
    for name in ("startr", "~nobody-of-this-name", "a" * 300):
        with pytest.raises(ConfigError, match=f"preset '{name}' is neither a file nor one of: bigcodebench, starter"):
            load_config(name)


@pytest.mark.parametrize("samples", [{}, {"samples": {"source": "starter"}}], ids=["left out", "left at its default"])
@pytest.mark.parametrize("source", ["starter", "bigcode/bigcodebench"])
def test_a_model_that_is_named_is_asked(samples: dict[str, object], source: str) -> None:
    """A form sends samples.source as it stands: recorded answers would else be scored as the model's."""
    given = {"dataset": {"source": source}, "generation": {"model": "openai:m"}} | samples
    assert RunConfig.model_validate(given).samples.source == "model"
    models = RunConfig(generation=GenerationConfig(model="openai:m"), samples=SamplesConfig())
    assert models.samples.source == "model"
    assert RunConfig.model_validate(models.model_dump(mode="json")) == models


@pytest.mark.parametrize("source", ["oracle", "stub", "mine.jsonl"])
def test_other_answers_than_a_models_are_taken_where_they_are_named(source: str) -> None:
    """A recorded run of a model is judged again with the answers of a file."""
    given = {"samples": {"source": source}, "generation": {"model": "openai:m"}}
    assert RunConfig.model_validate(given).samples.source == source
    with pytest.raises(ConfigError, match="sorce is not a setting"):  # naming a model hides no mistake beside it
        load_config("starter", ("generation.model=openai:m", "samples.sorce=x"))


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://me.openai.azure.com/?api-version=2026-01", "https://me.openai.azure.com/?api-version=2026-01"),
        ("https://user@host/v1", "https://user@host/v1"),
        ("https://user:password@host/v1", None),
        ("https://host/v1?api-key=abc", None),
        ("https://host/v1?x=1&Access_Token=abc", None),
    ],
)
def test_an_address_is_stored_without_a_secret_and_in_one_spelling(url: str, kept: str | None) -> None:
    """The same server with a slash at its end is the same server, so that nothing is asked twice."""
    if kept is None:
        for setting, value in (("generation.base_url", url), ("store", url.replace("https", "s3"))):
            with pytest.raises(ConfigError, match=f"{setting}: holds a password or key"):
                load_config("starter", options={setting: value})
    else:
        assert load_config("starter", options={"generation.base_url": url}).generation.base_url == kept
