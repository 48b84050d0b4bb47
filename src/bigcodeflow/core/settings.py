"""Base of all settings models: read from YAML, set on the command line, and shown as a flow's parameters in the UI."""

import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from bigcodeflow.core.errors import ConfigError

S = TypeVar("S", bound="SettingsModel")

Path = tuple[str, ...]

#: Pattern of names that become parts of paths; dots alone are refused, because they mean other folders.
NAME_PATTERN = r"^(\.*[\w\-+][\w.\-+]*)?$"
_FOREIGN = re.compile(r"[^\w.\-+]+")
_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|signature|^sig$|credential|auth")
_NAME_RULE = "must be letters, digits and . _ - + only, and not only dots"


def address(url: str) -> str:
    """Return the URL without slashes at its end; raise ValueError if it contains a password or a key."""
    parts = urlsplit(url)
    if parts.password is not None or any(_SECRET_NAME.search(name) for name, _ in parse_qsl(parts.query)):
        raise ValueError("holds a password or key, which would be stored: put it into an environment variable instead")
    return url.rstrip("/")


#: Address of a server; empty if there is none.
Address = Annotated[str, AfterValidator(address)]

#: Last words of field names that are the unit of the number.
_UNITS = {"seconds": "seconds", "mib": "MiB", "kib": "KiB", "usd": "USD"}
_SPELLINGS = {
    "api": "API", "e2b": "E2B", "ids": "ids", "k": "k", "lora": "LoRA", "n": "number of", "p": "p", "sha": "SHA",
    "url": "URL", "usd": "USD",
}  # fmt: skip


def _label(name: str, _: object) -> str:
    """Return a field's label in the UI's form, such as 'Memory, MiB' for memory_mib and 'Base URL' for base_url."""
    words = name.split("_")
    unit = _UNITS.get(words[-1]) if len(words) > 1 else None
    text = " ".join(_SPELLINGS.get(word, word) for word in (words[:-1] if unit else words))
    text = text if words[0] == "k" else text[0].upper() + text[1:]
    return f"{text}, {unit}" if unit else text


class SettingsModel(BaseModel):
    """A section of settings; a field's docstring is its help on the command line and in the UI's form."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        validate_default=True,
        field_title_generator=_label,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object, info: ValidationInfo) -> object:
        """Convert False to 'off' in fields that permit 'off', since YAML reads off as false; convert a path to text."""
        if isinstance(value, PurePath):
            return str(value)
        choices = typing.get_args(cls.model_fields[info.field_name or ""].annotation)
        return "off" if value is False and "off" in choices else value

    def __dir__(self) -> list[str]:
        return [*type(self).model_fields, "model_copy", "model_dump"]

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield only the settings that differ from their defaults, since all settings would not fit on a screen."""
        fields = type(self).model_fields.items()
        given = ((name, getattr(self, name), field.get_default(call_default_factory=True)) for name, field in fields)
        return ((name, value) for name, value, default in given if value != default)


class SettingOption(NamedTuple):
    """Command-line option for a setting; its type, bounds, choices and help come from the setting's field."""

    path: str
    """Path of the setting, such as 'execution.workers'."""
    name: str = ""
    """Name of the command's parameter, from which the option's name is made; empty takes the path's last part."""
    default: Any = None
    """Value of the setting if the option is not given; None keeps the preset's value or the field's default."""
    required: bool = False
    shown: str | None = None
    """Default to show in the help; None shows the field's default."""
    help: str = ""
    """Help text; empty takes the field's docstring."""
    panel: str | None = None
    """Heading in the help above the option."""
    is_argument: bool = False
    """True for a positional argument."""
    variable: str | None = None
    """Environment variable that sets the option."""

    @property
    def flag(self) -> str:
        """Option as the user types it, such as '--base-url'."""
        return f"--{self.name.replace('_', '-')}"


#: Option for settings of a run that have no option; the settings model keeps them in a field `overrides`.
SET = SettingOption("overrides", "set", help="Any other setting, such as execution.limits.time_seconds=60.")


def as_name(text: str) -> str:
    """Convert a text to a name: each sequence of characters other than letters, digits and ``._-+`` becomes a dash."""
    return _FOREIGN.sub("-", text).strip("-")


def merged(settings: Mapping[str, Any], values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Return a copy of ``settings`` overridden by ``values``, whose keys may be paths such as 'dataset.split'."""
    result = _copy(settings)
    for path, value in flattened(values):
        set_by_path(result, path, value, origin)
    return result


def set_by_path(settings: dict[str, Any], path: Path, value: object, origin: str) -> None:
    """Set a value at ``path``, creating missing sections; raise ConfigError if a value is where a section must be."""
    section = settings
    for number, part in enumerate(path[:-1], start=1):
        section = section.setdefault(part, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{origin}: {'.'.join(path[:number])} is a value, not a section: remove any key below it")
    section[path[-1]] = value


def flattened(values: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each setting's path (below ``above``) and value: ``{'a': {'b.c': 1}}`` gives ``('a', 'b', 'c'), 1``."""
    for name, value in values.items():
        path = (*above, *name.split("."))
        if isinstance(value, Mapping) and value:
            yield from flattened(value, path)
        else:
            yield path, value


def validated(
    model: type[S], settings: Mapping[str, Any], origin: str, origins: Mapping[Path, str] = MappingProxyType({})
) -> S:
    """Return the settings as an instance of ``model``; raise ConfigError with a line for each invalid setting.

    Messages begin with the setting's source: the text that ``origins`` has for its path, else ``origin``.
    """
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise ConfigError("\n".join(_problem(item, model, origin, origins) for item in error.errors())) from None


def _copy(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) if isinstance(value, Mapping) else value for name, value in settings.items()}


def _problem(item: Any, model: type[SettingsModel], origin: str, origins: Mapping[Path, str]) -> str:
    location = tuple(map(str, item["loc"]))
    origin = next((text for path, text in origins.items() if location[: len(path)] == path), origin)
    key = ".".join(location) or "settings"
    if item["type"] == "extra_forbidden":
        known = ", ".join(section_of(model, item["loc"][:-1]).model_fields)
        return f"{origin}: {key} is not a setting; known here: {known}"
    is_name = item.get("ctx", {}).get("pattern") == NAME_PATTERN
    message = _NAME_RULE if is_name else item["msg"].removeprefix("Value error, ")
    given = item["input"]
    value = "" if isinstance(given, Mapping | list | tuple | BaseModel) else f" (given: {given!r})"
    return f"{origin}: {key}: {message}{value}"


def section_of(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model of the nested section at ``location``; indexes of lists are skipped."""
    for part in location:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            kinds = (annotation, *typing.get_args(annotation))
            model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), model)
    return model
