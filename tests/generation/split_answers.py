"""A model whose answers tell from which split's prompt they came."""

import json

from tests.conftest import ROOT
from tests.generation.providers.double import Completion, Received

_TASKS = [json.loads(line) for line in (ROOT / "data/starter/tasks.jsonl").read_text().splitlines()]


def solved_by_docstring(received: Received) -> Completion:
    """The task's own solution where it is posed with its docstring, a wrong program where it is posed in prose."""
    prompt = received.body["messages"][-1]["content"]
    for task in _TASKS:
        if task["instruct_prompt"].strip() in prompt:
            return Completion("```python\ndef task_func(*args):\n    return 'no'\n```")
        if task["complete_prompt"].strip() in prompt:
            return Completion(f"```python\n{task['complete_prompt']}{task['canonical_solution']}\n```")
    raise ValueError(f"no starter task is asked: {prompt[:200]}")
