"""Plug-in: rewards for training loops, by a client of a service's route /submit and a reward function for TRL.

``sandbox_fusion`` has the service's routes that trainers call, ``verifiers_taskset`` a taskset of the library
verifiers. A completion that could not be judged has the reward None, never a number.
"""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.judge.remote.backend import HostLostError, HostRefusedError, Patience, repeated
from bigcodeflow.judge.remote.http_client import NotJudgedError, ServiceClient

logger = logging.getLogger(f"bigcodeflow.{__name__}")

Judgement = dict[str, Any]
"""Dict with ``pass`` (bool), ``pass_share`` (0 to 1, or None) and ``verdict``, as in docs/service.md."""
RewardKind = Literal["pass", "pass_share"]

#: Columns of a task that are sent to the service; others, such as prompts and libraries, are not sent.
TASK_COLUMNS = ("test", "code_prompt", "complete_prompt", "canonical_solution", "entry_point")
#: Number of replies "could not judge" (504) for a completion after which the client stops asking.
_MOST_FAULTS = 3


@dataclass(frozen=True)
class RewardService:
    """Client of a running service that judges completions; thread-safe, and can be pickled."""

    url: str
    """URL of the service, such as http://127.0.0.1:8017."""
    time_seconds: float = 20.0
    """Limit of each program in seconds: of CPU time, and of wall time without waiting for a core."""
    fail_fast: bool = False
    """End each program at its first failing test: faster, but failed programs have no pass share."""
    concurrency: int = 16
    """Most requests at the same time; the sum over all trainers must stay below the service's --max-queue."""
    patience_seconds: float = 600.0
    """Longest time of retries for one completion, in seconds, while the service is busy, unreachable or faulty."""
    key_variable: str = "BIGCODEFLOW_SERVICE_KEY"
    """Environment variable that holds the service's key, if it has one."""

    def judge(self, tasks: Sequence[Mapping[str, Any]], completions: Sequence[str]) -> list[Judgement | None]:
        """Return the judgement of each completion for the task at the same position; None if it could not be judged.

        Raises:
            ExecutionError: the service refuses a request, for example with a wrong key or an invalid test text.
        """
        service = ServiceConfig(url=self.url, key_variable=self.key_variable, concurrency=self.concurrency)
        with (
            closing(ServiceClient(ExecutionConfig(backend="http", service=service))) as client,
            ThreadPoolExecutor(self.concurrency, "reward") as pool,
        ):
            bodies = [self._body(*pair) for pair in zip(tasks, completions, strict=True)]
            return list(pool.map(lambda body: self._judged(client, body), bodies))

    def _body(self, task: Mapping[str, Any], completion: str) -> bytes:
        data = {name: task[name] for name in TASK_COLUMNS if task.get(name) is not None}
        config = {"provided_data": data, "run_timeout": self.time_seconds, "extra": {"fail_fast": self.fail_fast}}
        name = str(task.get("task_id", ""))
        return json.dumps({"dataset": "", "id": name, "completion": completion, "config": config}).encode()

    def _judged(self, client: ServiceClient, body: bytes) -> Judgement | None:
        """Send a request and return its judgement; retry while the service cannot judge it, and finally return None."""
        deadline = time.monotonic() + self.patience_seconds
        stop = Patience(deadline, _MOST_FAULTS, lambda error: isinstance(error, NotJudgedError))
        try:
            answer = repeated(client.answer, "POST", "/submit", body, self.patience_seconds, stop=stop)
        except HostRefusedError as error:
            raise ExecutionError(f"the service at {self.url} refuses a completion: {error}") from error
        except HostLostError as error:
            logger.warning("a completion has no reward, as the service at %s did not judge it: %s", self.url, error)
            return None
        judgement: Judgement = answer["extra"]
        return judgement


class ServiceReward:
    """Reward function for TRL's GRPOTrainer, named ``bigcodeflow`` in its logs.

    The data set needs the column ``test``; ``code_prompt``, ``complete_prompt``, ``canonical_solution`` and
    ``entry_point`` are used if present. TRL leaves completions whose reward is None out of the advantages.
    """

    __name__ = "bigcodeflow"

    def __init__(self, service: RewardService, kind: RewardKind = "pass") -> None:
        """Reward passes with 1.0 and failures with 0.0 ('pass'), or each with the share of passed tests ('pass_share').

        Raises:
            ConfigError: ``kind`` is 'pass_share', but ``service`` ends programs at their first failing test.
        """
        if kind == "pass_share" and service.fail_fast:
            raise ConfigError(
                "kind 'pass_share' needs a RewardService without fail_fast: turn fail_fast off, or use kind 'pass'"
            )
        self._service, self._kind = service, kind

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return a reward for each completion, in the same order; a completion is a text or a list of messages."""
        given = {name: columns[name] for name in (*TASK_COLUMNS, "task_id") if name in columns}
        if "test" not in given:
            raise ExecutionError("the data set has no column 'test' with the tests of its tasks: add this column")
        tasks = [{name: values[number] for name, values in given.items()} for number in range(len(prompts))]
        judgements = self._service.judge(tasks, list(map(_text_of, completions)))
        return [None if found is None else float(found[self._kind]) for found in judgements]


def _text_of(completion: Any) -> str:
    """Return the text of a conversation's last message, with its parts joined; return a plain text unchanged."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") or "" if completion else ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)
