"""Drives batches as a run does, with the real ledger; importable, so that a process of its own can be killed."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.batches import BatchOutcome, BatchRun, open_batches
from bigcodeflow.generation.model_api import Message, Prompt, PromptForm, Request, Sampling
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow_clouds.batches.apis import BatchApi
from bigcodeflow_clouds.batches.driver import BatchSettings

#: The longest wait of a test for what comes; reached only where something is wrong.
SECONDS = 120.0
SETTINGS = BatchSettings(
    first_poll_seconds=0.01, longest_poll_seconds=0.04, patience_seconds=SECONDS, doubt_seconds=0.2, most_requests=7
)


def request(number: int, word: str = "ok", *, form: PromptForm = "chat", samples: tuple[int, ...] = (0,)) -> Request:
    """A request whose prompt tells the account what to do with it."""
    text = f"task {number} [{word}]"
    prompt = Prompt(form, text=text) if form == "direct" else Prompt(form, (Message("user", text),))
    return Request(f"T/{number}", samples, prompt, Sampling(temperature=0.0, max_tokens=50))


def open_api(dialect: str, base_url: str, key: str) -> BatchApi:
    endpoint = Endpoint(model="m-1", base_url=base_url, api_key=key, timeout_seconds=SECONDS)
    return open_batches(dialect, endpoint)


async def drive(
    api: BatchApi,
    folder: Path,
    requests: Sequence[Request],
    *,
    settings: BatchSettings = SETTINGS,
    notify: Callable[[str], None] = lambda _: None,
) -> BatchOutcome:
    """One run: what the ledger has is not asked for, what comes goes there."""
    ledger = AnswerLedger(folder / "answers")
    with ledger.writing() as writer:
        known = set(writer.known)
        wanted = [one for one in requests if not known.issuperset(one.keys)]
        run = BatchRun(folder / "batches", writer.append, notify=notify)
        return await api.run(wanted, run, settings)


def recorded(folder: Path) -> list[tuple[str, int, str]]:
    """Task, sample and text of every answer in the ledger, doubled ones too."""
    return sorted(
        (record.task_id, index, answer.text)
        for record in AnswerLedger(folder / "answers").records()
        for index, answer in zip(record.sample_indices, record.answers, strict=True)
    )


def run_in_process(
    server: tuple[str, str, str], folder: Path, requests: Sequence[Request], doubt_seconds: float
) -> None:
    """The whole life of a process that is killed and started again; one batch where the requests are many.

    The server is its dialect, address and key.
    """
    most_requests = 7 if len(requests) <= 20 else 1000
    settings = replace(SETTINGS, most_requests=most_requests, doubt_seconds=doubt_seconds)

    async def life() -> None:
        async with aclosing(open_api(*server)) as api:
            await drive(api, folder, requests, settings=settings)

    asyncio.run(life())
