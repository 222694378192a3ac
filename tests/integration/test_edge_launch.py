"""PostgreSQL that is lost between edge's migration and the launch of its jobs: edge waits for it."""

import asyncio
import threading
from pathlib import Path

import pytest
from footnote_edge.app import build
from footnote_edge.jobs import jobs
from footnote_kit.testing import serve_app
from sqlalchemy.exc import DBAPIError
from support import postgres
from support.edge_client import EdgeClient
from support.stage_doubles import World, serve_doubles

pytestmark = pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))
AWAY = 3.0


async def use(monkeypatch: pytest.MonkeyPatch, server: postgres.PostgresServer) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", str(await postgres.new_database(server.url)))
    monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")


def lose(monkeypatch: pytest.MonkeyPatch, server: postgres.PostgresServer) -> None:
    """Stop the server right before jobs are launched."""
    prepare = jobs._prepare

    def lost(folder: Path, url: str) -> None:
        prepare(folder, url)
        server.kill()

    monkeypatch.setattr(jobs, "_prepare", lost)


async def test_edge_waits_until_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres.postgres_server() as server:
        await use(monkeypatch, server)
        lose(monkeypatch, server)
        back = threading.Timer(AWAY, server.start)
        back.start()
        async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses) as served:
            back.join()
            client = EdgeClient(served.channel)
            await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
            assert (await client.answer("tea ?")).answer.text


async def test_edge_ends_where_it_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "START_PATIENCE", 2.0)
    with postgres.postgres_server() as server:
        await use(monkeypatch, server)
        lose(monkeypatch, server)
        async with serve_doubles(World()) as addresses, asyncio.timeout(30):
            with pytest.raises(DBAPIError):
                async with serve_app(build, addresses=addresses):
                    pass
