"""Options of `up`: changes of the service's settings, and checks of port, database and env file."""

import asyncio
import errno
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from bigcodeflow.core.env_file import read_env_file
from bigcodeflow.core.errors import ConfigError, ServiceError
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.core.settings import validated
from bigcodeflow.prefect_service.deployments import read_deployments
from bigcodeflow.prefect_service.folder import ServiceRecord, ServiceSettings

_CONNECT_SECONDS = 15
_PORTS_TRIED = 100
_HIGHEST_PORT = 65_535
_DRIVERS = {"postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg", "sqlite": "sqlite+aiosqlite"}
_URL_FORMS = "write postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or sqlite"


def update_settings(record: ServiceRecord, given: Mapping[str, Any]) -> Sequence[str]:
    """Check the settings that a user gave and store them in the record; return the names of the deployments."""
    old, values = record.settings, dict(given)
    if "database" in given:
        values["database"] = database_url(given["database"])
    if "deployments" in given:
        values["deployments"] = str(user_path(given["deployments"]).absolute())
    if "env_file" in given:
        values["env_file"] = _env_file(given["env_file"])
    new = validated(ServiceSettings, old.model_dump() | values, "command line")
    names = read_deployments(deployments_file(new))
    if record.running("server") is None:
        new = new.model_copy(update={"port": free_port(new.host, new.port, asked="port" in given)})
        if new.database:
            check_database(new.database)
    elif (new.host, new.port, new.database) != (old.host, old.port, old.database):
        raise ConfigError(
            f"the server runs at {old.ui_url} with {without_password(old.database)}: "
            "run `bigcodeflow down` first to change --host, --port or --database"
        )
    record.settings = new
    return names


def _env_file(path: str) -> str:
    """Read the env file once, to report its errors early, and return its absolute path; return '' for ''."""
    if not path:
        return ""
    file = user_path(path)
    read_env_file(file)
    return str(file.absolute())


def deployments_file(settings: ServiceSettings) -> Path:
    """Return the path of the prefect.yaml with the deployments."""
    return Path(settings.deployments) if settings.deployments else shipped("prefect.yaml")


def database_url(text: str) -> str:
    """Convert a user's database URL to Prefect's form; 'sqlite' gives '', the default file of the service."""
    if text in {"", "sqlite"}:
        return ""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigError(f"--database {text!r} is not a URL: {_URL_FORMS}") from None
    name = url.drivername
    if name not in _DRIVERS and name not in _DRIVERS.values():
        raise ConfigError(f"--database: Prefect cannot use {name}: {_URL_FORMS}")
    return url.set(drivername=_DRIVERS.get(name, name)).render_as_string(hide_password=False)


def without_password(url: str) -> str:
    """Return a database URL with its password hidden; 'SQLite' for an empty URL."""
    return make_url(url).render_as_string(hide_password=True) if url else "SQLite"


def check_database(url: str) -> None:
    """Connect to the database once; raise ServiceError if that fails, since the server's log would hide the cause."""
    parsed, shown = make_url(url), without_password(url)
    if parsed.drivername.startswith("sqlite"):
        if parsed.database and not Path(parsed.database).parent.is_dir():
            raise ServiceError(f"database {shown}: the folder {Path(parsed.database).parent} does not exist: create it")
        return
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy.ext.asyncio import create_async_engine

    async def connect() -> None:
        engine = create_async_engine(url, connect_args={"timeout": _CONNECT_SECONDS})
        try:
            async with engine.connect():
                pass
        finally:
            await engine.dispose()

    try:
        asyncio.run(connect())
    except (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or f"no answer within {_CONNECT_SECONDS} s"
        raise ServiceError(
            f"database {shown} cannot be used: {reason}. Check that it runs, that the database exists, and user and "
            "password; then run `bigcodeflow up --database URL` again"
        ) from None


def free_port(host: str, port: int, *, asked: bool) -> int:
    """Return ``port`` or, unless the user ``asked`` for it, the next free port; raise ConfigError if none is free."""
    for one in range(port, min(_HIGHEST_PORT, port + (0 if asked else _PORTS_TRIED)) + 1):
        try:
            with socket.create_server((host, one)):
                return one
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigError(f"--host {host} --port {one} cannot be used: {error.strerror or error}") from None
    taken = f"--port {port} is taken by another program: choose another, or leave out --port to get a free one"
    raise ConfigError(taken if asked else f"no port from {port} to {port + _PORTS_TRIED} is free: name one with --port")
