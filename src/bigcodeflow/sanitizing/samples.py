"""Sanitizing stage: make the table of programs from the table of answers."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from bigcodeflow.config import SanitizingConfig
from bigcodeflow.core import untrusted_text
from bigcodeflow.core.calibration import AS_TEXT, stub_program
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.core.schemas import SOLUTIONS, table_of
from bigcodeflow.sanitizing import sanitize
from bigcodeflow.sanitizing.findings import Safety, assess, unreadable
from bigcodeflow.sanitizing.grammar import syntax_error
from bigcodeflow.sanitizing.statements import omitted_setup, placeholder, shortened

#: Columns of a sample that no model answered: it is not executed.
_UNANSWERED = {"blocked": True, "findings": [{"line": 1, "rule": "unanswered", "detail": "no model answered"}]}
Progress = Callable[[int, int], None]
# Longer answers are read in a separate process, which takes half a second to start; few models write such.
_MAX_READ_HERE_CHARACTERS = 100_000


def sanitize_samples(
    samples: pa.Table, tasks: pa.Table, config: SanitizingConfig, *, progress: Progress | None = None
) -> pa.Table:
    """Extract the program of each sample, in the order of ``samples``; return a table of the SOLUTIONS schema.

    ``samples`` and ``tasks`` have the SAMPLES and the TASKS schema. Mode 'none' takes a sample's `given_solution` if
    the sample has one. After each sample, ``progress`` gets the number of finished samples and of all samples.
    Raise SamplesError if the task of a sample is missing.
    """
    known = {task["task_id"]: task for task in tasks.select(["task_id", "entry_point", "code_prompt"]).to_pylist()}
    columns = ["task_id", "sample_index", "raw_text", "given_solution", "finish_reason"]
    rows = []
    for number, sample in enumerate(samples.select(columns).to_pylist(), start=1):
        task = known.get(sample["task_id"])
        if task is None:
            raise SamplesError(
                f"sample {number} answers {sample['task_id']!r}, which is not among the {len(known)} selected tasks: "
                "select the task, or remove the sample"
            )
        text, reason = sample["raw_text"] or "", sample["finish_reason"]
        if config.mode == "none" and sample["given_solution"] is not None:
            text = sample["given_solution"]
        rows.append(
            {
                "task_id": sample["task_id"],
                "sample_index": sample["sample_index"],
                "sanitizer": config.mode,
                **_read(text, config, entry_point=task["entry_point"], code_prompt=task["code_prompt"]),
                **(_UNANSWERED if reason == "unanswerable" else {}),
                "truncated": reason == "length",
            }
        )
        if progress:
            progress(number, samples.num_rows)
    return table_of(rows, schema=SOLUTIONS)


@untrusted_text.with_fallback(lambda text, config, **_: _unread(text, config, "cannot be read"))
def _read(text: str, config: SanitizingConfig, *, entry_point: str, code_prompt: str) -> dict[str, Any]:
    """Return the SOLUTIONS columns of an answer; an answer that is too large stays unchanged, with a syntax_error."""
    try:
        untrusted_text.require_size(text, untrusted_text.MOST_PROGRAM_CHARACTERS, "a program")
        if len(text) > _MAX_READ_HERE_CHARACTERS:
            return untrusted_text.call_in_child(
                _columns, text, config, entry_point=entry_point, code_prompt=code_prompt
            )
    except untrusted_text.TooLargeError as error:
        return _unread(text, config, str(error))
    return _columns(text, config, entry_point=entry_point, code_prompt=code_prompt)


def _columns(text: str, config: SanitizingConfig, *, entry_point: str, code_prompt: str) -> dict[str, Any]:
    code_prompt = "" if code_prompt.startswith(AS_TEXT) else code_prompt
    solution = sanitize(text, entry_point=entry_point, mode=config.mode)
    safety = assess(solution, config.safety_policy, setup=stub_program(code_prompt))
    return _row(solution, syntax_error(solution), safety) | {
        "omitted_setup": omitted_setup(solution, code_prompt, entry_point),
        "placeholder": placeholder(solution, entry_point),
        "shortened": shortened(text, solution, entry_point),
    }


def _unread(text: str, config: SanitizingConfig, reason: str) -> dict[str, Any]:
    return _row(untrusted_text.storable(text), reason, unreadable(reason, config.safety_policy))


def _row(solution: str, error: str, safety: Safety) -> dict[str, Any]:
    return {
        "solution": solution,
        "syntax_ok": not error,
        "syntax_error": error,
        "findings": [finding._asdict() for finding in safety.findings],
        "blocked": safety.blocked,
        "omitted_setup": False,
        "placeholder": False,
        "shortened": False,
    }
