"""Limits the size and the duration of request bodies: one layer around every route.

Time counts only while the application waits for the caller, so that a caller is not blamed for a busy server.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from footnote_kit.errors import DeadlineExceeded, FootnoteError, InvalidArgument, ResourceExhausted
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnote_edge.http.serving.authentication import TENANT
from footnote_edge.http.serving.problems import refuse

MAX_HELD = 256 * 1024 * 1024
"""Maximum bytes in memory of all bodies that are read whole, beyond the first `FREE` of each."""
FREE = 64 * 1024
"""Bytes of each body that are not counted: most requests have no more, and the limit of connections bounds them."""
_SHARE = 2
"""A tenant holds at most this many times the free bytes: alone two thirds, and there is always room for another."""

LimitOf = Callable[[str, str], int | None]
"""Maximum body size by method and path; None for a streamed body."""


class Bodies:
    """An ASGI layer that ends requests with too long (413) or too slow (408) bodies.

    A body gets `grace_seconds` seconds, and another second for every `rate` bytes received.
    """

    def __init__(self, app: ASGIApp, limit_of: LimitOf, *, grace_seconds: float, rate: float) -> None:
        self._app = app
        self._limit_of = limit_of
        self._grace_seconds = grace_seconds
        self._rate = rate
        self._held: Counter[str] = Counter()

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
        tenant = str(scope.get(TENANT, ""))
        body = _Body(self, tenant, limit, receive)
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
            if not refused:  # otherwise the application failed on the truncated body
                raise
        finally:
            self._held[tenant] -= body.held
            if not self._held[tenant]:
                del self._held[tenant]

    def hold(self, tenant: str, size: int) -> None:
        """Count bytes that a request holds; raises ResourceExhausted if its tenant's share of the rest is smaller."""
        if size and self._held[tenant] + size > _SHARE * (MAX_HELD - self._held.total() - size):
            raise ResourceExhausted(
                "Too many large requests at a time; try again.", reason="RATE_LIMITED", retry_after=1.0
            )
        self._held[tenant] += size

    def allowed(self, received: int) -> float:
        """Return the seconds allowed for a body so far."""
        return self._grace_seconds + received / self._rate


class _Body:
    """The body of one request in progress."""

    def __init__(self, bodies: Bodies, tenant: str, limit: int | None, receive: Receive) -> None:
        self._bodies = bodies
        self._tenant = tenant
        self._limit = limit
        self._receive = receive
        self._received = 0
        self._waited = 0.0
        self._ended = False
        self.held = 0

    async def receive(self) -> Message:
        """Return the next part; raises InvalidArgument if the body is too long, DeadlineExceeded if too slow."""
        if self._ended:
            return await self._receive()
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._bodies.allowed(self._received) - self._waited):
                message = await self._receive()
        except TimeoutError:
            raise DeadlineExceeded(
                "The body arrived too slowly; send it again over a faster connection, or in smaller requests.",
                reason="REQUEST_TOO_SLOW",
            ) from None
        self._waited += time.monotonic() - began
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._received += size
        if self._limit is not None:
            if self._received > self._limit:
                raise too_long(self._limit)
            counted = max(self._received - FREE, 0) - self.held
            self._bodies.hold(self._tenant, counted)
            self.held += counted
        return message


def too_long(limit: int) -> InvalidArgument:
    """Return the error for a body of more than `limit` bytes."""
    return InvalidArgument(
        f"The body must have at most {limit} bytes; send it in several requests.", reason="REQUEST_TOO_LARGE"
    )
