"""Samples from a model: resolve the settings, ask for the missing answers, and make the table of all answers.

Answers are stored in the ledger of their setting, independent of runs: a run that needs more samples, or other tasks,
asks only for what is missing.
"""

import asyncio
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from bigcodeflow.config import GenerationConfig, Split
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.core.schemas import SAMPLES, table_of
from bigcodeflow.generation.answer_ledger import AnswerLedger, AnswerWriter, ReplyRecord
from bigcodeflow.generation.batches import BatchOutcome, BatchProgress, BatchRun, open_batches
from bigcodeflow.generation.costs import Price, Spending, cost_usd, find_price
from bigcodeflow.generation.engine import SharedLimit, generate
from bigcodeflow.generation.local_engines import OfflineEngine, ServerEngine, engine_of
from bigcodeflow.generation.model_api import AnswerKey, Request, RequestError
from bigcodeflow.generation.model_settings import (
    ModelSettings,
    endpoint_of,
    ledger_of,
    provider_and_model,
    resolve_settings,
)
from bigcodeflow.generation.outcome import GenerationOutcome, GenerationProgress, SampleFailure
from bigcodeflow.generation.providers import Provider, open_provider
from bigcodeflow.generation.retries import Expectation, RequestQueue

Report = Callable[[int, int, str], None]
"""Function that receives the number of finished samples, the number of all samples, and a progress message."""


def model_samples(
    config: GenerationConfig,
    tasks: Sequence[Mapping[str, Any]],
    split: Split,
    *,
    answers_folder: Path,
    report: Report,
    notify: Callable[[str], None],
    shared_limit: SharedLimit = nullcontext,
    asked_by: Callable[[Mapping[str, Any]], float] | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Return all samples of the tasks (SAMPLES schema), and statistics such as new_answers, cut_off and cost_usd.

    ``answers_folder`` holds a ledger for every setting. ``notify`` is called with single lines for people. Requests
    are sent in the order of the tasks' sort key ``asked_by``; the table has the order of ``tasks``.
    If samples have no answer, the received answers are kept, and a GenerationError says what to do.
    """
    settings = resolve_settings(config, split)
    for line in settings.notes:
        notify(line)
    asked = sorted(tasks, key=asked_by) if asked_by else tasks
    run = SamplesRun(
        settings,
        settings.wanted(tasks),
        lambda: settings.requests(asked),
        ledger_of(config, answers_folder),
        report,
        notify,
        shared_limit,
    )
    return answered(run)


def answered(run: "SamplesRun") -> tuple[pa.Table, dict[str, Any]]:
    """Ask for the samples of a prepared run; return the table and statistics that `model_samples` describes."""
    wanted, ledger, notify = run.wanted, run.ledger, run.notify
    provider, _ = provider_and_model(run.settings.config)
    outcome = run.perform()
    if outcome.stopped_because:
        raise GenerationError(f"{outcome.stopped_because}{_how_far(outcome, len(wanted))}")
    if outcome.failures:
        shown = [
            f"{one.task_id} sample {one.sample_index}: {one.message} ({one.kind.replace('_', ' ')})"
            for one in outcome.failures[:5]
        ]
        if rest := len(outcome.failures) - len(shown):
            shown.append(f"and {rest:,} more")
        never = sum(failure.kind == "unanswerable" for failure in outcome.failures)
        hint = f"; {never:,} can never be answered: generation.unanswerable=fail counts them as failed answers"
        raise GenerationError(
            f"{len(outcome.failures):,} of {len(wanted):,} samples have no answer: {'; '.join(shown)}. "
            f"The other answers are kept: run again to ask for the missing answers{hint if never else ''}"
        )
    table = _samples_table(wanted, ledger, provider)
    if table.num_rows != len(wanted):
        raise GenerationError(
            f"{len(wanted) - table.num_rows} of {len(wanted)} samples have no answer in {ledger.folder}: repeat the run"
        )
    counts = _counts(table)
    for line in _poor_answers(table, counts):
        notify(line)
    costs = [cost for cost in table["cost_usd"].to_pylist() if cost is not None]
    cost = {"cost_usd": round(sum(costs), 6)} if costs else {}
    return table, {"new_answers": outcome.totals.samples_recorded, **counts, **cost}


def _check_cost(requests: Sequence[Request], price: Price | None, max_cost_usd: float | None, spent_usd: float) -> None:
    """Raise GenerationError if batches may cost more than allowed, because submitted batches are not stopped."""
    if max_cost_usd is None or not requests:
        return
    spending, expectation = Spending(partial(cost_usd, price, batch=True), max_cost_usd, spent_usd), Expectation()
    most_usd = sum(spending.expected(expectation.longest(request)) for request in requests)
    if not spending.has_room(most_usd):
        raise GenerationError(
            f"max_cost_usd: batches of {len(requests):,} requests may cost {most_usd:.2f} US dollars, but the "
            f"limit is {max_cost_usd:g}: raise generation.requests.max_cost_usd, lower generation.sampling.max_tokens, "
            "or set generation.requests.batch to false, so that the run sends single requests until the limit"
        )


def _run(asking: Coroutine[Any, Any, GenerationOutcome]) -> GenerationOutcome:
    """Run ``asking``; SIGTERM (from Prefect) cancels it as Ctrl-C does, and then the previous handler is called."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if in_main_thread else None
    if not callable(handler):
        return asyncio.run(asking)
    came: list[FrameType | None] = []

    async def main() -> GenerationOutcome:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def cancel(_number: int, frame: FrameType | None) -> None:
            came.append(frame)
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        signal.signal(signal.SIGTERM, cancel)
        try:
            return await asking
        finally:
            signal.signal(signal.SIGTERM, handler)

    try:
        return asyncio.run(main())
    finally:
        if came:
            handler(signal.SIGTERM, came[-1])


def _how_far(outcome: GenerationOutcome, samples: int) -> str:
    """Return a message's end on a stopped run: the progress and, at a cost limit, the cost of missing answers."""
    totals = outcome.totals
    text = f"; {totals.samples_done:,} of {samples:,} samples are answered"
    if not str(outcome.stopped_because).startswith("max_cost_usd"):
        return text
    if not totals.cost_usd or not totals.samples_recorded:
        return text
    rest = totals.cost_usd / totals.samples_recorded * (samples - totals.samples_done)
    return f"{text}, and the others would cost about ${rest:,.2f} more, by the mean cost so far"


def _counts(table: pa.Table) -> dict[str, int]:
    """Count the answers without a complete text, by reason; rare reasons are included only if they occur."""
    found = Counter(table["finish_reason"].to_pylist())
    counts = {"cut_off": found["length"], "refused": found["refusal"], "empty": found["empty"]}
    rare = {name: found[name] for name in ("tool_calls", "unanswerable") if found[name]}
    return counts | rare


def _poor_answers(table: pa.Table, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for people about each reason for which answers cannot contain a program, such as no text."""
    if count := counts.get("tool_calls"):
        yield f"{count:,} answers call tools that were not offered, and have no text: correct the server's template"
    if count := counts.get("unanswerable"):
        reasons = zip(table["finish_reason"].to_pylist(), table["error"].to_pylist(), strict=True)
        error = next((error for reason, error in reasons if reason == "unanswerable" and error), "")
        yield f"{count:,} samples can never be answered and count as failed answers: {error}"
    rows = zip(*(table[name].to_pylist() for name in ("finish_reason", "raw_text", "reasoning")), strict=True)
    silent = Counter((end, bool(thought)) for end, text, thought in rows if not (text or "").strip())
    if count := silent["length", False] + silent["length", True]:
        yield f"{count:,} answers were cut off before their text began: raise generation.sampling.max_tokens"
    if count := silent["empty", True] + silent["other", True]:
        yield f"{count:,} answers are reasoning alone: correct the server's --reasoning-parser, or leave it out"
    if count := silent["empty", False] + silent["other", False]:
        yield f"{count:,} answers have no text, although the provider calls them complete"


@dataclass(frozen=True, slots=True)
class SamplesRun:
    """Requests for all samples of a run, and all that is needed to send them."""

    settings: ModelSettings
    wanted: Mapping[AnswerKey, Request]
    """Request for each wanted answer, in the order of the samples table."""
    requests: Callable[[], Iterator[Request]]
    """Function that returns the same requests in the order in which they are asked."""
    ledger: AnswerLedger
    report: Report
    notify: Callable[[str], None]
    shared_limit: SharedLimit = nullcontext
    spent_usd: float = 0.0
    """Cost of earlier rounds and known answers, which counts against max_cost_usd before the first request."""

    def perform(self) -> GenerationOutcome:
        """Ask for the missing samples; return the outcome with the cost of this run alone, without ``spent_usd``.

        If several runs have the same setting, only the first loads or asks the model; later runs wait for its answers.
        """
        config = self.settings.config
        engine = engine_of(config)
        with self.ledger.writing(self.notify) as writer:
            if isinstance(engine, OfflineEngine):
                return self._offline(writer, engine)
            if isinstance(engine, ServerEngine) and not writer.known >= self.wanted.keys():
                report = partial(self.report, 0, len(self.wanted))
                with engine.served(config, self.ledger.folder, report) as opened:
                    return _run(self._online(writer, opened))
            provider, _ = provider_and_model(config)
            return _run(self._online(writer, partial(open_provider, provider, endpoint_of(config))))

    def _missing(self, writer: AnswerWriter) -> tuple[list[Request], int]:
        """Return requests for the samples that have no answer yet, and the number of samples that have an answer."""
        queue, missing = RequestQueue(self.requests(), writer.known), list[Request]()
        while queue.delay(0.0) == 0.0:
            missing.append(queue.take(0.0).request)
        return missing, len(self.wanted.keys() & writer.known)

    async def _online(self, writer: AnswerWriter, opened: Callable[[], Provider]) -> GenerationOutcome:
        config = self.settings.config
        found = find_price(config)
        if found.note:
            self.notify(found.note)
        async with aclosing(opened()) as provider:
            batched = await self._batched(writer, found.price) if config.requests.batch else BatchOutcome()
            known = len(self.wanted.keys() & writer.known)

            def report(progress: GenerationProgress) -> None:
                # Known samples are noticed while requests are read: counted then, they would look like fast work.
                done = max(known + progress.samples_recorded, progress.samples_done)
                self.report(done, len(self.wanted), progress.in_words())

            outcome = await generate(
                self.requests(),
                provider,
                writer,
                config.requests,
                price=partial(cost_usd, found.price),
                spent_usd=self.spent_usd + batched.cost_usd,
                progress=report,
                notify=self.notify,
                shared_limit=self.shared_limit,
            )
        totals = replace(
            outcome.totals,
            samples_known=outcome.totals.samples_known - batched.recorded,
            samples_recorded=outcome.totals.samples_recorded + batched.recorded,
            cost_usd=None if outcome.totals.cost_usd is None else outcome.totals.cost_usd - self.spent_usd,
        )
        return outcome._replace(totals=totals)

    async def _batched(self, writer: AnswerWriter, price: Price | None) -> BatchOutcome:
        config = self.settings.config
        missing, known = self._missing(writer)

        def report(progress: BatchProgress) -> None:
            note = f"batches: {progress.batches_ended} of {progress.batches} ended, {progress.failed} requests failed"
            self.report(known + progress.completed, len(self.wanted), note)

        _check_cost(missing, price, config.requests.max_cost_usd, self.spent_usd)
        folder, batch_price = self.ledger.folder / "batches", partial(cost_usd, price, batch=True)
        run = BatchRun(folder, writer.append, batch_price, report, self.notify)
        async with aclosing(open_batches(provider_and_model(config)[0], endpoint_of(config))) as api:
            done = await api.run(missing, run)
        if done.left:
            self.notify(f"{len(done.left)} requests were not answered by a batch ({done.left[0].error}): asked singly")
        return done

    def _offline(self, writer: AnswerWriter, engine: OfflineEngine) -> GenerationOutcome:
        config, failures, totals = self.settings.config, list[SampleFailure](), GenerationProgress()
        missing, known = self._missing(writer)
        self.report(known, len(self.wanted), "the model is being loaded")
        with closing(engine.answers(config, missing)) as outcomes:
            for request, outcome, seconds in outcomes:
                if isinstance(outcome, RequestError):
                    reason = (outcome.kind, str(outcome), 1)
                    failures += [SampleFailure(request.task_id, index, *reason) for index in request.sample_indices]
                    continue
                writer.append(ReplyRecord.of(request, outcome, body=engine.body(request), latency_seconds=seconds))
                totals.samples_recorded += len(outcome.answers)
                self.report(known + totals.samples_recorded, len(self.wanted), "")
        return GenerationOutcome(totals, tuple(failures), None)


class AnswersSoFar:
    """Reader of a ledger to which a run, in this or another process, still adds answers."""

    def __init__(
        self, config: GenerationConfig, tasks: Sequence[Mapping[str, Any]], split: Split, *, answers_folder: Path
    ) -> None:
        """Resolve the settings; the arguments are the same as for `model_samples`."""
        self._wanted = resolve_settings(config, split).wanted(tasks)
        self._ledger = ledger_of(config, answers_folder)
        self._provider, _ = provider_and_model(config)

    def new(self) -> pa.Table:
        """Return the samples that were answered since the last call, as a table of the SAMPLES schema."""
        table = _samples_table(self._wanted, self._ledger, self._provider)
        columns = (table[name].to_pylist() for name in AnswerKey._fields)
        for key in map(AnswerKey._make, zip(*columns, strict=True)):
            del self._wanted[key]
        return table


def _samples_table(requests: Mapping[AnswerKey, Request], ledger: AnswerLedger, provider: str) -> pa.Table:
    """Return the recorded answers of the requests as a table of the SAMPLES schema, in the order of the requests."""
    rows = {}
    for key, answer, record in ledger.answers(requests):
        empty = answer.finish_reason == "stop" and not answer.text.strip()
        rows[key] = {
            "task_id": key.task_id,
            "sample_index": key.sample_index,
            "raw_text": requests[key].prompt.text
            + answer.text,  # with 'direct' the answer continues where the prompt ends
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
            "cost_usd": None if record.cost_usd is None else record.cost_usd / len(record.answers),
            "error": answer.error or None,
        }
        position = record.keys.index(key)
        for name, count in asdict(record.usage).items():  # parts that sum up to the whole
            whole, rest = divmod(count or 0, len(record.answers))
            rows[key][name] = None if count is None else whole + (position < rest)
    return table_of([rows[key] for key in requests if key in rows], schema=SAMPLES)
