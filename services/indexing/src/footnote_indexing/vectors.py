"""Texts with vectors that the caller made: all or nothing."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
from footnote.types.v1 import chunk_pb2, collection_pb2, document_pb2, scope_pb2
from footnote_kit.access import Access
from footnote_kit.errors import Aborted, FootnoteError, InvalidArgument
from footnote_kit.text_work import beside
from footnote_providers.base import Vectors
from footnote_store.rows import Row, chunk_id
from footnote_text import language, tokens
from footnote_text.lexical import lexical_text
from google.protobuf import struct_pb2

from footnote_indexing.collections import Collections, Found
from footnote_indexing.database import Database
from footnote_indexing.index_document import dated
from footnote_indexing.indexing import Indexing
from footnote_indexing.ledger import Ledger, RevisionKey
from footnote_indexing.moving import check_unmoved
from footnote_indexing.settings import Settings
from footnote_indexing.store_writer import StoreWriter
from footnote_indexing.vectorizers import Vectorizers

_MOST = 1000
_ID_LENGTH = 150
_TEXT_LENGTH = 16_000
_FIT_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class VectorText:
    """One text as it came: its vector, or what came in place of one."""

    id: str
    text: str
    metadata: struct_pb2.Struct
    embedding: Sequence[float]
    raw: struct_pb2.Value | None


def parse(documents: Sequence[VectorText]) -> list[Vectors]:
    """Return the vectors, of one length, or raise InvalidArgument with the words that callers know."""
    if not documents:
        raise InvalidArgument("Documents array is required", violations=[("documents", "must not be empty")])
    if len(documents) > _MOST:
        raise InvalidArgument.field("documents", f"must be at most {_MOST}")
    if any(not document.embedding and _absent(document.raw) for document in documents):
        raise InvalidArgument(
            "All documents must include pre-computed embeddings", violations=[("documents.embedding", "is required")]
        )
    vectors = [_vector(index, document) for index, document in enumerate(documents)]
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise _mismatch(
            f"the documents' embeddings have {', '.join(map(str, sorted(lengths)))} dimensions; all must agree"
        )
    for index, document in enumerate(documents):
        if not document.text.strip():
            raise InvalidArgument.field(f"documents[{index}].text", "must not be empty")
        if len(document.text) > _TEXT_LENGTH:
            raise InvalidArgument.field(f"documents[{index}].text", f"must be at most {_TEXT_LENGTH} characters")
        if len(document.id) > _ID_LENGTH or "\n" in document.id or "\r" in document.id:
            raise InvalidArgument.field(
                f"documents[{index}].id", f"must be one line of at most {_ID_LENGTH} characters"
            )
    named = [document.id for document in documents if document.id]
    if len(set(named)) != len(named):
        raise InvalidArgument.field("documents.id", "must not repeat in one request")
    return vectors


def _absent(raw: struct_pb2.Value | None) -> bool:
    return raw is None or raw.WhichOneof("kind") in (None, "null_value")


def _vector(index: int, document: VectorText) -> Vectors:
    values: Sequence[float] = document.embedding
    if not values and document.raw is not None:
        items = document.raw.list_value.values
        if document.raw.WhichOneof("kind") != "list_value" or not items:
            raise _format(index, f"got {_kind(document.raw)}")
        wrong = next((item for item in items if item.WhichOneof("kind") != "number_value"), None)
        if wrong is not None:
            raise _format(index, f"it holds {_kind(wrong)}")
        values = [item.number_value for item in items]
    vector = np.asarray(values, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise _format(index, "it holds values that are not finite")
    return vector


def _kind(value: struct_pb2.Value) -> str:
    kind = value.WhichOneof("kind") or "null_value"
    if kind == "list_value" and not value.list_value.values:
        return "an empty list"
    return {"number_value": "a number", "string_value": "a string", "bool_value": "a boolean",
            "struct_value": "an object", "list_value": "a list", "null_value": "null"}[kind]  # fmt: skip


def _format(index: int, problem: str) -> InvalidArgument:
    return InvalidArgument(
        f"Invalid embedding format in document {index}: must be an array of numbers, but {problem}",
        violations=[(f"documents[{index}].embedding", "must be an array of numbers")],
    )


def _mismatch(problem: str) -> InvalidArgument:
    return InvalidArgument(f"Embedding dimension mismatch: {problem}", reason="DIMENSION_MISMATCH")


class VectorTexts:
    """Adds texts with their vectors to a collection; each counts as a document of one chunk."""

    def __init__(
        self,
        database: Database,
        collections: Collections,
        indexing: Indexing,
        vectorizers: Vectorizers,
        ledger: Ledger,
        writer: StoreWriter,
        settings: Settings,
    ) -> None:
        self._database = database
        self._collections = collections
        self._indexing = indexing
        self._vectorizers = vectorizers
        self._ledger = ledger
        self._writer = writer
        self._settings = settings

    async def add(self, scope: scope_pb2.Scope, name: str, documents: Sequence[VectorText]) -> list[str]:
        """Store texts with vectors; return their ids in order. Nothing becomes visible unless all of it does.

        The first vectors of an empty collection set its dimension, unless it was given one when it was made.
        """
        effort = sum(1000 + len(document.text) for document in documents)
        vectors = await beside(effort, parse, documents)
        found = await self._fitting(scope, name, len(vectors[0]))
        expected = found.generation.embedding.dimensions
        if len(vectors[0]) != expected:
            raise _mismatch(
                f"'{found.collection.name}' holds vectors of {expected} dimensions, these have {len(vectors[0])}"
            )
        ids = [document.id or uuid4().hex for document in documents]
        keys = await self._ledger.open_next(
            found.collection.id, found.generation.number, [f"{found.collection.id}/{id_}" for id_ in ids]
        )
        try:
            rows = await beside(effort, _rows, scope, found, keys, ids, documents, vectors)
            space = await self._writer.ensure(found.generation)
            size = self._settings.store_batch
            for start in range(0, len(rows), size):
                await self._writer.write(space, rows[start : start + size])
            async with self._database.write() as connection:
                await check_unmoved(connection, found.collection.id, found.generation.number, None)
                for key, row in zip(keys, rows, strict=True):
                    await self._ledger.publish_on(
                        connection, key, strategy="", language=row.chunk.language, chunks=1,
                        characters=len(row.chunk.text), grace_ms=int(self._settings.purge_grace * 1000),
                        expire_at=row.chunk.expire_time.ToMilliseconds() if row.chunk.HasField("expire_time") else None,
                    )  # fmt: skip
        except FootnoteError:
            for key in keys:
                await self._ledger.abandon(key)
            raise
        return ids

    async def _fitting(self, scope: scope_pb2.Scope, name: str, dimensions: int) -> Found:
        """Return the collection, having given it this dimension if it may be."""
        found = await self._collections.find(scope, name, Access.WRITE)
        for _ in range(_FIT_ATTEMPTS):
            if found.generation.embedding.dimensions == dimensions:
                break
            under_way = found.collection.settings.embedding.dimensions == dimensions
            if not under_way and not await self._may_fit(found):
                break
            wanted = collection_pb2.Collection(etag=found.collection.etag)
            wanted.settings.embedding.dimensions = dimensions
            # Aborted: somebody else changed it, perhaps to this very dimension.
            with suppress(Aborted):
                # Whoever may write may put the first vectors in, and they say how long they are.
                paths = ["settings.embedding.dimensions"]
                await self._indexing.update(scope, found.collection.id, wanted, paths, Access.WRITE)
            found = await self._collections.find(scope, found.collection.id, Access.WRITE)
        return found

    async def _may_fit(self, found: Found) -> bool:
        """Tell whether a collection is empty and has the dimension that it gets when nobody names one."""
        now = found.generation.embedding
        if found.collection.settings.embedding != now or not await self._ledger.is_empty(found.collection.id):
            return False
        unsaid = collection_pb2.EmbeddingSettings(provider=now.provider, model=now.model, settings=now.settings)
        return now in (
            await self._vectorizers.resolve(unsaid),
            await self._vectorizers.resolve(collection_pb2.EmbeddingSettings()),
        )


def _rows(
    scope: scope_pb2.Scope,
    found: Found,
    keys: Sequence[RevisionKey],
    ids: Sequence[str],
    documents: Sequence[VectorText],
    vectors: Sequence[Vectors],
) -> list[Row]:
    """Return the rows of texts with their vectors: their terms and languages are found out here."""
    return [
        _row(scope, found, key, id_, document, vector)
        for key, id_, document, vector in zip(keys, ids, documents, vectors, strict=True)
    ]


def _row(
    scope: scope_pb2.Scope, found: Found, key: RevisionKey, id_: str, document: VectorText, vector: Vectors
) -> Row:
    described = dated(document_pb2.Document(), found.counting)
    chunk = chunk_pb2.Chunk(
        id=chunk_id(key.document_id, key.revision, 0), tenant_id=scope.tenant_id, owner_id=scope.user_id,
        collection_id=found.collection.id, document_id=key.document_id, revision=key.revision, text=document.text,
        filename=id_, source_type="vectors", level=chunk_pb2.CHUNK_LEVEL_STANDARD, metadata=document.metadata,
        language=language.detect(document.text), token_count=tokens.count(document.text),
        create_time=described.create_time,
    )  # fmt: skip
    chunk.locator.span.end = len(document.text)
    if described.HasField("expire_time"):
        chunk.expire_time.CopyFrom(described.expire_time)
    return Row(chunk, found.generation.collection_key, vector, lexical_text(document.text, chunk.language))
