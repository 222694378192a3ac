"""Public form of documents and chunks: the stages' rows without internal fields.

The only module that turns rows of footnote.types.v1 into messages of footnote.edge.v1.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from footnote.edge.v1.chunks_pb2 import Chunk, ScoredChunk
from footnote.edge.v1.documents_pb2 import Document
from footnote.stages.v1 import passage_pb2, stored_document_pb2
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.origins import origin_of, without_origin
from footnote_kit.text_work import off_loop
from google.protobuf.message import Message

from footnote_edge.collections.names import CollectionNames

M = TypeVar("M", bound=Message)
D = TypeVar("D", Document, Chunk)

EFFORT = 30
"""Cost of translating one document or chunk, in characters of text."""

_CHUNKS, _COLLECTION, _SOURCE = "chunk_count", "collection", "source"


class DocumentViews:
    """Translates documents, and looks up the names of their collections."""

    def __init__(self, names: CollectionNames) -> None:
        self._names = names

    async def document(self, scope: Scope, row: stored_document_pb2.Document) -> Document:
        """Return a document in its public form."""
        return document_of(row, await self._names.one(scope, row.collection_id))

    async def documents(self, scope: Scope, found: Sequence[stored_document_pb2.Document]) -> list[Document]:
        """Return documents in their public form."""
        names = await self._names.several(scope, {row.collection_id for row in found})
        return await off_loop(EFFORT * len(found), _documents, found, names)

    async def chunks(self, found: Sequence[passage_pb2.Chunk]) -> list[Chunk]:
        """Return chunks in their public form."""
        return await off_loop(EFFORT * len(found), lambda: [chunk_of(row) for row in found])

    async def scored(self, found: Sequence[passage_pb2.ScoredChunk]) -> list[ScoredChunk]:
        """Return search results in their public form."""
        effort = EFFORT * sum(1 + len(row.neighbors) for row in found)
        return await off_loop(effort, lambda: [scored_of(row) for row in found])


def document_of(row: stored_document_pb2.Document, collection: str) -> Document:
    """Return a document in its public form; `collection` is the name of its collection."""
    return _from_source(_copied(row, Document(chunk_count=row.chunks_stored, collection=collection)))


def chunk_of(row: passage_pb2.Chunk) -> Chunk:
    """Return a chunk in its public form."""
    return _from_source(_copied(row, Chunk()))


def scored_of(row: passage_pb2.ScoredChunk) -> ScoredChunk:
    """Return a search result in its public form."""
    return ScoredChunk(
        chunk=chunk_of(row.chunk),
        score=row.score,
        channels=row.channels,
        adjustments=row.adjustments,
        neighbors=[chunk_of(one) for one in row.neighbors],
        repetitions=row.repetitions,
    )


def _documents(found: Sequence[stored_document_pb2.Document], names: Mapping[str, str]) -> list[Document]:
    return [document_of(row, names.get(row.collection_id, "")) for row in found]


def _from_source(made: D) -> D:
    """Move the source item from the metadata to its own field."""
    origin = origin_of(made.metadata)
    if origin is not None:
        made.source.CopyFrom(origin)
        made.metadata.CopyFrom(without_origin(made.metadata))
    return made


def _copied(row: Any, made: M) -> M:
    """Copy the fields that a public message shares with its row, by name."""
    for name, repeated, message in _COMMON[made.DESCRIPTOR.full_name]:
        if repeated:
            getattr(made, name).extend(getattr(row, name))
        elif not message:
            setattr(made, name, getattr(row, name))
        elif row.HasField(name):
            getattr(made, name).CopyFrom(getattr(row, name))
    return made


def _common(row: type[Message], public: type[Message], apart: frozenset[str]) -> tuple[tuple[str, bool, bool], ...]:
    """Return name, repeated, is-message of each public field but those `apart`; KeyError if the row lacks one."""
    own = row.DESCRIPTOR.fields_by_name
    return tuple(
        (field.name, field.is_repeated, field.message_type is not None)
        for field in (own[one.name] for one in public.DESCRIPTOR.fields if one.name not in apart)
    )


_COMMON = {
    Document.DESCRIPTOR.full_name: _common(
        stored_document_pb2.Document, Document, frozenset((_CHUNKS, _COLLECTION, _SOURCE))
    ),
    Chunk.DESCRIPTOR.full_name: _common(passage_pb2.Chunk, Chunk, frozenset((_SOURCE,))),
}
