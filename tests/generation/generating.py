"""A generating process to be killed: asks a model server for some samples of some tasks, and resumes.

python generating.py FOLDER URL RUN TASKS SAMPLES SLOTS
"""

import asyncio
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from in_process import generate, requests, settings

from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.model_api import Request
from bigcodeflow.generation.providers import Endpoint, open_provider
from bigcodeflow.generation.retries import RetryPolicy


def named(run: str, tasks: int, samples: int) -> Iterator[Request]:
    """Requests that tell the server whose they are."""
    for one in requests(tasks, samples):
        yield replace(one, extra_body={"run": run, "task": one.task_id, "sample": one.sample_indices[0]})


async def main(arguments: Sequence[str]) -> None:
    folder, url, run, tasks, samples, slots = arguments
    async with aclosing(open_provider("openai", Endpoint("m", url, connections=int(slots)))) as provider:
        outcome = await generate(
            named(run, int(tasks), int(samples)),
            provider,
            AnswerLedger(Path(folder)),
            settings(concurrency=int(slots), attempts=100, timeout_seconds=600),
            notify=lambda line: print(line, file=sys.stderr, flush=True),  # noqa: T201
            policy=RetryPolicy(first_backoff_seconds=0.02, first_probe_seconds=0.02),
        )
    if outcome.failures or outcome.stopped_because:
        sys.exit(f"{outcome.stopped_because}; {outcome.failures}")


signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where a shell put the tests into the background
asyncio.run(main(sys.argv[1:]))
