"""Documents in work at the edge: one tenant's slow ones keep neither another tenant nor another user waiting."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.app import build
from footnote_edge.jobs import workflows
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

PLACES = 2


class Slow(World):
    """Documents whose text says so are read only after `let_go`."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()
        self.parsed: list[str] = []

    async def enter(self, method: str, request: Any) -> None:
        await super().enter(method, request)
        if method == "ParseDocument":
            name = self.documents[request.document_id].filename
            self.parsed.append(name)
            self.changed.set()
            if name.startswith("slow"):
                await self.let_go.wait()


@pytest.fixture
async def world() -> Slow:
    """Doubles whose parsing waits until a test lets it go."""
    return Slow()


@pytest.fixture
async def edge(world: Slow, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    """A stub of edge with few slots for documents."""
    monkeypatch.setenv("FOOTNOTE_EDGE_DOCUMENT_CONCURRENCY", str(PLACES))
    monkeypatch.setattr(workflows, "MOST_AT_HAND", 3)  # more of a user's wait in the queue
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield EdgeStub(served.channel)
        world.let_go.set()


def caller(tenant: str, user: str) -> tuple[tuple[str, str], ...]:
    return (("x-footnote-tenant", tenant), ("x-footnote-user", user))


async def upload(edge: EdgeStub, name: str, tenant: str, user: str) -> str:
    parts = [
        UploadDocumentRequest(metadata=UploadMetadata(filename=f"{name}.txt")),
        UploadDocumentRequest(data=f"This is {name}.".encode()),
    ]
    return str((await edge.UploadDocument(iter(parts), metadata=caller(tenant, user))).document.id)


async def state(edge: EdgeStub, document: str, tenant: str, user: str) -> int:
    request = WatchDocumentRequest(document_id=document)
    events = [one async for one in edge.WatchDocument(request, metadata=caller(tenant, user), timeout=60)]
    return events[-1].document.state


async def test_a_document_is_read_while_another_tenant_wants_every_place(edge: EdgeStub, world: Slow) -> None:
    for number in range(8):
        await upload(edge, f"slow {number}", "a", "ann")
    await world.until(lambda: len(world.parsed) == PLACES)
    for number in range(3):
        document = await upload(edge, f"note {number}", "b", "bob")
        assert await state(edge, document, "b", "bob") == doc.DOCUMENT_STATE_INDEXED
    assert len(world.parsed) == PLACES + 3


async def test_users_of_a_tenant_take_turns_also_when_many_of_ones_wait_in_the_queue(
    edge: EdgeStub, world: Slow
) -> None:
    for number in range(12):
        await upload(edge, f"slow {number}", "a", "ann")
    await world.until(lambda: len(world.parsed) == PLACES)
    document = await upload(edge, "note", "a", "ben")
    world.let_go.set()
    assert await state(edge, document, "a", "ben") == doc.DOCUMENT_STATE_INDEXED
    assert world.parsed[PLACES:].index("note.txt") < PLACES
