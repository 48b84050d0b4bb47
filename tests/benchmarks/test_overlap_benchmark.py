"""The server that answers as was recorded, and what the measured parts come to."""

import json
import time
from urllib.request import Request, urlopen

import overlap
import pytest


def asked(port, content):
    body = json.dumps({"model": "recorded", "messages": [{"role": "user", "content": content}]}).encode()
    request = Request(f"http://127.0.0.1:{port}/v1/chat/completions", body, {"content-type": "application/json"})
    with urlopen(request, timeout=120) as response:
        return json.load(response)["choices"][0]["message"]["content"]


@pytest.mark.slow
def test_each_prompt_gets_the_answer_of_its_task_and_not_at_once():
    """The answer is that of the task whose text stands in the prompt, after the time that a model would take."""
    with overlap.served({"def one(": "first", "def two(": "second"}, 0.2) as port:
        began = time.monotonic()
        assert asked(port, "Write this:\ndef two(x):\n    pass\n") == "second"
        assert time.monotonic() - began >= 0.2
        assert asked(port, "Write this:\ndef one(x):\n    pass\n") == "first"


@pytest.mark.real_data
def test_recorded_answers_are_found_by_their_prompts(reference_data):
    """Each task's own prompt is the key, and the answer a fenced program, as models write them."""
    tasks = [{"task_id": "BigCodeBench/0", "complete_prompt": "\nimport itertools\n"}]
    [(part, answer)] = overlap.recorded_answers(tasks, reference_data.parent).items()
    assert part == "import itertools"
    assert answer.startswith("```python\nimport itertools")
    assert answer.endswith("\n```")


@pytest.mark.parametrize(("executing", "most"), [(60.0, 5), (2.0, 148), (1.0, 148), (1e6, 1)])
def test_asking_is_made_to_take_as_long_as_executing(executing, most):
    """148 answers after 2 s each; never fewer than one request at once, nor more than there are tasks."""
    assert overlap.balanced(148, 2.0, executing) == most


def test_the_whole_is_held_against_the_longer_part():
    """The median of the rounds is what the goal is met by."""
    rounds = [overlap.Round(0.1, 50.0, 60.0, whole, 70, 70) for whole in (66.0, 120.0, 63.0)]
    report = overlap.report_of(rounds, 148, 5, 2.0)
    assert "| 2 | 0.1 | 50.0 | 60.0 | 120.0 | 2.00 | 70 and 70 |" in report
    assert "| 1.10 | at most 1.15 | yes |" in report
