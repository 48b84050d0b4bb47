"""Parsing and validation of requests: JSON, limits, and the tests of each item."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.untrusted_text import MOST_TEST_CHARACTERS, REFUSALS
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.expected_tests import expected_test_ids
from bigcodeflow.judge.items import WorkItem, code_version
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.executor_pool import ExecutionMode
from bigcodeflow.judge.remote.protocol import BatchRequest, Item, PrepareRequest, RequestedLimits
from bigcodeflow.judge.zygote_plan import imported_modules

_MAX_LINES = 20
#: Most keys and list elements of a request; the message about each wrong value takes a kilobyte.
_MAX_VALUES = 300_000
#: Close the connection: the unread rest of a body must not be parsed as the next request.
CLOSE = {"Connection": "close"}
_Request = TypeVar("_Request", bound=BaseModel)


class RequestRefusedError(BigCodeFlowError):
    """Refusal of a request: the HTTP status, and a line for each reason."""

    def __init__(self, status: HTTPStatus, *lines: str, headers: dict[str, str] | None = None) -> None:
        super().__init__("; ".join(lines))
        self.status, self.lines, self.headers = status, lines, headers or {}


def busy(line: str, status: HTTPStatus = HTTPStatus.TOO_MANY_REQUESTS) -> RequestRefusedError:
    """Return the error that refuses a request which the client may send again later."""
    return RequestRefusedError(status, line, headers={"Retry-After": "2"})


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """Limits of one service."""

    limits: LimitsConfig = field(default_factory=LimitsConfig)
    """Limits of an item unless its batch asks for others; ``time_seconds`` applies to items that ask for no time."""
    most_limits: LimitsConfig | None = None
    """Upper bounds of the limits that a batch may ask for; None means the same as ``limits``."""
    most_seconds: float = 3600.0
    """Longest time limit that an item may ask for, in wall and CPU seconds."""
    max_batch: int = 1000
    """Most items of a batch."""
    max_body_mib: int = 64
    """Largest size of a request, in MiB."""
    max_queue: int = 4000
    """Most items of all clients together that wait or run at the same time."""
    key: str = ""
    """Key that clients must send; empty means no key, which is possible on loopback only."""


class ParsedItem(NamedTuple):
    """One item of a batch, and its work item."""

    request: Item
    work: WorkItem
    """Items with the same ``verdict_key`` share one execution."""


class ParsedBatch(NamedTuple):
    """Batch with its items, their limits and their kind of start."""

    request: BatchRequest
    items: dict[str, ParsedItem]
    """Items by the client's ids."""
    mode: ExecutionMode


def validated(body: bytes, model: type[_Request], *, max_batch: int = 0) -> _Request:
    """Parse a JSON body as ``model`` with at most ``max_batch`` items (0: any number); refuse an invalid body."""
    try:
        # Python's json, not pydantic's parser: texts of models may contain lone surrogates, which pydantic refuses.
        value = json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_counting(max_batch))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RequestRefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, f"the body is not JSON: {reason}") from None
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        raise refusal(
            f"{'.'.join(map(str, found['loc'])) or 'body'}: {found['msg'][:1].lower()}{found['msg'][1:]}"
            for found in error.errors(include_url=False)
        ) from None


def parse_batch(body: bytes, settings: ServingSettings, environment: InstalledEnvironment) -> ParsedBatch:
    """Parse a body of /v1/batches; raise RequestRefusedError with a line for each error."""
    return parsed_batch(validated(body, BatchRequest, max_batch=settings.max_batch), settings, environment)


def parsed_batch(request: BatchRequest, settings: ServingSettings, environment: InstalledEnvironment) -> ParsedBatch:
    """Check a batch and make its work items; raise RequestRefusedError with a line for each error."""
    _require_small_tests((f"items.{number}.test", item.test) for number, item in enumerate(request.items))
    mode = ExecutionMode(_limits(request.limits, settings), request.start)
    wrong = [line for number, item in enumerate(request.items) for line in _wrong(number, item, settings)]
    names = [item.id for item in request.items]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        wrong.append(f"items: the id {twice!r} occurs more than once: give each item another id")
    if wrong:
        raise refusal(wrong)
    own = (code_version(), environment.environment_sha)
    wanted = (request.code_version or own[0], request.environment_sha or own[1])
    if own != wanted:  # the batch was planned for another service, such as an earlier one at this address
        raise RequestRefusedError(
            HTTPStatus.CONFLICT,
            f"the service has bigcodeflow {own[0]} and environment {own[1][:12]}, but the batch needs {wanted[0]} "
            f"and {wanted[1][:12]}: start the service with the same versions, or start the run again",
        )
    context = [mode.limits.model_dump(), mode.start, request.detail, environment.environment_sha]
    works = [_work_of(item, request, settings, context) for item in request.items]
    # Modules that a task needs and the environment lacks; the programs themselves cannot be trusted to report this.
    named = frozenset().union(*(work.missing_imports for work in works))
    absent = named and environment.absent_modules(named)
    items = {
        item.id: ParsedItem(item, replace(work, missing_imports=work.missing_imports & absent))
        for item, work in zip(request.items, works, strict=True)
    }
    return ParsedBatch(request, items, mode)


def parse_programs(body: bytes) -> list[tuple[str, str]]:
    """Parse a PrepareRequest into pairs of program and test; raise RequestRefusedError if the body is not valid."""
    request = validated(body, PrepareRequest)
    _require_small_tests((f"tests.{number}", test) for number, test in enumerate(request.tests))
    try:
        return protocol.programs_of(request)
    except protocol.ProtocolError as error:
        raise refusal([str(error)]) from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number: send a finite number")


def _counting(max_batch: int) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return a hook for json.loads that builds objects, and refuses too many values before pydantic validates them."""
    left = _MAX_VALUES

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal left
        found = dict(pairs)
        items = found.get("items")
        if max_batch and isinstance(items, list) and len(items) > max_batch:
            reason = f"items: the batch has {len(items)} items, and the limit is {max_batch}: send several batches"
            raise RequestRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        left -= len(pairs) + sum(len(value) for _, value in pairs if isinstance(value, list))
        if left < 0:
            reason = f"the body holds more than {_MAX_VALUES:,} values: send several smaller requests"
            raise RequestRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        return found

    return made


def _require_small_tests(tests: Iterable[tuple[str, str]]) -> None:
    """Refuse long tests, whose parsing takes seconds and gigabytes; ``tests`` holds (field, text) pairs."""
    large = [
        f"{place}: has {len(test):,} characters; the limit is {MOST_TEST_CHARACTERS:,} characters: shorten the test"
        for place, test in tests
        if len(test) > MOST_TEST_CHARACTERS
    ]
    if large:
        raise refusal(large, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def refusal(lines: Iterable[str], status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> RequestRefusedError:
    """Return an error that refuses a request, with a line for each reason; only the first 20 lines are sent."""
    lines = list(lines)
    if len(lines) > _MAX_LINES:
        lines[_MAX_LINES:] = [f"and {len(lines) - _MAX_LINES} more errors"]
    return RequestRefusedError(status, *lines)


def _limits(asked: RequestedLimits, settings: ServingSettings) -> LimitsConfig:
    """Return the service's limits, updated with those that a batch asks for; refuse values above the upper bounds."""
    wanted, upper = asked.model_dump(exclude_none=True), settings.most_limits or settings.limits
    above = [name for name, value in wanted.items() if value > getattr(upper, name)]
    if above:
        raise refusal(
            f"limits.{name}: {wanted[name]} is more than the service's {getattr(upper, name)}: ask for less, or start "
            f"the service with --{'most-' if settings.most_limits else ''}{name.replace('_', '-')} {wanted[name]}"
            for name in above
        )
    return settings.limits.model_copy(update=wanted)


def _wrong(number: int, item: Item, settings: ServingSettings) -> Iterable[str]:
    """Yield a line for each error of an item: a time limit that is too long, or a test without test methods."""
    most = settings.most_seconds
    if item.time_seconds and item.time_seconds > most:
        yield (
            f"items.{number}.time_seconds: {item.time_seconds:g} is more than the service's limit, {most:g} s: lower it"
        )
    if item.expected_tests is not None:
        return
    reason = "has no class TestCases with a test method: write one, or set expected_tests"
    try:
        if expected_test_ids(item.test):
            return
    except SyntaxError as error:
        reason = f"is not valid Python ({error.msg}, line {error.lineno})"
    except REFUSALS as error:  # the parser's errors for NUL characters and for too deep nesting
        reason = f"is not valid Python ({type(error).__name__})"
    yield f"items.{number}.test: {reason}"


def _work_of(item: Item, request: BatchRequest, settings: ServingSettings, context: list[Any]) -> WorkItem:
    work = protocol.work_item_of(item, settings.limits.time_seconds)
    if request.detail == "verdict":  # a client that judges outcomes itself needs neither
        expected = expected_test_ids(item.test) or () if item.expected_tests is None else item.expected_tests
        modules = imported_modules(item.test) if item.task_modules is None else item.task_modules
        work = replace(work, expected_tests=tuple(expected), missing_imports=frozenset(modules))
    content = [work.program, work.test, work.expected_tests, sorted(work.missing_imports)]
    execution = [item.key, item.stop_after, item.separate, item.fail_fast, item.from_memory]
    identity = [content, work.time_seconds, work.preload, [*execution, *context]]
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode("ascii")).hexdigest()
    return replace(work, verdict_key=key)
