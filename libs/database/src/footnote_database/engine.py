"""Creates SQLAlchemy engines for SQLite or PostgreSQL by URL, always with this project's drivers."""

from pathlib import Path
from typing import Any

from footnote_kit import transient_errors
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from footnote_database import cancel_safe, failures, liveness, tls
from footnote_database.sqlite import pragmas
from footnote_database.traits import Pool, Traits, Writers

_log = get_logger(__name__)


def address(url: str, file: Path) -> URL:
    """Return the URL of the database that a setting names; if the setting is empty, that of the SQLite file."""
    return make_url(url) if url else URL.create("sqlite", database=str(file))


def connect(url: URL, traits: Traits) -> AsyncEngine:
    """Return an engine that connects at first use. Its errors quote no values.

    Zero bytes in parameters become replacement characters, on both databases.
    """
    engine = _sqlite(url, traits) if url.get_backend_name() == "sqlite" else _postgres(url, traits)
    event.listen(engine.sync_engine, "before_cursor_execute", replace_zero_bytes, retval=True)
    return engine


def _sqlite(url: URL, traits: Traits) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"),
        connect_args={"timeout": traits.busy_seconds},
        hide_parameters=True,
        **_pool(traits.sqlite_pool),
    )
    statements = pragmas(traits.synchronous, foreign_keys=traits.foreign_keys)
    immediate = traits.writers is Writers.IMMEDIATE

    def connected(connection: Any, _record: Any) -> None:
        if immediate:
            connection.isolation_level = None  # keeps the driver from beginning transactions itself
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(f"PRAGMA {statement}")
        cursor.close()

    cancel_safe.use(engine)
    event.listen(engine.sync_engine, "connect", connected)
    if immediate:
        event.listen(engine.sync_engine, "begin", begin)
    return engine


def begin(connection: Connection) -> None:
    """Begin an SQLite transaction with the next statement, as a write transaction if the connection is a writer's.

    Schema changes are inside it, unlike in transactions that the driver begins.
    """
    opened = connection.connection.driver_connection
    assert isinstance(opened, cancel_safe.Connection)
    opened.begin(writes=bool(connection.get_execution_options().get("writes")))


def _postgres(url: URL, traits: Traits) -> AsyncEngine:
    arguments: dict[str, Any] = {"timeout": traits.connect_seconds, "command_timeout": traits.command_seconds}
    if traits.schema is not None:
        arguments["server_settings"] = {"search_path": traits.schema}
    engine = server(url, arguments, **_pool(traits.postgres_pool))
    liveness.watch(engine)
    return engine


def server(url: URL, arguments: dict[str, Any], **more: Any) -> AsyncEngine:
    """Return an engine for a PostgreSQL server; `arguments` are the driver's, `more` the engine's.

    Raises FailedPrecondition when the TLS settings in the URL are unusable. Connections that fail or are refused by
    either side raise Unavailable.
    """
    driven = tls.without(url).set(drivername="postgresql+asyncpg")
    engine = create_async_engine(driven, hide_parameters=True, connect_args=arguments, **more)
    secured = tls.asked(url)

    def connecting(dialect: Any, _record: Any, positional: Any, named: dict[str, Any]) -> Any:
        try:
            return dialect.connect(*positional, **(named if secured is None else {**named, "ssl": secured()}))
        except Exception as error:  # the driver's own error stays unless a certificate or an absent server is the cause
            known: FootnoteError | None = tls.refused(url, error) if secured is not None else None
            if known is None and isinstance(error, OSError):  # no server listens, or it hangs up at once
                _log.warning("database_not_reached", host=url.host, port=url.port, reason=str(error))
                known = transient_errors.read(error) or failures.not_reached()
            if known is None:
                raise
            raise known from error

    event.listen(engine.sync_engine, "do_connect", connecting)
    return engine


def _pool(pool: Pool | None) -> dict[str, Any]:
    if pool is None:
        return {}
    return {"pool_size": pool.size, "max_overflow": pool.overflow, "pool_timeout": pool.seconds}


def replace_zero_bytes(
    _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
) -> tuple[str, Any]:
    """Replace zero bytes by U+FFFD; a listener for SQLAlchemy's before_cursor_execute with retval."""
    rows = parameters if many else [parameters]
    if any(_has(value) for row in rows or () for value in _values(row)):
        rows = [_replaced(row) for row in rows]
        return statement, rows if many else rows[0]
    return statement, parameters


def _values(row: Any) -> Any:
    return row.values() if isinstance(row, dict) else row or ()


def _has(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    return isinstance(value, list) and any(map(_has, value))


def _replaced(row: Any) -> Any:
    if isinstance(row, dict):
        return {name: shown(value) for name, value in row.items()}
    return type(row)(shown(value) for value in row)


def shown(value: Any) -> Any:
    """Return a value without zero bytes."""
    if isinstance(value, list):
        return [shown(one) for one in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
