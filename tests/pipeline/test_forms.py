"""The short forms: what their fields make, and which mistakes they name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.pipeline.forms import asked_run, judged_run, models_sweep
from bigcodeflow.pipeline.preflight import problems_of
from bigcodeflow.pipeline.sweeps import members_of


def test_a_model_is_asked_under_the_preset() -> None:
    """The preset's environment and dataset, the form's model, view and samples, and any other setting."""
    run = asked_run(
        model=" openai:my-model ",
        base_url="http://127.0.0.1:8000/v1",
        split="instruct",
        subset="hard",
        n_samples=5,
        settings={"generation.sampling.temperature": 0.8, "execution": {"workers": 2}},
    )
    assert (run.generation.model, run.generation.base_url) == ("openai:my-model", "http://127.0.0.1:8000/v1")
    assert (run.dataset.source, run.dataset.split, run.dataset.subset) == (
        "bigcode/bigcodebench@v0.1.4", "instruct", "hard",
    )  # fmt: skip
    assert (run.samples.source, run.generation.n_samples, run.generation.sampling.temperature) == ("model", 5, 0.8)
    assert (run.execution.environment, run.execution.workers, run.name) == ("bigcodebench", 2, "my-model")


def test_every_mistake_of_a_form_is_named_at_once() -> None:
    """With the field, or the setting, that holds it."""
    with pytest.raises(ConfigError) as raised:
        asked_run(model="gpt-4o", n_samples=0, settings={"execution.limits.memory_mib": 1, "execution.no_such": 2})
    lines = str(raised.value).splitlines()
    assert len(lines) == 4
    assert any("form: generation.model: must be PROVIDER:NAME" in line for line in lines)
    assert any("form: generation.n_samples" in line for line in lines)
    assert any("settings: execution.limits.memory_mib" in line for line in lines)
    assert any("settings: execution.no_such is not a setting" in line for line in lines)


@pytest.mark.parametrize(
    ("make", "fields", "message"),
    [
        (asked_run, {"model": "  "}, "model: is empty"),
        (models_sweep, {"models": ["", " "]}, "model: is empty"),
        (judged_run, {}, "give one of them"),
        (judged_run, {"samples": "stub", "run": "latest"}, "give one of them"),
        # Two places for one value would leave open which one counts.
        (asked_run, {"model": "openai:m", "settings": {"generation.model": "x"}}, "its own field: use model$"),
        (asked_run, {"model": "openai:m", "settings": {"dataset": {"split": "x"}}}, "its own field: use split$"),
        (
            asked_run,
            {"model": "openai:m", "settings": {"generation": {"n_samples": 5}}},
            "its own field: use n_samples$",
        ),
        (models_sweep, {"models": ["stub"], "settings": {"generation.n_samples": 5}}, "its own field: use n_samples$"),
    ],
)
def test_fields_that_are_missing_or_filled_twice_are_named(
    make: Callable[..., object], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**fields)


def test_samples_are_judged_under_the_preset() -> None:
    run = judged_run(samples="stub", preset="starter", subset="hard", settings={"sanitizing.mode": "robust"})
    assert (run.samples.source, run.dataset.source, run.dataset.subset) == ("stub", "starter", "hard")
    assert run.sanitizing.mode == "robust"


def test_folders_are_settings_of_every_form(tmp_path: Path) -> None:
    """Those of a sweep and of a rescoring are set by these, and not by their runs."""
    folders = {"store": str(tmp_path / "store"), "out": str(tmp_path / "out")}
    judged = judged_run(samples="stub", preset="starter", settings=folders)
    assert {"store": judged.store, "out": judged.out} == folders
    sweep = models_sweep(models=["stub"], preset="starter", settings=folders)
    assert {"store": sweep.store, "out": sweep.out} == folders


def test_a_sweep_takes_models_and_answers() -> None:
    """What holds a colon is asked; blank rows and repeated ones are left out."""
    sweep = models_sweep(
        models=["openai:a", "", "oracle", "openai:a"],
        base_url=" http://127.0.0.1:8000/v1 ",
        splits=["complete", "instruct"],
        n_samples=2,
        preset="starter",
    )
    names = [member.name for member in members_of(sweep)]
    assert names == ["a-complete-hard", "a-instruct-hard", "oracle-complete-hard", "oracle-instruct-hard"]
    asked = {(one.config.generation.n_samples, one.config.generation.base_url) for one in members_of(sweep)}
    assert asked == {(2, "http://127.0.0.1:8000/v1")}


def test_a_sweep_takes_benchmarks() -> None:
    """Each has its own runs; the chosen splits and subsets are those of BigCodeBench."""
    sources = ["bigcode/bigcodebench", " evalplus/humanevalplus ", ""]
    members = members_of(models_sweep(models=["oracle"], benchmarks=sources, splits=["instruct"], limit=5))
    assert [member.name for member in members] == ["oracle-instruct-hard", "oracle-humanevalplus-complete-full"]
    assert [member.config.dataset.source for member in members] == ["bigcode/bigcodebench", "evalplus/humanevalplus"]
    assert {member.config.dataset.limit for member in members} == {5}


def test_everything_that_is_missing_is_known_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Key, provider, environment, folder and file of several runs, each named once, and samples of other tasks."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "file").write_text("")
    asked = {"execution.environment": "no-such", "store": str(tmp_path / "file" / "store")}
    problems = problems_of(
        [
            asked_run(model="openai:m", preset="starter", settings=asked),
            asked_run(model="opnai:m", preset="starter", settings=asked),
            judged_run(samples=str(tmp_path / "none.jsonl"), preset="starter"),
        ]
    )
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"task_id": "Other/1", "solution": "x = 1"}) + "\n")
    [problem, *_] = problems_of([judged_run(samples=str(file), preset="starter")])
    assert "Other/1" in problem
    for part in ("OPENAI_API_KEY", "did you mean openai", "no-such", "store: nothing can be written", "none.jsonl"):
        assert sum(part in line for line in problems) == 1, (part, problems)


@pytest.mark.sandbox
def test_a_run_that_can_start_has_no_problem(starter_environment: object, tmp_path: Path) -> None:
    run = judged_run(samples="starter", preset="starter").model_copy(update={"store": str(tmp_path)})
    assert problems_of([run]) == []
    assert list(tmp_path.iterdir()) == []
