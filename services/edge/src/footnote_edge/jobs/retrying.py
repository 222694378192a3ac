"""Retries transient errors: an unavailable stage is no failure; the call is retried until the stage answers."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from footnote.types.v1.document_pb2 import (
    WAITING_REASON_DATABASE_UNAVAILABLE,
    WAITING_REASON_DISK_FULL,
    WAITING_REASON_INDEXING_UNAVAILABLE,
    WAITING_REASON_INGESTION_UNAVAILABLE,
    WAITING_REASON_PARSER_KILLED,
    WAITING_REASON_PROVIDER_REFUSED,
    WAITING_REASON_PROVIDER_UNAVAILABLE,
    WAITING_REASON_STORE_UNAVAILABLE,
    WaitingReason,
)
from footnote_kit import transient_errors
from footnote_kit.backoff import Backoff
from footnote_kit.errors import DeadlineExceeded, FootnoteError, ResourceExhausted, Unavailable

T = TypeVar("T")

FIRST_PAUSE = 0.2
_BY_CAUSE = {
    transient_errors.PROVIDER: WAITING_REASON_PROVIDER_UNAVAILABLE,
    transient_errors.PROVIDER_REFUSED: WAITING_REASON_PROVIDER_REFUSED,
    transient_errors.DATABASE: WAITING_REASON_DATABASE_UNAVAILABLE,
    transient_errors.DISK: WAITING_REASON_DISK_FULL,
    transient_errors.PARSER_KILLED: WAITING_REASON_PARSER_KILLED,
}


def is_transient(error: FootnoteError) -> bool:
    """Return whether an error is transient: a stage or its dependency is down or overloaded."""
    if isinstance(error, ResourceExhausted):
        return error.reason == "RATE_LIMITED"
    # A provider that refuses a text is not worth waiting for; one that is down, or rejects its credentials, is.
    return isinstance(error, Unavailable) and (
        error.reason != "PROVIDER_FAILED" or bool(transient_errors.waits_for(error))
    )


def waiting_for(error: FootnoteError) -> WaitingReason.ValueType:
    """Return the reason for which a document waits after a transient error."""
    if (known := _BY_CAUSE.get(transient_errors.waits_for(error))) is not None:
        return known
    if error.reason == "STORE_UNAVAILABLE":
        return WAITING_REASON_STORE_UNAVAILABLE
    if error.metadata.get("stage") == "ingestion":
        return WAITING_REASON_INGESTION_UNAVAILABLE
    return WAITING_REASON_INDEXING_UNAVAILABLE


async def until_available(
    operation: Callable[[], Awaitable[T]],
    ceiling: float,
    on_wait: Callable[[FootnoteError, int, float], Awaitable[None]] | None = None,
    also_timeouts: bool = True,
    give_up: Callable[[FootnoteError, float], None] = lambda error, waited: None,
) -> T:
    """Repeat `operation` on transient errors, with backoff up to `ceiling` seconds and jitter.

    `on_wait` gets each error, the number of errors and the seconds until the next attempt. A timeout counts as
    transient unless `also_timeouts` is off. `give_up` gets the error and the seconds since the first one, and may
    raise.
    """
    backoff = Backoff(FIRST_PAUSE, ceiling)
    attempt, began = 0, 0.0
    while True:
        attempt += 1
        try:
            return await operation()
        except Exception as error:
            known = error if isinstance(error, FootnoteError) else transient_errors.read(error)  # our own database
            if known is None or not (is_transient(known) or (also_timeouts and isinstance(known, DeadlineExceeded))):
                raise
            pause = backoff.pause(attempt, known.retry_after or 0.0)
            if on_wait is not None:
                await on_wait(known, attempt, pause)
            began = began or monotonic()
            give_up(known, monotonic() - began)
        await asyncio.sleep(pause)
