"""A batch API that another distribution brings."""

from functools import partial
from pathlib import Path

from bigcodeflow.generation.answer_ledger import AnswerLedger
from tests.command import add_distribution, process_in

PROGRAM = """
from bigcodeflow.generation.answer_ledger import ReplyRecord
from bigcodeflow.generation.batches import Batches, BatchOutcome, Left
from bigcodeflow.generation.model_api import Answer, Reply, RequestError, TokenUsage


class Nightly(Batches):
    def __init__(self, endpoint):
        self.model = endpoint.model

    async def run(self, requests, run):
        *answered, last = requests
        for request in answered:
            reply = Reply((Answer(f"return {self.model}", "stop"),), TokenUsage())
            run.record(ReplyRecord.of(request, reply, body={}, latency_seconds=60.0))
        return BatchOutcome(len(answered), (Left(last.keys, RequestError("deadline", "the night was short")),))
"""


def test_a_batch_api_of_another_distribution_answers(tmp_path: Path) -> None:
    """What it leaves is asked singly, here in vain; one that cannot be loaded is named when it is asked for."""
    add_distribution(
        tmp_path, "nightly", "[bigcodeflow.batches]\nollama = nightly:Nightly\nhuggingface = absent:Batches\n"
    )
    (tmp_path / "nightly.py").write_text(PROGRAM)
    chosen = ("--dataset", "starter", "--ids", "0-2", "--store", "store", "--batch", "--base-url", "http://127.0.0.1:9")
    given = {"check": False, "PYTHONPATH": str(tmp_path)}
    generate = partial(process_in(tmp_path), "generate", *chosen, "--set", "generation.requests.attempts=1", **given)
    said = generate("--model", "ollama:4711").stderr
    assert "1 requests were not answered by a batch (the night was short): asked singly" in said
    assert "1 of 3 samples have no answer" in said
    [folder] = (tmp_path / "store" / "answers").iterdir()
    assert [record.answers[0].text for record in AnswerLedger(folder).records()] == ["return 4711", "return 4711"]
    broken = generate("--model", "huggingface:m").stderr
    assert "generation.requests.batch of huggingface is a plug-in, absent:Batches, that cannot be loaded" in broken
    assert "Traceback" not in broken
