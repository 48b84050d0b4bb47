"""The database of the Prefect server: which URL is meant, and whether it answers."""

import asyncio
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from bigcodeflow.core.errors import ConfigError, ServiceError

_DRIVERS = {
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
}
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
        raise ConfigError(
            f"--database {text!r} is not a URL: write postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or sqlite"
        ) from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise ConfigError(
            f"--database: Prefect cannot use {url.drivername}: "
            "write postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or sqlite"
        )
    return url.set(drivername=driver).render_as_string(hide_password=False)


def shown(url: str) -> str:
    """A URL without its password."""
    return make_url(url).render_as_string(hide_password=True) if url else "SQLite"


def check_database(url: str) -> None:
    """Connect once, since the server would bury the reason under hundreds of lines.

    Raises:
        ServiceError: the database cannot be reached or refuses.
    """
    parsed = make_url(url)
    if parsed.drivername.startswith("sqlite"):
        if parsed.database and not Path(parsed.database).parent.is_dir():
            raise ServiceError(f"database {shown(url)}: the folder {Path(parsed.database).parent} does not exist")
        return
    import asyncpg  # type: ignore[import-untyped]

    try:
        asyncio.run(_connect(url))
    except (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or f"no answer within {_CONNECT_SECONDS} s"
        raise ServiceError(
            f"database {shown(url)} cannot be used: {reason}. Check that it runs, that the database exists, and user "
            "and password; then run `bigcodeflow up --database URL` again"
        ) from None


async def _connect(url: str) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(url, connect_args={"timeout": _CONNECT_SECONDS})
    try:
        async with engine.connect():
            pass
    finally:
        await engine.dispose()
