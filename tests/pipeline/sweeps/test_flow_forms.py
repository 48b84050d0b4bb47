"""The forms that the Prefect UI makes of the flows' parameters."""

from collections.abc import Iterator
from typing import Any

import pytest

from flows.check_environment import check_environment
from flows.leaderboard import leaderboard
from flows.rescore import rescore
from flows.retention import retention
from flows.sweep import sweep

FLOWS = {flow.name: flow for flow in (sweep, rescore, check_environment, leaderboard, retention)}


def fields(name: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    definitions = FLOWS[name].parameters.definitions
    for section, definition in definitions.items():
        for field, schema in definition.get("properties", {}).items():
            yield f"{section}.{field}", schema, definitions


@pytest.mark.parametrize("name", FLOWS)
def test_every_field_explains_itself(name: str) -> None:
    """Each field has a title and a description."""
    for field, schema, definitions in fields(name):
        explained = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        assert schema.get("title") or explained.get("title"), field
        assert schema.get("description") or explained.get("description"), field


@pytest.mark.parametrize("name", FLOWS)
def test_every_flow_runs_as_it_is(name: str) -> None:
    """No parameter has to be given, so that a deployment can be tried with one click."""
    assert not FLOWS[name].parameters.required


@pytest.mark.parametrize("name", FLOWS)
def test_defaults_are_what_the_model_says(name: str) -> None:
    """What the form starts from is accepted as it stands."""
    flow = FLOWS[name]
    defaults = {key: schema["default"] for key, schema in flow.parameters.properties.items()}
    flow.validate_parameters(defaults)


def test_nothing_is_removed_or_published_by_default() -> None:
    """The first click on a deployment must not delete or upload."""
    for name in ("retention", "leaderboard"):
        assert FLOWS[name].parameters.properties["config"]["default"]["dry_run"] is True
