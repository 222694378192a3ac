"""Searches and questions while indexing's PostgreSQL is frozen or killed: answered from caches."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote_kit.degradations import word
from support import postgres
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client
from support.postgres import PostgresServer

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not())),
]

DEADLINE = 40.0
IN_TIME = 15.0
"""Seconds on a crowded machine; 3 to be sure that indexing says nothing, once."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that can be frozen and killed."""
    with postgres.postgres_server() as running:
        yield running


async def search(client: EdgeClient) -> tuple[int, list[str]]:
    found = await client.stub.Search(SearchRequest(query="fact 3"), timeout=DEADLINE)
    return len(found.chunks), [word(one) for one in found.degradations]


async def ask(client: EdgeClient) -> tuple[int, list[str]]:
    last = None
    async for event in client.stub.Ask(AskRequest(question="What is fact 3?"), timeout=DEADLINE):
        last = event
    assert last is not None
    return len(last.completed.answer.citations), [word(one) for one in last.completed.degradations]


@pytest.mark.parametrize("how", ["freeze", "kill"])
def test_what_was_searched_before_is_searched_on(server: PostgresServer, tmp_path: Path, how: str) -> None:
    url = asyncio.run(postgres.new_database(server.url))
    running = Deployment(tmp_path, separate=True, env={"FOOTNOTE_INDEXING_DATABASE_URL": url})

    async def look() -> None:
        async with edge_client(running.address()) as client:
            await client.put("\n\n".join(f"Fact {one} is {one * 7}." for one in range(20)).encode(), "facts.txt")
            usual = [(await call(client))[0] for call in (search, ask)]
            assert all(usual)
            getattr(server, how)()
            for _ in range(2):
                for call, before in zip((search, ask), usual, strict=True):
                    began = time.monotonic()
                    found, degraded = await call(client)
                    seconds = time.monotonic() - began
                    print(
                        f"| {how} | {call.__name__} | {found} of {before} | {degraded} | {seconds:.1f} s |", flush=True
                    )
                    assert found == before
                    assert "DOCUMENTS_STALE" in degraded
                    assert seconds < IN_TIME

    try:
        running.start()
        asyncio.run(look())
    finally:
        server.thaw()
        running.stop()
