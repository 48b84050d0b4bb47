"""The server that gives recorded answers."""

import json
import time
from urllib.request import Request, urlopen

import first_score
import pytest
from generation import served


def asked(port, content):
    body = json.dumps({"model": "recorded", "messages": [{"role": "user", "content": content}]}).encode()
    request = Request(f"http://127.0.0.1:{port}/v1/chat/completions", body, {"content-type": "application/json"})
    with urlopen(request, timeout=120) as response:
        return json.load(response)["choices"][0]["message"]["content"]


@pytest.mark.slow
def test_each_prompt_gets_the_answer_of_its_task_and_not_at_once():
    """The answer is that of the task whose text stands in the prompt, after the time that a model would take."""
    with served({"def one(": "first", "def two(": "second"}, 0.2) as port:
        began = time.monotonic()
        assert asked(port, "Write this:\ndef two(x):\n    pass\n") == "second"
        assert time.monotonic() - began >= 0.2
        assert asked(port, "Write this:\ndef one(x):\n    pass\n") == "first"


@pytest.mark.real_data
def test_recorded_answers_are_found_by_their_prompts(reference_data):
    """Each task's own prompt is the key, and the answer a fenced program, as models write them."""
    tasks = [{"task_id": "BigCodeBench/0", "complete_prompt": "\nimport itertools\n"}]
    [(part, answer)] = first_score.recorded_answers(tasks, reference_data.parent).items()
    assert part == "import itertools"
    assert answer.startswith("```python\nimport itertools")
    assert answer.endswith("\n```")
