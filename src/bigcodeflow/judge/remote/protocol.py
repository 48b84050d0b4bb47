"""Protocol between clients and the programs that execute for them: `bigcodeflow serve`, a space, or a host program.

The models below are the bodies of requests and responses, the same everywhere. Over HTTP (``judge.service``) each has
an address. Over standard streams (``judge.remote.host``) a message is one line of JSON in ASCII:

``begin``    protocol, code_version, limits, start  → ``ready``: code_version, environment, capabilities, cores, slots
``prepare``  number, and a PrepareRequest           → ``prepared``: number, and a Prepared
``item``     number, item: an Item                  → ``long``: number, once it leaves its slot; ``outcome``: number,
                                                      outcome

A host also sends ``alive`` every few seconds, with the numbers of its open items, and ``refused`` with a message before
it gives up. The client chooses each number, and the host returns it unchanged. Clients judge outcomes themselves, so
that verdicts mean the same everywhere.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.judge.environments import RemoteEnvironment
from bigcodeflow.judge.host.base import Capabilities, Outcome
from bigcodeflow.judge.items import SHORTEST_LIMIT_SECONDS, WorkItem

#: Version of the protocol over standard streams; bump when an older host would misunderstand.
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
    """A message that has no meaning here."""


#: Module name as in an import statement; clients name the modules that a warm start imports.
_Module = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=300)]
_EXAMPLE_TEST = (
    "import unittest\n\nclass TestCases(unittest.TestCase):\n"
    "    def test_answer(self):\n        self.assertEqual(task_func(), 42)\n"
)


class ApiModel(BaseModel):
    """A body of the API; attribute docstrings are its description."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Item(ApiModel):
    """One program and the test that judges it."""

    id: str = Field(min_length=1, max_length=200)
    """The client's name for it, unique in its batch; its result bears it."""
    program: str = Field(examples=["def task_func():\n    return 42\n"])
    """Python text, executed first."""
    test: str = Field(examples=[_EXAMPLE_TEST])
    """Python text with a unittest class TestCases, executed after the program in the same module."""
    expected_tests: list[str] | None = None
    """Names of the test methods that have to pass; without it those that the text defines, read without running it."""
    time_seconds: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """CPU time, and wall time spent waiting; without it the service's own."""
    key: str = Field(default="", max_length=200)
    """Items that are equal, this key included, are executed once while they run and some minutes after. A fresh key
    asks for a fresh execution; the same key makes a repeated request free."""
    task_modules: list[str] | None = None
    """Top-level modules that the task needs: one that the service's environment lacks is an infra_error, whatever the
    program says; without it those that the test imports."""
    preload: list[_Module] | None = None
    """Start of the item as /v1/prepare planned it; without it the service plans the batch itself."""
    zygote: list[_Module] | None = None
    """The second half of the same answer."""
    expected_memory_mib: float = Field(default=200.0, ge=0, le=1_048_576, allow_inf_nan=False)
    """Memory that it probably needs, in MiB; for planning only."""
    long_after_seconds: float = Field(default=SHORTEST_LIMIT_SECONDS, gt=0, allow_inf_nan=False)
    """CPU time after which it gives way to items that wait; for planning only."""
    stop_after: int = Field(default=0, ge=0, le=1_000_000)
    """Tests after which it is ended from outside; 0: it runs to its end."""
    separate: bool = False
    """Whether the program runs in a process of its own, where the test text calls it by ``__separated__``; for
    clients that check passes themselves."""
    fail_fast: bool = False
    """Whether it is ended at its first failing test; the tests after that one are missing then."""
    from_memory: bool = False
    """True if it is executed again while it reads files from the disk; for clients that check passes themselves."""
    reference: str | None = Field(default=None, examples=["def task_func():\n    return 42\n"])
    """A program that solves the task. With it a pass is checked: program and reference are executed against tests that
    contradict this one, and who passes those did not solve the task."""
    entry_point: str = Field(default="task_func", min_length=1, max_length=200)
    """Name of the function that the test calls, for such a check."""


class RequestedLimits(ApiModel):
    """What each item of the batch may use; at most what the service allows, and that where it is left out."""

    memory_mib: int | None = Field(default=None, ge=64)
    """Resident memory of all its processes."""
    address_space_mib: int | None = Field(default=None, ge=256)
    """Address space of each process."""
    processes: int | None = Field(default=None, ge=8)
    """Processes and threads at once."""
    disk_mib: int | None = Field(default=None, ge=1)
    """Size of its temporary folder."""
    output_kib: int | None = Field(default=None, ge=1)
    """Tail of standard output and of standard error that is kept, each."""


class BatchRequest(ApiModel):
    """Items to execute."""

    items: list[Item] = Field(min_length=1)
    """At least one, and at most what /v1/info says."""
    limits: RequestedLimits = RequestedLimits()
    """Bounds of each item."""
    start: Start = "warm"
    """'warm' forks each item from a process that has its libraries imported, 'cold' starts an interpreter for each."""
    detail: Literal["verdict", "outcome"] = "verdict"
    """'verdict' says what an execution means, 'outcome' everything that was observed of it, for clients that judge."""
    code_version: str = ""
    """Where given: the service has to be of this version, or answers 409."""
    environment_sha: str = ""
    """Where given: the service has to execute in this environment, or answers 409."""


class TestOutcome(ApiModel):
    """How one test method ended."""

    __test__ = False  # no test class of pytest, whatever its name begins with

    name: str
    """Of the method."""
    outcome: str
    """pass, fail, error, skip, expected_failure, unexpected_success or missing; only pass is one."""
    seconds: float
    """Wall time."""
    trace: str
    """Traceback, or empty."""


class Verdict(ApiModel):
    """What an execution means."""

    status: Literal["pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered", "infra_error"]
    """'infra_error' says nothing about the program: send the item again, under a fresh key."""
    failure_kind: str
    """assertion, unusable_result, wrong_api, missing_setup, import, exception, syntax, timeout, memory, crash,
    tampering, infrastructure or no_tests; empty for a pass."""
    tests: list[TestOutcome]
    """One entry for each expected test."""
    pass_share: float | None
    """Share of the expected tests that passed; 0 where it tampered, null for an infra_error and where it was ended at
    its first failing test."""
    module_trace: str
    """Traceback of a program or a test class that did not load."""
    tests_expected: int
    """Tests that have to pass."""
    tests_run: int
    """Tests that came to an end."""
    wall_seconds: float
    """From start to end."""
    cpu_seconds: float
    """Of all its processes."""
    max_rss_mib: float
    """Most resident memory, in MiB."""
    stdout: str
    """Its tail."""
    stderr: str
    """Its tail."""
    stdout_truncated: bool
    """Whether there was more."""
    stderr_truncated: bool
    """Whether there was more."""
    attempts: int
    """Executions that it took; those that were disturbed from outside are repeated."""
    tampering: list[str]
    """Which contradictions of its test it passed, and how it broke the report's protocol."""
    integrity: Literal["checked", "tampered", "no contradiction", "not checked"] | None
    """Of a pass: what its check came to; 'not checked' where the item has no reference. null: it did not pass."""
    environment_sha: str
    """Libraries and data that it was executed with."""
    exit: str
    """How the sandbox ended."""


class Result(ApiModel):
    """One line of the answer to a batch: an item that ended. Blank lines are signs of life."""

    id: str
    """As the item had it."""
    verdict: Verdict | None = None
    """Where the batch asks for verdicts."""
    outcome: dict[str, Any] | None = None
    """Where the batch asks for outcomes."""


class ProgramText(ApiModel):
    """A program and its test, by the number that it has in the request."""

    program: str
    """Its text."""
    test: int = Field(ge=0)
    """Number of its test, from 0."""


class PrepareRequest(ApiModel):
    """Programs whose starts are to be planned together."""

    tests: list[str]
    """Test texts, each once."""
    programs: list[ProgramText]
    """Programs in any order."""


class PlannedStart(ApiModel):
    """What an item is to be sent with."""

    preload: list[str]
    """Modules that its texts import first."""
    zygote: list[str]
    """Those that the process has imported which it is forked from."""


class Prepared(ApiModel):
    """How each program starts, in the order of the request."""

    starts: list[PlannedStart]
    """One for each program."""


class HostInfo(ApiModel):
    """What a host or a service says of itself."""

    model_config = ConfigDict(extra="ignore")  # of a newer server, whose version is refused with a better message

    code_version: str
    """Of bigcodeflow and its harness."""
    environment: RemoteEnvironment
    """Libraries and data that items are executed with."""
    capabilities: Capabilities
    """What the sandboxes promise."""
    cores: int
    """Cores that items may keep busy."""
    slots: int
    """Items that are under way at the same time."""


class Info(HostInfo):
    """What a service says of itself: as a host does, and its bounds."""

    limits: LimitsConfig
    """What an item may use at most, but for its time, which it has where it asks for none."""
    most_seconds: float
    """Most time that an item may ask for."""
    max_batch: int
    """Items of a batch."""
    max_body_mib: int
    """Size of a request, in MiB."""
    max_queue: int
    """Items that wait or run at the same time, those of all clients together."""
    open_items: int
    """Items that wait or run now."""
    executions: int
    """Executions since the start of the service."""


def line(message: Mapping[str, Any]) -> bytes:
    """Encode a message as one line; keep lone surrogates, which a model's text may hold, unchanged."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def message_of(text: bytes) -> dict[str, Any]:
    """Parse a line as a message; ProtocolError does not quote the line, which may hold another client's program."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(f"a line of {len(text):,} bytes is no JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(f"a line of {len(text):,} bytes is JSON, but no message with a type")
    return message


def item_fields(item: WorkItem, *, name: str, key: str = "") -> dict[str, Any]:
    """Return an ``Item`` as JSON, for clients that judge its outcome; a repeated key executes nothing again."""
    sent = {field: getattr(item, field) for field in _SENT}
    return {"id": name, "key": key, "expected_tests": [], "task_modules": []} | sent


def work_item_of(item: Item, default_seconds: float) -> WorkItem:
    """Return the work item that a client's item describes; take the fields for its verdict as the client sent them."""
    sent = {field: getattr(item, field) for field in _SENT}
    sent |= {"preload": tuple(item.preload or ()), "zygote": tuple(item.zygote or ())}
    return WorkItem(
        verdict_key="",
        expected_tests=tuple(item.expected_tests or ()),
        missing_imports=frozenset(item.task_modules or ()),
        **sent | {"time_seconds": item.time_seconds or default_seconds},
    )


def parse_outcome(value: object) -> Outcome:
    """Return the outcome in JSON; raise ProtocolError unless its frames have all fields that a verdict needs."""
    if not isinstance(value, dict) or value.keys() - _OUTCOME_FIELDS:
        raise ProtocolError("an outcome is no object, or has fields that are unknown here")
    try:
        outcome = _OUTCOME.validate_python(value)
    except ValidationError as error:
        raise ProtocolError(f"an outcome has another form: {error.errors()[0]['loc']}") from None
    for frame in outcome.frames:
        required = _FRAMES.get(str(frame.get("event")))
        if required is None or not all(name in frame for name in required):
            raise ProtocolError("a frame of an outcome lacks what every such frame has")
    return outcome


_OUTCOME = TypeAdapter(Outcome)
_OUTCOME_FIELDS = frozenset(field.name for field in fields(Outcome))


def prepare_requests(items: Sequence[WorkItem], max_bytes: float) -> Iterator[dict[str, Any]]:
    """Yield requests to plan the starts of items, in order; each has a limited size, and each test text once."""
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
    """Return items with the starts that ``prepare``, a call to the far end, plans for them; or raise ProtocolError."""
    responses = [prepare(request) for request in prepare_requests(items, max_bytes)]
    try:
        starts = [start for one in responses for start in Prepared.model_validate({"starts": one["starts"]}).starts]
    except (KeyError, ValidationError):
        starts = []
    if len(starts) != len(items):
        raise ProtocolError("it plans something else than it was asked to")
    return [
        replace(item, preload=tuple(start.preload), zygote=tuple(start.zygote))
        for item, start in zip(items, starts, strict=True)
    ]


def programs_of(request: PrepareRequest) -> list[tuple[str, str]]:
    """Return each program with the text of its test; raise ProtocolError if the request lacks that test."""
    for number, one in enumerate(request.programs):
        if one.test >= len(request.tests):
            raise ProtocolError(f"programs.{number}.test: there is no test {one.test}")
    return [(one.program, request.tests[one.test]) for one in request.programs]
