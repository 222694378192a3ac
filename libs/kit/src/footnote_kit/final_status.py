"""Finds the true final status of a call with streamed requests."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import grpc

# The details that grpc.aio reports when a write fails, instead of the peer's status.
_WRITE_FAILED = "Internal error from Core"
_WAIT_SECONDS = 1.0  # seconds


class FinalStatus:
    """Keeps the status that the peer gave to a call.

    A peer that refuses an upload midway ends the call while the next part is being written. The write fails, and
    grpc.aio replaces the peer's status by its own. The peer's status may be there already or arrive a moment later.
    """

    def __init__(self, rpc: Any) -> None:
        self._rpc = rpc
        self._error: grpc.aio.AioRpcError | None = None
        rpc.add_done_callback(self._ended)

    def _ended(self, rpc: Any) -> None:
        """Save the call's status unless it is only that of a failed write."""
        if _now(rpc.details()) != _WRITE_FAILED:
            self._error = _now(error_of(rpc))

    async def of(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """Return the peer's status when `error` only reports a failed write; `error` itself when none arrives."""
        pause = 0.001
        while error.details() == _WRITE_FAILED and self._error is None and pause < _WAIT_SECONDS:
            await asyncio.sleep(pause)  # grpc.aio has no event for a later status
            pause *= 2
            self._ended(self._rpc)
        return self._error if error.details() == _WRITE_FAILED and self._error is not None else error


async def error_of(rpc: Any) -> grpc.aio.AioRpcError:
    """Return the error of a call that has ended."""
    return grpc.aio.AioRpcError(
        await rpc.code(), await rpc.initial_metadata(), await rpc.trailing_metadata(), await rpc.details()
    )


def _now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that completes without waiting."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("The call has no status yet")
