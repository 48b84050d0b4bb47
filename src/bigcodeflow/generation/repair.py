"""Further rounds: failed samples are asked again, each in a conversation of its earlier answers and feedback.

A round is made from the tables of all earlier rounds, so that every later process builds the same prompts and can use
the answers in the ledger.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.config import GenerationConfig, PromptConfig, Split
from bigcodeflow.config.generation import FENCE, FORMS, answer_beginning, template_sha256
from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.generation.engine import SharedLimit
from bigcodeflow.generation.feedback import LEVELS, VERSION, Feedback, Level, feedback_on
from bigcodeflow.generation.model_api import Message, Prompt, PromptForm, Request
from bigcodeflow.generation.model_samples import Report, SamplesRun, answered
from bigcodeflow.generation.model_settings import ModelSettings, ledger_of, prompt_of, resolve_settings
from bigcodeflow.sanitizing.passages import without_thinking

Row = Mapping[str, Any]
_NO_ANSWER = "(no answer)"


class RoundTables(NamedTuple):
    """Tables of a round, with the samples that were asked for in it."""

    samples: pa.Table
    solutions: pa.Table
    verdicts: pa.Table
    """Verdicts; if a sample has several variants, the calibrated variant counts."""


class Attempt(NamedTuple):
    """An answer with its verdict."""

    sample: Row
    solution: Row
    verdict: Row


def repaired_samples(
    config: GenerationConfig,
    tasks: Sequence[Row],
    split: Split,
    rounds: Sequence[RoundTables],
    *,
    answers_folder: Path,
    report: Report,
    notify: Callable[[str], None],
    shared_limit: SharedLimit = nullcontext,
) -> tuple[pa.Table, dict[str, Any]]:
    """Ask for the samples that failed in the last of the given rounds; return the same as `model_samples`.

    The costs of earlier rounds, and of answers of this round that are already recorded, count against max_cost_usd.
    """
    open_samples = failed_attempts(rounds)
    if not open_samples:
        return SAMPLES.empty_table(), {"new_answers": 0}
    settings = resolve_settings(config, split)
    conversations = Conversations(settings, {task["task_id"]: task for task in tasks}, config.feedback)
    requests = [conversations.request(attempts) for attempts in open_samples]
    if count := conversations.withheld:
        levels = ", ".join(f"{number:,} get {level!r}" for level, number in sorted(count.items()))
        notify(f"round {len(rounds) + 1}: feedback that would quote a test is not sent, but of a lower level: {levels}")
    wanted, ledger = {key: one for one in requests for key in one.keys}, ledger_of(config, answers_folder)
    costs = [cost for one in rounds for cost in one.samples["cost_usd"].to_pylist()]
    costs += [(one.record.cost_usd or 0.0) / len(one.record.answers) for one in ledger.answers(wanted)]
    run = SamplesRun(
        settings,
        wanted,
        lambda: iter(requests),
        ledger,
        report,
        notify,
        shared_limit,
        spent_usd=sum(cost for cost in costs if cost is not None),
    )
    return answered(run)


def failed_attempts(rounds: Sequence[RoundTables]) -> list[list[Attempt]]:
    """Return the attempts of each sample that needs another round, in the order of the last round's table.

    These are the samples that were asked for in the last round and did not pass, except those that were not judged
    (infra_error) and those that can never be answered.
    """
    by_sample = [{_sample(one.sample): one for one in _attempts(tables)} for tables in rounds]
    found = [[one[sample] for one in by_sample] for sample in by_sample[-1]]
    answerable = [attempts for attempts in found if attempts[-1].sample["finish_reason"] != "unanswerable"]
    return [attempts for attempts in answerable if attempts[-1].verdict["status"] not in ("pass", "infra_error")]


def _attempts(tables: RoundTables) -> Iterator[Attempt]:
    verdicts = deciding_verdicts(tables.verdicts)
    solutions = {_sample(row): row for row in tables.solutions.to_pylist()}
    for sample in tables.samples.to_pylist():
        yield Attempt(sample, solutions[_sample(sample)], verdicts[_sample(sample)])


def deciding_verdicts(verdicts: pa.Table) -> dict[tuple[str, int], Row]:
    """Return each sample's verdict by task_id and sample_index; of several variants, the verdict of 'calibrated'."""
    found: dict[tuple[str, int], Row] = {}
    for row in verdicts.to_pylist():
        if row["variant"] == "calibrated" or _sample(row) not in found:
            found[_sample(row)] = row
    return found


def _sample(row: Row) -> tuple[str, int]:
    return row["task_id"], row["sample_index"]


@dataclass
class Conversations:
    """Make the requests of a further round; count feedback that needs a lower level than the settings allow."""

    settings: ModelSettings
    tasks: Mapping[str, Row]
    level: Level
    withheld: Counter[str] = field(default_factory=Counter)

    def request(self, attempts: Sequence[Attempt]) -> Request:
        """Return the request for a sample from its attempts so far."""
        settings, config = self.settings, self.settings.config
        sample, seed = attempts[0].sample, config.sampling.seed
        task = self.tasks[sample["task_id"]]
        messages, feedback = self._turns(task, attempts)
        if feedback.withheld:
            self.withheld[feedback.level] += 1
        first = template_sha256(settings.split, settings.form, config.prompt)
        return Request(
            task_id=task["task_id"],
            sample_indices=(sample["sample_index"],),
            prompt=Prompt(settings.form, messages=messages, template_sha=_template_sha(first, feedback.level)),
            sampling=settings.sampling,
            seed=None if seed is None else seed + sample["sample_index"],
            extra_body=config.extra_body,
        )

    def _turns(self, task: Row, attempts: Sequence[Attempt]) -> tuple[tuple[Message, ...], Feedback]:
        """Return the whole conversation, and the last feedback in it."""
        settings = self.settings
        asked = prompt_of(task, settings.split, settings.form, settings.config.prompt).messages
        begun = asked[-1:] if settings.form == "prefill" else ()
        turns = [*asked[:-1]] if begun else [*asked]
        known = [message.text for message in turns]
        feedback = Feedback("", "failed", withheld=False)
        for attempt in attempts:
            answer = answer_turn(attempt.sample["raw_text"], settings.form, settings.config.prompt)
            known.append(attempt.sample["raw_text"])
            solution, variant = attempt.solution["solution"], attempt.verdict["variant"]
            program = executed_program(code_prompt=task["code_prompt"], solution=solution, variant=variant)
            feedback = feedback_on(attempt.verdict, program, task["test"], known, self.level)
            turns += [Message("assistant", answer), Message("user", feedback.text)]
        return (*turns, *begun), feedback


def answer_turn(raw_text: str, form: PromptForm, config: PromptConfig) -> str:
    """Return an answer as an earlier turn: without thinking, with its prefilled beginning, and never empty."""
    spoken = without_thinking(raw_text)
    text = raw_text if spoken == raw_text else spoken.lstrip()
    if form == "prefill":
        text = f"{answer_beginning(config)}{text}"
        # The closing fence is a stop text, so the answer lacks it.
        text = f"{text.rstrip()}\n{FENCE}" if text.count(FENCE) % 2 else text
    return text if text.strip() else _NO_ANSWER


def _template_sha(first: str, level: Level) -> str:
    return hashlib.sha256(f"{first} {level} {VERSION}".encode()).hexdigest()


def levels_by_template(split: Split, config: PromptConfig) -> dict[str, Level]:
    """Return the level of the last feedback in a prompt, by the ``template_sha`` of samples of further rounds."""
    firsts = [template_sha256(split, form, config) for form in FORMS]
    return {_template_sha(first, level): level for first in firsts for level in LEVELS}
