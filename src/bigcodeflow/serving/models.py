"""What requests and answers hold."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bigcodeflow.config import LimitsConfig, Start

#: A name as an import statement has it; what a warm start imports is named by clients.
_Module = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=300)]


_EXAMPLE_TEST = """import unittest

class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
"""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Item(_Model):
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
    """Start of the item as /v1/prepare told it; without it the service plans the batch itself."""
    zygote: list[_Module] | None = None
    """The second half of the same answer."""
    expected_memory_mib: float = Field(default=200.0, ge=0, le=1_048_576, allow_inf_nan=False)
    """Memory that it probably needs, in MiB; for planning only."""
    stop_after: int = Field(default=0, ge=0, le=1_000_000)
    """Tests after which it is ended from outside; 0: it runs to its end."""
    separate: bool = False
    """Whether the program runs in a process of its own, where the test text calls it by ``__separated__``; for
    clients that check passes themselves."""
    reference: str | None = Field(default=None, examples=["def task_func():\n    return 42\n"])
    """A program that solves the task. With it a pass is checked: program and reference are executed against tests that
    contradict this one, and who passes those did not solve the task."""
    entry_point: str = Field(default="task_func", min_length=1, max_length=200)
    """Name of the function that the test calls, for such a check."""


class BatchLimits(_Model):
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


class BatchRequest(_Model):
    """Items to execute."""

    items: list[Item] = Field(min_length=1)
    """At least one, and at most what /v1/info says."""
    limits: BatchLimits = BatchLimits()
    """Bounds of each item."""
    start: Start = "warm"
    """'warm' forks each item from a process that has its libraries imported, 'cold' starts an interpreter for each."""
    detail: Literal["verdict", "outcome"] = "verdict"
    """'verdict' says what an execution means, 'outcome' everything that was observed of it, for clients that judge."""
    code_version: str = ""
    """Where given: the service has to be of this version, or answers 409."""
    environment_sha: str = ""
    """Where given: the service has to execute in this environment, or answers 409."""


class TestOutcome(_Model):
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


class Verdict(_Model):
    """What an execution means."""

    status: Literal["pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered", "infra_error"]
    """'infra_error' says nothing about the program: send the item again, under a fresh key."""
    failure_kind: str
    """assertion, unusable_result, wrong_api, missing_setup, import, exception, syntax, timeout, memory, crash,
    tampering, infrastructure or no_tests; empty for a pass."""
    tests: list[TestOutcome]
    """One entry for each expected test."""
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


class Result(_Model):
    """One line of the answer to a batch: an item that ended. Blank lines are signs of life."""

    id: str
    """As the item had it."""
    verdict: Verdict | None = None
    """Where the batch asks for verdicts."""
    outcome: dict[str, Any] | None = None
    """Where the batch asks for outcomes."""


class ProgramText(_Model):
    """A program and its test, by the number that it has in the request."""

    program: str
    """Its text."""
    test: int = Field(ge=0)
    """Number of its test, from 0."""


class PrepareRequest(_Model):
    """Programs whose starts are to be planned together."""

    tests: list[str]
    """Test texts, each once."""
    programs: list[ProgramText]
    """Programs in any order."""


class PlannedStart(_Model):
    """What an item is to be sent with."""

    preload: list[str]
    """Modules that its texts import first."""
    zygote: list[str]
    """Those that the process has imported which it is forked from."""


class Prepared(_Model):
    """How each program starts, in the order of the request."""

    starts: list[PlannedStart]
    """One for each program."""


class EnvironmentInfo(_Model):
    """Libraries and data that items are executed with."""

    name: str
    environment_sha: str
    missing_data: list[str]
    lock_sha256: str


class CapabilitiesInfo(_Model):
    """What the sandboxes promise."""

    isolated: bool
    layers: list[str]
    warm: bool


class Info(_Model):
    """What a client has to know of the service."""

    code_version: str
    """Of bigcodeflow and its harness."""
    environment: EnvironmentInfo
    capabilities: CapabilitiesInfo
    cores: int
    """Cores that items may keep busy."""
    slots: int
    """Items that are under way at the same time."""
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


class Health(_Model):
    """Whether the service takes work."""

    status: Literal["ok", "stopping"]


class Problem(_Model):
    """Why a request was refused."""

    detail: list[str]
    """One line for each thing that is wrong: where, what, and what to do."""
