"""Prefect's server with the checks of forms, asked over its own API on the database of the tests."""

from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from prefect import Flow
from prefect.blocks.system import Secret
from prefect.client.orchestration import SyncPrefectClient
from prefect.settings import PREFECT_SERVER_API_AUTH_STRING, temporary_settings
from starlette.responses import PlainTextResponse

from bigcodeflow.judge.environments import InstalledEnvironment
from flows.benchmark import benchmark
from flows.forms import ask_a_model, judge_samples, sweep_models

pytestmark = pytest.mark.flow

#: The server that the client asks writes to the same database; where it is locked, Prefect says to ask again.
_ATTEMPTS = 10


class Forms:
    """Submits parameters to deployments of flows as a form does."""

    def __init__(self, client: SyncPrefectClient) -> None:
        self._client = client

    def submit(
        self,
        flow: Flow[..., Any],
        parameters: dict[str, Any],
        *,
        cron: str = "",
        edits: dict[str, Any] | None = None,
        **headers: str,
    ) -> httpx.Response:
        """Start a run, or with ``cron`` save a schedule, or change the deployment; return what the server answers."""
        deployment = self._client.create_deployment(
            flow_id=self._client.create_flow(flow),
            name=flow.name,
            entrypoint=f"{flow.fn.__module__}.{flow.fn.__name__}",
            parameter_openapi_schema=flow.parameters.model_dump(),
            enforce_parameter_schema=True,
        )

        from prefect.server.api.server import create_app  # takes seconds, as the next import does

        from flows.form_server import FormChecks

        async def post() -> httpx.Response:
            transport = httpx.ASGITransport(FormChecks(create_app(ephemeral=True)), raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                page = "" if edits is not None else "/schedules" if cron else "/create_flow_run"
                method, form = "POST" if page else "PATCH", {"parameters": parameters} | (edits or {})
                body = [form | {"schedule": {"cron": cron}}] if cron else form
                for _ in range(_ATTEMPTS):
                    address = f"/api/deployments/{deployment}{page}"
                    answer = await client.request(method, address, json=body, headers=headers)
                    if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                        break
                return answer

        return anyio.run(post)


@pytest.fixture
def forms(prefect_client: SyncPrefectClient) -> Forms:
    return Forms(prefect_client)


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_key_that_the_run_will_have_is_known(
    forms: Forms, starter_environment: InstalledEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a Secret block, or of the file that `up` was given."""
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    given = {"model": "mistral:codestral-2508", "preset": "starter"}
    assert "mistral-api-key" in forms.submit(ask_a_model, given).json()["detail"]
    Secret(value="a-key").save("mistral-api-key", overwrite=True)
    assert forms.submit(ask_a_model, given).status_code == 201
    Secret.delete("mistral-api-key")
    (tmp_path / "keys.env").write_text("MISTRAL_API_KEY=a-key\n")
    monkeypatch.setenv("BIGCODEFLOW_ENV_FILE", str(tmp_path / "keys.env"))
    assert forms.submit(ask_a_model, given).status_code == 201


@pytest.mark.parametrize(
    ("flow", "parameters", "complaint"),
    [
        (judge_samples, {"samples": "/no/such.jsonl", "preset": "starter"}, "/no/such.jsonl"),
        (sweep_models, {"models": ["opnai:m"], "preset": "starter"}, "did you mean openai"),
        pytest.param(
            benchmark, {"config": {"samples": {"source": "/no/such.jsonl"}}}, "/no/such.jsonl", marks=pytest.mark.slow
        ),
        pytest.param(
            benchmark, {"config": {"execution": {"environment": "no-such"}}}, "no-such", marks=pytest.mark.slow
        ),
        (benchmark, {"config": {"name": "no good!", "execution": {"workers": -1}}}, "config: execution.workers"),
        (ask_a_model, {"model": "openai:m", "no_such": 1}, "no_such"),
        (ask_a_model, {"split": "complete"}, "model"),  # these two are refused by Prefect
        (ask_a_model, {"model": 5}, "model"),
    ],
)
def test_what_can_be_known_is_refused(
    forms: Forms, flow: Flow[..., Any], parameters: dict[str, Any], complaint: str
) -> None:
    """A file, an environment or a provider that is not there; a field too many, too few or of another type."""
    answer = forms.submit(flow, parameters)
    assert answer.status_code == 409
    assert complaint in answer.text


def test_up_registers_again_what_could_not_run_now(forms: Forms) -> None:
    """As `prefect deploy` does, with the entrypoint; who edits the parameters in the UI sends none."""
    parameters = {"samples": "/no/such.jsonl", "preset": "starter"}
    assert forms.submit(judge_samples, parameters, edits={}).status_code == 409
    assert forms.submit(judge_samples, parameters, edits={"entrypoint": "flows.forms.judge_samples"}).is_success


@pytest.mark.sandbox
def test_what_can_run_is_taken(forms: Forms, starter_environment: InstalledEnvironment) -> None:
    """The run is in the queue then, with the parameters that were given."""
    answer = forms.submit(judge_samples, {"samples": "oracle", "preset": "starter"})
    assert answer.status_code == 201
    assert answer.json()["parameters"]["samples"] == "oracle"


@pytest.mark.slow
def test_nothing_is_said_to_who_may_not_ask(forms: Forms) -> None:
    """Without the server's password, only Prefect answers."""
    with temporary_settings({PREFECT_SERVER_API_AUTH_STRING: "user:secret"}):
        answer = forms.submit(judge_samples, {"samples": "/no/such.jsonl", "preset": "starter"})
    assert "/no/such.jsonl" not in answer.text


def test_the_refusal_can_be_read_where_the_ui_was_opened_as_localhost(forms: Forms) -> None:
    """Its API is asked as 127.0.0.1."""
    answer = forms.submit(judge_samples, {}, Origin="http://localhost:4200")
    assert answer.status_code == 409
    assert "give one of them" in answer.json()["detail"]
    assert answer.headers["access-control-allow-origin"] == "http://localhost:4200"


@pytest.mark.parametrize(
    ("listens_on", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("127.0.0.1", {"Host": "localhost:4200", "Origin": "http://localhost:4200"}, 200),
        ("127.0.0.1", {"Host": "127.0.0.1:4200", "Origin": "http://localhost:4200"}, 200),
        ("127.0.0.1", {"Host": "evil.example:4200"}, 403),
        ("127.0.0.1", {"Origin": "http://evil.example"}, 403),
        ("127.0.0.1", {"Host": "127.0.0.1:4200", "Origin": "http://127.0.0.1:8000"}, 403),
        ("127.0.0.1", {"Origin": "null"}, 403),
        ("127.0.0.1", {"Origin": "http://[evil"}, 403),
        ("0.0.0.0", {"Host": "box.corp:4200", "Origin": "http://box.corp:4200"}, 200),
        ("0.0.0.0", {"Host": "box.corp:4200", "Origin": "http://evil.example"}, 403),
    ],
)
def test_pages_of_other_sites_are_refused(listens_on: str, headers: dict[str, str], status: int) -> None:
    """Whatever they ask for; a deployment of theirs would run code."""

    async def ask() -> httpx.Response:
        from flows.form_server import OwnSiteOnly

        app = OwnSiteOnly(PlainTextResponse("served"), listens_on)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.get("/api/health", headers=headers)

    assert anyio.run(ask).status_code == status


def test_a_schedule_is_checked_and_saved_with_plain_values(forms: Forms) -> None:
    """The editor of Prefect's default UI wraps what it shows as JSON; the scheduler takes parameters as they stand."""
    wrapped = {"__prefect_kind": "json", "value": '{"execution.workers": 1}'}
    given = {"samples": "starter", "preset": "starter", "settings": wrapped}
    saved = forms.submit(judge_samples, given, cron="0 3 * * *")
    assert [one["parameters"]["settings"] for one in saved.json()] == [{"execution.workers": 1}]
    wrapped["value"] = '{"dataset.idz": "0"}'
    refused = forms.submit(judge_samples, given, cron="0 3 * * *")
    assert refused.status_code == 409
    assert "idz" in refused.json()["detail"]
    incomplete = forms.submit(ask_a_model, {}, cron="0 3 * * *")
    assert incomplete.status_code == 409
    assert incomplete.json()["detail"].startswith("This schedule cannot be saved: model: is required")
