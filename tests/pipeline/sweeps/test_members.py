"""What a sweep expands to, and what it refuses before anything runs."""

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.settings import validated
from bigcodeflow.pipeline.sweep_results import folder_of
from bigcodeflow.pipeline.sweeps import SweepBenchmark, SweepConfig, SweepModel, SweepSetting, load_sweep, members_of

NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789._-+", min_size=1, max_size=12).filter(
    lambda name: name.strip(".")
)
SPLITS = st.lists(st.sampled_from(["complete", "instruct"]), min_size=1, unique=True).map(tuple)
SUBSETS = st.lists(st.sampled_from(["full", "hard"]), min_size=1, unique=True).map(tuple)
TEMPERATURES = st.lists(st.sampled_from([0.0, 0.2, 0.8]), min_size=1, unique=True)


def named(kind: type[SweepModel] | type[SweepSetting], names: list[str], **fields: object) -> tuple:
    return tuple(kind(name=name, **fields) for name in names)


@settings(deadline=None, max_examples=25)
@given(
    models=st.lists(NAMES, min_size=1, max_size=3, unique=True),
    tried=st.lists(NAMES, max_size=2, unique=True),
    splits=SPLITS,
    subsets=SUBSETS,
    temperatures=TEMPERATURES,
)
def test_every_combination_is_a_run_of_its_own(
    models: list[str], tried: list[str], splits: tuple, subsets: tuple, temperatures: list[float]
) -> None:
    """There are as many runs as combinations, and each has the split, subset and temperature that its name states.

    Names that would make two combinations alike are refused as a whole.
    """
    sweep = SweepConfig(
        models=named(SweepModel, models, model="openai:m"),
        settings=named(SweepSetting, tried),
        out="out",
        splits=splits,
        subsets=subsets,
        common={"generation.sampling.temperature": temperatures},
    )
    grid = temperatures if len(temperatures) > 1 else [None]
    wanted = list(itertools.product(models, tried or [None], splits, subsets, grid))
    try:
        members = members_of(sweep)
    except ConfigError as error:
        assume("are called" not in str(error))
        raise
    assert len(members) == len(wanted)
    assert len({member.name for member in members}) == len({member.config.out for member in members}) == len(wanted)
    for member in members:
        view = member.config.dataset
        assert f"-{view.split}-{view.subset}" in member.name
        assert member.config.out.startswith(f"{sweep.out}/")
        assert member.config.store == sweep.store
        assert member.config.generation.sampling.temperature in (
            temperatures if len(temperatures) > 1 else [*temperatures, tuple(temperatures)]
        )


@settings(deadline=None)
@given(present=st.sets(st.sampled_from(["common", "model", "setting", "overrides"])))
def test_later_layers_win(present: set[str]) -> None:
    """Of the layers that set a value, the last in the documented order decides, and the preset where none does."""
    seconds = {"common": 11.0, "model": 12.0, "setting": 13.0, "overrides": 14.0}
    values = {layer: {"execution.limits.time_seconds": seconds[layer]} for layer in present}
    sweep = SweepConfig(
        models=(SweepModel(answers="oracle", values=values.get("model", {})),),
        settings=(SweepSetting(name="s", values=values.get("setting", {})),),
        common=values.get("common", {}),
        overrides=values.get("overrides", {}),
    )
    [member] = members_of(sweep)
    last = max((seconds[layer] for layer in present), default=10.0)
    assert member.config.execution.limits.time_seconds == last
    assert member.config.execution.limits.memory_mib == 1024, "what nobody sets stays as the preset has it"


def test_sections_and_dotted_names_mean_the_same() -> None:
    """A value may be written under its sections or by its path."""
    spellings = ({"sanitizing": {"mode": "robust"}}, {"sanitizing.mode": "robust"})
    models = (SweepModel(answers="oracle", values=values) for values in spellings)
    first, second = (members_of(SweepConfig(models=(model,)))[0].config for model in models)
    assert first == second
    assert first.sanitizing.mode == "robust"


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"model": "openai:gpt-4o"}, "gpt-4o"),
        ({"model": "vllm:Qwen/Qwen2.5-Coder-0.5B-Instruct"}, "Qwen--Qwen2.5-Coder-0.5B-Instruct"),
        ({"model": "vllm:/data/models/my model"}, "my-model"),
        ({"answers": "samples/my_model--bigcodebench-{split}--x.jsonl.gz"}, "my_model"),
        ({"answers": "samples/m-{split}.jsonl"}, "m-split"),
        ({"answers": "oracle", "name": "mine"}, "mine"),
    ],
)
def test_models_are_called_by_their_own_names(given: dict[str, str], label: str) -> None:
    """Without a given name the model's or the file's own is used, without what no run's name may hold."""
    assert SweepModel(**given).label == label


def test_answers_may_lie_in_a_file_for_each_split() -> None:
    """The words {split} and {subset} in a path stand for the run's."""
    models = (SweepModel(answers="s/{split}-{subset}.jsonl", name="m"),)
    members = members_of(SweepConfig(models=models, splits=("complete", "instruct")))
    sources = [member.config.samples.source for member in members]
    assert sources == ["s/complete-full.jsonl", "s/instruct-full.jsonl"]


def test_a_problem_names_those_that_have_it() -> None:
    """A mistake in what all runs share is reported once, one of a single model with its name."""
    models = tuple(SweepModel(answers=name) for name in ("oracle", "stub"))
    with pytest.raises(ConfigError) as shared:
        members_of(SweepConfig(models=models, splits=("complete", "instruct"), common={"k": 1}))
    assert str(shared.value).startswith("sweep starter: k is not a setting")
    wrong = (*models, SweepModel(answers="cheat", values={"k": 1}))
    with pytest.raises(ConfigError) as own:
        members_of(SweepConfig(models=wrong, splits=("complete", "instruct")))
    assert str(own.value).startswith("sweep starter, model cheat: k is not a setting")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "absent"}, "preset 'absent' is neither a file nor one of"),
        ({"common": {"execution.worker": 2}}, "execution.worker is not a setting; known here"),
        ({"overrides": {"execution.workers": -1}}, "execution.workers: Input should be greater than or equal to 0"),
        ({"common": {"name.x": 2}}, "name is a value, not a section"),
        ({"common": {"dataset.split": "instruct"}}, "dataset.split is set by the sweep: change its field 'splits'"),
        ({"common": {"dataset": {"subset": "hard"}}}, "dataset.subset is set by the sweep"),
        (
            {"models": [{"model": "openai:a/m"}, {"model": "mistral:a/m"}]},
            "2 of its runs are called 'a--m-complete-full': give its models, benchmarks and settings different names",
        ),
        (
            {"models": [{"answers": "oracle", "name": "X"}, {"answers": "stub", "name": "x"}]},
            "2 of its runs are called",
        ),
    ],
)
def test_what_cannot_work_is_reported_before_anything_runs(changes: dict, message: str) -> None:
    """Each mistake is one line that names it."""
    with pytest.raises(ConfigError) as caught:
        members_of(validated(SweepConfig, changes, "test"))
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == (2 if "models" in changes and "X" in str(changes) else 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": []}, "models: Tuple should have at least 1 item"),
        ({"model": "x"}, "model is not a setting; known here: name, preset, models"),
        (
            {"models": [{"modle": "openai:m"}]},
            "models.0.modle is not a setting; known here: model, answers, name, values",
        ),
        ({"models": [{"model": "openai:m", "answers": "oracle"}]}, "models.0: give either 'model'"),
        ({"splits": ["complete", "complete"]}, "splits: names an entry more than once"),
        ({"subsets": ["easy"]}, "subsets.0: Input should be 'full' or 'hard' (given: 'easy')"),
        ({"name": "a b"}, "name: must be letters, digits"),
    ],
)
def test_a_file_is_checked_when_it_is_read(changes: dict, message: str, tmp_path: Path) -> None:
    """The message names the file, the key and what may stand there."""
    import yaml

    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changes))
    with pytest.raises(ConfigError) as caught:
        load_sweep(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "a: [\n"])
def test_what_is_no_sweep_is_refused(text: str, tmp_path: Path) -> None:
    """A file that is empty, a list or no YAML at all is named; so are the shipped ones where a name is mistyped."""
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=str(file)):
        load_sweep(file)
    with pytest.raises(ConfigError, match="neither a file nor one of: nightly, starter"):
        load_sweep("nigthly")


@pytest.mark.parametrize(("name", "count"), [("starter", 12), ("nightly", 24)])
def test_shipped_sweeps_can_be_run(name: str, count: int) -> None:
    """The examples expand without an error."""
    assert len(members_of(load_sweep(name))) == count


def test_a_benchmark_brings_its_settings() -> None:
    """They win over the preset's; those that the sweep names win over them, and a benchmark's over the common ones."""
    benchmarks = (
        SweepBenchmark(source="evalplus/humanevalplus", values={"execution.workers": 3}),
        SweepBenchmark(source="xlangai/DS-1000=test.jsonl", name="ds", subsets=("hard",)),
    )
    common = {"execution.workers": 2, "execution.limits.memory_mib": 512}
    models = (SweepModel(answers="s/{benchmark}.jsonl", name="m"),)
    first, second = members_of(SweepConfig(models=models, benchmarks=benchmarks, common=common))
    assert first.name == "m-humanevalplus-complete-full"
    assert first.title == "m · humanevalplus · full · complete"
    execution = first.config.execution
    assert (execution.variants, execution.limits.time_seconds) == (("raw",), 60)
    assert (execution.limits.memory_mib, execution.workers) == (512, 3)
    assert second.name == "m-ds-instruct-hard"
    assert (second.config.samples.source, second.config.execution.workers) == ("s/ds.jsonl", 2)


def test_two_benchmarks_without_names_are_refused() -> None:
    """Files of both would have the same folders; a source beside the list is refused too."""
    sweep = SweepConfig(benchmarks=(SweepBenchmark(source="starter"), SweepBenchmark(source="mine.jsonl")))
    with pytest.raises(ConfigError, match="give its models, benchmarks and settings different names"):
        members_of(sweep)
    named = sweep.model_copy(update={"benchmarks": sweep.benchmarks[:1], "common": {"dataset.source": "mine.jsonl"}})
    with pytest.raises(ConfigError, match="is set by the sweep: change its field 'benchmarks'"):
        members_of(named)


def test_a_file_names_the_sweep(tmp_path: Path) -> None:
    """Without a name the file's is used; without a folder every run of the sweep makes one of its own."""
    file = tmp_path / "weekly.yaml"
    file.write_text("models: [{answers: oracle}]\n")
    sweep = load_sweep(file)
    assert (sweep.name, sweep.out) == ("weekly", "")
    assert [member.config.out for member in members_of(sweep)] == [""]
    assert folder_of(sweep, datetime(2026, 11, 1, tzinfo=UTC), "7a") == "results/sweeps/20261101T000000-weekly-7a"
