"""Spaces that misbehave, in one process: the program of an item says how.

    python space_double.py PORT FILE

Every execution is written to FILE, one number a line. Below /full is a space whose queue holds one call, below /other
one of another version, below /original the original's evaluator, below /broken one that answers nonsense.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import gradio
import uvicorn
from fastapi import FastAPI

from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.protocol import line
from bigcodeflow.execution.worker_preflight import code_version

PORT, EXECUTIONS = int(sys.argv[1]), Path(sys.argv[2])
SEEN: Counter[str] = Counter()


def _info(version: str) -> dict[str, Any]:
    capabilities = {"isolated": True, "layers": ["a double"], "warm": True}
    environment = {"name": "starter", "environment_sha": "sha", "missing_data": [], "lock_sha256": "lock"}
    return {"code_version": version, "capabilities": capabilities, "environment": environment}


def _outcome(number: str, told: str) -> str:
    with EXECUTIONS.open("a") as file:
        file.write(f"{number}\n")
    outcome = protocol.outcome_fields(Outcome(exit="exit 0", stdout=told))
    return line({"type": "outcome", "number": number, "outcome": outcome}).decode()


def _cut(text: str) -> Iterator[str]:
    yield from (text[start : start + 50] for start in range(0, len(text), 50))


def _fail(_number: str) -> Iterator[str]:
    raise RuntimeError("a fault of the space")


def _pause(seconds: float) -> str:
    time.sleep(seconds)
    return ""


#: What comes for an item the first time that it is sent; the call ends there where the last word is None.
_FAULTS: dict[str, Callable[[str], Iterable[str | None]]] = {
    "garbage": lambda _: ["<html>502 Bad Gateway</html>\n"],
    "half a line": lambda number: [_outcome(number, "first")[:40], None],
    "error": _fail,
    "nothing": lambda _: [None],
    "silence": lambda _: (_pause(6) for _ in range(1)),
    "twice": lambda number: [_outcome(number, "first"), _outcome(number, "second")],
    "foreign": lambda number: [_outcome("nobody's", "foreign") + _outcome(number, "own")],
    "in pieces": lambda number: _cut(_outcome(number, "whole")),
    "slow": lambda number: (_pause(0.5) + _outcome(number, "slow") for _ in range(1)),
    "no outcome": lambda number: [line({"type": "outcome", "number": number, "outcome": {"exit": 0}}).decode()],
}


def execute(messages: str) -> Iterator[str]:
    """The second time that an item is sent it is answered, whatever happened before."""
    told = [protocol.message_of(text) for text in Path(messages).read_bytes().splitlines()]
    items = [(message["number"], message["item"]["program"]) for message in told if message["type"] == "item"]
    SEEN.update(number for number, _ in items)
    for number, program in items:
        if SEEN[number] > 1:
            yield _outcome(number, "later")
            continue
        for piece in _FAULTS.get(program, lambda number: [_outcome(number, "first")])(number):
            if piece is None:
                return
            yield piece
    yield line({"type": "end"}).decode()


def predict(  # noqa: PLR0917 - the original's signature
    split: str,
    subset: str,
    samples: str,
    pass_k: str,
    parallel: float,
    min_time_limit: float,
    max_as_limit: float,
    max_data_limit: float,
    max_stack_limit: float,
    calibrated: bool,  # noqa: FBT001
    check_gt_only: bool,  # noqa: FBT001
    no_gt: bool,  # noqa: FBT001
    selective_evaluate: str,
) -> tuple[Any, Any]:
    """What the original's space returns, of samples that all pass; what it was asked stands in details."""
    lines = [json.loads(text) for text in Path(samples).read_text().splitlines()]
    solutions = {sample["solution"] for sample in lines}
    if "lose" in solutions and not SEEN["lost"]:
        SEEN["lost"] += 1
        raise RuntimeError("a fault of the space")
    found: dict[str, list[dict[str, Any]]] = {}
    for sample in lines:
        one = {"task_id": sample["task_id"], "solution": sample["solution"], "status": "pass", "details": {}}
        found.setdefault(sample["task_id"], []).append(one)
    if "half" in solutions:
        found[lines[0]["task_id"]] = []
    scores = {"pass@1": 1.0, "gt_pass_rate": 1.0, "failed_tasks": []}
    return {"date": "2025-05-07 20:56", "eval": found}, scores


def nonsense(samples: str) -> Any:
    """Another space that happens to have such an endpoint."""
    return {"hello": [1, 2]}


def _space(version: str, **queue: Any) -> gradio.Blocks:
    async def info(kind: str = "") -> dict[str, Any]:
        return _info(version)

    with gradio.Blocks(analytics_enabled=False) as blocks:
        file, text = gradio.File(type="filepath"), gradio.Textbox()
        gradio.Button().click(execute, file, text, api_name="execute", concurrency_limit=1 if queue else 64)
        gradio.events.api(info, api_name="info")
    return blocks.queue(**queue)


def _original(function: Any, names: dict[str, Any], answers: int) -> gradio.Blocks:
    with gradio.Blocks(analytics_enabled=False) as blocks:
        inputs = [gradio.File(type="filepath") if kind is None else kind() for kind in names.values()]
        outputs = [gradio.JSON() for _ in range(answers)]
        gradio.Button().click(function, inputs, outputs, api_name="predict")
    return blocks.queue()


def main() -> None:
    """Serve all of them."""
    text, number, box = gradio.Textbox, gradio.Number, gradio.Checkbox
    names = dict.fromkeys(("split", "subset"), text) | {"samples": None, "pass_k": text}
    names |= dict.fromkeys(("parallel", "min_time", "as", "data", "stack"), number)
    names |= dict.fromkeys(("calibrated", "check_gt_only", "no_gt"), box) | {"selective_evaluate": text}
    app = FastAPI()
    spaces = {
        "/full": _space(code_version(), max_size=1),
        "/other": _space("0.0.1, harness 1"),
        "/original": _original(predict, names, 2),
        "/broken": _original(nonsense, {"samples": None}, 1),
        "/plain": _space(code_version()),
    }
    for path, blocks in spaces.items():
        gradio.mount_gradio_app(app, blocks, path=path, ssr_mode=False, run_history=False)
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")


if __name__ == "__main__":
    main()
