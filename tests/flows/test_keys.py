"""Keys of providers for runs whose process has none in its environment."""

import os

import pytest
from prefect.blocks.system import Secret
from prefect.client.orchestration import SyncPrefectClient

from bigcodeflow.config import RunConfig, load_settings
from tasks.stages import take_secret

pytestmark = pytest.mark.flow


def asking(model: str, **generation: str) -> RunConfig:
    given = {"samples": {"source": "model"}, "generation": {"model": model, **generation}}
    return load_settings(given, "test")


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that are not set now, and what a run sets is gone after the test."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys", "prefect_client")
def test_the_secret_block_of_a_variables_name_gives_the_key() -> None:
    """Of several variables the first one with a block; a variable that somebody names has its own block."""
    Secret(value="canary-openai").save("openai-api-key", overwrite=True)
    Secret(value="canary-google").save("google-api-key", overwrite=True)
    Secret(value="12345").save("my-key", overwrite=True)
    take_secret(asking("openai:gpt-4o"))
    take_secret(asking("google:gemini-2.5-pro"))
    take_secret(asking("openai:m", base_url="http://127.0.0.1:1/v1", api_key_variable="MY_KEY"))
    found = {name: os.environ.get(name) for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MY_KEY")}
    assert list(found.values()) == ["canary-openai", None, "canary-google", "12345"]


@pytest.mark.usefixtures("no_keys")
def test_a_key_that_is_set_stays_and_an_own_server_gets_none(
    prefect_client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block's key goes where the environment's would go, and nowhere else."""
    Secret(value="canary-openai").save("openai-api-key", overwrite=True)
    take_secret(asking("openai:m", base_url="http://127.0.0.1:1/v1"))
    take_secret(asking("ollama:m"))
    take_secret(load_settings({"samples": {"source": "oracle"}}, "test"))
    assert "OPENAI_API_KEY" not in os.environ
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    take_secret(asking("openai:gpt-4o"))
    assert os.environ["OPENAI_API_KEY"] == "mine"
