"""The endpoint of the original's evaluator, so that ``bigcodebench.evaluate --execution gradio`` can be sent here."""

import asyncio
import json
import re
from typing import Any

import gradio

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.serving.space_runs import Runs, Told, Wish
from bigcodeflow.serving.space_uploads import upload_field, uploaded

#: Parameters in the original's order and with its defaults.
_DEFAULTS: dict[str, Any] = {
    "split": "complete",
    "subset": "hard",
    "samples": None,
    "pass_k": "1,5,10",
    "parallel": -1,
    "min_time_limit": 1,
    "max_as_limit": 30 * 1024,
    "max_data_limit": 30 * 1024,
    "max_stack_limit": 10,
    "calibrated": True,
    "check_gt_only": False,
    "no_gt": False,
    "selective_evaluate": "",
}


def add_predict(runs: Runs, dataset: str) -> None:
    """Put the endpoint into the blocks that are being made."""

    # Gradio takes the names of parameters from the function, and clients of the original say these.
    async def predict(  # noqa: PLR0917
        split: str,
        subset: str,
        samples: str | None,
        pass_k: str,
        parallel: float,  # noqa: ARG001 - the space decides how much runs at once
        min_time_limit: float,  # noqa: ARG001 - below what every sample has
        max_as_limit: float,
        max_data_limit: float,  # noqa: ARG001 - the same as the address space's
        max_stack_limit: float,  # noqa: ARG001 - that of the sandbox
        calibrated: bool,  # noqa: FBT001
        check_gt_only: bool,  # noqa: FBT001
        no_gt: bool,  # noqa: ARG001, FBT001 - they are known, or are executed once
        selective_evaluate: str,
    ) -> tuple[Any, Any]:
        if not samples or check_gt_only:
            raise gradio.Error("give a sample file; ground truths alone are not checked here", print_exception=False)
        chosen = {"split": split, "subset": subset, "calibrated": calibrated, "ids": selective_evaluate or ""}
        chosen |= {"k": _k_of(str(pass_k)), "limits": {"address_space_mib": int(max_as_limit)}}
        return await _predicted(runs, samples, dataset, chosen)

    with gradio.Row(visible=False):
        inputs = [_input(name, value) for name, value in _DEFAULTS.items()]
        answers = [gradio.JSON(label="results"), gradio.JSON(label="pass_at_k")]
        gradio.Button("predict").click(
            predict,
            inputs,
            answers,
            api_name="predict",
            api_description="Evaluate a sample file as the original's evaluator does; returns both of its files.",
            concurrency_limit=8,
        )


def _input(name: str, value: Any) -> Any:
    if value is None:
        return upload_field(name)
    if isinstance(value, bool):
        return gradio.Checkbox(value=value, label=name)
    return gradio.Textbox(value, label=name) if isinstance(value, str) else gradio.Number(value, label=name)


def _k_of(pass_k: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\s*\d{1,4}(\s*,\s*\d{1,4})*\s*", pass_k):
        raise gradio.Error(f"pass_k {pass_k!r} is no list of numbers such as 1,5,10", print_exception=False)
    return tuple(int(part) for part in pass_k.split(","))


async def _predicted(runs: Runs, samples: str, dataset: str, chosen: dict[str, Any]) -> tuple[Any, Any]:
    wish = Wish(uploaded(samples), dataset, **chosen)
    try:
        with runs.begun(wish, Told()) as begun:
            done = await asyncio.wrap_future(begun)
            texts = {file.name: file.read_text() for file in done.files if file.suffix == ".json"}
    except BigCodeFlowError as error:
        raise gradio.Error(str(error), print_exception=False) from error
    return (
        next(json.loads(text) for name, text in texts.items() if name.endswith("_eval_results.json")),
        next(json.loads(text) for name, text in texts.items() if name.endswith("_pass_at_k.json")),
    )
