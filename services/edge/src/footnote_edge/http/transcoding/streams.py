"""Server-sent events: one per message, comments as keep-alive for proxies, and an `error` event on failure.

Starlette's StreamingResponse closes the generator, and with it the model's call, when the client disconnects.

Exports are streams too, of JSON lines: feedback for training sets, the audit log for log collectors. A page that the
caller's rate or an outage holds up is tried again, since the status line has been sent.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

from footnote_kit.errors import FootnoteError
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.http.serving.problems import problem
from footnote_edge.http.transcoding.binding import Rule, bind, rules, to_json
from footnote_edge.jobs.retrying import until_available

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


PAGE = 1000
_MOST_WAITED, _LONGEST_PAUSE = 90.0, 10.0
"""Seconds that a page of an export is tried again, more than the minute of a rate limit, and between two tries."""
_EXPORTS = {
    "/v1/feedback.jsonl": ("feedback.export", "ListFeedback", "feedback"),
    "/v1/audit/events.jsonl": ("audit.export", "ListAuditEvents", "events"),
}
"""By path: the route's name, its RPC, and the list in the response."""


def export_routes(calls: GrpcCalls) -> list[Route]:
    """Return the routes of exports; the query has the RPC's fields."""
    known = {rule.method.name: rule for rule in rules()}
    return [
        Route(path, _export(calls, known[method], listed), methods=["GET"], name=name)
        for path, (name, method, listed) in _EXPORTS.items()
    ]


def _export(calls: GrpcCalls, rule: Rule, listed: str) -> Any:
    async def export(request: Request) -> Response:
        asked: Any = bind(rule, {}, request.query_params.multi_items(), {})
        asked.page_size = asked.page_size or PAGE
        first = await calls.unary(rule.method.name, asked, request)
        return StreamingResponse(_lines(calls, request, rule, asked, listed, first), media_type="application/jsonl")

    return export


def _enough(error: FootnoteError, waited: float) -> None:
    if waited > _MOST_WAITED:
        raise error


async def _lines(
    calls: GrpcCalls, request: Request, rule: Rule, asked: Any, listed: str, page: Any
) -> AsyncGenerator[str]:
    while True:
        one: Message
        for one in getattr(page, listed):
            yield json.dumps(to_json(one), ensure_ascii=False) + "\n"
        if not page.next_page_token:
            return
        asked.page_token = page.next_page_token
        page = await until_available(
            lambda: calls.unary(rule.method.name, asked, request), _LONGEST_PAUSE, also_timeouts=False, give_up=_enough
        )
