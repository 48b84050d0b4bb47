"""Bedrock, Vertex and Azure through the vendors' SDKs, which sign and authenticate as they do in their clouds."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_api import Answer, ErrorKind, RequestError, Sampling, TokenUsage
from bigcodeflow.generation.providers import Endpoint, open_provider
from bigcodeflow_clouds import azure
from tests.extensions.clouds.clouds import AWS, service_account, token_server
from tests.generation.providers.conftest import chat, endpoint, used
from tests.generation.providers.double import Completion, Fail, ModelServer, model_server
from tests.generation.providers.test_replies import SAID


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that the SDK of AWS finds."""
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["bedrock", "vertex"])
def cloud(aws: None, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A provider whose SDK finds credentials."""
    with token_server() as tokens:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account(tmp_path, tokens)))
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
        monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
        yield request.param


def asked(server: ModelServer, name: str) -> Any:
    return used(name, endpoint(server, name, api_key=""), lambda provider: provider.ask(chat()))


def test_an_answer_comes_apart_as_from_any_provider(cloud: str) -> None:
    """Text and reasoning, the end, tokens as they are counted elsewhere, and a signed request.

    What is stored is what arrives; the model stands in the path, and of Bedrock's arguments it is part of what is stored.
    """
    request = chat(sampling=Sampling(temperature=0.5, top_p=0.75, max_tokens=9, stop=("\nA",)))
    with model_server([SAID]) as server:

        async def use(provider: Any) -> Any:
            return await provider.ask(request), dict(provider.body(request))

        reply, body = used(cloud, endpoint(server, cloud, api_key=""), use)
    assert reply.answers == (Answer(SAID.text, "stop", "Let me see."),)
    if cloud == "bedrock":
        assert reply.usage == TokenUsage(120, 70, None, 64)
        assert server.last.headers["authorization"].startswith("AWS4-HMAC-SHA256")
        assert body.pop("modelId") == "m-1"
        assert server.last.path == "/bedrock/model/m-1/converse"
        assert body["inferenceConfig"] == {"maxTokens": 9, "temperature": 0.5, "topP": 0.75, "stopSequences": ["\nA"]}
        assert body["system"] == [{"text": "Be brief."}]
    else:
        assert reply.usage == TokenUsage(120, 70, 30, 64)
        assert server.last.headers["authorization"] == "Bearer canary-adc"
        place = "/vertex/v1beta1/projects/p/locations/europe-west4/publishers/google/models/m-1:generateContent"
        assert server.last.path == place
    assert server.last.body == body


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (429, "ThrottlingException", "Too many requests", "rate_limited"),
        (400, "ValidationException", "Input is too long for requested model.", "unanswerable"),
        (400, "ValidationException", "The model does not take topP", "bad_request"),
        (403, "AccessDeniedException", "no access to the model", "authentication"),
        (403, "UnrecognizedClientException", "The security token is invalid", "authentication"),
        (404, "ResourceNotFoundException", "no such model", "not_found"),
        (408, "ModelTimeoutException", "took too long", "deadline"),
        (503, "ServiceUnavailableException", "later", "overloaded"),
        (424, "ModelErrorException", "the model failed", "overloaded"),
    ],
)
@pytest.mark.usefixtures("aws")
def test_faults_of_bedrock(status: int, code: str, message: str, kind: ErrorKind) -> None:
    """Each is asked once, since the SDK repeats nothing, and has the kind that tells what helps."""
    fault = Fail(status, body={"message": message}, headers={"x-amzn-errortype": code})
    with model_server([fault]) as server, pytest.raises(RequestError) as raised:
        asked(server, "bedrock")
    assert len(server.requests) == 1
    assert (raised.value.kind, message in str(raised.value)) == (kind, True)


@pytest.mark.usefixtures("aws")
def test_bedrocks_region_has_either_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda and containers set AWS_REGION, which the SDK for Python does not read."""
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with model_server([Completion("x")]) as server:
        assert asked(server, "bedrock").answers[0].text == "x"
    assert "/eu-central-1/bedrock/" in server.last.headers["authorization"]


@pytest.mark.usefixtures("aws")
def test_a_broken_secret_of_bedrocks_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "canary-4711\n")
    with pytest.raises(ConfigError, match="AWS_SESSION_TOKEN: holds a blank") as raised:
        open_provider("bedrock", Endpoint("m"))
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("name", ["bedrock", "vertex", "azure"])
def test_who_has_no_credentials_is_told_what_to_set(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with missing credentials stops at its first request and names what would help."""
    for variable in (*AWS, "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    with model_server() as server, pytest.raises(RequestError) as raised:
        asked(server, name)
    assert not server.requests
    assert raised.value.concerns_every_request
    words = {"bedrock": "AWS_REGION", "vertex": "GOOGLE_CLOUD_PROJECT", "azure": "AZURE_OPENAI_API_KEY"}
    assert words[name] in str(raised.value)


def test_azure_takes_a_managed_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, Microsoft's SDK gets a token from the machine's identity, as in App Service."""
    with token_server() as tokens, model_server([Completion("x")]) as server:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{tokens}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "h")
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        assert asked(server, "azure").answers[0].text == "x"
    assert server.last.headers["authorization"] == "Bearer canary-entra"
    assert server.last.path == "/azure/openai/v1/chat/completions"


def test_azure_asks_for_a_token_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many requests would otherwise start the SDK's search, and some of its ways start programs."""
    given: list[str] = []

    class Credential:
        def get_token(self, scope: str) -> AccessToken:
            given.append(scope)
            return AccessToken(f"canary-{len(given)}", int(time.time()) + 100 * len(given))

        def close(self) -> None:
            pass

    monkeypatch.setattr(azure, "DefaultAzureCredential", Credential)
    with model_server() as server:

        async def use(provider: Any) -> None:
            for _ in range(3):
                await asyncio.gather(*(provider.ask(chat()) for _ in range(4)))

        used("azure", endpoint(server, "azure", api_key=""), use)
        sent = [received.headers["authorization"] for received in server.requests]
    assert len(sent) == 12
    assert len(given) == 4  # one that ends in less than five minutes is renewed, and the fourth does not
    assert sent[-1] == "Bearer canary-4"


def test_azure_with_a_key_needs_no_identity() -> None:
    body = open_provider("azure", Endpoint("my-deployment", "https://x.openai.azure.com", "k")).body(chat())
    assert body["max_completion_tokens"] == 2048
    with model_server() as server:
        used("azure", endpoint(server, "azure"), lambda provider: provider.ask(chat()))
    assert "authorization" not in server.last.headers
    assert "canary" in server.last.headers["api-key"]
