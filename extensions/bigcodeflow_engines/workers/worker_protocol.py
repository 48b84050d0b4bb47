"""Protocol between the driver (`offline`) and an engine's worker, in JSON lines; also converts prompts to tokens.

The driver writes to the worker's standard input: the job, then the requests, then ``null``. It then keeps standard
input open. When standard input ends, the worker kills its whole process group, so that no engine is left behind. The
worker answers on a separate file descriptor, because engines may print anything on standard output:

``loaded``    the model can be asked: ``engine``, ``commit``, ``seconds``
``described`` the answer to a job that only asks about the model's tokenizer: ``chat_template``
``answered``  a request is done: ``id``, ``prompt_tokens``, ``seconds``, ``answers`` (text, finish_reason, tokens)
``rejected``  a request cannot be answered: ``id``, ``message``
``failed``    the worker cannot continue: ``kind``, ``message``; the last message
``ended``     all requests were answered or rejected; the last message

An object without a line break after it was cut off by a kill and is ignored.
"""

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TextIO


class WorkerError(Exception):
    """Error that ends the worker; its ``kind`` decides which remedy the user is shown."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class WorkerJob:
    task: str
    """'generate', or 'describe', which examines the tokenizer and loads no model."""
    model: str
    settings: Mapping[str, Any]
    """Settings of the section generation.offline."""


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    id: int
    form: str
    messages: Sequence[Mapping[str, str]]
    text: str
    sampling: Mapping[str, Any]
    """Parameters that were set, by name."""
    extra: Mapping[str, Any]
    """Further parameters of the engine; ``chat_template_kwargs`` goes to the chat template."""
    seeds: Sequence[int | None]
    """Seed, or None, for each requested sample."""

    @property
    def engine_parameters(self) -> dict[str, Any]:
        """Parameters in ``extra`` for the engine, without the parameters of the chat template."""
        return {name: value for name, value in self.extra.items() if name != "chat_template_kwargs"}


@dataclass(frozen=True, slots=True)
class WorkerSample:
    text: str
    finish_reason: str
    tokens: int
    """Number of tokens that the model wrote, including the end token."""


@dataclass(frozen=True, slots=True)
class Answered:
    id: int
    prompt_tokens: int
    seconds: float
    """Time from passing the request to the engine until its last sample."""
    answers: Sequence[WorkerSample]


@dataclass(frozen=True, slots=True)
class Rejected:
    id: int
    message: str


class LoadedModel(Protocol):
    name: str
    commit: str

    def answer(self, requests: Sequence[WorkerRequest]) -> Iterator[Answered | Rejected]:
        """Yield the result of each request once, as soon as it is done, in any order."""


def serve(
    load: Callable[[WorkerJob], LoadedModel], describe: Callable[[WorkerJob], Mapping[str, Any]] | None = None
) -> None:
    """Do the job that standard input states; send ``ended`` and return, or send ``failed`` and exit with status 1."""
    began = time.monotonic()
    out = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    os.set_inheritable(out.fileno(), False)
    lines = sys.stdin.buffer
    job = WorkerJob(**json.loads(lines.readline()))
    requests = []
    while (data := json.loads(lines.readline())) is not None:
        requests.append(WorkerRequest(**data))
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    try:
        if job.task == "describe":
            _send(out, "described", **(describe or describe_tokenizer)(job))
        else:
            engine = load(job)
            _send(out, "loaded", engine=engine.name, commit=engine.commit, seconds=time.monotonic() - began)
            for done in engine.answer(requests):
                _send(out, type(done).__name__.lower(), **asdict(done))
    except Exception as error:  # noqa: BLE001 -- the process boundary: whatever an engine raises has to be reported
        kind = error.kind if isinstance(error, WorkerError) else error_kind(error)
        _send(out, "failed", kind=kind, message=_one_line(error))
        sys.stderr.flush()
        os._exit(1)  # an engine that failed may hang in its own cleanup
    _send(out, "ended")


#: Kind of failure, and the class names and texts that indicate it; the first line that matches is used. Classes are not
#: imported, because a worker may fail before its engine can be imported.
_SIGNS = (
    ("engine_missing", ("ModuleNotFoundError",), ()),
    ("out_of_memory", ("OutOfMemoryError", "MemoryError"), ("out of memory", "available memory", "free memory")),
    ("forbidden", ("GatedRepoError",), ("gated repo", "401 client error")),
    ("remote_code", (), ("trust_remote_code",)),
    ("bad_settings", ("ValidationError",), ()),
    ("model_missing", ("RepositoryNotFoundError", "RevisionNotFoundError", "LocalEntryNotFoundError"), ()),
    ("model_missing", ("OfflineModeIsEnabled", "FileNotFoundError"), ("is not a local folder", "couldn't connect")),
    ("model_missing", (), ("outgoing traffic has been disabled", "offline mode")),
)


def error_kind(error: BaseException) -> str:
    """Return the kind of an error of an engine or library; the kind decides which remedy the user is shown."""
    names = {base.__name__ for base in type(error).__mro__}
    text = str(error).lower()
    for kind, classes, parts in _SIGNS:
        if names.intersection(classes) or any(part in text for part in parts):
            return kind
    return "other"


def _end_with_the_driver() -> None:
    while os.read(0, 4096):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _send(out: TextIO, event: str, **content: Any) -> None:
    out.write(json.dumps({"event": event, **content}) + "\n")
    out.flush()


def _one_line(error: BaseException) -> str:
    if isinstance(error, WorkerError):
        text = str(error)
    elif hasattr(error, "errors"):  # pydantic's own text repeats whole configurations
        text = "; ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
    else:
        text = f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:400].removesuffix(":")


def load_tokenizer(job: WorkerJob) -> Any:
    transformers = importlib.import_module("transformers")
    settings = job.settings
    own = not settings["tokenizer"]
    return transformers.AutoTokenizer.from_pretrained(
        job.model if own else settings["tokenizer"],
        revision=(settings["revision"] or None) if own else None,
        trust_remote_code=settings["trust_remote_code"],
    )


def describe_tokenizer(job: WorkerJob) -> Mapping[str, Any]:
    """Return ``chat_template``: True if the tokenizer has a chat template; without it, a model only continues text."""
    return {"chat_template": bool(load_tokenizer(job).chat_template)}


def prompt_tokens(tokenizer: Any, asked: WorkerRequest, context_tokens: int) -> list[int] | Rejected:
    """Return the prompt's token IDs, or a rejection if the prompt is empty or too long."""
    prompt = _token_ids(tokenizer, asked)
    if 0 < len(prompt) < context_tokens:
        return prompt
    problem = f"the prompt has {len(prompt):,} tokens; the model takes {context_tokens - 1:,}, plus one for the answer"
    return Rejected(asked.id, problem)


def _token_ids(tokenizer: Any, asked: WorkerRequest) -> list[int]:
    if asked.form == "direct":  # gets the special tokens that the tokenizer adds to any text
        return list(tokenizer.encode(asked.text))
    if not tokenizer.chat_template:
        raise WorkerError("no_chat_template", "its tokenizer has no chat template")
    # A template writes its own special tokens: a doubled begin-of-text token lowers the scores of some models.
    return list(tokenizer.encode(_rendered(tokenizer, asked), add_special_tokens=False))


def _rendered(tokenizer: Any, asked: WorkerRequest) -> str:
    jinja2: Any = importlib.import_module("jinja2")
    prefill = asked.form == "prefill"
    turns = [{"role": message["role"], "content": message["text"]} for message in asked.messages]
    options = dict(asked.extra.get("chat_template_kwargs") or {})
    try:
        text: str = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=not prefill, continue_final_message=prefill, **options
        )
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        raise WorkerError("chat_template", f"its chat template does not accept the prompt: {error}") from error
    if prefill:
        begun = turns[-1]["content"]
        stripped = begun.rstrip()
        if not text.endswith(begun) and text.endswith(stripped):
            text += begun[len(stripped) :]  # some templates trim the turn, but the line break after the fence must stay
    return text
