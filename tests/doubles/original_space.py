"""Spaces with the original evaluator's endpoint, in one process: python original_space.py PORT

Below /original is the original's evaluator, which judges every sample as a pass; below /broken one that answers something
else; below /plain one without the endpoint.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import gradio
import uvicorn
from fastapi import FastAPI

PORT = int(sys.argv[1])
SEEN: Counter[str] = Counter()


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
    with gradio.Blocks(analytics_enabled=False) as plain:
        gradio.Markdown("nothing")
    spaces = {
        "/original": _original(predict, names, 2),
        "/broken": _original(nonsense, {"samples": None}, 1),
        "/plain": plain,
    }
    for path, blocks in spaces.items():
        gradio.mount_gradio_app(app, blocks, path=path, ssr_mode=False, run_history=False)
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")


if __name__ == "__main__":
    main()
