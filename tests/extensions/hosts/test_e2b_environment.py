"""The environment of the backend e2b: which build of a template it is, and what a user has to mend."""

from collections.abc import Callable

import pytest

from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow_hosts.e2b import E2BBackend
from tests.extensions.hosts.e2b import E2BDouble
from tests.extensions.hosts.e2b_cloud import STARTER, answers, e2b_config, executed, quick_launcher

pytestmark = pytest.mark.sandbox
BackendWith = Callable[..., E2BBackend]


# what the user has to mend


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("E2B_API_KEY", "", ".*E2B_API_KEY"),
        ("E2B_API_KEY", "e2b_of_somebody_else", ".*E2B_API_KEY"),
        pytest.param("E2B_API_URL", "http://127.0.0.1:9", "E2B cannot be used for now", marks=pytest.mark.slow),
    ],
)
def test_a_cloud_that_cannot_be_used_is_reported_at_once(
    double: E2BDouble, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    """With the variable's name, and without a second try."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SandboxUnavailableError, match=f"backend e2b: {message}"):
        execution_environment(e2b_config())
    assert len(double.requests) <= 1


def test_an_unknown_template_names_the_command_that_builds_it(double: E2BDouble) -> None:
    """Also one whose build has not ended, and one of somebody else."""
    with pytest.raises(EnvironmentUnusableError, match="env build NAME --backend e2b"):
        execution_environment(e2b_config(e2b={"template": "nobody-s"}))
    double.templates[STARTER].public = True
    with pytest.raises(EnvironmentUnusableError, match="env build NAME --backend e2b"):
        execution_environment(e2b_config())
    double.templates[STARTER].public = False
    double.templates[STARTER].builds[0].status = "building"
    with pytest.raises(EnvironmentUnusableError, match="has no build tagged default"):
        execution_environment(e2b_config())
    assert not double.created


def test_a_template_that_vanished_meanwhile_is_not_asked_for_again(
    double: E2BDouble, backend_with: BackendWith
) -> None:
    """Every item says so, and the cloud hears of it once."""
    backend = backend_with(sandboxes=1)
    double.templates[STARTER].builds.clear()
    outcomes = executed(backend, answers(20))
    assert all(outcome.not_started and "has no template" in outcome.exit for outcome in outcomes)
    assert double.calls("/v2/sandboxes") == 1


def test_sandboxes_too_small_for_a_sample_are_refused(double: E2BDouble) -> None:
    """Else the cloud would end what the limits allow, and a verdict would say so."""
    double.templates[STARTER].memory_mib = 2048
    with pytest.raises(EnvironmentUnusableError, match=r"2048 MiB.*memory_mib 4096"):
        execution_environment(e2b_config())
    assert execution_environment(e2b_config(limits={"memory_mib": 2048})).name == "starter"


def test_an_environment_that_the_template_lacks_is_reported_by_its_host(double: E2BDouble) -> None:
    """In the host's own words."""
    config = e2b_config(environment="unknown", e2b={"template": STARTER})
    with pytest.raises(SandboxUnavailableError, match="'unknown' is not built"):
        execution_environment(config)
    assert not double.sandboxes


# which template


def test_a_build_is_asked_once(double: E2BDouble) -> None:
    """One sandbox tells what lies in it; after that the record does, until there is another build."""
    first = execution_environment(e2b_config())
    assert execution_environment(e2b_config()) == first
    assert len(double.created) == 1
    assert not double.sandboxes
    double.add_template(STARTER, quick_launcher())
    second = execution_environment(e2b_config())
    assert second.environment_sha != first.environment_sha
    assert second.lock_sha256 == first.lock_sha256
    assert len(double.created) == 2


@pytest.mark.parametrize("named", ["id", "tag", "build"])
def test_a_template_can_be_named_in_every_way(named: str, double: E2BDouble) -> None:
    """By its id, by a tag, and by one build, which need not be the newest."""
    plain = execution_environment(e2b_config())
    template = double.templates[STARTER]
    first = template.builds[0].build_id
    name = {"id": template.template_id, "tag": f"{STARTER}:default", "build": f"{STARTER}:{first}"}[named]
    if named == "build":
        double.add_template(STARTER, quick_launcher())
    found = execution_environment(e2b_config(e2b={"template": name}))
    assert found.environment_sha == plain.environment_sha


def test_a_run_stays_with_the_build_that_it_was_planned_for(double: E2BDouble, backend_with: BackendWith) -> None:
    """Somebody builds the template anew meanwhile: verdicts of two builds never share an identity."""
    backend = backend_with(sandboxes=1)
    planned = double.templates[STARTER].builds[-1]
    double.add_template(STARTER, quick_launcher())
    executed(backend, ["x"])
    assert double.created[0].build is planned


def test_the_fallback_takes_over_where_the_key_is_missing(
    double: E2BDouble, starter_environment: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The run is planned for the local backend, and says why."""
    monkeypatch.delenv("E2B_API_KEY")
    config = e2b_config(fallback="local")
    environment = execution_environment(config)
    backend = make_backend(config, environment, cores=1)
    try:
        assert backend.name == "local"
    finally:
        backend.close()
    assert any("local takes over: backend e2b: " in message for message in caplog.messages)
