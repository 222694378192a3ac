"""Adds rows of own vectors, texts with vectors that the caller made, all or nothing."""

import asyncio
import secrets
import time
import unicodedata
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from footnote.stages.v1 import passage_pb2, scope_pb2, stored_document_pb2
from footnote.types.v1 import chunk_pb2, collection_pb2
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_database.cancel_safe import outcome
from footnote_kit.access import Access
from footnote_kit.errors import Aborted, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.text_work import off_loop
from footnote_providers import builtin
from footnote_providers.base import Vectors
from footnote_providers.own_vectors import PROVIDER, brings_own
from footnote_store.ids import chunk_id
from footnote_store.rows import Row, own_key
from footnote_text import language, tokens
from footnote_text.lexical import lexical_text

from footnote_indexing.collections.collections import Collections, Found
from footnote_indexing.model import NewRow, RevisionKey
from footnote_indexing.ports import Ledger, RowLedger
from footnote_indexing.revisions.collection_contents import CollectionContents
from footnote_indexing.revisions.document_indexing import dated
from footnote_indexing.settings import Settings
from footnote_indexing.writing.store_writer import StoreWriter
from footnote_indexing.writing.vectorizers import Vectorizers

MOST_BYTES = 3_670_016
"""Maximum bytes of one call's rows as transmitted: 3.5 MiB, which fits every client's message limit of 4 MiB."""
_MOST = 1000
_ID_BYTES = 150
_TEXT_LENGTH = 16_000
_FIT_ATTEMPTS = 5
_log = get_logger("footnote.indexing.vectors")


def parse(rows: Sequence[VectorRow]) -> list[Vectors]:
    """Return the vectors, all of one length, or raise InvalidArgument in the caller's terms."""
    if not rows:
        raise InvalidArgument("Documents array is required", violations=[("rows", "must not be empty")])
    if len(rows) > _MOST:
        raise InvalidArgument.field("rows", f"must be at most {_MOST}")
    size = sum(row.ByteSize() for row in rows)
    if size > MOST_BYTES:
        raise InvalidArgument(
            f"The rows have {size} bytes together and may have {MOST_BYTES} in one call; send fewer at a time",
            reason="REQUEST_TOO_LARGE",
            violations=[("rows", f"must have at most {MOST_BYTES} bytes together")],
        )
    if any(not row.vector for row in rows):
        raise InvalidArgument(
            "All documents must include pre-computed embeddings", violations=[("rows.vector", "is required")]
        )
    vectors = [_vector(index, row) for index, row in enumerate(rows)]
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise _mismatch(
            f"the documents' embeddings have {', '.join(map(str, sorted(lengths)))} dimensions; all must agree"
        )
    for index, row in enumerate(rows):
        if not row.text.strip():
            raise InvalidArgument.field(f"rows[{index}].text", "must not be empty")
        if len(row.text) > _TEXT_LENGTH:
            raise InvalidArgument.field(f"rows[{index}].text", f"must be at most {_TEXT_LENGTH} characters")
        if len(row.id.encode()) > _ID_BYTES or any(unicodedata.category(one) in _UNSEEN for one in row.id):
            raise InvalidArgument.field(f"rows[{index}].id", f"must be one line of at most {_ID_BYTES} bytes in UTF-8")
    named = [row.id for row in rows if row.id]
    if len(set(named)) != len(named):
        raise InvalidArgument.field("rows.id", "must not repeat in one request")
    return vectors


_UNSEEN = ("Cc", "Zl", "Zp")  # control characters and line separators


def _vector(index: int, row: VectorRow) -> Vectors:
    vector = np.asarray(row.vector, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise InvalidArgument(
            f"Invalid embedding format in document {index}: must be an array of numbers, but it holds values that are "
            "not finite",
            violations=[(f"rows[{index}].vector", "must be finite numbers")],
        )
    if not vector.any():
        raise InvalidArgument(
            f"Invalid embedding format in document {index}: must not be zeros alone, which are near to nothing",
            violations=[(f"rows[{index}].vector", "must not be zeros alone")],
        )
    return vector


def _mismatch(problem: str, **metadata: str) -> InvalidArgument:
    return InvalidArgument(
        f"Embedding dimension mismatch: {problem}",
        reason="DIMENSION_MISMATCH",
        metadata=metadata,
        violations=[("rows.vector", "must have the collection's dimensions")],
    )


class OwnRowAdder:
    """Adds texts with their vectors to a collection; each counts as a document of one chunk."""

    def __init__(
        self,
        collections: Collections,
        contents: CollectionContents,
        vectorizers: Vectorizers,
        ledger: Ledger,
        rows: RowLedger,
        writer: StoreWriter,
        settings: Settings,
    ) -> None:
        self._collections = collections
        self._contents = contents
        self._vectorizers = vectorizers
        self._ledger = ledger
        self._rows = rows
        self._writer = writer
        self._settings = settings

    async def add(self, scope: scope_pb2.Scope, name: str, rows: Sequence[VectorRow]) -> list[str]:
        """Store texts with vectors; return their ids in order. Nothing becomes visible unless all of it does.

        A call that fails or is cancelled leaves the rows that were there before.

        An empty collection without a chosen model becomes one that brings its own vectors with the first row. That row
        also sets their length, unless it was set at creation.
        """
        effort = sum(1000 + len(row.text) for row in rows)
        vectors = await off_loop(effort, parse, rows)
        found = await self._fitting(scope, name, len(vectors[0]))
        expected = found.index_version.embedding.dimensions
        if len(vectors[0]) != expected:
            raise _mismatch(
                f"'{found.collection.name}' holds vectors of {expected} dimensions, these have {len(vectors[0])}",
                collection=found.collection.name, expected=str(expected), given=str(len(vectors[0])),
            )  # fmt: skip
        ids = _made_ids(rows)
        keys = await self._ledger.open_next(
            found.collection.id, found.index_version.number, [own_key(found.collection.id, id_) for id_ in ids]
        )
        before: list[RevisionKey] = []
        try:
            stored = await off_loop(effort, _stored, scope, found, keys, ids, rows, vectors)
            space = await self._writer.ensure(found.index_version)
            size = self._settings.store_batch
            for start in range(0, len(stored), size):
                await self._writer.write(space, stored[start : start + size])
            new = [_entry(key, row) for key, row in zip(keys, stored, strict=True)]
            async with self._rows.publishing(new, int(self._settings.purge_grace * 1000)) as before:
                pass  # committed here; `before` is known even if the commit is interrupted
        except BaseException:
            # Also when the caller's deadline cuts the commit, which a cancellation does not stop.
            await outcome(asyncio.ensure_future(self._withdraw(keys, before)))
            raise
        return ids

    async def _withdraw(self, keys: Sequence[RevisionKey], before: Sequence[RevisionKey]) -> None:
        try:
            await self._rows.withdraw(keys, before)
        except Exception as error:  # rows without an end stay hidden, and the sweeper removes them
            _log.warning("rows_not_withdrawn", rows=len(keys), error=type(error).__name__)

    async def _fitting(self, scope: scope_pb2.Scope, name: str, dimensions: int) -> Found:
        """Return the collection, converted to one with own vectors of this length, if it may be."""
        found = await self._collections.find(scope, name, Access.WRITE)
        for _ in range(_FIT_ATTEMPTS):
            wanted = await self._to_become(found, dimensions)
            if wanted is None:
                break
            change = collection_pb2.Collection(etag=found.collection.etag)
            change.settings.embedding.CopyFrom(wanted)
            # Aborted: another request changed it, perhaps to this very dimension.
            with suppress(Aborted):
                # A caller who may write may add the first vectors, and they set the length.
                paths = ["settings.embedding"]
                await self._contents.update(scope, found.collection.id, change, paths, Access.WRITE)
            found = await self._collections.find(scope, found.collection.id, Access.WRITE)
        return found

    async def _to_become(self, found: Found, dimensions: int) -> collection_pb2.EmbeddingSettings | None:
        """Return the embedding settings a collection should have before its first vectors; None to keep its own."""
        now, chosen = found.index_version.embedding, found.collection.settings.embedding
        if brings_own(now):
            return None
        if chosen != now:
            under_way = brings_own(chosen) and chosen.dimensions == dimensions
            return chosen if under_way else None
        if not await self._ledger.is_empty(found.collection.id):
            return None
        own = collection_pb2.EmbeddingSettings(provider=PROVIDER, dimensions=dimensions)
        if now.dimensions == dimensions:
            # These cannot be the built-in model's vectors, which exist nowhere else, nor those of an automatic choice.
            # Vectors of any other model may well be its own.
            unchosen = {builtin.BuiltinEmbeddings.id}
            if self._vectorizers.automatic:
                unchosen.add(self._vectorizers.for_new().provider)
            return own if now.provider in unchosen else None
        unsaid = collection_pb2.EmbeddingSettings(provider=now.provider, model=now.model, settings=now.settings)
        defaults = (
            await self._vectorizers.resolve(unsaid),
            await self._vectorizers.resolve(collection_pb2.EmbeddingSettings()),
        )
        return own if now in defaults else None


def _made_ids(rows: Sequence[VectorRow]) -> list[str]:
    """Return the rows' ids; made ones begin with the time and the position, for rows are listed in the order of ids."""
    moment = time.time_ns() // 1000
    return [row.id or f"{moment:013x}{at:03x}{secrets.token_hex(8)}" for at, row in enumerate(rows)]


def _entry(key: RevisionKey, row: Row) -> NewRow:
    expires = row.chunk.expire_time.ToMilliseconds() if row.chunk.HasField("expire_time") else None
    return NewRow(key, row.chunk.language, len(row.chunk.text), expires)


def _stored(
    scope: scope_pb2.Scope,
    found: Found,
    keys: Sequence[RevisionKey],
    ids: Sequence[str],
    rows: Sequence[VectorRow],
    vectors: Sequence[Vectors],
) -> list[Row]:
    """Return the store's rows, with their search terms and languages."""
    return [
        _row(scope, found, key, id_, row, vector)
        for key, id_, row, vector in zip(keys, ids, rows, vectors, strict=True)
    ]


def _row(scope: scope_pb2.Scope, found: Found, key: RevisionKey, id_: str, row: VectorRow, vector: Vectors) -> Row:
    described = dated(stored_document_pb2.Document(), found.effective)
    chunk = passage_pb2.Chunk(
        id=chunk_id(key.document_id, key.revision, 0), tenant_id=scope.tenant_id, owner_id=scope.user_id,
        collection_id=found.collection.id, document_id=id_, revision=key.revision, text=row.text,
        filename=id_, source_type="vectors", level=chunk_pb2.CHUNK_LEVEL_STANDARD, metadata=row.metadata,
        language=language.detect(row.text), token_count=tokens.count(row.text),
        create_time=described.create_time,
    )  # fmt: skip
    chunk.locator.span.end = len(row.text)
    if described.HasField("expire_time"):
        chunk.expire_time.CopyFrom(described.expire_time)
    terms = lexical_text(row.text, chunk.language)
    return Row(chunk, found.index_version.collection_key, vector, terms, owner_key=key.document_id)
