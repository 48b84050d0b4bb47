"""Reads a run's settings from presets and ``--set``, and names in one line each what is wrong with them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from bigcodeflow.config.run import RunConfig
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.settings import Path as SettingPath
from bigcodeflow.core.settings import flattened, merged, set_by_path, validated


def load_config(
    preset: str | Path | None = None,
    overrides: tuple[str, ...] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
) -> RunConfig:
    """Read a preset and apply ``a.b=c`` overrides, whose values are read as YAML.

    Args:
        preset: a YAML file, or the name of a shipped preset such as 'starter'; None takes the defaults.
        overrides: settings such as 'execution.workers=4', applied in order.
        options: settings by path, applied before the overrides.

    Raises:
        ConfigError: one line for each problem, naming file or override, key, value and remedy.
    """
    settings, origin = read_preset(preset) if preset else ({}, "command line" if options else "defaults")
    origins = {path: "command line" for path, _ in flattened(options)}
    return _loaded(merged(settings, options, "command line"), origin, overrides, origins)


def load_settings(settings: Mapping[str, Any], origin: str, overrides: tuple[str, ...] = ()) -> RunConfig:
    """Check settings that came from somewhere else, with overrides applied on top.

    Args:
        settings: sections and their values.
        origin: where they came from, for messages.
        overrides: settings such as 'execution.workers=4', applied in order.

    Raises:
        ConfigError: one line for each problem, naming origin or override, key, value and remedy.
    """
    return _loaded(merged(settings, {}, origin), origin, overrides, {})


def read_preset(preset: str | Path) -> tuple[dict[str, Any], str]:
    """The settings of a YAML file or of a shipped preset, unchecked, and where they came from, for messages.

    Raises:
        ConfigError: there is no such preset, or it holds no settings.
    """
    path = Path(preset)
    if not path.exists() and not path.suffix:
        known = sorted(file.stem for file in shipped("configs").glob("*.yaml"))
        if str(preset) not in known:
            raise ConfigError(f"preset {preset!r} is neither a file nor one of: {', '.join(known)}")
        path = shipped(f"configs/{preset}.yaml")
    try:
        settings = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if settings is None:
        settings = {}
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: holds a {type(settings).__name__}; it must hold sections such as 'dataset:'")
    return settings, str(path)


def parse_override(override: str) -> tuple[SettingPath, object]:
    """Path and value of ``a.b=c``, the value read as YAML.

    Raises:
        ConfigError: the text has another form, or its value is not YAML.
    """
    key, separator, text = override.partition("=")
    path = tuple(key.strip().split("."))
    if not separator or not all(path):
        raise ConfigError(f"--set {override!r} is not of the form section.key=value, such as execution.workers=4")
    try:
        return path, yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override}: the value is not YAML: {' '.join(str(error).split())}") from None


def _loaded(
    settings: dict[str, Any], origin: str, overrides: tuple[str, ...], origins: dict[SettingPath, str]
) -> RunConfig:
    for override in overrides:
        path, value = parse_override(override)
        origins[path] = f"--set {override}"
        set_by_path(settings, path, value, origins[path])
    return validated(RunConfig, settings, origin, origins)
