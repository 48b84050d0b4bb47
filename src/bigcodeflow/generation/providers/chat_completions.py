"""Providers that use OpenAI's protocol: OpenAI and compatible servers, Mistral, Hugging Face's router; and Ollama.

The SDKs are not used: they send the same bodies through the same HTTP client, and retries and parsing are done here.
For Ollama's /v1 address, use the provider openai: this address accepts neither Ollama's options nor raw text.
"""

# ruff: noqa: ARG002 (every provider has the same signatures)

import difflib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_api import (
    Answer,
    FinishReason,
    Reply,
    Request,
    RequestError,
    TokenUsage,
    finish_reason,
)
from bigcodeflow.generation.providers import Endpoint, given_fields, merged, turns, untaken
from bigcodeflow.generation.providers.http_client import SHAPE_ERRORS, HttpProvider, ensure_ok, shown

_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
# The provider broke off: its text is not the model's answer and would wrongly count as a failure of the model.
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})

_REASONING = re.compile(r"o\d|gpt-[5-9]|codex")
_CHATTING = re.compile(r"gpt-5(\.\d+)?-chat")
# These models always reason; later models accept sampling parameters while reasoning_effort is 'none'.
_ALWAYS_REASONING = re.compile(r"o\d|gpt-5(-(mini|nano|pro|codex|\d{4}).*)?$")
# These models reason unless reasoning_effort is 'none'; models between the two groups have the default 'none'.
_REASONING_UNASKED = re.compile(r"gpt-([6-9]|\d\d)")
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
# Words that servers use for a field that they do not accept; for a value that is too large they use other words.
_NOT_TAKEN = re.compile(
    r"(?i)unsupported|not supported|does not support|unrecogni[sz]ed|unknown|unexpected|not permitted|instead"
)
_CONTINUING = re.compile(r"gpt-3\.5-turbo-instruct|davinci-002|babbage-002")
# Fields in the order in which they are sent, see `given_fields`.
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "stop")
_PENALTIES = ("frequency_penalty", "presence_penalty")
_HUGGING_FACE = ("frequency_penalty", "max_tokens", "n", "presence_penalty", "seed", "stop", "temperature", "top_p")
_MODELS_NAMED = 10
_OWN_PARAMETER = "not part of the protocol; give the server's own parameter in generation.extra_body"


class ChatCompletions(HttpProvider):
    """Base class of providers that use OpenAI's protocol; each subclass defines its differences."""

    def path(self, request: Request) -> str:
        return "/v1/chat/completions"

    def parsed(self, data: Mapping[str, Any]) -> tuple[tuple[Answer, ...], TokenUsage]:
        """Return the answers and token counts of a chat or text completion."""
        choices = data.get("choices")
        if not choices:
            ensure_ok(data, secret=self.endpoint.api_key)
            raise RequestError("malformed", "the provider's answer has no choices")
        answers = tuple(_answer(choice) for choice in sorted(choices, key=lambda choice: choice.get("index") or 0))
        return answers, completion_usage(data.get("usage") or {})


class OpenAIProvider(ChatCompletions):
    """Provider for OpenAI and every server that uses its protocol: vLLM, llama.cpp, Ollama's /v1, gateways."""

    address = "https://api.openai.com/v1"
    request_id_header = "x-request-id"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        host = urlsplit(endpoint.base_url or self.address).hostname or ""
        self.official = host == "openai.com" or host.endswith(".openai.com")
        """True for OpenAI itself, which accepts fewer settings than compatible servers and refuses unknown fields."""
        self._limit_is_fixed = endpoint.limit_parameter != "auto"
        usual = _LIMIT_NAMES[self.official]
        self._limit_name = endpoint.limit_parameter if self._limit_is_fixed else usual
        if not self.official:  # compatible servers check most settings themselves
            self.not_taken = {"reasoning_tokens": _OWN_PARAMETER}
            return
        self.label, self.most_stops = f"{endpoint.model} at OpenAI", 4
        self.forms = ["direct"] if _CONTINUING.match(endpoint.model) else ["chat"]
        self.not_taken = {
            "top_k": "OpenAI takes none",
            "reasoning_tokens": "OpenAI takes no number of tokens; use generation.sampling.reasoning_effort",
        }

    def problems(self, request: Request) -> list[str]:
        lines, model, effort = super().problems(request), self.endpoint.model, request.sampling.reasoning_effort
        if not self.official:
            return lines
        if not _REASONING.match(model) or _CHATTING.match(model):
            return lines + untaken(request, {"reasoning_effort": f"{model} does not reason"})
        unasked = "" if _REASONING_UNASKED.match(model) else "none"
        if not _ALWAYS_REASONING.match(model) and (effort or unasked) == "none":
            return lines
        reason = f"{model} takes none while it reasons"
        return lines + untaken(request, dict.fromkeys(("temperature", "top_p", *_PENALTIES, "stop"), reason))

    def notes(self, request: Request) -> list[str]:
        lines = []
        if request.seed is not None and self.official:
            lines.append("seed: OpenAI repeats answers as far as it can, without a promise")
        if request.prompt.form == "prefill":
            lines.append(
                "prefill: sent as continue_final_message, as vLLM takes it; other servers may begin a new answer"
            )
        return lines

    def path(self, request: Request) -> str:
        return "/completions" if request.prompt.form == "direct" else "/chat/completions"

    async def offered_models(self) -> str:
        """Return a sentence with names of the server's models; names like the configured name come first."""
        try:
            names = [str(one["id"]) for one in (await self.json("GET", "/models"))["data"]]
        except (RequestError, *SHAPE_ERRORS):
            return ""
        close = difflib.get_close_matches(self.endpoint.model, names, n=_MODELS_NAMED, cutoff=0.0)
        more = ", …" if len(close) < len(names) else ""
        listed = f"The server has {', '.join(close)}{more}" if close else "The server has no model"
        return shown(listed, self.endpoint.api_key)

    def adapt(self, body: Mapping[str, Any], error: RequestError) -> str:
        """Switch once between max_tokens and max_completion_tokens if a server refuses the name that was sent."""
        sent = next((name for name in _LIMIT_NAMES if name in body), "")
        told = str(error)
        if error.kind != "bad_request" or "prompt" in body or not sent or sent not in told:
            return ""
        if not _NOT_TAKEN.search(told):
            return ""
        if sent == self._limit_name:
            if self._limit_is_fixed:
                return ""
            self._limit_is_fixed = True
            self._limit_name = _LIMIT_NAMES[not _LIMIT_NAMES.index(sent)]
        return f"the server takes no {sent}: {self._limit_name} is sent instead"

    def body(self, request: Request) -> Mapping[str, Any]:
        form = request.prompt.form
        limit = "max_tokens" if form == "direct" else self._limit_name
        names = (*_SAMPLING, *_PENALTIES, "reasoning_effort", "seed", "n")
        prompt = {"prompt": request.prompt.text} if form == "direct" else {"messages": turns(request)}
        body = {"model": self.endpoint.model, **prompt, **given_fields(request, names, max_tokens=limit)}
        if form == "prefill":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        return merged(body, request.extra_body)


class MistralProvider(ChatCompletions):
    """Provider for Mistral, whose answers repeat the prefilled beginning."""

    address = "https://api.mistral.ai"
    label = "Mistral"
    forms = ("chat", "prefill")
    not_taken: Mapping[str, str] = {
        "reasoning_tokens": "Mistral takes no number of tokens; use generation.sampling.reasoning_effort"
    }

    def notes(self, request: Request) -> list[str]:
        if request.prompt.form != "prefill":
            return []
        return ["prefill: Mistral's answers repeat the prefill, which is taken off"]

    def body(self, request: Request) -> Mapping[str, Any]:
        """Return the body; only a prefilled answer, which the model must continue, is marked as a prefix."""
        messages = [turn | ({"prefix": False} if turn["role"] == "assistant" else {}) for turn in turns(request)]
        if request.prompt.form == "prefill":
            messages[-1]["prefix"] = True
        names = (*_SAMPLING, "seed", *_PENALTIES, "reasoning_effort", "n", "stream")
        body = {"model": self.endpoint.model, "messages": messages}
        return merged(body | given_fields(request, names, seed="random_seed"), request.extra_body)

    async def ask(self, request: Request) -> Reply:
        reply = await super().ask(request)
        if request.prompt.form != "prefill":
            return reply
        begun = request.prompt.messages[-1].text
        return replace(reply, answers=tuple(replace(one, text=one.text.removeprefix(begun)) for one in reply.answers))


class HuggingFaceProvider(ChatCompletions):
    """Provider for Hugging Face's router to inference providers, inference endpoints, and TGI servers."""

    address = "https://router.huggingface.co"
    label = "Hugging Face"
    forms = ("chat",)
    not_taken: Mapping[str, str] = dict.fromkeys(("top_k", "reasoning_tokens"), _OWN_PARAMETER)

    def __init__(self, endpoint: Endpoint) -> None:
        if not endpoint.base_url and not endpoint.api_key.startswith("hf_"):
            raise ConfigError(
                "generation.model: huggingface needs a key that begins with hf_: correct the key (HF_TOKEN)"
            )
        super().__init__(endpoint)

    def notes(self, request: Request) -> list[str]:
        if self.endpoint.base_url or ":" in self.endpoint.model:
            return []
        return ["Hugging Face's router chooses the provider; to fix the provider, write MODEL:PROVIDER"]

    def path(self, request: Request) -> str:
        """Return the part of the path that base_url lacks: users write endpoint addresses with or without a path."""
        path = urlsplit(self.endpoint.base_url).path.rstrip("/")
        if path.endswith("/chat/completions"):
            return ""
        return "/chat/completions" if path.endswith("/v1") else "/v1/chat/completions"

    def body(self, request: Request) -> Mapping[str, Any]:
        body = {"model": self.endpoint.model, "messages": turns(request)}
        return merged(body | given_fields(request, (*_HUGGING_FACE, "stream", "reasoning_effort")), request.extra_body)


def completion_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """Return a completion's token counts; add reasoning tokens if, by the total, completion_tokens lacks them."""
    prompt, completion, total = (usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total"))
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    if reasoning and prompt is not None and completion is not None and total == prompt + completion + reasoning:
        completion += reasoning
    return TokenUsage(prompt, completion, reasoning, cached)


def _answer(choice: Mapping[str, Any]) -> Answer:
    finish = choice.get("finish_reason") or ""
    if finish in _BROKEN_OFF:
        raise RequestError("overloaded", f"the provider broke the answer off: finish_reason {finish!r}")
    reason: FinishReason = _FINISH_REASONS.get(finish, "other")
    if "text" in choice:
        return Answer(choice["text"] or "", reason)
    message = choice["message"]
    text, thoughts = content_parts(message.get("content"))
    reasoning = message.get("reasoning_content") or message.get("reasoning") or thoughts
    if message.get("tool_calls") and not text:
        reason = "tool_calls"  # regardless of the reason from the server: the model did not intend to write text
    if message.get("refusal"):
        return Answer(text or message["refusal"], "refusal", reasoning)
    return Answer(text, reason, reasoning)


def content_parts(content: Any) -> tuple[str, str]:
    """Return text and reasoning of a message whose content is a string or a list of typed parts."""
    if content is None or isinstance(content, str):
        return content or "", ""
    text = "".join(part["text"] for part in content if part["type"] == "text")
    thoughts = (part["thinking"] for part in content if part["type"] == "thinking")
    return text, "".join(thought if isinstance(thought, str) else content_parts(thought)[0] for thought in thoughts)


class OllamaProvider(HttpProvider):
    """Provider for Ollama's own API, which chats or, for the form 'direct', continues a text without template."""

    address = "http://127.0.0.1:11434"

    def problems(self, request: Request) -> list[str]:
        reasons = {}
        if request.sampling.reasoning_tokens:
            reasons["reasoning_tokens"] = "Ollama takes only 0 here; use reasoning_effort"
        if request.sampling.reasoning_tokens is not None:
            reasons["reasoning_effort"] = "Ollama takes only one of reasoning_effort and reasoning_tokens"
        return untaken(request, reasons)

    def notes(self, request: Request) -> list[str]:
        lines = [
            "Ollama cuts off prompts beyond its context length; raise it with extra_body {options: {num_ctx: 16384}}"
        ]
        if request.prompt.form == "prefill":
            lines.append("prefill: continued if the model's template can; otherwise the model begins a new answer")
        return lines

    def body(self, request: Request) -> Mapping[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {"model": self.endpoint.model, "stream": False}
        if request.prompt.form == "direct":
            body |= {"prompt": request.prompt.text, "raw": True}
        else:
            body |= {"messages": turns(request), "tools": []}
        if sampling.reasoning_effort is not None or sampling.reasoning_tokens is not None:
            body["think"] = sampling.reasoning_effort or False
        options = given_fields(request, (*_SAMPLING, "seed", *_PENALTIES), max_tokens="num_predict")
        return merged(body | {"options": options}, request.extra_body)

    def path(self, request: Request) -> str:
        return "/api/generate" if request.prompt.form == "direct" else "/api/chat"

    def parsed(self, data: Mapping[str, Any]) -> tuple[tuple[Answer, ...], TokenUsage]:
        if not data.get("done"):
            raise RequestError("malformed", "Ollama's answer is not complete: done is not true")
        message = data["message"] if "message" in data else {**data, "content": data["response"]}
        reason = "tool_calls" if message.get("tool_calls") else finish_reason(data.get("done_reason"))
        answer = Answer(message["content"] or "", reason, message.get("thinking") or "")
        return (answer,), TokenUsage(data.get("prompt_eval_count"), data.get("eval_count"))
