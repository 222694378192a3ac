"""Server-sent events: one per message, comments as keep-alive for proxies, and an `error` event on failure.

Starlette's StreamingResponse closes the generator, and with it the model's call, when the client disconnects.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

from footnote_kit.errors import FootnoteError
from starlette.responses import StreamingResponse

from footnote_edge.http.serving.problems import problem

PING_SECONDS = 15.0
FIRST_SECONDS = 1.0
"""Seconds to wait for the first event: the client of a quiet watch must then learn that it is served."""
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def encode(data: Any, event: str = "") -> str:
    """Return one event; `data` becomes one line of JSON."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def response(events: AsyncGenerator[str]) -> StreamingResponse:
    """Return a response that streams encoded events with pings in between."""
    return StreamingResponse(_with_pings(events), media_type="text/event-stream", headers=HEADERS)


def problem_event(error: FootnoteError) -> str:
    """Return an error as an event named `error` with problem details."""
    return encode(problem(error), "error")


async def started(
    events: AsyncGenerator[str], on_error: Callable[[FootnoteError], str] = problem_event
) -> AsyncGenerator[str]:
    """Wait briefly for the first event, so that an early failure gets its own status; then return the stream.

    `on_error` turns a later failure into an event, as the status line has been sent.
    """
    first = asyncio.ensure_future(anext(events, None))
    done, _ = await asyncio.wait({first}, timeout=FIRST_SECONDS)
    if done:
        first.result()
    return _continued(first, events, on_error)


async def _continued(
    first: "asyncio.Future[str | None]", events: AsyncGenerator[str], on_error: Callable[[FootnoteError], str]
) -> AsyncGenerator[str]:
    try:
        event = await first
        while event is not None:
            yield event
            event = await anext(events, None)
    except FootnoteError as error:
        yield on_error(error)
    finally:
        first.cancel()
        with suppress(asyncio.CancelledError, FootnoteError):
            await first
        await events.aclose()


async def _with_pings(events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(events) as stream:
        pending: asyncio.Task[str] | None = None
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(stream))
                done, _ = await asyncio.wait({pending}, timeout=PING_SECONDS)
                if not done:
                    yield ": ping\n\n"
                    continue
                try:
                    event = pending.result()
                except StopAsyncIteration:
                    return
                finally:
                    pending = None
                yield event
        finally:
            if pending is not None:
                pending.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration):
                    await pending
