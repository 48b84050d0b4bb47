"""Run models on this machine: a worker process loads a model with vLLM or transformers and answers requests.

The worker runs in the engine's own environment; `workers.worker_protocol` describes the protocol. An answer is yielded
as soon as it arrives: a kill loses only the answers in progress, and a second call needs only the missing requests.
"""

import json
import logging
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Any

from bigcodeflow.config import GenerationConfig, Split
from bigcodeflow.core.errors import EnvironmentUnusableError, GenerationError
from bigcodeflow.core.paths import user_path
from bigcodeflow.generation.local_engines import OfflineEngine
from bigcodeflow.generation.model_api import (
    Answer,
    PromptForm,
    Reply,
    Request,
    RequestError,
    TokenUsage,
    finish_reason,
)
from bigcodeflow.generation.providers import untaken
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow_engines import workers

logger = logging.getLogger("bigcodeflow.engines")  # below the logger whose lines Prefect and live runs show

#: Provider → parameters that its worker does not accept.
_NOT_TAKEN = {
    "vllm": ("reasoning_effort", "reasoning_tokens"),
    "transformers": ("reasoning_effort", "reasoning_tokens", "frequency_penalty", "presence_penalty"),
}
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
    "bad_settings": "correct generation.sampling, generation.extra_body or generation.offline",
    "other": "read the output of the worker in the log",
}
#: Environment variables that an engine needs. Keys of providers and similar secrets are not included.
_PASSED_ON = re.compile(
    r"HOME|PATH|USER|LANG|LC_\w+|TMPDIR|TZ|LD_LIBRARY_PATH|XDG_CACHE_HOME|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|"
    r"(https?|no)_proxy|(HTTPS?|NO)_PROXY|(HF|CUDA|NVIDIA|NCCL|VLLM|TORCH|PYTORCH|OMP|MKL|TRITON|ROCR|HIP)_\w+"
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")


@dataclass(frozen=True, slots=True)
class _Worker:
    config: GenerationConfig
    environment: InstalledEnvironment
    process: "subprocess.Popen[bytes]"
    printed: IO[bytes]
    """File with the standard output and standard error of the worker and its engine."""
    channel: int
    """File descriptor from which the worker's messages are read."""

    def send(self, messages: Iterable[Any]) -> None:
        """Write messages to the worker; a dead worker raises no error here, because `events` or `death` reports it."""
        stdin: Any = self.process.stdin
        with suppress(BrokenPipeError):
            for message in messages:
                stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the worker's messages, whole lines only, until the worker has ended.

        The channel alone does not show this end: processes that the worker forked may keep the channel open.
        """
        rest = b""
        exited = os.pidfd_open(self.process.pid)
        try:
            while self.channel in wait([self.channel, exited]) and (chunk := os.read(self.channel, 1 << 16)):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (json.loads(line) for line in whole)
        finally:
            os.close(exited)

    def wait(self) -> None:
        """Wait up to 30 s for the end of the worker, so that its engine can release shared resources."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(30)

    def failure(self, event: Mapping[str, Any]) -> GenerationError:
        kind = event["kind"] if event["kind"] in _REMEDIES else "other"
        logger.log(logging.WARNING if kind == "other" else logging.DEBUG, "the worker printed:\n%s", self.output())
        message = event["message"]
        if kind == "model_missing" and not self.config.offline.download:
            message = "the model is neither a folder here nor in the hub's cache at the configured revision"
        remedy = _REMEDIES[kind].replace("NAME", self.environment.name)
        return GenerationError(f"{self.config.model}: {message} — {remedy}")

    def death(self, left: int = 0) -> GenerationError:
        logger.warning("the worker printed:\n%s", self.output())
        self.wait()
        status = self.process.returncode
        if status is not None and status < 0:
            end = f"was killed by {signal.Signals(-status).name}"
            end += ", as the kernel does if memory runs out" if -status == signal.SIGKILL else ""
        else:
            end = "fell silent" if status is None else f"ended with status {status}"
        if lines := self.output().splitlines():
            end += f"; its last line: {lines[-1][:300]}"
        if left:
            end += f"; {left:,} requests have no answer yet; received answers are kept: run the same command again"
        return GenerationError(f"{self.config.model}: the worker {end}")

    def output(self) -> str:
        return printed_end(self.printed)


def printed_end(printed: IO[bytes]) -> str:
    """Return the last lines of the file with the output of an engine."""
    printed.seek(max(0, os.fstat(printed.fileno()).st_size - 20_000))
    return printed.read().decode(errors="replace").strip()


@contextmanager
def engine_process(
    environment: InstalledEnvironment, program: Path, *arguments: str, **options: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program with an environment's Python in its own process group; kill the whole group after the block.

    ``options`` are those of `subprocess.Popen`. Standard input is a pipe; the program must end when the pipe is closed.

    Raises:
        GenerationError: the environment's Python cannot be started.
    """
    try:
        process = subprocess.Popen(
            [str(environment.python), "-s", "-u", str(program), *arguments],
            stdin=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,  # a separate group: engines start further processes
            **options,
        )
    except OSError as error:
        raise GenerationError(
            f"environment {environment.name}: {environment.python} cannot be started ({error.strerror}): "
            f"build it again with `bigcodeflow env build {environment.name} --rebuild`"
        ) from None
    stdin: Any = process.stdin
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with suppress(OSError):  # data that a dead program did not read
            stdin.close()


@contextmanager
def _started(config: GenerationConfig, environment: InstalledEnvironment, program: Path | None) -> Iterator[_Worker]:
    """Start the worker ``program``, by default the program of the model's engine, and yield the worker."""
    program = program or Path(workers.__file__).with_name(f"{config.model.partition(':')[0]}_worker.py")
    variables = engine_variables(environment, allow_download=config.offline.download)
    channel, theirs = os.pipe()
    with tempfile.TemporaryFile() as printed, os.fdopen(channel, "rb"), os.fdopen(theirs, "wb") as end:
        options: dict[str, Any] = {"stdout": printed, "pass_fds": (theirs,), "env": variables}
        with engine_process(environment, program, str(theirs), **options) as process:
            end.close()  # the worker's own is now the only one
            yield _Worker(config, environment, process, printed, channel)


def engine_variables(environment: InstalledEnvironment, *, allow_download: bool) -> dict[str, str]:
    passed = {
        name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name) and not _SECRET.search(name)
    }
    if allow_download and (token := os.environ.get("HF_TOKEN")):
        passed["HF_TOKEN"] = token
    offline = {} if allow_download else {"HF_HUB_OFFLINE": "1"}
    silent = {"PYTHONNOUSERSITE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    return {**environment.variables, **passed, **offline, **silent}


def engine_environment(config: GenerationConfig, provider: str = "") -> InstalledEnvironment:
    """Return the configured environment or, if none is configured, ``provider``'s: for GPUs if built, else for CPUs."""
    if config.offline.environment:
        return find_environment(config.offline.environment, "engine")
    provider = provider or config.model.partition(":")[0]
    for name in (provider, f"{provider}-cpu"):
        with suppress(EnvironmentUnusableError):
            return find_environment(name, "engine")
    raise EnvironmentUnusableError(
        f"no environment with {provider} is built on this machine: run `bigcodeflow env build {provider}` "
        f"where there are GPUs, `bigcodeflow env build {provider}-cpu` elsewhere"
    )


@dataclass(frozen=True)
class WorkerEngine(OfflineEngine):
    """Engine that runs a worker program; by default, program (in workers/) and environment have the engine's name."""

    environment: InstalledEnvironment | None = None
    worker: Path | None = None
    several_answers = True

    def usual_form(self, config: GenerationConfig, split: Split) -> PromptForm:
        return "prefill" if self.has_chat_template(config) or split == "instruct" else "direct"

    def problems(self, config: GenerationConfig, request: Request) -> list[str]:
        provider = config.model.partition(":")[0]
        return untaken(request, dict.fromkeys(_NOT_TAKEN[provider], f"{provider} has no such parameter here"))

    def body(self, request: Request) -> dict[str, Any]:
        """Return the parts of a request that a worker gets, as JSON values; stored with each sample."""
        first, seed = request.sample_indices[0], request.seed
        return {
            "form": request.prompt.form,
            "messages": [asdict(message) for message in request.prompt.messages],
            "text": request.prompt.text,
            "sampling": request.sampling.given(),
            "extra": dict(request.extra_body),
            # A request for several samples gets the same seeds as separate requests for each sample.
            "seeds": [None if seed is None else seed + index - first for index in request.sample_indices],
        }

    def has_chat_template(self, config: GenerationConfig) -> bool:
        """Tell if the model's tokenizer has a chat template; this takes seconds and loads no model."""
        with _started(config, self.environment or engine_environment(config), self.worker) as process:
            process.send([_job(config, "describe"), None])
            for event in process.events():
                if event["event"] == "described":
                    return bool(event["chat_template"])
                if event["event"] == "failed":
                    raise process.failure(event)
            raise process.death()

    def answers(
        self, config: GenerationConfig, requests: Iterable[Request]
    ) -> Generator[tuple[Request, Reply | RequestError, float], None, None]:
        """Yield each request once, with its reply or error and its duration in seconds, as soon as it has ended.

        A request that the model cannot answer, for example because the prompt is too long, has an error. Closing the
        generator ends the worker; requests that were already yielded stay valid.
        """
        environment = self.environment or engine_environment(config)
        served_model = config.model.partition(":")[2]
        waiting = dict(enumerate(requests))
        if not waiting:
            return
        bodies = [{"id": number, **self.body(request)} for number, request in waiting.items()]
        with _started(config, environment, self.worker) as process:
            process.send([_job(config, "generate"), *bodies, None])
            for event in process.events():
                match event["event"]:
                    case "loaded":
                        served_model += f"@{event['commit']}" if event["commit"] else ""
                        logger.info("%s is loaded by %s (%.1f s)", served_model, event["engine"], event["seconds"])
                    case "answered" | "rejected":
                        request = waiting.pop(event["id"], None)
                        if request is None:
                            raise GenerationError(
                                f"{config.model}: the engine's worker program answered request {event['id']} twice: "
                                "correct the program, which must answer each request once"
                            )
                        if event["event"] == "rejected":
                            yield request, RequestError("unanswerable", event["message"]), 0.0
                        else:
                            yield request, _reply(config, request, event, served_model), event["seconds"]
                    case "failed":
                        raise process.failure(event)
                    case "ended" if not waiting:
                        process.wait()
                        return
            raise process.death(len(waiting))


def _reply(config: GenerationConfig, request: Request, event: Mapping[str, Any], served_model: str) -> Reply:
    samples: Sequence[Mapping[str, Any]] = event["answers"]
    if len(samples) != len(request.sample_indices):
        given = f"{len(samples)} answers for {len(request.sample_indices)} samples of {request.task_id}"
        raise GenerationError(f"{config.model}: the engine's worker must give an answer per sample, but gave {given}")
    answers = tuple(
        # The original does the same with the answers of open models; its published scores include it.
        Answer(one["text"].replace("\t", "    "), finish_reason(one["finish_reason"]))
        for one in samples
    )
    usage = TokenUsage(event["prompt_tokens"], sum(one["tokens"] for one in samples))
    return Reply(answers, usage, served_model)


def _job(config: GenerationConfig, task: str) -> dict[str, Any]:
    settings, model = config.offline.model_dump(mode="json"), config.model.partition(":")[2]
    for key in ("tokenizer", "lora"):
        settings[key] = folder_or_repository(settings[key], f"generation.offline.{key}")
    return {"task": task, "model": folder_or_repository(model, "generation.model"), "settings": settings}


def folder_or_repository(name: str, setting: str) -> str:
    """Return the absolute path if ``name`` is a folder; return the name of a hub repository unchanged."""
    folder = user_path(name)
    if name and folder.is_dir():
        return str(folder.resolve())
    if name.startswith(("/", "./", "../", "~")):
        raise GenerationError(
            f"{setting}: {name} is no folder: name a folder that holds a model, or OWNER/NAME on the hub"
        )
    return name
