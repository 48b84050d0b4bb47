"""Protocol between clients and the programs that execute for them: `bigcodeflow serve`, a space, or a host program.

The models below are the bodies of requests and responses. Over HTTP (``judge.service``) each kind of request has a
path. Over standard streams (``judge.remote.host``) a message is one line of JSON in ASCII (request → response):

``begin``    protocol, code_version, limits, start  → ``ready``: code_version, environment, capabilities, cores, slots
``prepare``  number, and a PrepareRequest           → ``prepared``: number, and a Prepared
``item``     number, item: an Item                  → ``long``: number, once the item leaves its slot;
                                                      ``outcome``: number, outcome

A host also sends ``alive`` every few seconds, with the numbers of its open items, and ``refused`` with a message before
the host ends. The client chooses each number, and the host returns the same number. Clients judge outcomes, so that
verdicts mean the same everywhere.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.judge.environments import RemoteEnvironment
from bigcodeflow.judge.host.base import Capabilities, Outcome
from bigcodeflow.judge.items import SHORTEST_LIMIT_SECONDS, WorkItem

#: Version of the protocol over standard streams; bump when an older host would misunderstand a newer client.
PROTOCOL = 3
#: Seconds between two signs of life.
ALIVE_SECONDS = 5.0

#: Event of an outcome's frames → fields that it must have, because verdicts are made from them.
_FRAMES: dict[str, tuple[str, ...]] = {
    "started": (),
    "imported": (),
    "loaded": ("tests",),
    "module_failed": ("exception", "phase", "trace"),
    "test": ("name", "outcome", "seconds"),
    "class_failed": ("exception", "trace"),
    "tampering": ("what",),
    "end": (),
}
#: Fields of an item that a client sends if it judges outcomes itself.
_PLANNED = ("preload", "zygote", "expected_memory_mib", "long_after_seconds")
_SENT = ("program", "test", "time_seconds", *_PLANNED, "stop_after", "separate", "fail_fast", "from_memory")


class ProtocolError(BigCodeFlowError):
    """Message that is not part of the protocol, or has invalid fields."""


#: Module name as in an import statement; clients name the modules that a warm start imports.
_Module = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=300)]
_EXAMPLE_TEST = (
    "import unittest\n\nclass TestCases(unittest.TestCase):\n"
    "    def test_answer(self):\n        self.assertEqual(task_func(), 42)\n"
)


class ApiModel(BaseModel):
    """Body of a request or response; OpenAPI descriptions of its fields are the attribute docstrings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Item(ApiModel):
    """One program and the test that judges it."""

    id: str = Field(min_length=1, max_length=200)
    """The client's name for the item, unique in its batch; the result has the same ``id``."""
    program: str = Field(examples=["def task_func():\n    return 42\n"])
    """Program as Python text, executed before the test."""
    test: str = Field(examples=[_EXAMPLE_TEST])
    """Python text with a unittest class TestCases, executed after the program in the same module."""
    expected_tests: list[str] | None = None
    """Names of the test methods that have to pass; null: all that the test text defines, without executing it."""
    time_seconds: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """Limit in seconds of CPU time, and of wall time without waiting for a core; null: the service's default."""
    key: str = Field(default="", max_length=200)
    """Equal items with equal keys share one execution, while it runs and for some minutes after. A new key requests a
    new execution; with the same key, a repeated request costs no execution."""
    task_modules: list[str] | None = None
    """Top-level modules that the task needs: if the environment lacks one, its failed import is an infra_error and
    never the program's failure; null: the modules that the test imports."""
    preload: list[_Module] | None = None
    """Modules that the item imports first, as planned by /v1/prepare; null: the service itself plans the start."""
    zygote: list[list[_Module]] | None = Field(default=None, max_length=40)
    """Modules, in layers, that are imported in the process from which the item is forked, as planned by /v1/prepare."""
    expected_memory_mib: float = Field(default=200.0, ge=0, le=1_048_576, allow_inf_nan=False)
    """Memory that the item probably needs, in MiB; for planning only."""
    long_after_seconds: float = Field(default=SHORTEST_LIMIT_SECONDS, gt=0, allow_inf_nan=False)
    """CPU seconds after which the item pauses while other items wait; for planning only."""
    stop_after: int = Field(default=0, ge=0, le=1_000_000)
    """Number of tests after which the execution ends; 0: all tests run."""
    separate: bool = False
    """True: the program runs in a separate process, and the test text calls the program by ``__separated__``; for
    clients that check passes themselves."""
    fail_fast: bool = False
    """True: the execution ends at the first failing test, and later tests have the outcome 'missing'."""
    from_memory: bool = False
    """True: the execution is repeated until it reads no file from disk; for clients that check passes themselves."""
    reference: str | None = Field(default=None, examples=["def task_func():\n    return 42\n"])
    """Program that solves the task. If it is given, a pass is checked: program and reference are executed against tests
    that contradict ``test``, and a program that passes such a test did not solve the task."""
    entry_point: str = Field(default="task_func", min_length=1, max_length=200)
    """Name of the function that the test calls; needed to check a pass."""


class RequestedLimits(ApiModel):
    """Limits of each item of the batch; null: the service's default. Values above the service's bounds are refused."""

    memory_mib: int | None = Field(default=None, ge=64)
    """Resident memory of all processes of an item, in MiB."""
    address_space_mib: int | None = Field(default=None, ge=256)
    """Address space of each process, in MiB."""
    processes: int | None = Field(default=None, ge=8)
    """Processes and threads of an item at the same time."""
    disk_mib: int | None = Field(default=None, ge=1)
    """Size of an item's temporary folder, in MiB."""
    output_kib: int | None = Field(default=None, ge=1)
    """Kept size of standard output, and of standard error, in KiB; only the end of longer output is kept."""


class BatchRequest(ApiModel):
    """Items to execute."""

    items: list[Item] = Field(min_length=1)
    """Items of the batch: at least one, at most ``max_batch`` of /v1/info."""
    limits: RequestedLimits = RequestedLimits()
    """Limits of each item."""
    start: Start = "warm"
    """'warm' forks each item from a process with imported libraries, 'cold' starts an interpreter for each item."""
    detail: Literal["verdict", "outcome"] = "verdict"
    """Content of a result: 'verdict', or 'outcome', all observations of an execution, for clients that judge."""
    code_version: str = ""
    """Version of bigcodeflow that the service must have, else the service answers 409; empty: any version."""
    environment_sha: str = ""
    """Sha of the environment that the service must have, else the service answers 409; empty: any environment."""


class TestOutcome(ApiModel):
    """Result of a test method."""

    __test__ = False  # no test class of pytest, whatever its name begins with

    name: str
    """Name of the test method."""
    outcome: str
    """pass, fail, error, skip, expected_failure, unexpected_success or missing; only 'pass' counts as passed."""
    seconds: float
    """Wall time in seconds."""
    trace: str
    """Traceback; empty if nothing was raised."""


class Verdict(ApiModel):
    """Verdict on one execution."""

    status: Literal["pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered", "infra_error"]
    """'infra_error' says nothing about the program: send the item again, under a fresh key."""
    failure_kind: str
    """Kind of failure: assertion, unusable_result, wrong_api, missing_setup, import, exception, syntax, timeout,
    memory, crash, tampering, infrastructure or no_tests; empty for a pass."""
    tests: list[TestOutcome]
    """One entry for each expected test."""
    pass_share: float | None
    """Share of the expected tests that passed: 0 if the program tampered; null for an infra_error, or if the execution
    ended at the first failing test."""
    module_trace: str
    """Traceback if the program or the test class did not load; else empty or the reason of an infra_error."""
    tests_expected: int
    """Number of tests that have to pass."""
    tests_run: int
    """Number of tests that ended."""
    wall_seconds: float
    """Wall time of the execution, in seconds."""
    cpu_seconds: float
    """CPU time of all processes of the execution, in seconds."""
    max_rss_mib: float
    """Largest resident memory of the execution, in MiB."""
    stdout: str
    """Standard output; only the end of an output longer than ``limits.output_kib``."""
    stderr: str
    """Standard error; only the end of an output longer than ``limits.output_kib``."""
    stdout_truncated: bool
    """True if ``stdout`` holds only the end of the output."""
    stderr_truncated: bool
    """True if ``stderr`` holds only the end of the output."""
    attempts: int
    """Number of executions; an execution that was disturbed from outside is repeated."""
    tampering: list[str]
    """Evidence of tampering: results of altered tests that no correct program has, and forged reports of tests."""
    integrity: Literal["checked", "tampered", "no contradiction", "not checked"] | None
    """Result of the check of a pass; 'not checked': no ``reference``, or an unfinished check; null: no pass."""
    environment_sha: str
    """Sha that identifies the libraries and data of the execution."""
    exit: str
    """End of the execution: 'exit N', 'signal N', 'killed: LIMIT', or the reason why the program did not start."""


class Result(ApiModel):
    """Line of the response to a batch, for an item that ended. Blank lines show that the service is alive."""

    id: str
    """The item's ``id``."""
    verdict: Verdict | None = None
    """Verdict on the item; null if the batch asks for outcomes."""
    outcome: dict[str, Any] | None = None
    """Observations of the execution; null if the batch asks for verdicts."""


class ProgramText(ApiModel):
    """Program, and the position of its test in the request."""

    program: str
    """Text of the program."""
    test: int = Field(ge=0)
    """Position of the program's test in ``tests``, starting at 0."""


class PrepareRequest(ApiModel):
    """Programs whose warm starts are planned together."""

    tests: list[str]
    """Test texts, without repetitions."""
    programs: list[ProgramText]
    """Programs in any order."""


class PlannedStart(ApiModel):
    """Planned start of an item: send the item with these fields."""

    preload: list[str]
    """Modules that the item imports first."""
    zygote: list[list[str]]
    """Modules, in layers, that are imported in the process from which the item is forked; empty: no modules."""


class Prepared(ApiModel):
    """Planned start of each program, in the order of the request."""

    starts: list[PlannedStart]
    """Planned starts, one for each program."""


class HostInfo(ApiModel):
    """Description that a host or a service gives of itself."""

    model_config = ConfigDict(extra="ignore")  # of a newer server, whose version is refused with a better message

    code_version: str
    """Versions of bigcodeflow and of its harness."""
    environment: RemoteEnvironment
    """Libraries and data that items are executed with."""
    capabilities: Capabilities
    """Guarantees of the sandboxes."""
    cores: int
    """Cores that items may keep busy."""
    slots: int
    """Most items that run at the same time, not counting items that take long."""


class Info(HostInfo):
    """Description that a service gives of itself: the fields of a host, limits, and counts of items and executions."""

    limits: LimitsConfig
    """Upper bounds of an item's limits; only ``time_seconds`` is a default, for items that ask for no time limit."""
    most_seconds: float
    """Longest time limit that an item may ask for, in seconds."""
    max_batch: int
    """Most items of a batch."""
    max_body_mib: int
    """Largest size of a request, in MiB."""
    max_queue: int
    """Most items of all clients together that wait or run at the same time."""
    open_items: int
    """Items of all clients that wait or run at present."""
    executions: int
    """Executions since the start of the service."""


def line(message: Mapping[str, Any]) -> bytes:
    """Encode a message as one line of JSON in ASCII, which can also hold the lone surrogates of a model's text."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream that arrives in pieces of any size; leave out an incomplete last line."""
    parts: list[bytes] = []
    for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield b"".join((*parts, end))
            parts = []
        parts.append(rest)


def message_of(text: bytes) -> dict[str, Any]:
    """Parse a line as a message; errors do not quote the line, because it may hold another client's program."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(f"received a line of {len(text):,} bytes that is not JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(f"received a JSON line of {len(text):,} bytes that is not an object with a `type`")
    return message


def item_fields(item: WorkItem, *, name: str, key: str = "") -> dict[str, Any]:
    """Return the fields of an ``Item`` for a client that judges outcomes itself.

    An item that equals an earlier item, including ``key``, is not executed again.
    """
    sent = {field: getattr(item, field) for field in _SENT}
    return {"id": name, "key": key, "expected_tests": [], "task_modules": []} | sent


def work_item_of(item: Item, default_seconds: float) -> WorkItem:
    """Return the work item for a client's item, with an empty ``verdict_key``.

    If ``expected_tests`` or ``task_modules`` is null, the work item has an empty value, as only verdicts need it.
    """
    sent = {field: getattr(item, field) for field in _SENT}
    sent |= {"preload": tuple(item.preload or ()), "zygote": tuple(map(tuple, item.zygote or ()))}
    return WorkItem(
        verdict_key="",
        expected_tests=tuple(item.expected_tests or ()),
        missing_imports=frozenset(item.task_modules or ()),
        **sent | {"time_seconds": item.time_seconds or default_seconds},
    )


def parse_outcome(value: object) -> Outcome:
    """Parse an outcome; raise ProtocolError unless its frames (events) have all fields that a verdict needs."""
    if not isinstance(value, dict) or value.keys() - _OUTCOME_FIELDS:
        raise ProtocolError("received an outcome that is not an object, or has unknown fields")
    try:
        outcome = _OUTCOME.validate_python(value)
    except ValidationError as error:
        raise ProtocolError(f"received an outcome whose field {error.errors()[0]['loc']} is invalid") from None
    for frame in outcome.frames:
        required = _FRAMES.get(str(frame.get("event")))
        if required is None or not all(name in frame for name in required):
            raise ProtocolError("received an outcome with a frame whose event is unknown or lacks required fields")
    return outcome


_OUTCOME = TypeAdapter(Outcome)
_OUTCOME_FIELDS = frozenset(field.name for field in fields(Outcome))


def prepare_requests(items: Sequence[WorkItem], max_bytes: float) -> Iterator[dict[str, Any]]:
    """Yield requests to plan the starts of items; each has at most ``max_bytes`` if possible, and each test once."""
    tests: dict[str, int] = {}
    programs: list[dict[str, Any]] = []
    size_bytes = 0
    for item in items:
        program_bytes, test_bytes = len(line({"program": item.program, "test": len(items)})), len(line({"": item.test}))
        added = program_bytes + (0 if item.test in tests else test_bytes)
        if programs and size_bytes + added > max_bytes:
            yield {"tests": list(tests), "programs": programs}
            tests, programs, size_bytes, added = {}, [], 0, program_bytes + test_bytes
        programs.append({"program": item.program, "test": tests.setdefault(item.test, len(tests))})
        size_bytes += added
    yield {"tests": list(tests), "programs": programs}


def with_starts(
    items: Sequence[WorkItem], prepare: Callable[[dict[str, Any]], Mapping[str, Any]], max_bytes: float = float("inf")
) -> list[WorkItem]:
    """Return the items with the starts that ``prepare`` gets from a host or service; bad plans raise ProtocolError."""
    responses = [prepare(request) for request in prepare_requests(items, max_bytes)]
    try:
        starts = [start for one in responses for start in Prepared.model_validate({"starts": one["starts"]}).starts]
    except (KeyError, ValidationError):
        starts = []
    if len(starts) != len(items):
        raise ProtocolError("received plans that do not match the programs that were sent")
    return [
        replace(item, preload=tuple(start.preload), zygote=tuple(map(tuple, start.zygote)))
        for item, start in zip(items, starts, strict=True)
    ]


def programs_of(request: PrepareRequest) -> list[tuple[str, str]]:
    """Return each program with the text of its test; raise ProtocolError if the request lacks that test."""
    for number, one in enumerate(request.programs):
        if one.test >= len(request.tests):
            raise ProtocolError(
                f"programs.{number}.test is {one.test}, but it must be a position in `tests`, at least 0 and below "
                f"{len(request.tests)}"
            )
    return [(one.program, request.tests[one.test]) for one in request.programs]
