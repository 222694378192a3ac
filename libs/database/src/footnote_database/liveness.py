"""Detects a PostgreSQL server that hangs: its connections stay open, but it does not respond.

The driver's own time limits are not enough. They end in a TimeoutError without a cause, and the connection waits for
the hung server to confirm the cancellation. The next user of the connection then waits as long again.
"""

from typing import Any

from footnote_kit.logs import get_logger
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine

from footnote_database import failures

ANSWER_SECONDS = 5.0
"""Time limit for a pooled connection to respond before it is used."""
_USED = "used"

_log = get_logger(__name__)


def watch(engine: AsyncEngine) -> None:
    """Ping each connection when it leaves the pool, and discard connections after a timeout.

    A connection that does not respond in time raises NotReached; a closed one is replaced. The ping is one message
    and its response, outside transactions, so it also works through a connection pooler.
    """
    event.listen(engine.sync_engine, "checkout", _ask)
    event.listen(engine.sync_engine, "handle_error", _late)


def _ask(connection: Any, record: Any, _proxy: Any) -> None:
    if _USED not in record.info:  # the connection is new
        record.info[_USED] = True
        return
    try:
        connection.run_async(_say)
    except TimeoutError as error:
        _log.warning("database_silent", seconds=ANSWER_SECONDS)
        connection.driver_connection.terminate()  # a regular close would wait for the same hung server
        raise failures.not_reached() from error
    except Exception as error:
        if not isinstance(error, _closed()):
            raise
        raise InvalidatePoolError from error


def _closed() -> tuple[type[Exception], ...]:
    """Return what a ping raises on a connection that is closed or about to close."""
    from asyncpg import exceptions  # imported late: installations on SQLite never need it

    return exceptions.PostgresError, exceptions.InterfaceError, exceptions.InternalClientError, OSError


async def _say(driver: Any) -> None:
    # asyncpg 0.32 fails on the response to an empty statement.
    await driver.execute("SELECT 1", timeout=ANSWER_SECONDS)


def _late(context: ExceptionContext) -> None:
    if isinstance(context.original_exception, TimeoutError):
        # Otherwise the pool would roll it back through a hung server and reuse it. Other connections get their own
        # ping.
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False
        raise failures.not_reached() from context.original_exception
