"""An engine that another distribution brings, and which runs import the engines."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.command import add_distribution, process_in

PROGRAM = """
from bigcodeflow.generation.local_engines import OfflineEngine
from bigcodeflow.generation.model_api import Answer, Reply, RequestError, TokenUsage


class Constant(OfflineEngine):
    def problems(self, config, request):
        if request.sampling.top_k:
            yield "generation.sampling.top_k: it draws nothing"

    def body(self, request):
        return {"question": request.prompt.messages[0].text}

    def answers(self, config, requests):
        model = config.model.partition(":")[2]
        for number, request in enumerate(requests):
            if number == 2:
                yield request, RequestError("unanswerable", "it answers two at a time"), 0.0
            else:
                yield request, Reply((Answer(f"return {model}", "stop"),), TokenUsage()), 0.5


class Half(OfflineEngine):
    pass


TEXT = "no engine"
"""
_CHOSEN = ("--dataset", "starter", "--ids", "0-2", "--out", "out")


def test_an_engine_of_another_distribution_answers(tmp_path: Path) -> None:
    """What it answers is kept and the rest asked again; what it does not take is refused; a broken one is named."""
    for name, line in {"constant": "constant = constants:Constant", "broken": "broken = absent:Engine"}.items():
        add_distribution(tmp_path, name, f"[bigcodeflow.engines]\n{line}\n")
    (tmp_path / "constants.py").write_text(PROGRAM)
    generate = partial(process_in(tmp_path), "generate", *_CHOSEN, check=False, PYTHONPATH=str(tmp_path))
    own = ("--model", "constant:4711")
    refused = ("sampling.top_k=3", "samples_per_request=2")
    done = generate(*own, "--n-samples", "2", *(word for one in refused for word in ("--set", f"generation.{one}")))
    for message in (
        "sampling.top_k: it draws nothing",
        "gives one answer a request",
    ):
        assert message in done.stderr
    assert "it answers two at a time (unanswerable)" in generate(*own).stderr
    generate(*own)
    [file] = (tmp_path / "out").glob("*.jsonl")
    assert [json.loads(line)["solution"] for line in file.read_text().splitlines()] == ["return 4711"] * 3
    broken = generate("--model", "broken:m").stderr
    assert "generation.model broken is a plug-in, absent:Engine, that cannot be loaded: No module named" in broken
    assert "Traceback" not in broken


def test_engines_of_no_use_are_one_line_and_replace_none_of_ours(tmp_path: Path) -> None:
    """An unfinished class, and a name of another kind; a provider of ours keeps its name."""
    names = {"half": "Half", "odd": "TEXT", "listed": "dict", "anthropic": "Half"}
    lines = "".join(f"{name} = constants:{attribute}\n" for name, attribute in names.items())
    add_distribution(tmp_path, "useless", f"[bigcodeflow.engines]\n{lines}")
    (tmp_path / "constants.py").write_text(PROGRAM)
    generate = partial(process_in(tmp_path), "generate", *_CHOSEN, check=False, PYTHONPATH=str(tmp_path))
    reasons = {"half": "fails: TypeError", "odd": "fails: TypeError", "listed": "cannot be loaded"}
    for name, reason in {**reasons, "anthropic": "anthropic needs a key"}.items():
        said = generate("--model", f"{name}:m", ANTHROPIC_API_KEY="").stderr
        assert reason in said
        assert "Traceback" not in said


def test_a_model_over_a_network_imports_no_engine() -> None:
    """Nor does the list of providers."""
    program = (
        "import sys\n"
        "from bigcodeflow.config import GenerationConfig\n"
        "from bigcodeflow.generation.model_samples import model_samples\n"
        "from bigcodeflow.generation.model_settings import resolve_settings\n"
        "from bigcodeflow.generation.providers import known_providers\n"
        "resolve_settings(GenerationConfig(model='openai:m'), 'complete', sends=False)\n"
        "print(*known_providers(), sorted(name for name in sys.modules if name.startswith('bigcodeflow_engines')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(" []\n")
    assert {"transformers", "vllm", "vllm-server"} < {*done.stdout.split()}
