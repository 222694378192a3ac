"""The vector store as an async interface: a Milvus server, or the embedded engine with the same protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote_kit.errors import InvalidArgument
from numpy.typing import NDArray

from footnote_store import requests
from footnote_store.compiler import TRUE, conjunction, quote
from footnote_store.connection import Connection
from footnote_store.milvus import Milvus
from footnote_store.milvus_protocol.milvus_pb2 import DeleteRequest, InsertRequest, UpsertRequest
from footnote_store.milvus_protocol.schema_pb2 import CollectionSchema
from footnote_store.requests import Columns, write_request
from footnote_store.rows import (
    CHUNK_OUTPUT,
    MESSAGE_OUTPUT,
    Hit,
    MessageRow,
    Row,
    Vector,
    chunk_schema,
    decode_message,
    dimensions_of,
    encode_chunk,
    encode_message,
    message_schema,
    space_name,
    unit,
)
from footnote_store.scope import RowScope

_BATCH = 500
_PAGE = 10_000  # the engine returns at most 16 384 rows at once
_MAX_WINDOW = 16_384


class VectorStore(Connection):
    """Chunks and messages in a vector database.

    `uri` is "http://host:port", "https://…" (see `tls`), or "unix:<path>" of the embedded engine. Every method takes
    `timeout` in seconds and raises Unavailable with reason STORE_UNAVAILABLE when the store does not respond in time.
    Connections open at the first call and again after a break, so a store may be down at the start and come back.
    """

    def __init__(self, uri: str, token: str = "") -> None:
        super().__init__(uri, token)
        self._creating = asyncio.Lock()

    async def ensure_space(self, dimensions: int, variant: int = 0, timeout: float = 30.0) -> str:
        """Create the physical chunk collection for a dimension if it is missing; return its name.

        Variants hold the same ids under different models of one dimension, while a collection moves between them.
        """
        name = space_name(dimensions, variant)
        await self._ensure(name, dimensions, timeout, chunk_schema, lexical=True)
        return name

    async def ensure_message_space(self, dimensions: int, timeout: float = 30.0) -> str:
        """Create the physical message collection for a dimension if it is missing; return its name."""
        name = f"messages_{dimensions}"
        await self._ensure(name, dimensions, timeout, message_schema, lexical=False)
        return name

    async def _ensure(
        self, name: str, dimensions: int, timeout: float, schema: Callable[..., CollectionSchema], *, lexical: bool
    ) -> None:
        if name in self._spaces:
            return
        async with self._creating:
            if name in self._spaces:
                return

            async def create(client: Milvus) -> None:
                if (there := await client.schema(name, timeout)) is not None:
                    self._check_dimension(there, dimensions)
                else:
                    # A partition key together with a BM25 function breaks filters in the embedded engine.
                    await client.create(schema(name, dimensions, partition_by_tenant=not self._embedded), timeout)
                # An engine that dies while it creates a space leaves one without indexes, which no search can use.
                indexed = await client.indexed(name, timeout)
                for field in {"dense", "sparse"} - indexed if lexical else {"dense"} - indexed:
                    await client.index(name, field, index_parameters(field, embedded=self._embedded), timeout)
                await client.load(name, timeout)

            await self._call("create_collection", name, timeout, create)
            self._spaces.add(name)

    @staticmethod
    def _check_dimension(schema: CollectionSchema, dimensions: int) -> None:
        there = next(int(one.value) for field in schema.fields for one in field.type_params if one.key == "dim")
        if there != dimensions:
            raise InvalidArgument(
                f"{schema.name} holds vectors of {there} dimensions, not {dimensions}", reason="DIMENSION_MISMATCH"
            )

    async def upsert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        """Write rows, replacing rows with the same ids; return how many the store confirmed."""
        return await self._write_chunks(space, rows, timeout, new=False)

    async def insert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        """Write rows whose ids are all new; return how many the store confirmed.

        The cost does not grow with the store, whereas `upsert` looks up every id. There is one attempt: a failed
        write may have succeeded all the same, so only `upsert` may repeat it.
        """
        return await self._write_chunks(space, rows, timeout, new=True)

    async def _write_chunks(self, space: str, rows: Sequence[Row], timeout: float, *, new: bool) -> int:
        dimensions = dimensions_of(space)
        written = 0
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            request = await asyncio.to_thread(_chunks_request, space, batch, dimensions, new)
            written += await self._write(space, request, timeout)
        return written

    async def _write(self, space: str, request: UpsertRequest | InsertRequest, timeout: float) -> int:
        async def write(client: Milvus) -> int:
            if isinstance(request, UpsertRequest):
                return int((await client.call("Upsert", request, timeout)).upsert_cnt)
            return int((await client.call("Insert", request, timeout, once=True)).insert_cnt)

        operation = "upsert" if isinstance(request, UpsertRequest) else "insert"
        return int(await self._call(operation, space, timeout, write))

    async def search_dense(
        self, space: str, vector: Vector, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = TRUE
    ) -> list[Hit]:
        """Return the chunks nearest to a vector by cosine, best first; parents are never found."""
        query = np.asarray(unit(vector, len(vector)), dtype=np.float32)
        return await self._search(space, "dense", query, scope, where, limit, timeout, CHUNK_OUTPUT)

    async def search_lexical(
        self, space: str, lexical_query: str, scope: RowScope, limit: int, timeout: float = 10.0, *,
        where: str = TRUE, vectors: bool = False,
    ) -> list[Hit]:  # fmt: skip
        """Return the chunks that match search terms best by BM25, none without terms; with vectors if requested."""
        if not lexical_query.strip():
            return []
        output = [*CHUNK_OUTPUT, "dense"] if vectors else CHUNK_OUTPUT
        return await self._search(space, "sparse", lexical_query, scope, where, limit, timeout, output)

    async def _search(
        self, space: str, field: str, query: NDArray[np.float32] | str, scope: RowScope, where: str, limit: int,
        timeout: float, output: list[str],
    ) -> list[Hit]:  # fmt: skip
        limit = max(1, min(limit, _MAX_WINDOW))

        async def search(client: Milvus) -> list[Hit]:
            expr = conjunction([scope.searched(by_tenant=not self._embedded), where])
            columns, scores = await requests.search(client, space, field, query, expr, limit, output, timeout)
            return requests.hits(columns, scores) if scores else []

        found: list[Hit] = await self._read("search", space, timeout, search, channel=field, empty=[])
        return found

    async def query(self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0) -> list[Chunk]:
        """Return the chunks that pass a filter, in order of their ids, which is reading order."""
        return [hit.chunk for hit in await self.read(space, expr, limit, offset, timeout)]

    async def read(
        self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0, *, vectors: bool = False
    ) -> list[Hit]:
        """Return rows as `query` does, with the columns that decide a caller's access; scores are 0.

        Vectors are included if requested.
        """
        if limit <= 0:
            return []
        last_id = ""
        hits: list[Hit] = []
        # The engine's window is counted from the first row, so a far offset is reached by key.
        while offset + limit > _MAX_WINDOW and offset > 0:
            step = min(offset, _PAGE)
            ids = await self.ids(space, _after(expr, last_id), step, timeout=timeout)
            if len(ids) < step:
                return []
            last_id, offset = ids[-1], offset - step
        while limit > 0:
            size = min(limit, _PAGE)
            page = _after(expr, last_id)

            async def query(client: Milvus, page: str = page, size: int = size, offset: int = offset) -> list[Hit]:
                output = ["id", *CHUNK_OUTPUT, *(["dense"] if vectors else [])]
                columns = await requests.query(client, space, page, size, output, timeout, offset)
                return requests.hits(columns, [0.0] * len(columns["id"])) if columns else []

            found: list[Hit] = await self._read("query", space, timeout, query)
            hits.extend(sorted(found, key=lambda hit: hit.id))
            if len(found) < size:
                break
            last_id, limit, offset = hits[-1].id, limit - size, 0
        return hits

    async def ids(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> list[str]:
        """Return the ids of the rows that pass a filter, in order, at most 16 384."""
        return sorted((await self._rows(space, expr, min(limit, _MAX_WINDOW), ["id"], timeout)).get("id", ()))

    async def filenames(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> dict[str, str]:
        """Return a mapping of document id to file name for the rows that pass a filter; select one row per document."""
        found = await self._rows(space, expr, min(limit, _MAX_WINDOW), ["document_id", "filename"], timeout)
        return dict(zip(found["document_id"], found["filename"], strict=True)) if found else {}

    async def vectors(self, space: str, ids: Sequence[str], timeout: float = 10.0) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of rows by id, shape (dimensions,) each; missing ids are left out."""
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(ids), _BATCH):
            part = list(ids[start : start + _BATCH])
            expr = f"id in [{', '.join(quote(id_) for id_ in part)}]"
            query = partial(
                requests.query, space=space, expr=expr, limit=len(part), output=["id", "dense"], timeout=timeout
            )
            rows = await self._call("query", space, timeout, query)  # a missing space is an error, not zero vectors
            found |= zip(rows.get("id", ()), rows.get("dense", ()), strict=True)
        return found

    async def count(self, space: str, expr: str, timeout: float = 10.0) -> int:
        """Return the number of rows that pass a filter."""
        return sum((await self._rows(space, expr, None, ["count(*)"], timeout)).get("count(*)", ()))

    async def _rows(self, space: str, expr: str, limit: int | None, output: list[str], timeout: float) -> Columns:
        async def query(client: Milvus) -> Columns:
            return await requests.query(client, space, expr, limit, output, timeout)

        found: Columns = await self._read("query" if limit else "count", space, timeout, query, empty={})
        return found

    async def delete(self, space: str, expr: str, timeout: float = 60.0) -> int:
        """Delete the rows that pass a filter, chunks or messages; return how many there were."""
        # Counted first, because the number that delete reports differs between server versions.
        count = await self.count(space, expr, timeout)
        if count:
            request = DeleteRequest(collection_name=space, expr=expr)
            await self._call("delete", space, timeout, lambda client: client.call("Delete", request, timeout))
        return count

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow], timeout: float = 30.0) -> int:
        """Store messages, replacing those with the same ids; return how many the store confirmed."""
        dimensions = dimensions_of(space)
        written = 0
        for start in range(0, len(rows), _BATCH):
            data = [encode_message(row, dimensions) for row in rows[start : start + _BATCH]]
            written += await self._write(space, write_request(UpsertRequest, space, data), timeout)
        return written

    async def search_messages(
        self, space: str, vector: Vector, tenant_id: str, user_id: str, limit: int,
        exclude_conversation_id: str = "", timeout: float = 5.0,
    ) -> list[MemoryMessage]:  # fmt: skip
        """Return the user's messages most similar to a vector, best first."""
        if not tenant_id or not user_id:
            return []
        expr = f"tenant_id == {quote(tenant_id)} and user_id == {quote(user_id)}"
        if exclude_conversation_id:
            expr += f" and conversation_id != {quote(exclude_conversation_id)}"

        async def search(client: Milvus) -> list[MemoryMessage]:
            query = np.asarray(vector, dtype=np.float32)
            columns, scores = await requests.search(client, space, "dense", query, expr, limit, MESSAGE_OUTPUT, timeout)
            rows = zip(*(columns[name] for name in MESSAGE_OUTPUT), scores, strict=True) if scores else ()
            return [
                decode_message(text, extra, score)
                for text, extra, tenant, user, score in rows
                if tenant == tenant_id and user == user_id
            ]

        found: list[MemoryMessage] = await self._read("search", space, timeout, search, empty=[])
        return found


def _chunks_request(space: str, rows: Sequence[Row], dimensions: int, new: bool) -> UpsertRequest | InsertRequest:
    data = [encode_chunk(row, dimensions) for row in rows]
    return write_request(InsertRequest if new else UpsertRequest, space, data)


def _after(expr: str, last_id: str) -> str:
    return conjunction([expr, f"id > {quote(last_id)}"]) if last_id else expr


def index_parameters(field: str, *, embedded: bool) -> dict[str, str]:
    """Return the parameters of a column's index."""
    if field == "sparse":
        return {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25"}
    # Inner products of vectors of length 1 are cosines.
    return {"index_type": "FLAT" if embedded else "AUTOINDEX", "metric_type": "IP"}
