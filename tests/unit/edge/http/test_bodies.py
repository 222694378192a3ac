"""The memory of request bodies: what callers who send slowly, or much, leave to others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from footnote_edge.http.serving.authentication import TENANT
from footnote_edge.http.serving.bodies import MAX_HELD, Bodies
from starlette.types import Message, Receive, Scope, Send

LARGE = 16 * 1024 * 1024
PIECE = 1024 * 1024


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass
    if message["type"] == "http.request":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def bodies() -> Bodies:
    """A reader of bodies of large requests, without a server."""
    return Bodies(application, lambda method, path: LARGE, grace_seconds=10.0, rate=4096.0)


async def status(bodies: Bodies, tenant: str, size: int, stalls: asyncio.Event | None = None) -> int:
    """Return the status of a request whose body has this size, and ends after an event if one is given."""
    left, answers = size, list[Any]()

    async def receive() -> Message:
        nonlocal left
        if not left and stalls is not None:
            await stalls.wait()
            return {"type": "http.disconnect"}
        piece = min(left, PIECE)
        left -= piece
        return {"type": "http.request", "body": bytes(piece), "more_body": bool(left) or stalls is not None}

    async def send(message: Message) -> None:
        answers.append(message.get("status"))

    scope = {"type": "http", "method": "POST", "path": "/v1/ask", "headers": [], "query_string": b"", TENANT: tenant}
    await bodies(scope, receive, send)
    return int(answers[0]) if answers else 0


@asynccontextmanager
async def stalled(bodies: Bodies, tenant: str) -> AsyncIterator[list[asyncio.Task[int]]]:
    """Keep as many large bodies of a tenant open as there is room for."""
    stop = asyncio.Event()
    sent = [asyncio.create_task(status(bodies, tenant, LARGE, stop)) for _ in range(MAX_HELD // LARGE + 1)]
    await asyncio.sleep(0.05)
    try:
        yield sent
    finally:
        stop.set()
        await asyncio.gather(*sent)


async def test_slow_bodies_of_a_tenant_leave_room_for_others(bodies: Bodies) -> None:
    async with stalled(bodies, "evil"), stalled(bodies, "bad"):
        assert await status(bodies, "good", LARGE) == 200


async def test_small_bodies_are_taken_however_many_large_ones_there_are(bodies: Bodies) -> None:
    async with stalled(bodies, "evil"), stalled(bodies, "bad"):
        assert [await status(bodies, tenant, 20) for tenant in ("evil", "good")] == [200, 200]
        assert await status(bodies, "evil", LARGE) == 429


async def test_a_tenant_alone_has_most_of_the_room_and_gets_it_back(bodies: Bodies) -> None:
    for _ in range(2):
        async with stalled(bodies, "only") as sent:
            assert sum(not one.done() for one in sent) == 10
