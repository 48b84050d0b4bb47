"""A client of the original evaluator's space: a sample file in, its two result files out.

The space judges whole files, with its own sandbox and its own libraries. What it says is kept as it says it: as the
files that the original writes, which ``bigcodeflow.importing`` makes a run of.
"""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigcodeflow.config import ServiceConfig, Split, Subset
from bigcodeflow.core.errors import ConfigError, ExecutionError, SamplesError
from bigcodeflow.store import write_atomically

if TYPE_CHECKING:
    from bigcodeflow.execution.remote.gradio_space import Space

logger = logging.getLogger(__name__)

_ENDPOINT = "/predict"
_ATTEMPTS = 3
_SECONDS_BETWEEN_ATTEMPTS = 4.0
_STATUSES = frozenset({"pass", "fail", "timeout"})


@dataclass(frozen=True, slots=True)
class SpaceQuestion:
    """What the original's space is asked; names and defaults are its own."""

    split: Split = "complete"
    subset: Subset = "full"
    pass_k: str = "1,5,10"  # noqa: S105 - no password
    parallel: int = -1
    """Programs at the same time; -1 leaves it to the space."""
    min_time_limit: float = 1.0
    """Seconds."""
    max_as_limit: int = 30 * 1024
    """Address space, in MiB."""
    max_data_limit: int = 30 * 1024
    """In MiB."""
    max_stack_limit: int = 10
    """In MiB."""
    calibrated: bool = True
    check_gt_only: bool = False
    no_gt: bool = False
    """Ground truths are not executed."""
    selective_evaluate: str = ""
    """Numbers of tasks, such as 0,1,12; empty takes all."""


def results_of_space(
    service: ServiceConfig, samples: Path, folder: Path, question: SpaceQuestion | None = None
) -> Path:
    """Have a sample file judged; the result files are in the folder when this returns.

    Args:
        service: address of the space, and how long all of it may take.
        samples: JSONL or JSONL.gz in the original's format.
        folder: where ``<stem>_eval_results.json`` and ``<stem>_pass_at_k.json`` are written.
        question: how it is to be judged.

    Returns:
        The ``*_eval_results.json``, which ``bigcodeflow.importing.import_results`` takes.

    Raises:
        SamplesError: there is no such sample file.
        ConfigError: the space cannot be asked this.
        ExecutionError: the space gave no results, or none that can be used.
    """
    question = question or SpaceQuestion()
    if question.check_gt_only:
        raise ConfigError("check_gt_only executes no sample, so there is nothing to import: leave it out")
    if not samples.is_file():
        raise SamplesError(f"{samples}: there is no such sample file: give a JSONL or JSONL.gz file")
    results, scores = _asked(service, samples, question)
    _require_whole(results, service.url)
    stem = samples.name.removesuffix(".gz").removesuffix(".jsonl")
    scored = _scores(scores, question, model=stem.partition("--bigcodebench")[0])
    write_atomically(folder / f"{stem}_pass_at_k.json", json.dumps(scored, indent=2).encode())
    return write_atomically(folder / f"{stem}_eval_results.json", json.dumps(results).encode())


def _asked(service: ServiceConfig, samples: Path, question: SpaceQuestion) -> tuple[Any, Any]:
    """The space's answer; a space that was lost is asked again, one that is busy as long as there is time."""
    from bigcodeflow.execution.remote.gradio_space import Space, SpaceBusyError
    from bigcodeflow.execution.remote.transports import HostLostError, HostRefusedError

    deadline, losses = time.monotonic() + service.timeout_seconds, 0
    while True:
        try:
            space = Space(service)
            try:
                return _predicted(space, samples, question, deadline - time.monotonic())
            finally:
                space.close()
        except HostRefusedError as error:
            raise ExecutionError(str(error)) from error
        except HostLostError as error:
            losses += not isinstance(error, SpaceBusyError)
            if losses == _ATTEMPTS or time.monotonic() + _SECONDS_BETWEEN_ATTEMPTS > deadline:
                raise ExecutionError(f"{error}; nothing was imported, try again later") from error
            logger.warning("%s; it is asked again", error)
            time.sleep(_SECONDS_BETWEEN_ATTEMPTS)


def _predicted(space: "Space", samples: Path, question: SpaceQuestion, timeout_seconds: float) -> tuple[Any, Any]:
    from bigcodeflow.execution.remote.gradio_space import upload

    taken = space.parameters(_ENDPOINT)
    asked = asdict(question)
    # Older spaces know fewer settings; one that is not the default would be left aside without a word.
    lost = [name for name, value in asked.items() if name not in taken and value != getattr(SpaceQuestion(), name)]
    if lost or "samples" not in taken:
        raise ConfigError(f"{space.label} takes no {', '.join(lost) or 'samples'}: use another space, or the default")
    known: dict[str, object] = {name: value for name, value in asked.items() if name in taken}
    answer = space.result(_ENDPOINT, timeout_seconds, samples=upload(samples), **known)
    if not isinstance(answer, tuple | list) or len(answer) != len(("results", "scores")):
        raise ExecutionError(f"{space.label} answers something else than results and scores: is it the evaluator?")
    return answer[0], answer[1]


def _require_whole(results: Any, url: str) -> None:
    """Refuse what is no result of a whole file: half of one would be scored as if the rest had failed."""
    entries = results.get("eval") if isinstance(results, dict) else None
    whole = isinstance(entries, dict) and isinstance(results.get("date"), str)
    samples: list[Any] = []
    for found in entries.values() if whole and entries else ():
        samples += found if isinstance(found, list) and found else [None]
    if not samples or not all(isinstance(one, dict) and one.get("status") in _STATUSES for one in samples):
        raise ExecutionError(
            f"space {url} gave no results that can be used: its log says why; try again, or evaluate here"
        )


def _scores(given: object, question: SpaceQuestion, *, model: str) -> dict[str, Any]:
    """The scores with what the original adds to them when it writes them."""
    scores = dict(given) if isinstance(given, Mapping) else {}
    if question.no_gt:  # it then says that all of them failed, or none
        scores = {name: value for name, value in scores.items() if name not in {"gt_pass_rate", "failed_tasks"}}
    own = {"model": model, "split": question.split, "subset": question.subset, "calibrated": question.calibrated}
    return own | scores
