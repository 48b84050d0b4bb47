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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """A message that is not part of the protocol, or has invalid fields."""


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
    """The client's name for the item, unique in its batch; the result has the same ``id``."""
    program: str = Field(examples=["def task_func():\n    return 42\n"])
    """Python text, executed first."""
    test: str = Field(examples=[_EXAMPLE_TEST])
    """Python text with a unittest class TestCases, executed after the program in the same module."""
    expected_tests: list[str] | None = None
    """Names of the test methods that have to pass; null: those that the test text defines, read without running it."""
    time_seconds: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """Time limit in seconds, of CPU time and of wall time without waiting for a core; null: the service's default."""
    key: str = Field(default="", max_length=200)
    """Items that are equal, this key included, are executed once while they run and some minutes after. A fresh key
    asks for a fresh execution; the same key makes a repeated request free."""
    task_modules: list[str] | None = None
    """Top-level modules that the task needs: if the environment lacks one, its failed import is an infra_error and
    never the program's failure; null: those that the test imports."""
    preload: list[_Module] | None = None
    """Modules that the item imports first, as /v1/prepare planned; null: the service plans the batch itself."""
    zygote: list[list[_Module]] | None = Field(default=None, max_length=40)
    """Modules of the process that the item is forked from, in layers, as /v1/prepare planned."""
    expected_memory_mib: float = Field(default=200.0, ge=0, le=1_048_576, allow_inf_nan=False)
    """Memory that it probably needs, in MiB; for planning only."""
    long_after_seconds: float = Field(default=SHORTEST_LIMIT_SECONDS, gt=0, allow_inf_nan=False)
    """CPU time after which it gives way to items that wait; for planning only."""
    stop_after: int = Field(default=0, ge=0, le=1_000_000)
    """Number of tests after which the execution is ended; 0: it runs to its end."""
    separate: bool = False
    """True: the program runs in a process of its own, where the test text calls it by ``__separated__``; for
    clients that check passes themselves."""
    fail_fast: bool = False
    """True: it ends at its first failing test, and later tests have the outcome 'missing'."""
    from_memory: bool = False
    """True: it is repeated until it reads no file from the disk; for clients that check passes themselves."""
    reference: str | None = Field(default=None, examples=["def task_func():\n    return 42\n"])
    """A program that solves the task. With it a pass is checked: program and reference are executed against tests that
    contradict this one, and a program that passes those did not solve the task."""
    entry_point: str = Field(default="task_func", min_length=1, max_length=200)
    """Name of the function that the test calls, for such a check."""


class RequestedLimits(ApiModel):
    """Limits of each item of the batch; null: the service's default. Values above the service's bounds are refused."""

    memory_mib: int | None = Field(default=None, ge=64)
    """Resident memory of all its processes."""
    address_space_mib: int | None = Field(default=None, ge=256)
    """Address space of each process."""
    processes: int | None = Field(default=None, ge=8)
    """Processes and threads at once."""
    disk_mib: int | None = Field(default=None, ge=1)
    """Size of its temporary folder."""
    output_kib: int | None = Field(default=None, ge=1)
    """Size of the end of standard output, and of standard error, that is kept, in KiB."""


class BatchRequest(ApiModel):
    """Items to execute."""

    items: list[Item] = Field(min_length=1)
    """At least one, and at most what /v1/info says."""
    limits: RequestedLimits = RequestedLimits()
    """Limits of each item."""
    start: Start = "warm"
    """'warm' forks each item from a process that has its libraries imported, 'cold' starts an interpreter for each."""
    detail: Literal["verdict", "outcome"] = "verdict"
    """'verdict' says what an execution means, 'outcome' everything that was observed of it, for clients that judge."""
    code_version: str = ""
    """Version that the service must have, else it answers 409; empty: any."""
    environment_sha: str = ""
    """Environment in which the service must execute, else it answers 409; empty: any."""


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
    """Wall time from start to end, in seconds."""
    cpu_seconds: float
    """CPU time of all its processes, in seconds."""
    max_rss_mib: float
    """Most resident memory, in MiB."""
    stdout: str
    """Standard output; its end, if it is longer than ``limits.output_kib``."""
    stderr: str
    """Standard error; its end, if it is longer than ``limits.output_kib``."""
    stdout_truncated: bool
    """True if ``stdout`` is only the end."""
    stderr_truncated: bool
    """True if ``stderr`` is only the end."""
    attempts: int
    """Number of executions: one that was disturbed from outside is repeated."""
    tampering: list[str]
    """Names of the contradictory tests that it passed, and of its violations of the report's protocol."""
    integrity: Literal["checked", "tampered", "no contradiction", "not checked"] | None
    """Result of the check of a pass; 'not checked': no reference, or the check did not end. null: it did not pass."""
    environment_sha: str
    """Sha of the libraries and data that it was executed with."""
    exit: str
    """End of the sandbox: 'exit N' of the program, 'signal N', or the reason why it did not start."""


class Result(ApiModel):
    """One line of the answer to a batch: an item that ended. Blank lines are signs of life."""

    id: str
    """The item's ``id``."""
    verdict: Verdict | None = None
    """Null if the batch asks for outcomes."""
    outcome: dict[str, Any] | None = None
    """Null if the batch asks for verdicts."""


class ProgramText(ApiModel):
    """A program, and the position of its test in the request."""

    program: str
    """Its text."""
    test: int = Field(ge=0)
    """Position of its test in ``tests``, starting at 0."""


class PrepareRequest(ApiModel):
    """Programs whose starts are to be planned together."""

    tests: list[str]
    """Test texts, each once."""
    programs: list[ProgramText]
    """Programs in any order."""


class PlannedStart(ApiModel):
    """Planned start of an item: send the item with these fields."""

    preload: list[str]
    """Modules that its texts import first."""
    zygote: list[list[str]]
    """Modules that the process has imported from which the item is forked, in layers; empty: none."""


class Prepared(ApiModel):
    """Start of each program, in the order of the request."""

    starts: list[PlannedStart]
    """One for each program."""


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
    """Items that run at the same time; items that take long do not count."""


class Info(HostInfo):
    """Description that a service gives of itself: that of a host, and its bounds."""

    limits: LimitsConfig
    """Upper bounds of an item's limits, but ``time_seconds`` is the time limit of an item that asks for none."""
    most_seconds: float
    """Longest time that an item may ask for, in seconds."""
    max_batch: int
    """Most items of a batch."""
    max_body_mib: int
    """Largest size of a request, in MiB."""
    max_queue: int
    """Most items that wait or run at the same time, those of all clients together."""
    open_items: int
    """Items that wait or run now."""
    executions: int
    """Executions since the start of the service."""


def line(message: Mapping[str, Any]) -> bytes:
    """Encode a message as one line; keep lone surrogates, which a model's text may hold, unchanged."""
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
    """Parse a line as a message; ProtocolError does not quote the line, which may hold another client's program."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(f"received a line of {len(text):,} bytes that is not JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(f"received a JSON line of {len(text):,} bytes that is not an object with a `type`")
    return message


def item_fields(item: WorkItem, *, name: str, key: str = "") -> dict[str, Any]:
    """Return the fields of an ``Item`` for a client that judges outcomes itself.

    An item with the same ``key`` as an earlier one is not executed again.
    """
    sent = {field: getattr(item, field) for field in _SENT}
    return {"id": name, "key": key, "expected_tests": [], "task_modules": []} | sent


def work_item_of(item: Item, default_seconds: float) -> WorkItem:
    """Return the work item for a client's item, without a key.

    ``expected_tests`` and ``task_modules``, which only verdicts need, have no default here: null means none.
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
    """Parse an outcome; raise ProtocolError unless its frames have all fields that a verdict needs."""
    if not isinstance(value, dict) or value.keys() - _OUTCOME_FIELDS:
        raise ProtocolError("received an outcome that is not an object, or has unknown fields")
    try:
        outcome = _OUTCOME.validate_python(value)
    except ValidationError as error:
        raise ProtocolError(f"received an outcome whose field {error.errors()[0]['loc']} is invalid") from None
    for frame in outcome.frames:
        required = _FRAMES.get(str(frame.get("event")))
        if required is None or not all(name in frame for name in required):
            raise ProtocolError("received an outcome with a frame that is unknown or lacks required fields")
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
    """Return items with the starts that ``prepare``, a call of a host or service, plans; or raise ProtocolError."""
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
                f"programs.{number}.test is {one.test}, but the number of tests is {len(request.tests)}"
            )
    return [(one.program, request.tests[one.test]) for one in request.programs]
