"""Answer requests with vLLM; run by path inside its environment, see `worker_protocol`.

vLLM's server cannot answer these requests: its chats lose the line break after a prefilled fence if a template trims
turns, and the server ignores unknown parameters. The engine is run step by step instead of with the whole list, so that
each answer is sent as soon as it is finished, and not only after the last answer.
"""

import importlib
import json
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bigcodeflow_engines.workers import worker_protocol as protocol
else:  # run by path: the module lies in the same folder
    import worker_protocol as protocol

#: Samples that the engine holds if the settings give no number: more than it runs at once, so that it is never idle.
_HANDED_OVER = 1024
_FINISH_REASONS = frozenset({"stop", "length"})


class VllmEngine:
    def __init__(self, job: protocol.WorkerJob) -> None:
        vllm: Any = importlib.import_module("vllm")
        self._tokenizer = protocol.load_tokenizer(job)
        self._adapter = _adapter_folder(job.settings["lora"])
        self._llm = vllm.LLM(**_arguments(job, self._adapter))
        self._engine: Any = self._llm.llm_engine
        self._context_tokens = int(self._llm.model_config.max_model_len)
        self._at_once: int = job.settings["batch_size"] or _HANDED_OVER
        self.name = f"vllm {vllm.__version__}"
        self.commit = str(getattr(self._llm.model_config.hf_config, "_commit_hash", None) or "")

    def answer(self, requests: Sequence[protocol.WorkerRequest]) -> Iterator[protocol.Answered | protocol.Rejected]:
        """Yield the result of each request once, in the order in which the requests finish."""
        waiting, running, samples = deque(requests), dict[int, _RequestInProgress](), 0
        while waiting or running:
            while waiting and samples < self._at_once:
                asked = waiting.popleft()
                prompt = protocol.prompt_tokens(self._tokenizer, asked, self._context_tokens)
                if isinstance(prompt, protocol.Rejected):
                    yield prompt
                else:
                    running[asked.id] = self._hand_over(asked, prompt)
                    samples += len(asked.seeds)
            for output in self._engine.step() if running else ():
                samples -= output.finished
                yield from _collect(output, running)

    def _hand_over(self, asked: protocol.WorkerRequest, prompt: list[int]) -> "_RequestInProgress":
        lora = {}
        if self._adapter:
            request = importlib.import_module("vllm.lora.request").LoRARequest
            lora["lora_request"] = request("adapter", 1, self._adapter)
        for sample, seed in enumerate(asked.seeds):
            self._engine.add_request(
                f"{asked.id}.{sample}", {"prompt_token_ids": prompt}, self._parameters(asked, seed), **lora
            )
        return _RequestInProgress(asked, len(prompt))

    def _parameters(self, asked: protocol.WorkerRequest, seed: int | None) -> Any:
        """Return the model's default sampling parameters, updated with those of the request, as vLLM's server does."""
        sampling_params: Any = importlib.import_module("vllm.sampling_params")
        parameters = self._llm.get_default_sampling_params()
        given: dict[str, Any] = {"max_tokens": None, **asked.sampling, **asked.engine_parameters, "seed": seed}
        given["stop"] = list(given.get("stop", ()))
        for name in given:
            if name not in parameters.__struct_fields__ or name.startswith("_"):
                raise protocol.WorkerError("bad_settings", f"vLLM has no sampling parameter {name!r}")
        kept = {name: getattr(parameters, name) for name in _DEFAULTS}
        kind = sampling_params.RequestOutputKind.FINAL_ONLY
        try:
            return sampling_params.SamplingParams(**{**kept, **given}, output_kind=kind)
        except (TypeError, ValueError) as error:
            raise protocol.WorkerError("bad_settings", str(error)) from error


#: Parameters that a model's generation_config.json may set.
_DEFAULTS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens")


@dataclass(slots=True)
class _RequestInProgress:
    asked: protocol.WorkerRequest
    prompt_tokens: int
    began: float = field(default_factory=time.monotonic)
    written: dict[int, protocol.WorkerSample] = field(default_factory=dict)


def _collect(output: Any, running: dict[int, _RequestInProgress]) -> Iterator[protocol.Answered]:
    if not output.finished:
        return
    number, sample = (int(part) for part in output.request_id.split("."))
    one, made = running[number], output.outputs[0]
    reason = made.finish_reason if made.finish_reason in _FINISH_REASONS else "other"
    one.written[sample] = protocol.WorkerSample(made.text, reason, len(made.token_ids))
    if len(one.written) == len(one.asked.seeds):
        del running[number]
        answers = [one.written[index] for index in sorted(one.written)]
        yield protocol.Answered(number, one.prompt_tokens, time.monotonic() - one.began, answers)


def _adapter_folder(lora: str) -> str:
    """Return the adapter's folder, downloaded if it is a repository; empty if there is no adapter."""
    if not lora or Path(lora).is_dir():
        return lora
    return str(importlib.import_module("huggingface_hub").snapshot_download(lora))


def _arguments(job: protocol.WorkerJob, adapter: str) -> Mapping[str, Any]:
    settings = job.settings
    platform: Any = importlib.import_module("vllm.platforms").current_platform
    arguments: dict[str, Any] = {
        "model": job.model,
        "tokenizer": settings["tokenizer"] or None,
        "revision": settings["revision"] or None,
        "tokenizer_revision": None if settings["tokenizer"] else settings["revision"] or None,
        "dtype": settings["dtype"],
        "tensor_parallel_size": settings["tensor_parallel"],
        "max_model_len": settings["max_model_tokens"] or None,
        "trust_remote_code": settings["trust_remote_code"],
        # Compiling takes longer than it saves with the small models that a CPU can run.
        "enforce_eager": bool(platform.is_cpu()),
    }
    if not platform.is_cpu():
        arguments["gpu_memory_utilization"] = settings["memory_share"]
    if adapter:
        rank = int(json.loads((Path(adapter) / "adapter_config.json").read_text(encoding="utf-8"))["r"])
        taken = next((most for most in (8, 16, 32, 64, 128, 256, 320) if most >= rank), 512)
        arguments |= {"enable_lora": True, "max_lora_rank": taken}
    return arguments


if __name__ == "__main__":
    protocol.serve(VllmEngine)
