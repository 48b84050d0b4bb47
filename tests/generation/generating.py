"""A generating process to be killed: asks a `CountingServer` for some samples of some tasks, and resumes.

python generating.py FOLDER PORT RUN TASKS SAMPLES SLOTS
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from bigcodeflow.config import RequestsConfig
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.engine import generate
from bigcodeflow.generation.model_api import (
    Answer,
    Message,
    Prompt,
    Reply,
    Request,
    RequestError,
    Sampling,
    TokenUsage,
)
from bigcodeflow.generation.providers import Provider
from bigcodeflow.generation.retries import RetryPolicy


class Served(Provider):
    """The provider that a `CountingServer` is."""

    def __init__(self, port: int, run: str) -> None:
        self._port, self._run = port, run

    def body(self, request: Request) -> Mapping[str, Any]:
        return {"run": self._run, "task": request.task_id, "samples": list(request.sample_indices)}

    async def ask(self, request: Request) -> Reply:
        try:
            head, body = await self._exchange(json.dumps(self.body(request)).encode())
        except (OSError, asyncio.IncompleteReadError, IndexError) as error:
            raise RequestError("connection", repr(error)) from None
        status = int(head.split()[1])
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise RequestError("rate_limited", "429", retry_after_seconds=0.0)
        if status != HTTPStatus.OK:
            raise RequestError("overloaded", str(status))
        try:
            texts = json.loads(body)["texts"]
        except ValueError:
            raise RequestError("malformed", "no JSON") from None
        return Reply(tuple(Answer(text, "stop") for text in texts), TokenUsage(1, 1))

    async def _exchange(self, body: bytes) -> tuple[str, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(f"POST / HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            return head, await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
        finally:
            writer.close()


def requests(tasks: int, samples: int) -> Iterator[Request]:
    for task in range(tasks):
        prompt = Prompt("chat", (Message("user", f"Task {task}"),))
        for index in range(samples):
            yield Request(f"Task/{task}", (index,), prompt, Sampling(max_tokens=10))


async def main(arguments: Sequence[str]) -> None:
    folder, port, run, tasks, samples, slots = arguments
    outcome = await generate(
        requests(int(tasks), int(samples)),
        Served(int(port), run),
        AnswerLedger(Path(folder)),
        RequestsConfig(concurrency=int(slots), attempts=100, timeout_seconds=20),
        policy=RetryPolicy(first_backoff_seconds=0.02, first_probe_seconds=0.02),
    )
    if outcome.failures or outcome.stopped_because:
        sys.exit(f"{outcome.stopped_because}; {outcome.failures}")


asyncio.run(main(sys.argv[1:]))
