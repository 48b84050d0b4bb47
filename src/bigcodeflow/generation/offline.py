"""Open models that run on this machine: a worker process loads one with vLLM or transformers and answers.

The worker runs in the engine's own environment; `engines.channel` says how the two talk. What it wrote counts from the
moment that `record` has it, so that a kill costs the answers in flight and a second call is given only what is missing.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, GenerationError
from bigcodeflow.environments import InstalledEnvironment, find_environment
from bigcodeflow.generation import engines
from bigcodeflow.generation.model_api import Answer, FinishReason, Reply, Request, RequestError, Sampling, TokenUsage
from bigcodeflow.generation.worker_process import WorkerProcess

logger = logging.getLogger(__name__)

Record = Callable[[Request, Reply, float], None]
Reject = Callable[[Request, RequestError], None]
Progress = Callable[[int, int], None]

#: Provider → the worker's program.
WORKERS = {
    "vllm": Path(engines.__file__).with_name("vllm_worker.py"),
    "transformers": Path(engines.__file__).with_name("transformers_worker.py"),
}
_NOT_TAKEN = {
    "vllm": ("reasoning_effort", "reasoning_tokens"),
    "transformers": ("reasoning_effort", "reasoning_tokens", "frequency_penalty", "presence_penalty"),
}
_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}
_REMEDIES = {
    "engine_missing": "build its environment again: bigcodeflow env build NAME --rebuild",
    "out_of_memory": "lower generation.offline.batch_size, max_model_tokens or memory_share, take a smaller dtype, "
    "or share the model among GPUs with tensor_parallel",
    "forbidden": "ask for access on the hub, and set HF_TOKEN",
    "remote_code": "set generation.offline.trust_remote_code if you trust the authors of the model's repository",
    "model_missing": "name a folder that holds a model, or fetch it first: hf download REPOSITORY",
    "no_chat_template": "set generation.prompt.form to direct, which is for the Complete split only: "
    "an Instruct prompt needs a model that was trained to talk",
    "chat_template": "set generation.prompt.form to chat, leave out the system prompt, or take another tokenizer with "
    "generation.offline.tokenizer",
    "bad_settings": "mend generation.sampling, generation.extra_body or generation.offline",
    "other": "what it printed before stands in the log",
}


def engine_environment(config: GenerationConfig) -> InstalledEnvironment:
    """The environment that the settings name, or else the built one of the provider: for GPUs first, then for the CPU.

    Raises:
        EnvironmentUnusableError: it is not defined, holds no engine, or is not built.
    """
    if config.offline.environment:
        return find_environment(config.offline.environment, "engine")
    provider, _ = _model(config)
    for name in (provider, f"{provider}-cpu"):
        try:
            return find_environment(name, "engine")
        except EnvironmentUnusableError:
            continue
    raise EnvironmentUnusableError(
        f"no environment with {provider} is built on this machine: run `bigcodeflow env build {provider}` "
        f"where there are GPUs, `bigcodeflow env build {provider}-cpu` elsewhere"
    )


def problems(provider: str, sampling: Sampling) -> list[str]:
    """What an engine does not take of these settings, one line each: parameter, reason, remedy."""
    given = sampling.given()
    return [
        f"generation.sampling.{name}: {provider} has no such parameter here: leave it empty"
        for name in _NOT_TAKEN[provider]
        if name in given
    ]


def body(request: Request) -> dict[str, Any]:
    """Exactly what a worker is given of a request; JSON-able, to be stored with each sample."""
    first, seed = request.sample_indices[0], request.seed
    return {
        "form": request.prompt.form,
        "messages": [asdict(message) for message in request.prompt.messages],
        "text": request.prompt.text,
        "sampling": request.sampling.given(),
        "extra": dict(request.extra_body),
        # One request for several samples gets what as many requests for one each would get.
        "seeds": [None if seed is None else seed + index - first for index in request.sample_indices],
    }


def has_chat_template(
    config: GenerationConfig,
    environment: InstalledEnvironment,
    *,
    allow_download: bool = False,
    worker: Path | None = None,
) -> bool:
    """Whether the model's tokenizer can render a conversation; takes seconds, and no model is loaded.

    Raises:
        GenerationError: the tokenizer cannot be loaded.
    """
    provider, _ = _model(config)
    with WorkerProcess(worker or WORKERS[provider], environment, allow_download=allow_download) as process:
        process.send([_job(config, "describe"), None])
        for event in process.events():
            if event["event"] == "described":
                return bool(event["chat_template"])
            if event["event"] == "failed":
                raise _failure(config, environment, event, process)
        raise _death(config, process)


def generate_offline(
    requests: Iterable[Request],
    config: GenerationConfig,
    environment: InstalledEnvironment,
    *,
    record: Record,
    reject: Reject,
    progress: Progress | None = None,
    allow_download: bool = False,
    worker: Path | None = None,
) -> None:
    """Have every request answered, each handed on once, as soon as it is done and in no particular order.

    Args:
        requests: those that have no answer yet.
        config: names model and provider, and how the model is loaded.
        environment: where the provider's engine is installed, see `engine_environment`.
        record: takes a request, its reply, and the seconds that it took; makes it durable.
        reject: takes a request that the model cannot answer, such as a prompt that is too long.
        progress: told how many requests are done, and of how many.
        allow_download: let the engine fetch a model that is neither a folder nor in the hub's cache.
        worker: program that answers, instead of the provider's.

    Raises:
        GenerationError: the model cannot be loaded or asked, or the worker died; what was recorded stays.
    """
    provider, _ = _model(config)
    asked = dict(enumerate(requests))
    if not asked:
        return
    found = {line for sampling in {one.sampling for one in asked.values()} for line in problems(provider, sampling)}
    if found:
        raise GenerationError("\n".join(sorted(found)))
    wanted = ({"id": number, **body(request)} for number, request in list(asked.items()))
    conversation = _Conversation(config, environment, asked, record=record, reject=reject, progress=progress)
    with WorkerProcess(worker or WORKERS[provider], environment, allow_download=allow_download) as process:
        process.send(chain([_job(config, "generate")], wanted, [None]))
        conversation.follow(process)


class _Conversation:
    """What one worker is asked, and what of it is still open."""

    def __init__(
        self,
        config: GenerationConfig,
        environment: InstalledEnvironment,
        asked: dict[int, Request],
        *,
        record: Record,
        reject: Reject,
        progress: Progress | None,
    ) -> None:
        self._config, self._environment, self._open, self._all = config, environment, asked, len(asked)
        self._record, self._reject = record, reject
        self._progress = progress or (lambda _done, _all: None)
        _, self._served_model = _model(config)

    def follow(self, process: WorkerProcess) -> None:
        """Hand on what comes until all requests are done."""
        self._progress(0, self._all)
        for event in process.events():
            match event["event"]:
                case "loaded":
                    self._loaded(event)
                case "answered" | "rejected":
                    self._done(event)
                case "failed":
                    raise _failure(self._config, self._environment, event, process)
                case "ended" if not self._open:
                    process.let_end()
                    return
        raise _death(self._config, process, len(self._open))

    def _loaded(self, event: Mapping[str, Any]) -> None:
        if event["commit"]:
            self._served_model += f"@{event['commit']}"
        logger.info("%s is loaded by %s (%.1f s)", self._served_model, event["engine"], event["seconds"])

    def _done(self, event: Mapping[str, Any]) -> None:
        request = self._open.pop(event["id"], None)
        if request is None:
            raise GenerationError(f"{self._config.model}: the worker answered request {event['id']} twice")
        if event["event"] == "rejected":
            self._reject(request, RequestError("bad_request", event["message"]))
        else:
            self._record(request, self._reply(request, event), event["seconds"])
        self._progress(self._all - len(self._open), self._all)

    def _reply(self, request: Request, event: Mapping[str, Any]) -> Reply:
        written: Sequence[Mapping[str, Any]] = event["answers"]
        if len(written) != len(request.sample_indices):
            told = f"{len(written)} answers for {len(request.sample_indices)} samples of {request.task_id}"
            raise GenerationError(f"{self._config.model}: the worker gave {told}")
        usage = TokenUsage(event["prompt_tokens"], sum(one["tokens"] for one in written))
        answers = tuple(Answer(_untabbed(one["text"]), _REASONS.get(one["finish_reason"], "other")) for one in written)
        return Reply(answers, usage, self._served_model)


def _untabbed(text: str) -> str:
    """As the original does with what open models write here; its published scores have it."""
    return text.replace("\t", "    ")


def _model(config: GenerationConfig) -> tuple[str, str]:
    provider, _, name = config.model.partition(":")
    if provider not in WORKERS:
        known = ", ".join(sorted(WORKERS))
        raise GenerationError(
            f"generation.model: {config.model!r} does not run here; those that do begin with: {known}"
        )
    return provider, name


def _job(config: GenerationConfig, task: str) -> dict[str, Any]:
    _, name = _model(config)
    settings = config.offline.model_dump(mode="json")
    for key in ("tokenizer", "lora"):
        settings[key] = _place(settings[key], f"generation.offline.{key}")
    return {"task": task, "model": _place(name, "generation.model"), "settings": settings}


def _place(told: str, setting: str) -> str:
    """A folder's whole path, or a repository's name as it is."""
    folder = Path(told).expanduser()
    if told and folder.is_dir():
        return str(folder.resolve())
    if told.startswith(("/", "./", "../", "~")):
        raise GenerationError(
            f"{setting}: {told} is no folder: name one that holds a model, or a repository of the hub"
        )
    return told


def _failure(
    config: GenerationConfig, environment: InstalledEnvironment, event: Mapping[str, Any], process: WorkerProcess
) -> GenerationError:
    kind = event["kind"] if event["kind"] in _REMEDIES else "other"
    logger.log(logging.WARNING if kind == "other" else logging.DEBUG, "the worker printed:\n%s", process.printed())
    message = event["message"]
    if kind == "model_missing" and not process.may_download:
        message = "it is neither a folder here nor in the hub's cache, at the revision that is asked for"
    return GenerationError(f"{config.model}: {message} — {_REMEDIES[kind].replace('NAME', environment.name)}")


def _death(config: GenerationConfig, process: WorkerProcess, left: int = 0) -> GenerationError:
    logger.warning("the worker printed:\n%s", process.printed())
    missing = (
        f"; {left:,} requests have no answer yet, what came is kept: the same command goes on there" if left else ""
    )
    return GenerationError(f"{config.model}: the worker {process.last_words()}{missing}")
