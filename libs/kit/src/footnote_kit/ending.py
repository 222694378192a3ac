"""How a call whose requests are streamed really ended."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import grpc

# What grpc.aio says of a call when a write to it fails, in place of what the peer said.
_WRITE_FAILED = "Internal error from Core"
_PATIENCE = 1.0  # seconds


class Ending:
    """Keeps the status that the peer gave to a call.

    A peer that refuses an upload in its middle ends the call while the next part is being written. The write fails, and
    grpc.aio puts a status of its own in the place of the peer's, which may be there already or arrive a moment later.
    """

    def __init__(self, rpc: Any) -> None:
        self._rpc = rpc
        self._error: grpc.aio.AioRpcError | None = None
        rpc.add_done_callback(self._ended)

    def _ended(self, rpc: Any) -> None:
        """Note the call's status when it gets its first."""
        if _now(rpc.details()) != _WRITE_FAILED:
            self._error = _now(error_of(rpc))

    async def of(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """Return the peer's status where `error` is only about a failed write; `error` when none comes."""
        pause = 0.001
        while error.details() == _WRITE_FAILED and self._error is None and pause < _PATIENCE:
            await asyncio.sleep(pause)  # nothing tells of a second status
            pause *= 2
            self._ended(self._rpc)
        return self._error if error.details() == _WRITE_FAILED and self._error is not None else error


async def error_of(rpc: Any) -> grpc.aio.AioRpcError:
    """Return the error of a call that has ended."""
    return grpc.aio.AioRpcError(
        await rpc.code(), await rpc.initial_metadata(), await rpc.trailing_metadata(), await rpc.details()
    )


def _now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("The call has no status yet")
