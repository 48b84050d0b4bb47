"""A model that mends its answers in known rounds: what it is sent, and what becomes of it."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bigcodeflow.config import RunConfig, load_config
from tests.conftest import ROOT
from tests.generation.providers.double import Completion, ModelServer, Outcome, Received

#: Starter task by number, and the round in which its answer passes; 0: in none.
PASSES_IN = {0: 1, 2: 2, 3: 3, 6: 0, 9: 1}
#: Samples that are asked for in each round.
ASKED = {1: 5, 2: 3, 3: 2}
_TASKS = [json.loads(line) for line in (ROOT / "data/starter/tasks.jsonl").read_text().splitlines()]
_ANSWERS = [json.loads(line) for line in (ROOT / "data/starter/answers.jsonl").read_text().splitlines()]


class MendingModel:
    """Answers a task wrongly until its round has come; the rounds so far are the answers in the conversation."""

    def __init__(self, before: Callable[[int], None] = lambda _: None) -> None:
        self.requests: list[tuple[int, int, list[dict[str, Any]]]] = []
        """Task, round and turns of each request."""
        self._before = before

    def __call__(self, received: Received) -> Outcome:
        turns = received.body["messages"]
        task = next(number for number in PASSES_IN if _TASKS[number]["complete_prompt"].strip() in turns[0]["content"])
        round_number = 1 + sum(turn["role"] == "assistant" for turn in turns)
        self.requests.append((task, round_number, turns))
        self._before(round_number)
        good, bad = (row["raw_solution"] for row in _ANSWERS if row["task_id"] == f"Starter/{task}")
        passes = PASSES_IN[task] and round_number >= PASSES_IN[task]
        return Completion(good if passes else bad, prompt_tokens=100 * round_number, completion_tokens=50)

    @property
    def asked(self) -> dict[int, int]:
        """Requests by round."""
        return dict(sorted(Counter(number for _, number, _ in self.requests).items()))

    @staticmethod
    def test_of(task: int) -> str:
        return str(_TASKS[task]["test"])


def settings(folder: Path, server: ModelServer, rounds: int = 3) -> dict[str, Any]:
    """Settings of a run that asks the model one request at a time."""
    prices = folder / "prices.yaml"
    prices.write_text("as_of: 2026-01-01\nprices: [{provider: openai, models: [mending], input: 10, output: 20}]\n")
    return {
        "store": str(folder / "store"),
        "out": str(folder / "out"),
        "dataset.ids": ",".join(map(str, PASSES_IN)),
        "samples.source": "model",
        "sanitizing.mode": "robust",
        "execution.workers": 1,
        "execution.limits.time_seconds": 20,
        "generation.model": "openai:mending",
        "generation.base_url": server.url("openai"),
        "generation.rounds": rounds,
        "generation.requests.concurrency": 1,
        "generation.requests.prices": str(prices),
    }


def config(folder: Path, server: ModelServer, rounds: int = 3, **others: Any) -> RunConfig:
    return load_config(None, (), settings(folder, server, rounds) | others)
