"""The database of the Prefect server: which URL is meant, and whether it answers."""

import asyncio
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from bigcodeflow.core.errors import ConfigError, ServiceError

_DRIVERS = {"postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg", "sqlite": "sqlite+aiosqlite"}
_FORMS = "write postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or sqlite"
_CONNECT_SECONDS = 15


def database_url(text: str) -> str:
    """A user's URL as Prefect needs it; 'sqlite' alone means the file in the service's folder, an empty URL.

    Raises:
        ConfigError: not a URL, or of a database that Prefect cannot use.
    """
    if text in {"", "sqlite"}:
        return ""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigError(f"--database {text!r} is not a URL: {_FORMS}") from None
    name = url.drivername
    driver = name if name in _DRIVERS.values() else _DRIVERS.get(name)
    if driver is None:
        raise ConfigError(f"--database: Prefect cannot use {name}: {_FORMS}")
    return url.set(drivername=driver).render_as_string(hide_password=False)


def without_password(url: str) -> str:
    """A URL without its password."""
    return make_url(url).render_as_string(hide_password=True) if url else "SQLite"


def check_database(url: str) -> None:
    """Connect once, since the server would bury the reason under hundreds of lines.

    Raises:
        ServiceError: the database cannot be reached or refuses.
    """
    parsed, shown = make_url(url), without_password(url)
    if parsed.drivername.startswith("sqlite"):
        if parsed.database and not Path(parsed.database).parent.is_dir():
            raise ServiceError(f"database {shown}: the folder {Path(parsed.database).parent} does not exist")
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
