"""How long a request's body may be, and how long it may take: one layer around every route.

Time counts only while the application waits for the caller, so that a caller is not blamed for a busy server.
"""

import asyncio
import time
from collections.abc import Callable

from footnote_kit.errors import DeadlineExceeded, FootnoteError, InvalidArgument, ResourceExhausted
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnote_edge.http.serving.refusals import refuse

MAX_HELD = 256 * 1024 * 1024
"""Bytes of bodies that are held at a time by all requests that are read whole."""

LimitOf = Callable[[str, str], int | None]
"""Longest body by method and path; None where the body is a stream that is never held."""


class Bodies:
    """An ASGI layer that ends requests whose bodies are too long (413) or too slow (408).

    A body gets `patience` seconds, and another second for every `rate` bytes that have arrived.
    """

    def __init__(self, app: ASGIApp, limit_of: LimitOf, *, patience: float, rate: float) -> None:
        self._app = app
        self._limit_of = limit_of
        self._patience = patience
        self._rate = rate
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["method"], scope["path"])
        declared = Headers(scope=scope).get("content-length", "")
        if limit is not None and declared.isdecimal() and int(declared) > limit:
            await refuse(too_long(limit), scope, receive, send)
            return
        body = _Body(self, limit, receive)
        refused = started = False

        async def watched() -> Message:
            nonlocal refused
            try:
                return await body.receive()
            except FootnoteError as error:
                if not started:
                    refused = True
                    await refuse(error, scope, receive, send)
                return {"type": "http.disconnect"}

        async def answered(message: Message) -> None:
            nonlocal started
            if not refused:
                started = True
                await send(message)

        try:
            await self._app(scope, watched, answered)
        except Exception:
            if not refused:  # else the application stumbled over the end that we gave to the body
                raise
        finally:
            self._held -= body.held

    def hold(self, size: int) -> None:
        """Count bytes that a request holds; raises ResourceExhausted when all together hold too many."""
        if self._held + size > MAX_HELD:
            raise ResourceExhausted(
                "Too many large requests at a time; try again.", reason="RATE_LIMITED", retry_after=1.0
            )
        self._held += size

    def allowed(self, received: int) -> float:
        """Return the seconds that a body may have been waited for."""
        return self._patience + received / self._rate


class _Body:
    """One request's body on its way."""

    def __init__(self, bodies: Bodies, limit: int | None, receive: Receive) -> None:
        self._bodies = bodies
        self._limit = limit
        self._receive = receive
        self._received = 0
        self._waited = 0.0
        self._ended = False
        self.held = 0

    async def receive(self) -> Message:
        """Return the next part; raises InvalidArgument when there is too much, DeadlineExceeded when it is too slow."""
        if self._ended:
            return await self._receive()
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._bodies.allowed(self._received) - self._waited):
                message = await self._receive()
        except TimeoutError:
            raise DeadlineExceeded(
                "The body came too slowly; send it again over a faster line, or in smaller requests.",
                reason="REQUEST_TOO_SLOW",
            ) from None
        self._waited += time.monotonic() - began
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._received += size
        if self._limit is not None:
            if self._received > self._limit:
                raise too_long(self._limit)
            self._bodies.hold(size)
            self.held += size
        return message


def too_long(limit: int) -> InvalidArgument:
    """Return the error for a body of more than `limit` bytes."""
    return InvalidArgument(
        f"The body must have at most {limit} bytes; send it in several requests.", reason="REQUEST_TOO_LARGE"
    )
