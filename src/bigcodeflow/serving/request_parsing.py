"""Reads a request as work: its form, what it asks for, and the tests of each item."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.untrusted_text import MOST_TEST_CHARACTERS, REFUSALS
from bigcodeflow.datasets.test_ids import expected_test_ids
from bigcodeflow.execution.imports import imported_modules
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote.executor_pool import Kind
from bigcodeflow.serving.models import BatchLimits, BatchRequest, Item, PrepareRequest
from bigcodeflow.serving.settings import ServingSettings

_MOST_LINES = 20
#: Keys and elements of a request; each may be wrong, which takes a kilobyte to say.
_MOST_VALUES = 300_000
_Request = TypeVar("_Request", bound=BaseModel)


class RefusedError(BigCodeFlowError):
    """A request that is not answered: its status, and a line for each reason."""

    def __init__(self, status: HTTPStatus, *lines: str, headers: dict[str, str] | None = None) -> None:
        super().__init__("; ".join(lines))
        self.status, self.lines, self.headers = status, lines, headers or {}


class Order(NamedTuple):
    """One item of a batch."""

    id: str
    item: WorkItem
    """Its ``verdict_key`` is the identity of the execution: equal ones are one."""
    planned: bool
    """Whether the client said how it starts."""
    reference: str | None
    """The task's own solution, with which a pass is checked."""
    entry_point: str


class Orders(NamedTuple):
    """A batch, read."""

    items: list[Order]
    kind: Kind
    detail: str

    @property
    def judged_here(self) -> bool:
        """Whether verdicts are asked for; what disturbed an execution is then found here too."""
        return self.detail == "verdict"


def parsed(body: bytes, model: type[_Request], *, max_batch: int = 0) -> _Request:
    """The request that a body holds.

    Args:
        body: JSON.
        model: its form.
        max_batch: elements that a list of items may have; 0 takes any number.

    Raises:
        RefusedError: it is no JSON, has another form, or too many parts.
    """
    try:
        # The library's parser, not pydantic's: a lone surrogate is legal in a text that a model produced.
        told = json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_counting(max_batch))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, f"the body is no JSON: {reason}") from None
    try:
        return model.model_validate(told, strict=True)
    except ValidationError as error:
        raise _refused(_line(found["loc"], found["msg"]) for found in error.errors(include_url=False)) from None


def read_batch(body: bytes, settings: ServingSettings, environment_sha: str) -> tuple[BatchRequest, Orders]:
    """A batch and its work.

    Raises:
        RefusedError: it has another form, asks for more than the service allows, or holds a test that is none.
    """
    request = parsed(body, BatchRequest, max_batch=settings.max_batch)
    _require_small_tests((f"items.{number}.test", item.test) for number, item in enumerate(request.items))
    kind = Kind(_limits(request.limits, settings.limits), request.start)
    wrong = [line for number, item in enumerate(request.items) for line in _wrong(number, item, settings)]
    names = [item.id for item in request.items]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        wrong.append(f"items: the id {twice!r} occurs more than once")
    if wrong:
        raise _refused(wrong)
    context = [kind.limits.model_dump(), kind.start, request.detail, environment_sha]
    orders = [_order(item, settings, context, judged=request.detail == "verdict") for item in request.items]
    return request, Orders(orders, kind, request.detail)


def read_programs(body: bytes) -> list[tuple[str, str]]:
    """Each program with its test.

    Raises:
        RefusedError: it has another form.
    """
    request = parsed(body, PrepareRequest)
    _require_small_tests((f"tests.{number}", test) for number, test in enumerate(request.tests))
    wrong = [
        _line(("programs", number, "test"), f"there is no test {one.test}")
        for number, one in enumerate(request.programs)
        if one.test >= len(request.tests)
    ]
    if wrong:
        raise _refused(wrong)
    return [(one.program, request.tests[one.test]) for one in request.programs]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _counting(max_batch: int) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Makes the objects of a request, until there are too many values; asked before each is looked at for mistakes."""
    left = _MOST_VALUES

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal left
        found = dict(pairs)
        items = found.get("items")
        if max_batch and isinstance(items, list) and len(items) > max_batch:
            told = f"items: {len(items)} in a batch, and {max_batch} may be: send several batches"
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, told)
        left -= len(pairs) + sum(len(value) for _, value in pairs if isinstance(value, list))
        if left < 0:
            told = f"the body holds more than {_MOST_VALUES:,} values: send several"
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, told)
        return found

    return made


def _require_small_tests(tests: Iterable[tuple[str, str]]) -> None:
    """Refuse tests that would take seconds and gigabytes to read; each with its place."""
    large = [
        f"{place}: {len(test):,} characters, and a test may have {MOST_TEST_CHARACTERS:,}: shorten it"
        for place, test in tests
        if len(test) > MOST_TEST_CHARACTERS
    ]
    if large:
        raise _refused(large, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _refused(lines: Iterable[str], status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> RefusedError:
    lines = list(lines)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more"]
    return RefusedError(status, *lines)


def _line(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place)) or 'body'}: {message[:1].lower()}{message[1:]}"


def _limits(asked: BatchLimits, own: LimitsConfig) -> LimitsConfig:
    """The service's own limits, lowered to what a batch asks for."""
    wanted = asked.model_dump(exclude_none=True)
    above = [name for name, value in wanted.items() if value > getattr(own, name)]
    if above:
        raise _refused(
            f"limits.{name}: {wanted[name]} is more than the service's {getattr(own, name)}: ask for less, or start "
            f"the service with --{name.replace('_', '-')} {wanted[name]}"
            for name in above
        )
    return own.model_copy(update=wanted)


def _wrong(number: int, item: Item, settings: ServingSettings) -> Iterable[str]:
    """What an item asks for that cannot be done."""
    if item.time_seconds and item.time_seconds > settings.most_seconds:
        most = settings.most_seconds
        yield f"items.{number}.time_seconds: {item.time_seconds:g} is more than the service's {most:g}: ask for less"
    if item.expected_tests is None:
        reason = _unreadable(item.test)
        if reason:
            yield f"items.{number}.test: {reason}"


def _unreadable(test: str) -> str:
    """Why no tests can be read from a text; empty where they can."""
    try:
        found = expected_test_ids(test)
    except SyntaxError as error:
        return f"is no Python ({error.msg}, line {error.lineno})"
    except REFUSALS as error:  # the parser's words for NUL and for too deep a text
        return f"is no Python ({type(error).__name__})"
    if not found:
        return "has no class TestCases with a test method: write one, or name expected_tests"
    return ""


def _order(item: Item, settings: ServingSettings, context: list[Any], *, judged: bool) -> Order:
    expected: list[str] = []
    task_modules: frozenset[str] = frozenset()
    if judged:  # a client that judges itself knows these itself
        expected = list(expected_test_ids(item.test) or ()) if item.expected_tests is None else item.expected_tests
        modules = imported_modules(item.test) if item.task_modules is None else item.task_modules
        task_modules = frozenset(modules)
    own = WorkItem(
        verdict_key="",
        program=item.program,
        test=item.test,
        expected_tests=tuple(expected),
        time_seconds=item.time_seconds or settings.limits.time_seconds,
        missing_imports=task_modules,
        expected_memory_mib=item.expected_memory_mib,
        preload=tuple(item.preload or ()),
        zygote=tuple(item.zygote or ()),
        stop_after=item.stop_after,
        separate=item.separate,
    )
    identified = _identified(own, [item.key, item.stop_after, item.separate, *context])
    return Order(item.id, identified, item.preload is not None, item.reference, item.entry_point)


def _identified(item: WorkItem, context: list[Any]) -> WorkItem:
    content = [item.program, item.test, item.expected_tests, sorted(item.missing_imports)]
    text = json.dumps([content, item.time_seconds, item.preload, context], sort_keys=True)
    return replace(item, verdict_key=hashlib.sha256(text.encode("ascii")).hexdigest())
