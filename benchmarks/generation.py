"""Measure how busy the generation engine keeps its slots, and the CPU time and memory that it needs itself.

    python benchmarks/generation.py [--requests 11400] [--slots 64] [--latency 1.0] [--answer-bytes 3000]

Sends a tenth of the requests and then all of them, through the real OpenAI provider, to a server on loopback in a
separate process. Prints a Markdown table; exit code 1 when an answer is missing or appears twice.
"""

import argparse
import asyncio
import json
import math
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.config import RequestsConfig
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.engine import generate
from bigcodeflow.generation.model_api import Message, Prompt, Request, Sampling
from bigcodeflow.generation.providers import Endpoint, open_provider

#: Average length of the benchmark's prompts.
_PROMPT = "Write a function that does as it says. " * 30
_MEBIBYTE = 1024  # kibibytes, the unit of ru_maxrss


@dataclass(frozen=True)
class Load:
    """Number of the requests, and the server that gets them."""

    requests: int
    slots: int
    latency_seconds: float
    folder: Path
    port: int

    @property
    def ideal_seconds(self) -> float:
        """Time that the rounds need if all slots are full."""
        return math.ceil(self.requests / self.slots) * self.latency_seconds


class Figures(NamedTuple):
    """Cost of one run."""

    wall_seconds: float
    cpu_seconds: float
    """CPU time of the asking process, without its start."""
    peak_mib: float
    start_mib: float
    """Memory before the first request: Python, libraries and SDK."""


def wanted(number: int) -> Iterator[Request]:
    """Yield requests of one sample each, made on demand."""
    for task in range(number):
        prompt = Prompt("chat", (Message("user", f"{task}: {_PROMPT}"),), template_sha="benchmark")
        yield Request(f"Benchmark/{task}", (0,), prompt, Sampling(temperature=0.0, max_tokens=1280))


def measured(load: Load) -> Figures:
    """Send all requests from this process."""
    return asyncio.run(_measured(load))


async def _measured(load: Load) -> Figures:
    address = f"http://127.0.0.1:{load.port}/v1"
    provider = open_provider("openai", Endpoint("double", address, connections=load.slots))
    settings = RequestsConfig(concurrency=load.slots)
    start_mib = peak_mib()
    cpu_seconds, wall_seconds = time.process_time(), time.perf_counter()
    with AnswerLedger(load.folder).writing() as writer:
        outcome = await generate(wanted(load.requests), provider, writer, settings)
    figures = Figures(time.perf_counter() - wall_seconds, time.process_time() - cpu_seconds, peak_mib(), start_mib)
    await provider.aclose()
    if outcome.failures or outcome.stopped_because:
        sys.exit(f"{len(outcome.failures)} failures; {outcome.stopped_because}")
    return figures


def peak_mib() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEBIBYTE


def serve(latency_seconds: float, answers: Mapping[str, str], connection: Connection) -> None:
    """Serve the part of the protocol that one model with fixed answers needs; send the port, and run until terminated.

    Each request gets the first answer whose key occurs in its last message; the empty key occurs in all of them.
    """
    responses = {part: _response(text) for part, text in answers.items()}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(int(request.lower().partition(b"content-length:")[2].split()[0]))
                asked = json.loads(body)["messages"][-1]["content"] if len(responses) > 1 else ""
                await asyncio.sleep(latency_seconds)
                writer.write(next(response for part, response in responses.items() if part in asked))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
        connection.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def served(answers: Mapping[str, str], latency_seconds: float) -> Iterator[int]:
    """Start a server with these answers in a separate process; yield its port."""
    receiver, sender = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(latency_seconds, answers, sender))
    process.start()
    try:
        yield receiver.recv()
    finally:
        process.terminate()
        process.join()


def _response(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 300, "completion_tokens": 700, "total_tokens": 1000}
    shown = {"id": "c", "object": "chat.completion", "model": "d", "choices": [choice], "usage": usage}
    body = json.dumps(shown).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def in_a_process(load: Load) -> Figures:
    """Measure in a fresh process, whose memory belongs to this load only."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, load).result()


def check(load: Load) -> None:
    """End the benchmark if an answer is missing or appears twice."""
    recorded = [key for record in AnswerLedger(load.folder).records() for key in record.keys]
    if len(recorded) != load.requests or len(set(recorded)) != load.requests:
        sys.exit(f"{len(set(recorded)):,} of {load.requests:,} answers, {len(recorded):,} records")


def row(load: Load) -> str:
    """Measure one load; return its row of the table."""
    took = in_a_process(load)
    check(load)
    return (
        f"| {load.requests:,} | {load.ideal_seconds:.1f} | {took.wall_seconds:.1f} "
        f"| {100 * load.ideal_seconds / took.wall_seconds:.1f} | {1000 * took.cpu_seconds / load.requests:.2f} "
        f"| {took.peak_mib:.0f} | {took.peak_mib - took.start_mib:.0f} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=11_400)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds that the server takes for an answer")
    parser.add_argument("--answer-bytes", type=int, default=3_000)
    given = parser.parse_args()
    answers = {"": "x" * given.answer_bytes}
    with served(answers, given.latency) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| requests | ideal, s | wall, s | of it, % | CPU a request, ms | peak, MiB | grown, MiB |")
        print("|---:|---:|---:|---:|---:|---:|---:|")
        for number in (given.requests // 10, given.requests):
            print(row(Load(number, given.slots, given.latency, folder / f"asked-{number}", port)), flush=True)


if __name__ == "__main__":
    main()
