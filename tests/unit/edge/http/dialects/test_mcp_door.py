"""The path of MCP while its library is loaded, and where it cannot be."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from footnote_edge.http.dialects.mcp_server import McpRoute
from footnote_kit.errors import Unavailable


async def ask(door: McpRoute) -> None:
    await door({"type": "http"}, None, None)  # type: ignore[arg-type]


@asynccontextmanager
async def never_runs() -> Any:
    raise OSError("no task group")
    yield


async def test_whoever_asks_is_told_when_it_cannot_be_served(monkeypatch: pytest.MonkeyPatch) -> None:
    for make in (
        lambda _self: 1 / 0,
        lambda _self: (SimpleNamespace(session_manager=SimpleNamespace(run=never_runs)), None),
    ):
        monkeypatch.setattr(McpRoute, "_make", make)
        door = McpRoute(None, "1")  # type: ignore[arg-type]
        with pytest.raises(Unavailable):
            await ask(door)  # before the server runs
        async with door.serving(), asyncio.timeout(20):
            for _ in range(2):
                with pytest.raises(Unavailable, match="MCP cannot be served"):
                    await ask(door)


async def test_a_caller_who_leaves_while_it_loads_takes_it_from_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        answered.append(scope)

    @asynccontextmanager
    async def runs() -> Any:
        yield

    made = (SimpleNamespace(session_manager=SimpleNamespace(run=runs)), application)
    monkeypatch.setattr(McpRoute, "_make", lambda _self: made)
    door = McpRoute(None, "1")  # type: ignore[arg-type]
    async with door.serving(), asyncio.timeout(20):
        leaving = asyncio.create_task(ask(door))
        await asyncio.sleep(0)
        leaving.cancel()
        await ask(door)
    assert len(answered) == 1
