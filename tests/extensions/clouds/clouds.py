"""What Amazon Bedrock and Vertex AI answer, for the double; and credentials that their SDKs take without a network."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.generation.providers.double import SPEAKERS, Completion, Received, Send, model_server

AWS = {
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "canary-aws",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def _bedrock(received: Received, completion: Completion) -> dict[str, Any]:
    reason = {"stop": "end_turn", "length": "max_tokens", "refusal": "content_filtered"}[completion.finish]
    thoughts = [{"reasoningContent": {"reasoningText": {"text": completion.reasoning, "signature": "s"}}}]
    text = {"text": completion.text or f"answer {received.number}.0"}
    return {
        "output": {"message": {"role": "assistant", "content": [*thoughts[: bool(completion.reasoning)], text]}},
        "stopReason": reason,
        "usage": {
            "inputTokens": completion.prompt_tokens - completion.cached_tokens,
            "cacheReadInputTokens": completion.cached_tokens,
            "outputTokens": completion.completion_tokens,
            "totalTokens": completion.prompt_tokens + completion.completion_tokens,
        },
        "metrics": {"latencyMs": 7},
    }


SPEAKERS["bedrock"] = _bedrock
SPEAKERS["vertex"] = lambda received, completion: SPEAKERS["google"](replace(received, dialect="google"), completion)


@contextmanager
def token_server() -> Iterator[str]:
    """Address of a server that gives tokens to whoever asks, in Microsoft's form (GET) and in Google's (POST)."""
    entra = {"access_token": "canary-entra", "expires_on": "4102444800", "resource": "r", "token_type": "Bearer"}
    google = {"access_token": "canary-adc", "expires_in": 3600, "token_type": "Bearer"}
    with model_server(lambda received: Send(entra if received.method == "GET" else google)) as server:
        yield f"http://127.0.0.1:{server.port}"


def service_account(folder: Path, token_address: str) -> Path:
    """A file as Google gives it for a service account, whose tokens come from this address."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    content = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": key.private_bytes(serialization.Encoding.PEM, form, secret).decode(),
        "client_email": "a@p.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"{token_address}/token",
    }
    path = folder / "account.json"
    path.write_text(json.dumps(content))
    return path
