"""Parameters of flows as models: the same one is read from YAML, filled by the command line and shown by the UI."""

import typing
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from bigcodeflow.core.errors import ConfigError

F = TypeVar("F", bound="SettingsModel")

Path = tuple[str, ...]

#: Names become parts of paths, in which dots alone stand for other folders.
NAME_PATTERN = r"^(\.*[\w\-+][\w.\-+]*)?$"
_NAME_RULE = "must be letters, digits and . _ - + only, and not only dots"


class SettingsModel(BaseModel):
    """A section of parameters; the text below a field is what the UI shows beside it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object, info: ValidationInfo) -> object:
        """YAML reads off as false."""
        choices = typing.get_args(cls.model_fields[info.field_name or ""].annotation)
        return "off" if value is False and "off" in choices else value


def overlaid(settings: Mapping[str, Any], values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Settings with values on top; a value's name may be a path such as 'generation.sampling.temperature'.

    Raises:
        ConfigError: a path leads through a setting that is no section.
    """
    result = _copy(settings)
    for path, value in leaves(values):
        put(result, path, value, origin)
    return result


def put(settings: dict[str, Any], path: Path, value: object, origin: str) -> None:
    """Set one value, making the sections on its way.

    Raises:
        ConfigError: the path leads through a setting that is no section.
    """
    place = settings
    for number, part in enumerate(path[:-1], start=1):
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise ConfigError(f"{origin}: {'.'.join(path[:number])} is a value, not a section")
    place[path[-1]] = value


def leaves(values: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every single value with its path; sections and dotted names alike are taken apart."""
    for name, value in values.items():
        path = (*above, *name.split("."))
        if isinstance(value, Mapping) and value:
            yield from leaves(value, path)
        else:
            yield path, value


def validated(
    model: type[F], settings: Mapping[str, Any], origin: str, origins: Mapping[Path, str] = MappingProxyType({})
) -> F:
    """The settings as a checked model.

    Args:
        model: what they fill.
        settings: names and values.
        origin: where they came from, for messages.
        origins: where those at a path, and all below it, came from instead.

    Raises:
        ConfigError: one line for each problem, naming origin, key and value.
    """
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise ConfigError("\n".join(_problem(item, model, origin, origins) for item in error.errors())) from None


def _copy(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) if isinstance(value, Mapping) else value for name, value in settings.items()}


def _problem(item: Any, model: type[SettingsModel], origin: str, origins: Mapping[Path, str]) -> str:
    location = tuple(map(str, item["loc"]))
    origin = next((told for path, told in origins.items() if location[: len(path)] == path), origin)
    key = ".".join(location) or "settings"
    if item["type"] == "extra_forbidden":
        known = ", ".join(_section(model, item["loc"][:-1]).model_fields)
        return f"{origin}: {key} is not a setting; known here: {known}"
    named = item.get("ctx", {}).get("pattern") == NAME_PATTERN
    message = _NAME_RULE if named else item["msg"].removeprefix("Value error, ")
    given = item["input"]
    told = "" if isinstance(given, Mapping | list | tuple | BaseModel) else f" (given: {given!r})"
    return f"{origin}: {key}: {message}{told}"


def _section(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    """The model of a nested section; an entry of a list has the list's."""
    for part in location:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = next((kind for kind in (annotation, *typing.get_args(annotation)) if _is_model(kind)), model)
    return model


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
