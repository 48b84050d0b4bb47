"""Repair rounds: ask again for failed samples, each in a conversation with its earlier answers and the feedback.

A round is made from the tables of all earlier rounds, so that a process that continues a run builds the same prompts
and can use the answers in the ledger.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
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
    """Tables of a round, with only the samples that this round asked for."""

    samples: pa.Table
    solutions: pa.Table
    verdicts: pa.Table
    """Verdicts; if a sample has several variants, the calibrated variant counts."""


class Attempt(NamedTuple):
    """Answer to a task in one round: the rows of the sample, of its solution and of its verdict."""

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
    """Ask again for the samples that failed in the last of ``rounds``; return what `model_samples` returns.

    The costs of earlier rounds, and of answers of this round that are already recorded, count against max_cost_usd.
    """
    open_samples = failed_attempts(rounds)
    if not open_samples:
        return SAMPLES.empty_table(), {"new_answers": 0}
    settings = resolve_settings(config, split)
    by_id = {task["task_id"]: task for task in tasks}
    asked = [conversation(settings, by_id[one[0].sample["task_id"]], one, config.feedback) for one in open_samples]
    requests = [request for request, _ in asked]
    if count := Counter(feedback.level for _, feedback in asked if feedback.withheld):
        levels = ", ".join(f"{number:,} get {level!r}" for level, number in sorted(count.items()))
        notify(f"round {len(rounds) + 1}: feedback that would quote a test is sent at a lower level: {levels}")
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

    A sample needs another round if the last round asked for it and it did not pass. Exceptions: the sample was not
    judged (infra_error), or can never be answered.
    """
    by_sample = []
    for tables in rounds:
        verdicts = deciding_verdicts(tables.verdicts)
        samples, solutions = (
            {_sample(row): row for row in table.to_pylist()} for table in (tables.samples, tables.solutions)
        )
        by_sample.append({key: Attempt(row, solutions[key], verdicts[key]) for key, row in samples.items()})
    found = [[one[sample] for one in by_sample] for sample in by_sample[-1]]
    answerable = [attempts for attempts in found if attempts[-1].sample["finish_reason"] != "unanswerable"]
    return [attempts for attempts in answerable if attempts[-1].verdict["status"] not in ("pass", "infra_error")]


def deciding_verdicts(verdicts: pa.Table) -> dict[tuple[str, int], Row]:
    """Return a verdict for each (task_id, sample_index): of variant 'calibrated' if executed, else of 'raw'."""
    found: dict[tuple[str, int], Row] = {}
    for row in verdicts.to_pylist():
        if row["variant"] == "calibrated" or _sample(row) not in found:
            found[_sample(row)] = row
    return found


def _sample(row: Row) -> tuple[str, int]:
    return row["task_id"], row["sample_index"]


def conversation(
    settings: ModelSettings, task: Row, attempts: Sequence[Attempt], level: Level
) -> tuple[Request, Feedback]:
    """Return a sample's next request, which repeats all ``attempts`` with their feedback, and the last feedback."""
    config = settings.config
    turns = [*prompt_of(task, settings.split, settings.form, config.prompt).messages]
    begun = [turns.pop()] if settings.form == "prefill" else []
    known = [message.text for message in turns]
    feedback = Feedback("", "failed", withheld=False)
    for attempt in attempts:
        raw_text, variant = attempt.sample["raw_text"], attempt.verdict["variant"]
        known.append(raw_text)
        solution = attempt.solution["solution"]
        program = executed_program(code_prompt=task["code_prompt"], solution=solution, variant=variant)
        feedback = feedback_on(attempt.verdict, program, task["test"], known, level)
        answer = answer_turn(raw_text, settings.form, config.prompt)
        turns += [Message("assistant", answer), Message("user", feedback.text)]
    first = template_sha256(settings.split, settings.form, config.prompt)
    index, seed = attempts[0].sample["sample_index"], config.sampling.seed
    request = Request(
        task_id=task["task_id"],
        sample_indices=(index,),
        prompt=Prompt(settings.form, (*turns, *begun), template_sha=_template_sha(first, feedback.level)),
        sampling=settings.sampling,
        seed=None if seed is None else seed + index,
        extra_body=config.extra_body,
    )
    return request, feedback


def answer_turn(raw_text: str, form: PromptForm, config: PromptConfig) -> str:
    """Return an earlier answer as text for the conversation: without thoughts, with the prefill, never empty."""
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
    """Return, for each ``template_sha`` that repair rounds can produce, the level of the last feedback."""
    firsts = [template_sha256(split, form, config) for form in FORMS]
    return {_template_sha(first, level): level for first in firsts for level in LEVELS}
