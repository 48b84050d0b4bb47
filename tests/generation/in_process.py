"""A model in this process and a clock that jumps: hours of limits, pauses and latencies pass in milliseconds."""

import asyncio
import selectors
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from bigcodeflow.config import RequestsConfig
from bigcodeflow.generation import engine
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.model_api import (
    Answer,
    ErrorKind,
    Message,
    Prompt,
    Reply,
    Request,
    RequestError,
    Sampling,
    TokenUsage,
)
from bigcodeflow.generation.providers import Provider

Result = TypeVar("Result")


class _JumpingSelector(selectors.DefaultSelector):
    """Where only timers are waited for, moves the loop's clock to the next one instead of sleeping."""

    loop: "JumpingLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.loop.threads:
            timeout = 0 if timeout == 0 else None  # their end wakes the selector; the clock stands still
        elif timeout:
            self.loop.now += timeout
            timeout = 0
        return super().select(timeout)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, which moves when there is nothing else to do."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self.now, self.threads = 1000.0, 0
        super().__init__(selector)

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        future = super().run_in_executor(executor, func, *args)
        self.threads += 1
        future.add_done_callback(self._ended)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 -- the base's
        self.threads += 1  # it waits for threads with a timer beside
        await super().shutdown_default_executor()
        self.threads -= 1

    def _ended(self, _: object) -> None:
        self.threads -= 1


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end on the jumping clock."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(coroutine)


async def generate(
    asked: Iterable[Request], model: Provider, ledger: AnswerLedger, given: RequestsConfig, **options: Any
) -> engine.GenerationOutcome:
    """A run of the engine that holds the ledger."""
    with ledger.writing(options.get("notify", print)) as writer:
        return await engine.generate(asked, model, writer, given, **options)


async def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


def cancelled(asking: Coroutine[Any, Any, Any], seconds: float) -> float:
    """Cancel a run after so many seconds of the jumping clock; return the seconds until it has ended."""

    async def life() -> float:
        task = asyncio.create_task(asking)
        await asyncio.sleep(seconds)
        asked_at = now()
        await cancel(task)
        return now() - asked_at

    return run(life())


def now() -> float:
    return asyncio.get_running_loop().time()


def request(task: int, *indices: int, seed: int | None = None, max_tokens: int | None = 100, text: str = "") -> Request:
    prompt = Prompt("chat", (Message("user", text or f"Task {task}, please."),), template_sha="template")
    return Request(f"Task/{task}", indices or (0,), prompt, Sampling(max_tokens=max_tokens), seed)


def requests(tasks: int, samples: int = 1, **given: Any) -> Iterator[Request]:
    return (request(task, index, **given) for task in range(tasks) for index in range(samples))


settings = RequestsConfig


Script = Callable[[Request, int], RequestError | Reply | None]
"""Says what a request ends with, by the request and how often it was asked before; None: an ordinary answer."""


@dataclass
class Asked:
    at: float
    request: Request


@dataclass
class Model(Provider):
    """A provider without a network, which notes what it was asked, and when."""

    latency_seconds: float = 1.0
    script: Script = lambda _request, _before: None
    completion_tokens: int = 20
    asked: list[Asked] = field(default_factory=list)
    answered: list[tuple[str, int]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    _times: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)

    def body(self, request: Request) -> Mapping[str, Any]:
        return {"prompt": request.prompt.messages[0].text, "seed": request.seed, "n": len(request.sample_indices)}

    async def ask(self, request: Request) -> Reply:
        identity = (request.task_id, request.sample_indices)
        before = self._times[identity]
        self._times[identity] += 1
        self.asked.append(Asked(now(), request))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency_seconds)
            end = self.script(request, before)
        finally:
            self.in_flight -= 1
        if isinstance(end, RequestError):
            raise end
        self.answered += [(request.task_id, index) for index in request.sample_indices]
        return end or self.reply(request)

    def reply(self, request: Request, answers: int | None = None) -> Reply:
        given = request.sample_indices[:answers]
        texts = tuple(Answer(f"{request.task_id}, sample {index}", "stop") for index in given)
        usage = TokenUsage(10, self.completion_tokens * len(given))
        return Reply(texts, usage, "served-model", f"id-{len(self.asked)}")

    @property
    def asked_ids(self) -> list[tuple[str, int]]:
        return [(one.request.task_id, index) for one in self.asked for index in one.request.sample_indices]


def held(ledger: AnswerLedger) -> set[tuple[str, int]]:
    read = [(one.key.task_id, one.key.sample_index) for one in ledger.answers()]
    assert len(set(read)) == len(read)
    return set(read)


def every(tasks: int, samples: int = 1) -> set[tuple[str, int]]:
    return {(f"Task/{task}", index) for task in range(tasks) for index in range(samples)}


def at_random(share: float, *kinds: ErrorKind, seed: int = 1) -> Script:
    """Faults of these kinds, in so large a share of the requests."""
    chance = Random(seed)
    return lambda _request, _before: RequestError(chance.choice(kinds), "bad luck") if chance.random() < share else None
