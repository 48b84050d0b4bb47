"""From recorded replies to rows of the samples table."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from bigcodeflow.core.schemas import SAMPLES, table_of
from bigcodeflow.generation.answers import AnswerKey, AnswerLedger, RecordedAnswer, ReplyRecord
from bigcodeflow.generation.exchange import Request
from bigcodeflow.generation.prompts import raw_text


def samples_table(requests: Mapping[AnswerKey, Request], ledger: AnswerLedger, provider: str) -> pa.Table:
    """The recorded answers of the requests as a table of the SAMPLES schema, in the order of the requests.

    Args:
        requests: what was asked, by the answers' identities.
        ledger: where the answers are.
        provider: who answered.
    """
    places = {key: place for place, key in enumerate(requests)}
    found = [(places[one.key], _row(one, requests[one.key], provider)) for one in ledger.answers(requests)]
    found.sort(key=lambda placed: placed[0])
    return table_of([row for _, row in found], schema=SAMPLES)


def _row(recorded: RecordedAnswer, request: Request, provider: str) -> dict[str, Any]:
    key, answer, record = recorded
    empty = answer.finish_reason == "stop" and not answer.text.strip()
    return {
        "task_id": key.task_id,
        "sample_index": key.sample_index,
        "raw_text": raw_text(request.prompt, answer.text),
        "provider": provider,
        "served_model": record.served_model,
        "request_id": record.request_id,
        "prompt_sha": key.prompt_sha,
        "template_sha": record.template_sha,
        "request": json.dumps(record.body, ensure_ascii=False),
        "reasoning": answer.reasoning or None,
        "finish_reason": "empty" if empty else answer.finish_reason,
        "latency_seconds": record.latency_seconds,
        "seed": record.seed,
        "attempts": record.attempts,
        **_share(record, record.keys.index(key)),
    }


def _share(record: ReplyRecord, place: int) -> dict[str, Any]:
    """One answer's part of what its reply took, so that the parts sum up to the whole."""
    answers = len(record.answers)
    usage = record.usage
    told = {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    parts = {name: None if count is None else _part(count, answers, place) for name, count in told.items()}
    return {**parts, "cost_usd": None if record.cost_usd is None else record.cost_usd / answers}


def _part(count: int, answers: int, place: int) -> int:
    whole, rest = divmod(count, answers)
    return whole + (place < rest)


def keyed(requests: Iterator[Request]) -> dict[AnswerKey, Request]:
    """The requests by the identity of each answer that they ask for."""
    found: dict[AnswerKey, Request] = {}
    for request in requests:
        prompt_sha = request.prompt_sha
        found.update({AnswerKey(request.task_id, prompt_sha, index): request for index in request.sample_indices})
    return found
