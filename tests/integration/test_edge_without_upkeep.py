"""Stages need not offer the internal packages: edge does without them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from footnote.edge.v1 import documents_pb2 as docs
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_edge.app import build
from footnote_edge.documents.chunk_repair import ChunkRepair
from footnote_edge.documents.reconcile import Reconciler
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import NotFound
from footnote_kit.testing import serve_app
from google.protobuf.field_mask_pb2 import FieldMask
from support.doubles import stages
from support.doubles.stages import World, serve_doubles


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """How each round of looking for work that a crash left has ended."""
    ended: list[BaseException | None] = []
    for kind in (Reconciler, ChunkRepair):
        monkeypatch.setattr(kind, "run", watched(kind.run, ended))
    return ended


def watched(look: Callable[[Any], Awaitable[None]], ended: list[BaseException | None]) -> Callable[[Any], Any]:
    async def watching(self: Any) -> None:
        try:
            await look(self)
        except BaseException as error:
            ended.append(error)
            raise
        ended.append(None)

    return watching


@pytest.fixture
async def edge(monkeypatch: pytest.MonkeyPatch, rounds: list[BaseException | None]) -> AsyncIterator[EdgeStub]:
    """A stub of edge before stages that offer no upkeep."""
    monkeypatch.setattr(stages, "_UPKEEP", {})
    for name in ("RECONCILE", "LEFTOVERS"):
        monkeypatch.setenv(f"FOOTNOTE_EDGE_{name}_SECONDS", "0.2")
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses) as served:
        yield EdgeStub(served.channel)


async def test_documents_come_change_and_go_and_rounds_end_well(
    edge: EdgeStub, rounds: list[BaseException | None]
) -> None:
    def upload() -> Iterator[docs.UploadDocumentRequest]:
        yield docs.UploadDocumentRequest(metadata=docs.UploadMetadata(filename="a.txt"))
        yield docs.UploadDocumentRequest(data=b"words")

    document = (await edge.UploadDocument(upload())).document
    async for event in edge.WatchDocument(docs.WatchDocumentRequest(document_id=document.id), timeout=20):
        document = event.document
    assert document.state == DOCUMENT_STATE_INDEXED
    change = docs.UpdateDocumentRequest(
        document_id=document.id, resource=docs.Document(tags=["t"]), update_mask=FieldMask(paths=["tags"])
    )
    assert list((await edge.UpdateDocument(change)).document.tags) == ["t"]
    await edge.DeleteDocument(docs.DeleteDocumentRequest(document_id=document.id))
    for call in (edge.GetDocument, edge.DeleteDocument):
        request = docs.GetDocumentRequest if call is edge.GetDocument else docs.DeleteDocumentRequest
        with pytest.raises(NotFound):
            await call(request(document_id=document.id))
    async with asyncio.timeout(240):
        while len(rounds) < 4:  # noqa: ASYNC110 - no event reports the service's rounds
            await asyncio.sleep(0.05)
    assert set(rounds) == {None}
