"""Options that several commands share, and options that are derived from the fields of settings models."""

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import typer
from pydantic.fields import FieldInfo

from bigcodeflow.config import RunConfig, Sanitizer, Variant
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.plugins import benchmark_of
from bigcodeflow.core.settings import SET, SettingOption, SettingsModel

STORE_VARIABLE = "BIGCODEFLOW_STORE"
_GRID = " Several, with commas between them, make a grid."

Command = Callable[..., None]
N = TypeVar("N", int, float)

Overrides = Annotated[list[str] | None, typer.Option(SET.flag, help=SET.help)]
RecordedStore = Annotated[
    str,
    typer.Option(help="Folder or URL (s3://bucket/prefix) of the store with the recorded runs.", envvar=STORE_VARIABLE),
]
RecordedVariant = Annotated[Variant, typer.Option(help="Take solutions with code_prompt in front, or alone.")]
RecordedSanitizer = Annotated[
    Sanitizer | None, typer.Option(help="Take the solutions of this sanitizer.", show_default="each run's own")
]
Yes = Annotated[bool, typer.Option("--yes", help="Send more than 20,000 requests to a model without asking.")]
TableFormat = Literal["table", "json", "csv", "markdown"]

DATASET = SettingOption("dataset.source", "dataset", default="bigcode/bigcodebench", shown="bigcode/bigcodebench")
SAMPLES = SettingOption(
    "samples.source",
    "samples",
    required=True,
    help="Sample file (JSONL, JSONL.gz) or folder in the original's formats.",
)
MODEL = tuple(
    SettingOption(f"generation.{path}", panel="Generation")
    for path in (
        "model",
        "base_url",
        "n_samples",
        "sampling.temperature",
        "sampling.top_p",
        "sampling.max_tokens",
        "requests.concurrency",
        "requests.max_cost_usd",
        "requests.batch",
    )
)
ROUNDS = tuple(SettingOption(f"generation.{path}", panel="Generation") for path in ("rounds", "feedback"))
TASKS = tuple(SettingOption(f"dataset.{name}") for name in ("split", "subset", "ids", "limit", "released_after"))
VIEW = (SettingOption("dataset.view"), SettingOption("dataset.overlay"))
BACKEND = (
    SettingOption("execution.backend"),
    SettingOption("execution.fallback"),
    SettingOption("execution.service.url", "service_url"),
)


def settings_options(
    *settings: SettingOption | str, model: type[SettingsModel] = RunConfig
) -> Callable[[Command], Command]:
    """Decorate a command: replace its parameter ``given`` by an option for each of ``settings`` (options or paths).

    When the command is called, ``given`` maps setting paths to values: those that the user gave, and the defaults of
    options with a default.
    """
    given_options = (SettingOption(one) if isinstance(one, str) else one for one in settings)
    options = [one._replace(name=one.name or one.path.rpartition(".")[2]) for one in given_options]

    def decorate(command: Command) -> Command:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            derived = [_parameter(model, option) for option in options] if parameter.name == "given" else [parameter]
            parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in derived]

        @functools.wraps(command)
        def run(**values: Any) -> None:
            given = {one.path: _parsed(one, _field(model, one.path), values.pop(one.name, None)) for one in options}
            command(given={path: value for path, value in given.items() if value is not None}, **values)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def take_environment(given: dict[str, Any]) -> None:
    """Set ``execution.environment`` to the dataset's, unless an option sets it or a benchmark plug-in will set it."""
    source = given["dataset.source"]
    if benchmark_of(source) is None:
        given.setdefault("execution.environment", "starter" if source == "starter" else "bigcodebench")


def whole_numbers(flag: str, text: str, *, positive: bool = False, most: int | None = None) -> list[int]:
    """Parse comma-separated whole numbers such as 1,5,10; raise ConfigError, which names ``flag``, for other texts."""
    numbers = _numbers(text, int)
    if not numbers or (positive and min(numbers) < 1) or (most is not None and max(numbers) > most):
        kind = "positive whole numbers" if positive else "whole numbers"
        limit = "" if most is None else f" up to {most:,}"
        raise ConfigError(f"{flag} {text!r}: must be {kind}{limit}: write it as 1,5,10")
    return numbers


def _numbers(text: str, kind: Callable[[str], N]) -> list[N]:
    """Parse comma-separated numbers; return an empty list if any part is not a number."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        return []


def _field(model: type[SettingsModel], path: str) -> FieldInfo:
    section, _, rest = path.partition(".")
    field = model.model_fields[section]
    return _field(typing.cast("type[SettingsModel]", field.annotation), rest) if rest else field


def _kinds(field: FieldInfo) -> list[Any]:
    """Return the types that a field's annotation permits: the members of a union without None, or the only type."""
    is_union = typing.get_origin(field.annotation) in (typing.Union, types.UnionType)
    kinds = typing.get_args(field.annotation) if is_union else (field.annotation,)
    return [kind for kind in kinds if kind is not type(None)]


def _element(field: FieldInfo) -> Any:
    """Return T if a field's type is a tuple of T, or a union with such a tuple (one or several values); else None."""
    return next((typing.get_args(kind)[0] for kind in _kinds(field) if typing.get_origin(kind) is tuple), None)


def _parameter(model: type[SettingsModel], option: SettingOption) -> inspect.Parameter:
    field = _field(model, option.path)
    kinds, element = _kinds(field), _element(field)
    kind = kinds[0]
    if element is not None:  # several numbers are given as comma-separated text
        kind = str if element in (int, float) else types.GenericAlias(list, (element,))
    elif typing.get_origin(kind) is Literal:
        kind = Literal[tuple(choice for choice in typing.get_args(kind) if choice)]
    names = {"ge": "min", "le": "max"}
    bounds = {names[name]: getattr(one, name) for one in field.metadata for name in names if hasattr(one, name)}
    default, shown = field.default, option.shown
    if shown is None and default not in (None, "", ()) and kind is not bool:
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    text = (option.help or field.description or "").replace("\n", " ")
    info = (
        typer.Argument(help=text)
        if option.is_argument
        else typer.Option(
            f"{option.flag}/--no-{option.flag[2:]}" if default is True else option.flag,
            help=text + (_GRID if element is not None and len(kinds) > 1 else ""),
            show_default=(not option.required and shown) or False,
            rich_help_panel=option.panel,
            envvar=STORE_VARIABLE if option.path == "store" else option.variable,
            **bounds,
        )
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind if option.required else kind | None, info],
        default=inspect.Parameter.empty if option.required else (default if kind is bool else None),
    )


def _parsed(option: SettingOption, field: FieldInfo, value: Any) -> Any:
    """Convert an option's value to the setting's value; return the default, or None, if the user gave no value."""
    if value is None or value in ("", []) or (isinstance(value, bool) and value is field.default):
        return option.default
    if not isinstance(value, str) or _element(field) is None:
        return value
    if len(_kinds(field)) == 1:
        return whole_numbers(option.flag, value)
    numbers = _numbers(value, float)
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ConfigError(f"{option.flag} {value!r} must be a number, or a list of numbers such as 0.2,0.8")
    # Convert 1280.0 to 1280: integer settings accept no floats, and keys should not contain 1280.0.
    values = [int(number) if number.is_integer() else number for number in numbers]
    return values if len(values) > 1 else values[0]
