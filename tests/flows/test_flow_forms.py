"""The forms that the Prefect UI makes of the flows' parameters."""

from collections.abc import Iterator
from typing import Any

import pytest

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow_leaderboard.flow import leaderboard
from bigcodeflow_studies.perturbation.flow import perturbation
from flows.benchmark import benchmark, rescore
from flows.forms import ask_a_model, judge_samples, sweep_models
from flows.studies import audit, cheating, contamination, evolution
from flows.sweep import sweep, sweep_file
from flows.upkeep import check_environment, retention

_FULL = (
    *(benchmark, sweep, rescore, check_environment, leaderboard, retention),
    *(audit, cheating, contamination, evolution, perturbation),
)
FLOWS = {flow.name: flow for flow in _FULL} | {"sweep-file": sweep_file}
SHORT = {flow.name: flow for flow in (ask_a_model, judge_samples, sweep_models)}
#: What nobody can leave out of a short form.
NEEDED = {"ask-a-model": ["model"], "judge-samples": [], "sweep-models": ["models"]}


def fields(name: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    definitions = FLOWS[name].parameters.definitions
    for section, definition in definitions.items():
        for field, schema in definition.get("properties", {}).items():
            yield f"{section}.{field}", schema, definitions


@pytest.mark.parametrize("name", FLOWS)
def test_every_form_explains_itself_and_is_accepted_as_it_is(name: str) -> None:
    """Each field has title and description; a deployment can be tried with one click, and deletes or uploads nothing."""
    for field, schema, definitions in fields(name):
        explained = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        assert schema.get("title") or explained.get("title"), field
        assert schema.get("description") or explained.get("description"), field

    flow = FLOWS[name]
    assert not flow.parameters.required
    defaults = {key: schema["default"] for key, schema in flow.parameters.properties.items()}
    flow.validate_parameters(defaults)
    if name in {"retention", "leaderboard"}:
        assert defaults["config"]["dry_run"] is True


@pytest.mark.parametrize("name", SHORT)
def test_a_short_form_has_few_fields_and_explains_them(name: str) -> None:
    """At most eleven; what has choices offers them, and only what nobody else can know has to be given."""
    form = SHORT[name].parameters
    assert len(form.properties) <= 11
    assert (form.required or []) == NEEDED[name]
    assert all(field["description"] for field in form.properties.values())
    assert form.properties["preset"]["enum"] == ["bigcodebench", "starter"]
    given = {"model": "openai:m", "models": ["openai:m"]}
    SHORT[name].validate_parameters({field: given[field] for field in NEEDED[name]})


def test_a_form_has_words_choices_bounds_and_defaults() -> None:
    """Units and abbreviations are spelled as people spell them; a benchmark as it is judges what `make run` runs."""
    titles = {name: schema.get("title") for name, schema, _ in fields("benchmark")}
    assert titles["LimitsConfig.memory_mib"] == "Memory limit, MiB"
    assert titles["GenerationConfig.base_url"] == "Base URL"
    assert titles["E2BConfig.usd_per_hour"] == "USD per hour"
    assert titles["AggregationConfig.k"] == "k"
    assert not [title for title in titles.values() if title and ("_" in title or " Mib" in title or " Url" in title)]

    form = {name: schema for name, schema, _ in fields("benchmark")}
    assert form["DatasetConfig.split"]["enum"] == ["complete", "instruct"]
    assert (form["ExecutionConfig.workers"]["minimum"], form["ExecutionConfig.workers"]["maximum"]) == (0, 1024)
    assert form["LimitsConfig.time_seconds"]["exclusiveMinimum"] == 0
    assert form["AggregationConfig.k"]["default"] == [1, 5, 10]
    properties = FLOWS["benchmark"].parameters.properties
    assert list(properties) == ["config"]
    made = load_config("starter").model_copy(update={"name": "run"})
    assert RunConfig.model_validate(properties["config"]["default"]) == made
