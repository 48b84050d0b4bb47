"""OpenAI's models in Azure: the same protocol at a resource's own address, with a key or Microsoft Entra tokens."""

import asyncio
import time
from typing import Any

from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.identity import DefaultAzureCredential

from bigcodeflow.core.errors import error_message
from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.chat_completions import OpenAIProvider
from bigcodeflow.generation.providers.http_client import shown

_SCOPE = "https://cognitiveservices.azure.com/.default"
_PATH = "/openai/v1"
#: A token that expires within this time is renewed: a request may take minutes.
_RENEWED_BEFORE_SECONDS = 300.0


class AzureProvider(OpenAIProvider):
    """Provider for chats with a model in Azure; the model's name is the name of its deployment."""

    address = ""  # every resource has its own address

    def __init__(self, endpoint: Endpoint) -> None:
        """Open the provider; without an API key, Microsoft's SDK gets Entra tokens for the identity that it detects."""
        super().__init__(endpoint)
        # Azure checks the rest, as a deployment's name hides the model.
        self.label, self.forms, self.most_stops = "Azure", ["chat"], 4
        self.not_taken = {
            "top_k": "Azure takes none",
            "reasoning_tokens": "Azure takes no budget, only reasoning_effort",
        }
        if not self._limit_is_fixed:
            self._limit_name = "max_completion_tokens"
        if not self._address.endswith(_PATH):
            self._address += _PATH
        self._credential: Any = None
        self._token: AccessToken | None = None
        self._renewing = asyncio.Lock()
        del self._http.headers["authorization"]
        if endpoint.api_key:
            self._http.headers["api-key"] = endpoint.api_key

    async def ask(self, request: Request) -> Reply:
        if not self.endpoint.api_key:
            async with self._renewing:  # some credentials of the SDK start a program for each token
                if self._token is None or self._token.expires_on - time.time() < _RENEWED_BEFORE_SECONDS:
                    self._token = await asyncio.to_thread(self._new_token)
            self._http.headers["authorization"] = f"Bearer {self._token.token}"
        return await super().ask(request)

    async def aclose(self) -> None:
        await super().aclose()
        if self._credential is not None:
            self._credential.close()

    def _new_token(self) -> AccessToken:
        try:
            self._credential = self._credential or DefaultAzureCredential()
            token: AccessToken = self._credential.get_token(_SCOPE)
        except (ClientAuthenticationError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise RequestError(
                "authentication",
                shown(f"no key in AZURE_OPENAI_API_KEY, and Microsoft's SDK finds no identity: {reason}", ""),
            ) from None
        except AzureError as error:
            reason = shown(error_message(error), "")
            raise RequestError("connection", f"Microsoft Entra gave no token: {reason}") from None
        return token
