"""What Amazon Bedrock and Vertex AI answer, for the double; and credentials that their SDKs take without a network."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.generation.providers.double import SPEAKERS, Completion, Received

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


class _Tokens(BaseHTTPRequestHandler):
    """Google's and Microsoft's servers of tokens, both in the forms that SDKs ask for."""

    def do_GET(self) -> None:
        self._send(
            {"access_token": "canary-entra", "expires_on": "4102444800", "resource": "r", "token_type": "Bearer"}
        )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._send({"access_token": "canary-adc", "expires_in": 3600, "token_type": "Bearer"})

    def _send(self, data: dict[str, str]) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def token_server() -> Iterator[str]:
    """Address of a server that gives tokens to whoever asks."""
    with HTTPServer(("127.0.0.1", 0), _Tokens) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def service_account(folder: Path, token_address: str) -> Path:
    """A file as Google gives it for a service account, whose tokens come from this address."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    path = folder / "account.json"
    path.write_text(
        json.dumps(
            {
                "type": "service_account",
                "project_id": "p",
                "private_key_id": "1",
                "private_key": pem,
                "client_email": "a@p.iam.gserviceaccount.com",
                "client_id": "1",
                "token_uri": f"{token_address}/token",
            }
        )
    )
    return path
