"""Opening providers by name, and what stands against it; and a provider that another distribution brings."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.providers import Endpoint, find_key, known_providers, open_provider
from tests.command import add_distribution, process_in
from tests.conftest import ROOT
from tests.generation.providers.conftest import KEY
from tests.generation.providers.double import Completion, model_server

KEYED = [name for name, info in known_providers().items() if info.key_variables]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opnai", f"did you mean openai\\? known: {', '.join(known_providers())}"),
        ("Anthropic", "did you mean anthropic"),
        ("zzz", "no provider 'zzz'; known: openai"),
    ],
)
def test_what_is_no_provider_over_a_network_is_refused(name: str, said: str):
    with pytest.raises(ConfigError, match=said):
        open_provider(name, Endpoint("m"))


@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "mistral", "huggingface"])
def test_a_missing_key_is_named_by_its_variable(name: str, monkeypatch: pytest.MonkeyPatch):
    for variable in known_providers()[name].key_variables:
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError) as caught:
        find_key(name)
    variable = known_providers()[name].key_variables[0]
    assert f"set the environment variable {variable}" in str(caught.value)
    # A run of the UI is started by a worker, which knows nothing of the shell that somebody set the key in.
    assert f"a Prefect Secret block named {variable.lower().replace('_', '-')}" in str(caught.value)
    assert "bigcodeflow up --env-file FILE" in str(caught.value)


@pytest.mark.parametrize("name", KEYED)
def test_an_own_server_needs_no_key_and_gets_none_unasked(name: str, monkeypatch: pytest.MonkeyPatch):
    """A key made for the provider never goes to another address, unless its variable is named."""
    monkeypatch.setenv(known_providers()[name].key_variables[0], KEY)
    assert find_key(name, base_url="http://127.0.0.1:1") == (KEY if known_providers()[name].own_address else "")
    assert find_key(name, base_url="http://127.0.0.1:1", variable=known_providers()[name].key_variables[0]) == KEY
    assert find_key(name) == KEY


def test_a_named_variable_must_be_set(monkeypatch: pytest.MonkeyPatch):
    """Who names a variable wants its key; the line break of a file that it was read from is no part of it."""
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(ConfigError, match="set the environment variable MY_KEY"):
        find_key("openai", variable="MY_KEY", base_url="http://127.0.0.1:1")
    monkeypatch.setenv("MY_KEY", KEY + "\n")
    assert find_key("openai", variable="MY_KEY") == KEY


@pytest.mark.parametrize("inside", ["\n", " ", "ü"])
def test_a_key_that_is_none_is_refused_without_being_shown(inside: str, monkeypatch: pytest.MonkeyPatch):
    """Such a key could not be sent as a header, and the transport's message would show it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY + inside + KEY)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        find_key("openai")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:8000", "localhost", "ftp://x/", "http://", "http://x:99999/v1", "http://[x", "http://x\x7f/", ""],
)
def test_an_address_that_is_none_is_refused(address: str):
    """A wrong or missing address is reported at once, not after all the tries of a run."""
    with pytest.raises(ConfigError, match=r"generation\.base_url: .*(is not a URL|, such as http)"):
        open_provider("azure", Endpoint("m", address, "k"))


def test_a_password_in_an_address_is_refused_without_being_shown():
    """Addresses are stored and shown, so that no secret may stand there."""
    with pytest.raises(ConfigError, match="holds a user or password") as caught:
        open_provider("openai", Endpoint("m", f"http://me:{KEY}@127.0.0.1/v1"))
    assert "canary" not in str(caught.value)


def test_the_router_of_hugging_face_wants_its_own_token():
    with pytest.raises(ConfigError, match="begins with hf_"):
        open_provider("huggingface", Endpoint("m", api_key=KEY))


def _printed(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    ).stdout


def test_a_missing_sdk_names_the_extra():
    printed = _printed(
        "import sys; sys.modules['google.genai'] = sys.modules['google'] = None\n"
        "from bigcodeflow.generation.providers import Endpoint, open_provider\n"
        "try: open_provider('google', Endpoint('m', api_key='k'))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    assert printed.startswith("ConfigError")
    assert "pip install 'bigcodeflow[google]'" in printed


def test_the_list_of_providers_imports_no_client():
    printed = _printed(
        "import sys, bigcodeflow.generation.providers\n"
        "print(sorted({'google.genai', 'huggingface_hub', 'httpx2', 'httpx'} & set(sys.modules)))"
    )
    assert printed.strip() == "[]"


PROGRAM, ENTRY_POINT = (
    re.search(
        rf"## Providers of your own\n.*?```{kind}\n(.*?)```", (ROOT / "docs/generation.md").read_text(), re.DOTALL
    )[1]
    for kind in ("python", "toml")
)
_CHOSEN = ("--dataset", "starter", "--ids", "0-1", "--out", "out")


def test_a_provider_of_another_distribution_is_asked(tmp_path: Path) -> None:
    """Its models answer, its limits hold before anything is sent; a broken distribution is named and left out."""
    declared = ENTRY_POINT.splitlines()[-1].replace('"', "")
    for name, line in {"lab": declared, "broken": "broken = absent:LAB"}.items():
        add_distribution(tmp_path, name, f"[bigcodeflow.providers]\n{line}\n")
    (tmp_path / "lab.py").write_text(PROGRAM)
    command, path = process_in(tmp_path), {"PYTHONPATH": str(tmp_path)}
    with model_server(lambda _: Completion("```python\ndef task_func():\n    return 1\n```")) as server:
        own = ("generate", "--model", "lab:m", "--base-url", server.url("openai"), *_CHOSEN)
        done = command(*own, **path)
        refused = command(*own, "--set", "generation.sampling.top_k=3", check=False, **path)
        assert len(server.requests) == 2
    assert "plug-in broken (absent:LAB) is left out" in done.stderr
    [file] = (tmp_path / "out").glob("*.jsonl")
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 2
    assert "generation.sampling.top_k: the lab takes none" in refused.stderr
    unknown = command("generate", "--model", "labb:m", *_CHOSEN, check=False, **path)
    assert "did you mean lab?" in unknown.stderr
