"""Public form of documents and chunks: the stages' rows without internal fields.

The only module that turns rows of footnote.types.v1 into messages of footnote.edge.v1.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from footnote.edge.v1.answers_pb2 import SearchResponse
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

    async def show(self, found: Sequence[passage_pb2.ScoredChunk], response: SearchResponse) -> None:
        """Add search results in their public form to a response."""
        effort = EFFORT * sum(1 + len(row.neighbors) for row in found)
        await off_loop(effort, _show, found, response)


def document_of(row: stored_document_pb2.Document, collection: str) -> Document:
    """Return a document in its public form; `collection` is the name of its collection."""
    return _from_source(_copied(row, Document(chunk_count=row.chunks_stored, collection=collection)))


def chunk_of(row: passage_pb2.Chunk) -> Chunk:
    """Return a chunk in its public form."""
    return _from_source(_copied(row, Chunk()))


def scored_of(row: passage_pb2.ScoredChunk) -> ScoredChunk:
    """Return a search result in its public form."""
    return _score(row, ScoredChunk())


def _show(found: Sequence[passage_pb2.ScoredChunk], response: SearchResponse) -> None:
    for row in found:
        _score(row, response.chunks.add())


def _score(row: passage_pb2.ScoredChunk, made: ScoredChunk) -> ScoredChunk:
    """Fill in a result where it will stay: each copy of a message costs as much as its translation."""
    made.chunk.SetInParent()
    _from_source(_copied(row.chunk, made.chunk))
    made.score = row.score
    made.channels.extend(row.channels)
    made.adjustments.extend(row.adjustments)
    for one in row.neighbors:
        _from_source(_copied(one, made.neighbors.add()))
    made.repetitions.extend(row.repetitions)
    return made


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
    common = _COMMON[made.DESCRIPTOR.full_name]
    for field, value in row.ListFields():
        name = field.name
        kind = common.get(name)
        if kind is _SCALAR:
            setattr(made, name, value)
        elif kind is not None:
            getattr(made, name).MergeFrom(value)
    return made


def _common(row: type[Message], public: type[Message], apart: frozenset[str]) -> Mapping[str, str]:
    """Return whether each public field but those `apart` is a scalar; KeyError if the row lacks one."""
    own = row.DESCRIPTOR.fields_by_name
    return {
        name: _OTHER if own[name].is_repeated or own[name].message_type is not None else _SCALAR
        for name in public.DESCRIPTOR.fields_by_name
        if name not in apart
    }


_SCALAR, _OTHER = "scalar", "message or list"
_COMMON = {
    Document.DESCRIPTOR.full_name: _common(
        stored_document_pb2.Document, Document, frozenset((_CHUNKS, _COLLECTION, _SOURCE))
    ),
    Chunk.DESCRIPTOR.full_name: _common(passage_pb2.Chunk, Chunk, frozenset((_SOURCE,))),
}
