"""Names of result files: the original's where they say all, and never shared by two settings."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow import datasets, generation
from bigcodeflow.config import RunConfig
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS
from bigcodeflow.core.settings import merged
from bigcodeflow.pipeline.outputs import cut_model, file_stem, model_name, write_sample_files
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow_harnesses.importing.claims import Claim, agreed, claims_of_name
from tests.examples import examples
from tests.results.conftest import blank

_HUB = "bigcode/bigcodebench"
#: What tells runs apart in one place or in several, among it what a file name cannot show plainly.
_SETTINGS = {
    "generation.model": ["openai:m", "openai:a/m", "openai:a--m", "openai:m-", "vllm:m", "vllm:" + "m" * 300],
    "generation.base_url": ["", "http://127.0.0.1:1/v1"],
    "generation.n_samples": [1, 2],
    "generation.sampling.temperature": [None, 0.0, 0.2, 0.20000001],
    "generation.sampling.max_tokens": [1280, 2048],
    "generation.sampling.stop": [(), ("###",)],
    "generation.prompt.system": ["", "Be brief."],
    "generation.extra_body": [{}, {"min_p": 0.1}],
    "generation.offline.revision": ["", "main", "-main", "a/b", "a-b", "a--b", 64 * "c"],
    "dataset.source": [_HUB, "starter", "mine.jsonl", f"{_HUB}@v0.1.2"],
    "dataset.split": ["complete", "instruct"],
    "dataset.subset": ["full", "hard"],
    "dataset.ids": ["", "1"],
    "dataset.libraries": [(), ("numpy",)],
    "dataset.domains": [(), ("Network",)],
    "dataset.difficulty": ["", "hard"],
    "sanitizing.mode": ["parity", "robust"],
}
#: Settings that change no answer and no program.
_SPEED = {
    "generation.requests.concurrency": [64, 1],
    "generation.api_key_variable": ["", "KEY"],
    "generation.offline.batch_size": [0, 3],
    "execution.workers": [0, 3],
    "store": ["results/store", "elsewhere"],
}
choices = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in _SETTINGS.items()})
speed = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in _SPEED.items()})


def run_of(**given_settings: object) -> RunConfig:
    settings = {"dataset.source": _HUB, "generation.model": "openai:m", **given_settings}
    return RunConfig.model_validate(merged({}, settings, "test"))


def identity(config: RunConfig) -> tuple[object, ...]:
    asked, view = generation.identity(config.generation), config.dataset.model_dump(exclude={"offline"})
    return (asked, config.generation.n_samples, view, config.sanitizing)


@settings(max_examples=examples(100))
@given(one=choices, other=choices, fast=speed, changed=st.sets(st.sampled_from(sorted(_SETTINGS)), max_size=2))
def test_names_are_shared_exactly_where_the_settings_are(one: dict, other: dict, fast: dict, changed: set) -> None:
    """Different settings, different names; speed and places change none."""
    first = run_of(**one)
    second = run_of(**{**one, **{name: other[name] for name in changed}, **fast})
    assert (file_stem(first) == file_stem(second)) == (identity(first) == identity(second))
    longest_addition = "." + "-uncalibrated_eval_results.json" + "." + 32 * "0" + ".tmp"
    assert len((file_stem(first) + longest_addition).encode()) <= 255


@pytest.mark.parametrize("source", [_HUB, f"{_HUB}@{datasets.DEFAULT_VERSION}"])
def test_the_originals_settings_have_the_originals_names(source: str) -> None:
    """Model, revision, benchmark, provider, temperature and number of samples, as its own tools read them."""
    config = run_of(**{"dataset.source": source, "dataset.subset": "hard", "generation.model": "vllm:a/m"})
    assert file_stem(config) == "a--m--main--bigcodebench-hard-complete--vllm-0-1-sanitized_calibrated"
    several = run_of(**{"generation.sampling.temperature": 0.8, "generation.n_samples": 10})
    assert file_stem(several) == "m--main--bigcodebench-complete--openai-0.8-10-sanitized_calibrated"


@settings(max_examples=25)
@given(one=choices)
def test_every_name_is_read_as_the_originals(one: dict) -> None:
    """Model, as far as there is room, split and subset are where the original has them; then comes the setting."""
    config = run_of(**one)
    stem = file_stem(config)
    read = {claim.field: claim.value for claim in claims_of_name(stem, "its name")}
    view = config.dataset
    assert (read["model"], read["split"], read["subset"]) == (cut_model(model_name(config)), view.split, view.subset)
    assert read.get("n_samples", config.generation.n_samples) == config.generation.n_samples
    assert re.search(r"--[a-z]+-(default|[\d.e-]+)-\d+(-[0-9a-f]{12})?-sanitized_calibrated$", stem)


def test_the_whole_model_is_told_where_a_file_name_is_cut() -> None:
    """Checkpoints of one training keep their own models and files, and what is imported of them is one model's."""
    path = "/scratch/project_465000123/runs/sft-mixture-v3/qwen2.5-coder-7b-instruct/lr-1e-5/checkpoint"
    configs = [run_of(**{"generation.model": f"openai:{path}-{step}"}) for step in (1000, 2000)]
    configs.append(run_of(**{"generation.model": "vllm:m", "generation.offline.revision": "r" * 90}))
    assert [model_name(config) for config in configs] == [
        *(f"{path}-{step}--main".replace("/", "--") for step in (1000, 2000)),
        f"m--{'r' * 90}",
    ]
    assert len({file_stem(config) for config in configs}) == 3
    for config in configs:
        claims = [Claim("model", model_name(config), "its scores"), *claims_of_name(file_stem(config), "its name")]
        assert agreed(Path("x"), claims)["model"] == model_name(config)


def test_files_of_two_models_are_told_apart_by_their_folders() -> None:
    """Only where the file's own name could be any model's; the names of result files stay the sample file's."""
    configs = [run_of(**{"samples.source": f"/data/{name}.jsonl"}) for name in ("a/output", "b/output", "b/gpt-4o")]
    assert [model_name(config) for config in configs] == ["a--output", "b--output", "gpt-4o"]
    assert [file_stem(config) for config in configs] == ["output", "output", "gpt-4o"]


def test_a_file_of_other_content_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Samples of one setting from two stores: both are there, and it is said; the same ones again change nothing."""
    config = run_of(out=str(tmp_path / "out"))
    first, again, last = (write_sample_files(*_samples(config, tmp_path / name, text)) for name, text in _STORES)
    assert first == again == last
    assert sorted(path.name.removeprefix(file_stem(config)) for path in (tmp_path / "out").iterdir()) == [
        ".jsonl", ".jsonl.~1~", ".samples.parquet", ".samples.parquet.~1~",
    ]  # fmt: skip
    assert '"raw_solution": "one"' in Path(f"{last[0]}.~1~").read_text()
    assert '"raw_solution": "two"' in last[0].read_text()
    assert "the old file is kept as" in caplog.text


_STORES = (("a", "one"), ("a", "one"), ("b", "two"))


def _samples(config: RunConfig, folder: Path, text: str) -> tuple[RunConfig, ArtifactRef, ArtifactRef]:
    """The run with a store in the folder, and one sample in it with the text as answer and as program."""
    store, refs = open_store(folder), []
    for stage, schema, own in (
        ("generation", SAMPLES, {"raw_text": text, "attempts": 1}),
        ("sanitizing", SOLUTIONS, {"solution": text, "sanitizer": "parity"}),
    ):
        row = blank(schema) | {"task_id": "Demo/0", "sample_index": 0} | own
        table = pa.Table.from_pylist([row], schema=schema)
        refs.append(store.publish(stage, artifact_key(stage, 1, {}), table, settings={}))
    return config.model_copy(update={"store": str(folder)}), *refs
