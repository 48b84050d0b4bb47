"""Routes of SandboxFusion that trainers call: conversion of bodies to a batch of one item, and the responses.

Field names are those of that protocol. Features that this service does not have are refused, never ignored.
"""

import base64
import binascii
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

from fastapi import APIRouter, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response

from bigcodeflow.core.calibration import calibrate, executed_program
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.remote.protocol import ApiModel, BatchRequest, Item, RequestedLimits, Verdict
from bigcodeflow.judge.service import request_parsing
from bigcodeflow.judge.service.request_parsing import ParsedBatch, RequestRefusedError, ServingSettings, refusal
from bigcodeflow.judge.service.routes import OwnService, Routes, body_options, json_response, read_body
from bigcodeflow.sanitizing import sanitize

_DEFAULT_SECONDS = 10.0
_DEFAULT_SUBMISSION_SECONDS = 20.0
#: Longer completions are executed unchanged: sanitizing them takes seconds, and no honest one is so long.
_MOST_READ_CHARACTERS = 100_000
#: Least memory that ``RequestedLimits`` allows; Python itself needs less.
_LEAST_MEMORY_MIB = 64
_SCRIPT = "main.py"
#: Executed as the program: it runs the script in a separate process, and exits with that process's exit code.
_LAUNCHER = """import base64, json, os, subprocess, sys, tempfile
job = json.loads({job})
for name, content in job["files"].items():
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(base64.b64decode(content))
with open({script!r}, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
    file.write(job["code"])
with tempfile.TemporaryFile() as stdin:
    stdin.write(job["stdin"].encode("utf-8", "surrogatepass"))
    stdin.seek(0)
    code = subprocess.run([sys.executable, {script!r}], stdin=stdin).returncode
os._exit(code if code >= 0 else 128 - code)
"""
#: Test of the launcher; a launcher that ran the script exits before it.
_AFTER_LAUNCHER = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_end(self):\n        pass\n"
#: Wraps a text without tests, such as a list of assertions, into one test.
_SCRIPT_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_script(self):
        exec(compile({test!r}, "test.py", "exec"), globals())
"""


class RunCodeRequest(ApiModel):
    """Program to run for its output."""

    code: str = Field(examples=["print('hello')"])
    """Python text, run as a script in an interpreter of its own."""
    language: Literal["python"]
    """Other languages are refused."""
    run_timeout: float = Field(default=_DEFAULT_SECONDS, gt=0, le=86_400, allow_inf_nan=False)
    """Time limit in seconds, of CPU time and of wall time without waiting for a core."""
    compile_timeout: float = _DEFAULT_SECONDS
    """Unused: Python text is compiled in the time of its run."""
    memory_limit_MB: int = Field(default=-1, ge=-1)  # noqa: N815 -- the protocol's name
    """Memory of all its processes, in MiB; -1 and 0 take the service's own."""
    stdin: str | None = None
    """Standard input; null: empty."""
    files: dict[str, str | None] = Field(default_factory=dict)
    """Contents in base64 by path below the working folder; null is an empty file."""
    fetch_files: list[str] = Field(default_factory=list, max_length=0)
    """Refused unless empty: print what is needed."""
    args: list[str] = Field(default_factory=list, max_length=0)
    """Refused unless empty."""


class Options(ApiModel):
    """Further options of a submission, beyond the protocol's fields; unknown ones, for other services, are ignored."""

    model_config = ConfigDict(extra="ignore")

    fail_fast: bool = False
    """True ends the program at its first failing test; ``pass_share`` is null then."""


class SubmissionConfig(ApiModel):
    """Settings for judging a completion."""

    provided_data: dict[str, Any] | list[dict[str, Any]] | None = None
    """The task, or several, of which that with the request's id is used. ``test`` is required: a text with a unittest
    class TestCases, a script or list of assertions that have to hold, or either as the field ``code`` of an object.
    ``code_prompt`` is put in front of the program; with ``canonical_solution`` a pass is checked; ``entry_point`` is
    the function's name, task_func without it."""
    language: Literal["python", "pytest"] | None = None
    """Other languages are refused."""
    run_timeout: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """Time limit in seconds, of CPU time and of wall time without waiting for a core; null: 20."""
    compile_timeout: float | None = None
    """Unused."""
    custom_extract_logic: None = None
    """Refused: the service executes no code outside a sandbox."""
    dataset_type: str | None = None
    """Unused, as are the next two."""
    locale: str | None = None
    """Unused."""
    is_fewshot: bool | None = None
    """Unused."""
    extra: Options = Options()
    """Further options."""


class SubmitRequest(ApiModel):
    """A model's answer, with the task that it answers."""

    dataset: str
    """Any name: the service holds no data sets."""
    id: int | str
    """Id of the task; the response has the same ``id``."""
    completion: str
    """The answer; the program is taken out of it as the robust sanitizer does."""
    config: SubmissionConfig
    """The task, and how it is judged."""


class CommandRunResult(ApiModel):
    """Result of a process."""

    status: Literal["Finished", "TimeLimitExceeded"]
    """True if it ended within its time."""
    execution_time: float
    """Wall seconds."""
    return_code: int | None
    """Exit code, above 128 for signals; null where its time ran out."""
    stdout: str
    """Standard output; its end, if it is longer than the service keeps."""
    stderr: str
    """Standard error; its end, if it is longer than the service keeps."""


class RunCodeResponse(ApiModel):
    """Result of a program. If nothing is known about the program, the HTTP status is 504 instead."""

    status: Literal["Success", "Failed"]
    """True if it ended with exit code 0."""
    message: str
    """Why it failed, where its exit code does not say it."""
    compile_result: None = None
    """Always null: Python has no separate compilation."""
    run_result: CommandRunResult
    """Result of the program's process."""
    executor_pod_name: None = None
    """Always null."""
    files: dict[str, str] = Field(default_factory=dict)
    """Always empty."""


class TestCase(ApiModel):
    """Result of one test of the task."""

    __test__ = False  # no test class of pytest, whatever its name begins with

    passed: bool
    """True if it passed."""
    exec_info: RunCodeResponse
    """Its time, and its traceback as standard error."""
    test_info: dict[str, str]
    """``name`` and ``outcome``, as a verdict has them."""


class Judgement(ApiModel):
    """Values that trainers reward."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True)

    passed: bool = Field(alias="pass")
    """The same as ``accepted``."""
    pass_share: float | None
    """The same as in ``verdict``."""
    verdict: Verdict
    """The whole verdict."""


class EvalResult(ApiModel):
    """Verdict on a completion. If nothing is known about it, the HTTP status is 504 instead."""

    id: int | str
    """The request's ``id``."""
    accepted: bool
    """True if every test passed, and the program did not tamper."""
    extracted_code: str
    """The program that was taken out of the completion."""
    full_code: str
    """The program as it was executed: with the task's code_prompt in front, where there is one."""
    test_code: str
    """The test text."""
    tests: list[TestCase]
    """One entry for each test that has to pass."""
    extra: Judgement
    """Pass, pass share and verdict."""


class Submission(NamedTuple):
    """A completion as a batch of one item."""

    batch: ParsedBatch
    request: SubmitRequest
    solution: str

    def response(self, verdict: Mapping[str, Any]) -> dict[str, Any]:
        """Make the response's fields; raise RequestRefusedError if the verdict tells nothing about the program."""
        if verdict["status"] == "infra_error":
            raise not_judged(verdict["module_trace"] or verdict["exit"])
        [item] = self.batch.request.items
        accepted = verdict["status"] == "pass"
        return {
            "id": self.request.id,
            "accepted": accepted,
            "extracted_code": self.solution,
            "full_code": item.program,
            "test_code": item.test,
            "tests": [_test_case(test) for test in verdict["tests"]],
            "extra": {"pass": accepted, "pass_share": verdict["pass_share"], "verdict": verdict},
        }


_STREAMS = ("stdout", "stderr")
_router = APIRouter(tags=["SandboxFusion"])
ROUTES = Routes(_router, (RunCodeRequest, SubmitRequest), password=True)


@_router.post("/run_code", response_model=RunCodeResponse, **body_options(RunCodeRequest, 503, 504))
async def run_code(request: Request, service: OwnService) -> Response:
    """Run a Python script for what it prints."""
    with ExitStack() as held:
        batch = await service.read(await read_body(request, service, held), parse_run)
        return json_response(response_to_run(await service.verdict_of(batch, request.is_disconnected)))


@_router.post("/submit", response_model=EvalResult, **body_options(SubmitRequest, 503, 504))
async def submit(request: Request, service: OwnService) -> Response:
    """Judge a model's answer by the test of the task that comes with it."""
    with ExitStack() as held:
        submission = await service.read(await read_body(request, service, held), parse_submission)
        return json_response(submission.response(await service.verdict_of(submission.batch, request.is_disconnected)))


def parse_run(body: bytes, settings: ServingSettings, environment: InstalledEnvironment) -> ParsedBatch:
    """Convert a body of /run_code to a batch; raise RequestRefusedError with a line for each error."""
    request = request_parsing.validated(body, RunCodeRequest)
    if wrong := list(_wrong_files(request.files)):
        raise refusal(wrong)
    files = {name: content or "" for name, content in request.files.items()}
    job = json.dumps({"code": request.code, "stdin": request.stdin or "", "files": files})
    item = Item(
        id="run",
        key=uuid.uuid4().hex,  # never shared: the output may differ each time
        program=_LAUNCHER.format(job=repr(job), script=_SCRIPT),
        test=_AFTER_LAUNCHER,
        time_seconds=request.run_timeout,
        task_modules=[],
        preload=[],
    )
    return request_parsing.parsed_batch(_batch(item, request.memory_limit_MB), settings, environment)


def response_to_run(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Make the response's fields; raise RequestRefusedError if the verdict tells nothing about the script."""
    timed_out = verdict["status"] == "timeout"
    launched = verdict["status"] == "crash" and verdict["exit"].startswith("exit ")
    if not (launched or timed_out or verdict["status"] in ("out_of_memory", "tampered")):
        raise not_judged(verdict["module_trace"] or verdict["exit"])
    code = None if timed_out else int(verdict["exit"].split()[1]) if launched else 137
    messages = ["" if launched else f"ended for {verdict['failure_kind']}"]
    messages += [f"{name} was longer: this is its tail" for name in _STREAMS if verdict[f"{name}_truncated"]]
    return _run_response(code, verdict["wall_seconds"], verdict, "; ".join(filter(None, messages)))


def parse_submission(body: bytes, settings: ServingSettings, environment: InstalledEnvironment) -> Submission:
    """Convert a body of /submit to a batch; raise RequestRefusedError with a line for each error."""
    request = request_parsing.validated(body, SubmitRequest)
    row = _row_of(request)
    entry_point, code_prompt = row.get("entry_point") or "task_func", row.get("code_prompt") or ""
    mode: Literal["none", "robust"] = "none" if len(request.completion) > _MOST_READ_CHARACTERS else "robust"
    solution = sanitize(request.completion, entry_point=entry_point, mode=mode)
    variant = "calibrated" if code_prompt else "raw"
    reference = None
    if row.get("canonical_solution"):
        reference = calibrate(code_prompt, (row.get("complete_prompt") or "") + row["canonical_solution"])
    item = Item(
        id="submission",
        program=executed_program(code_prompt=code_prompt, solution=solution, variant=variant),
        test=row["test"] if "TestCases" in row["test"] else _SCRIPT_TEST.format(test=row["test"]),
        time_seconds=request.config.run_timeout or _DEFAULT_SUBMISSION_SECONDS,
        fail_fast=request.config.extra.fail_fast,
        reference=reference,
        entry_point=entry_point,
    )
    batch = request_parsing.parsed_batch(_batch(item), settings, environment)
    return Submission(batch, request, solution)


def not_judged(reason: str) -> RequestRefusedError:
    """Make the refusal for a program that could not be judged.

    504 is the only status after which all known clients repeat the request; the protocol's own SandboxError is final
    for some of them, which then score the program as failed.
    """
    line = f"the service could not judge it ({reason[-500:].strip()}): send it again"
    return request_parsing.busy(line, HTTPStatus.GATEWAY_TIMEOUT)


def _batch(item: Item, memory_mib: int = 0) -> BatchRequest:
    if 0 < memory_mib < _LEAST_MEMORY_MIB:
        raise refusal([f"memory_limit_MB: {memory_mib} is too little: ask for {_LEAST_MEMORY_MIB} or more"])
    return BatchRequest(items=[item], limits=RequestedLimits(memory_mib=memory_mib if memory_mib > 0 else None))


def _wrong_files(files: Mapping[str, str | None]) -> Iterator[str]:
    for name, content in files.items():
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name or path.name == _SCRIPT:
            yield f"files: {name!r} is no path below the working folder, or is {_SCRIPT}: name it otherwise"
        try:
            base64.b64decode(content or "", validate=True)
        except (binascii.Error, ValueError):  # ValueError: characters beyond ASCII
            yield f"files: the content of {name!r} is no base64: encode it"


def _row_of(request: SubmitRequest) -> dict[str, Any]:
    """Return the task of a submission; refuse it if fields have the wrong type or are not supported."""
    given = request.config.provided_data
    rows = [given] if isinstance(given, dict) else [row for row in given or () if row.get("id") == request.id]
    if len(rows) != 1:
        raise refusal(
            [f"config.provided_data: {len(rows)} tasks with the id {request.id!r}: send one, as the service has none"]
        )
    row = dict(rows[0])
    test, labels = row.get("test"), row.get("labels")
    optional = ("code_prompt", "complete_prompt", "canonical_solution", "entry_point")
    wrong = [f"{name}: is no text" for name in optional if not isinstance(row.get(name), str | None)]
    if isinstance(test, dict):
        wrong += ["test.asset: files of a test are not offered here"] if test.get("asset") else []
        test = test.get("code")
    if isinstance(test, list) and all(isinstance(line, str) for line in test):
        test = "\n".join(test)
    wrong += [] if isinstance(test, str) else ["test: is no text"]
    language = labels.get("programming_language") if isinstance(labels, dict) else None
    wrong += [] if language in (None, "python") else [f"labels.programming_language: {language!r} is not executed here"]
    if wrong:
        raise refusal(f"config.provided_data.{line}" for line in wrong)
    return row | {"test": test}


def _test_case(test: Mapping[str, Any]) -> dict[str, Any]:
    passed, info = test["outcome"] == "pass", {"name": test["name"], "outcome": test["outcome"]}
    streams = {"stdout": "", "stderr": test["trace"]}
    run = _run_response(0 if passed else 1, test["seconds"], streams, "" if passed else test["outcome"])
    return {"passed": passed, "exec_info": run, "test_info": info}


def _run_response(code: int | None, seconds: float, streams: Mapping[str, Any], message: str) -> dict[str, Any]:
    run = {"status": "TimeLimitExceeded" if code is None else "Finished", "execution_time": seconds}
    run |= {"return_code": code} | {name: streams[name] for name in _STREAMS}
    fixed: dict[str, Any] = {"compile_result": None, "executor_pod_name": None, "files": {}}
    return {"status": "Success" if code == 0 else "Failed", "message": message, "run_result": run} | fixed
