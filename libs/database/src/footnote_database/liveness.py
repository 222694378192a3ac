"""Whether a server of PostgreSQL's answers at all: one that stands still keeps its connections open and says nothing.

The driver's own limits end in a TimeoutError that names nobody, leave the connection waiting for the same server to
confirm that it has given up, and let whoever uses it next wait as long again.
"""

from typing import Any

from footnote_kit.logs import get_logger
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine

from footnote_database import failures

ANSWER_SECONDS = 5.0
"""For a connection from the pool to show that somebody is there, before it is used."""
_USED = "used"

_log = get_logger(__name__)


def watch(engine: AsyncEngine) -> None:
    """Ask each connection whether anybody is there when it comes out of the pool, and believe in none that ran late.

    Who would use one that does not answer in time gets NotReached; one that was closed meanwhile is replaced. It is one
    message and its answer, outside of transactions, which a pooler in between can tell apart as well.
    """
    event.listen(engine.sync_engine, "checkout", _ask)
    event.listen(engine.sync_engine, "handle_error", _late)


def _ask(connection: Any, record: Any, _proxy: Any) -> None:
    if _USED not in record.info:  # it has just been made
        record.info[_USED] = True
        return
    try:
        connection.run_async(_say)
    except TimeoutError as error:
        _log.warning("database_silent", seconds=ANSWER_SECONDS)
        connection.driver_connection.terminate()  # in order it would wait for the same silent server
        raise failures.not_reached() from error
    except Exception as error:  # closed, or about to be
        raise InvalidatePoolError from error


async def _say(driver: Any) -> None:
    await driver.execute("", timeout=ANSWER_SECONDS)


def _late(context: ExceptionContext) -> None:
    if isinstance(context.original_exception, TimeoutError):
        # Else it would be rolled back by a server that does not answer, and used again. Others are asked themselves.
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False
        raise failures.not_reached() from context.original_exception
