"""Cancels work, and the calls that it makes, when its client disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work; if the client disconnects, cancel it and raise ClientDisconnect.

    The request's body must have been read.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise ClientDisconnect
        return task.result()
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class CancelOnDisconnect:
    """Wraps an application that ignores disconnects: its POST calls are cancelled when their client disconnects."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        messages: asyncio.Queue[Message] = asyncio.Queue(1)

        async def look() -> None:
            while (message := await receive())["type"] != "http.disconnect":
                await messages.put(message)  # read the body only as fast as the application asks for it

        async def serve() -> None:
            await self._app(scope, messages.get, send)

        looking = asyncio.ensure_future(look())
        serving = asyncio.ensure_future(serve())
        try:
            await asyncio.wait({looking, serving}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        finally:
            for one in (looking, serving):
                one.cancel()
            await asyncio.gather(looking, serving, return_exceptions=True)
