"""Rewards for training loops: a client of a service's /submit, and a reward function for TRL's GRPOTrainer.

What says nothing of a program has the reward None, never a number.
"""

import itertools
import json
import logging
import os
import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2

from bigcodeflow.core.errors import ConfigError, ExecutionError, error_message

logger = logging.getLogger(__name__)

Judgement = dict[str, Any]
"""``pass`` (bool), ``pass_share`` (0 to 1, or None) and ``verdict``, as docs/service.md describes it."""
RewardKind = Literal["pass", "pass_share"]

#: Columns of a task that the service takes; the others, such as prompts and libraries, stay here.
TASK_COLUMNS = ("test", "code_prompt", "complete_prompt", "canonical_solution", "entry_point")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CONNECT_SECONDS = 10.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0
#: Times that the service may say of a program that it could not judge it.
_MOST_FAULTS = 3


@dataclass(frozen=True)
class RewardService:
    """A running service that judges completions; used by several threads at once, and can be pickled."""

    url: str
    """Such as http://127.0.0.1:8017."""
    time_seconds: float = 20.0
    """Time of each program, CPU seconds and wall seconds less those that it waited for a core."""
    fail_fast: bool = False
    """End each program at its first failing test: quicker, and what fails has no pass share."""
    concurrency: int = 16
    """Requests under way; their sum over all trainers has to stay below the service's --max-queue."""
    patience_seconds: float = 600.0
    """How long a service that is busy, away or faulty is asked again for one completion."""
    key_variable: str = "BIGCODEFLOW_SERVICE_KEY"
    """Environment variable that holds the service's key, if it has one."""

    def judge(self, tasks: Sequence[Mapping[str, Any]], completions: Sequence[str]) -> list[Judgement | None]:
        """The judgement of each completion for the task beside it, in their order; None where it could not be had.

        Raises:
            ExecutionError: the service refuses a request, such as for a test that is no Python, or for a wrong key.
        """
        key = os.environ.get(self.key_variable, "").strip()
        with (
            httpx2.Client(
                headers={"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {}),
                timeout=httpx2.Timeout(self.patience_seconds, connect=_CONNECT_SECONDS, pool=None),
                trust_env=urlsplit(self.url).hostname not in _LOOPBACK,
            ) as client,
            ThreadPoolExecutor(self.concurrency, "reward") as pool,
        ):
            bodies = [self._body(*pair) for pair in zip(tasks, completions, strict=True)]
            return list(pool.map(lambda body: self._judged(client, body), bodies))

    def _body(self, task: Mapping[str, Any], completion: str) -> bytes:
        data = {name: task[name] for name in TASK_COLUMNS if task.get(name) is not None}
        config = {"provided_data": data, "run_timeout": self.time_seconds, "extra": {"fail_fast": self.fail_fast}}
        name = str(task.get("task_id", ""))
        return json.dumps({"dataset": "", "id": name, "completion": completion, "config": config}).encode()

    def _judged(self, client: httpx2.Client, body: bytes) -> Judgement | None:
        """The judgement that a body is answered with, asked for again while nothing is known."""
        deadline, faults, pause, reason = time.monotonic() + self.patience_seconds, 0, 0.0, ""
        for attempt in itertools.count():
            try:
                response = client.post(f"{self.url.rstrip('/')}/submit", content=body)
            except httpx2.TransportError as error:
                reason, after = error_message(error), ""
            else:
                if response.status_code == HTTPStatus.OK:
                    found: Judgement = response.json()["extra"]
                    return found
                reason = f"{response.status_code} {response.text[:500]}"
                if not (response.is_server_error or response.status_code == HTTPStatus.TOO_MANY_REQUESTS):
                    raise ExecutionError(f"the service at {self.url} refuses a completion: {reason}")
                faults += response.status_code == HTTPStatus.GATEWAY_TIMEOUT
                after = response.headers.get("retry-after", "")
            pause = (
                float(after) if after.isdecimal() else min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
            )
            if faults >= _MOST_FAULTS or time.monotonic() + pause > deadline:
                break
            time.sleep(pause * random.uniform(1.0, 1.5))  # noqa: S311 - so that threads do not ask together
        logger.warning("a completion has no reward: the service at %s: %s", self.url, reason)
        return None


class ServiceReward:
    """A reward function for TRL's GRPOTrainer, named ``bigcodeflow`` in its logs.

    The data set needs the column ``test``; ``code_prompt``, ``complete_prompt``, ``canonical_solution`` and
    ``entry_point`` are used where it has them. TRL leaves completions whose reward is None out of the advantages.
    """

    __name__ = "bigcodeflow"

    def __init__(self, service: RewardService, kind: RewardKind = "pass") -> None:
        """Reward passes with 1.0 and all else with 0.0, or each completion with the share of tests that it passes.

        Raises:
            ConfigError: the share is asked for of programs that end at their first failing test.
        """
        if kind == "pass_share" and service.fail_fast:
            raise ConfigError("fail_fast leaves no share of tests to reward: switch it off, or reward passes")
        self._service, self._kind = service, kind

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """A reward for each completion, in their order; a completion is a text or a list of messages."""
        given = {name: columns[name] for name in (*TASK_COLUMNS, "task_id") if name in columns}
        if "test" not in given:
            raise ExecutionError("the data set has no column test, by which completions are judged: add it")
        tasks = [{name: values[number] for name, values in given.items()} for number in range(len(prompts))]
        judgements = self._service.judge(tasks, list(map(_text_of, completions)))
        return [None if found is None else float(found[self._kind]) for found in judgements]


def _text_of(completion: Any) -> str:
    """The last message's text of a conversation, in one part or several; a text is itself."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") or "" if completion else ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)
