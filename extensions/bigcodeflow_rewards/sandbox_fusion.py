"""Routes of SandboxFusion's protocol that trainers call: each request becomes a batch with a single item.

Field names are those of SandboxFusion. A request for a feature that this service lacks is refused, not ignored.
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
    """Python script to run for its output."""

    code: str = Field(examples=["print('hello')"])
    """Python text, run as a script in a new interpreter."""
    language: Literal["python"]
    """Other languages are refused."""
    run_timeout: float = Field(default=_DEFAULT_SECONDS, gt=0, le=86_400, allow_inf_nan=False)
    """Time limit in seconds, of CPU time and of wall time without waiting for a core."""
    compile_timeout: float = _DEFAULT_SECONDS
    """Unused: the compilation of Python text counts in ``run_timeout``."""
    memory_limit_MB: int = Field(default=-1, ge=-1)  # noqa: N815 -- the protocol's name
    """Memory limit of all processes of the script, in MiB; -1 and 0 take the service's default."""
    stdin: str | None = None
    """Standard input; null: empty."""
    files: dict[str, str | None] = Field(default_factory=dict)
    """File contents in base64, by path below the working folder; null means an empty file."""
    fetch_files: list[str] = Field(default_factory=list, max_length=0)
    """Must be empty, because no files are returned: print the data that you need."""
    args: list[str] = Field(default_factory=list, max_length=0)
    """Arguments of the script; must be empty."""


class Options(ApiModel):
    """Options of a submission beyond the protocol's fields; unknown options, for other services, are ignored."""

    model_config = ConfigDict(extra="ignore")

    fail_fast: bool = False
    """True: the program ends at its first failing test, and ``pass_share`` is then null."""


class SubmissionConfig(ApiModel):
    """Settings for judging a completion."""

    provided_data: dict[str, Any] | list[dict[str, Any]] | None = None
    """The task, or a list of tasks with the task that has the request's id. ``test`` is required: a text with a
    unittest class TestCases, a script or list of assertions that have to hold, or an object with such a test in its
    field ``code``. ``code_prompt`` is put in front of the program; with ``canonical_solution`` a pass is checked;
    ``entry_point`` is the function's name, task_func by default."""
    language: Literal["python", "pytest"] | None = None
    """Other languages are refused."""
    run_timeout: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """Time limit in seconds, of CPU time and of wall time without waiting for a core; null: 20 s."""
    compile_timeout: float | None = None
    """Unused."""
    custom_extract_logic: None = None
    """Refused: the service executes no code outside a sandbox."""
    dataset_type: str | None = None
    """Unused."""
    locale: str | None = None
    """Unused."""
    is_fewshot: bool | None = None
    """Unused."""
    extra: Options = Options()
    """Further options."""


class SubmitRequest(ApiModel):
    """Model's answer to a task, and the task itself."""

    dataset: str
    """Any name: the service holds no data sets."""
    id: int | str
    """Id of the task; the response has the same ``id``."""
    completion: str
    """The model's answer, from which the robust sanitizer extracts the program."""
    config: SubmissionConfig
    """The task, and settings for judging the completion."""


class CommandRunResult(ApiModel):
    """Result of a process."""

    status: Literal["Finished", "TimeLimitExceeded"]
    """'Finished' if the process ended within its time limit; else 'TimeLimitExceeded'."""
    execution_time: float
    """Wall time in seconds."""
    return_code: int | None
    """Exit code, above 128 after a signal; null after the time limit."""
    stdout: str
    """Standard output; its end, if it is longer than the service keeps."""
    stderr: str
    """Standard error; its end, if it is longer than the service keeps."""


class RunCodeResponse(ApiModel):
    """Result of a script. If nothing is known about the script, the HTTP status is 504 instead."""

    status: Literal["Success", "Failed"]
    """'Success' if the process ended with exit code 0; else 'Failed'."""
    message: str
    """Reason of a failure that the exit code does not show, and notes on shortened output."""
    compile_result: None = None
    """Always null: Python has no separate compilation."""
    run_result: CommandRunResult
    """Result of the process."""
    executor_pod_name: None = None
    """Always null."""
    files: dict[str, str] = Field(default_factory=dict)
    """Always empty."""


class TestCase(ApiModel):
    """Result of one test of the task."""

    __test__ = False  # no test class of pytest, whatever its name begins with

    passed: bool
    """True if the test passed."""
    exec_info: RunCodeResponse
    """Time of the test, and its traceback as standard error."""
    test_info: dict[str, str]
    """``name`` and ``outcome`` of the test, as in a verdict."""


class Judgement(ApiModel):
    """Values from which trainers compute a reward."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True)

    passed: bool = Field(alias="pass")
    """The same as ``accepted``."""
    pass_share: float | None
    """Share of the expected tests that passed, as in ``verdict``."""
    verdict: Verdict
    """Verdict with all its fields."""


class EvalResult(ApiModel):
    """Verdict on a completion. If nothing is known about the completion, the HTTP status is 504 instead."""

    id: int | str
    """The request's ``id``."""
    accepted: bool
    """True if every test passed, and the program did not tamper."""
    extracted_code: str
    """The program that was extracted from the completion."""
    full_code: str
    """The executed program: the task's code_prompt, if any, and the extracted program."""
    test_code: str
    """The test text."""
    tests: list[TestCase]
    """One entry for each test that has to pass."""
    extra: Judgement
    """Pass, pass share and verdict."""


class Submission(NamedTuple):
    """Request to judge a completion, as a batch with a single item, and the program from the completion."""

    batch: ParsedBatch
    request: SubmitRequest
    solution: str

    def response(self, verdict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response's fields; raise RequestRefusedError if the verdict says nothing about the program."""
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
    """Run a Python script and return its output."""
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
    """Return the response's fields; raise RequestRefusedError if the verdict says nothing about the script."""
    timed_out = verdict["status"] == "timeout"
    launched = verdict["status"] == "crash" and verdict["exit"].startswith("exit ")
    if not (launched or timed_out or verdict["status"] in ("out_of_memory", "tampered")):
        raise not_judged(verdict["module_trace"] or verdict["exit"])
    code = None if timed_out else int(verdict["exit"].split()[1]) if launched else 137
    messages = ["" if launched else f"ended because of {verdict['failure_kind']}"]
    messages += [f"{name} was longer: only its end is kept" for name in _STREAMS if verdict[f"{name}_truncated"]]
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
    """Return the error (status 504) for a program that could not be judged.

    504 is the only status after which all known clients repeat the request. After the protocol's own SandboxError, some
    clients do not repeat the request, and score the program as failed.
    """
    line = f"the service could not judge the program ({reason[-500:].strip()}): send it again"
    return request_parsing.busy(line, HTTPStatus.GATEWAY_TIMEOUT)


def _batch(item: Item, memory_mib: int = 0) -> BatchRequest:
    if 0 < memory_mib < _LEAST_MEMORY_MIB:
        raise refusal([f"memory_limit_MB: {memory_mib} is too little: ask for {_LEAST_MEMORY_MIB} MiB or more"])
    return BatchRequest(items=[item], limits=RequestedLimits(memory_mib=memory_mib if memory_mib > 0 else None))


def _wrong_files(files: Mapping[str, str | None]) -> Iterator[str]:
    for name, content in files.items():
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name or path.name == _SCRIPT:
            yield f"files: {name!r} must be a path below the working folder, other than {_SCRIPT}: rename it"
        try:
            base64.b64decode(content or "", validate=True)
        except (binascii.Error, ValueError):  # ValueError: characters beyond ASCII
            yield f"files: the content of {name!r} is not base64: encode the content"


def _row_of(request: SubmitRequest) -> dict[str, Any]:
    """Return the task of a submission; refuse it if fields have the wrong type or are not supported."""
    given = request.config.provided_data
    rows = [given] if isinstance(given, dict) else [row for row in given or () if row.get("id") == request.id]
    if len(rows) != 1:
        raise refusal(
            [f"config.provided_data has {len(rows)} tasks with the id {request.id!r}: send exactly one such task"]
        )
    row = dict(rows[0])
    test, labels = row.get("test"), row.get("labels")
    optional = ("code_prompt", "complete_prompt", "canonical_solution", "entry_point")
    wrong = [f"{name}: must be a text" for name in optional if not isinstance(row.get(name), str | None)]
    if isinstance(test, dict):
        wrong += ["test.asset: files of a test are not supported: leave it empty"] if test.get("asset") else []
        test = test.get("code")
    if isinstance(test, list) and all(isinstance(line, str) for line in test):
        test = "\n".join(test)
    wrong += [] if isinstance(test, str) else ["test: must be a text"]
    language = labels.get("programming_language") if isinstance(labels, dict) else None
    wrong += [] if language in (None, "python") else [f"labels.programming_language: {language!r} is not python"]
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
