"""Reads of the database, column by column: the request as pymilvus makes it, the answer turned into hits.

pymilvus wraps each value of an answer in objects of its own, on the event loop: for a search of 60 passages that took
as long as the engine took to find them. Its handler's stub gives the answer as it came over the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymilvus import AsyncMilvusClient
from pymilvus.client.prepare import Prepare
from pymilvus.client.utils import check_status
from pymilvus.grpc_gen.milvus_pb2 import QueryResults, SearchResults
from pymilvus.grpc_gen.schema_pb2 import FieldData

from footnote_store.rows import Hit, Vector, decode_chunk

Columns = Mapping[str, Sequence[Any]]


async def search(
    client: AsyncMilvusClient, space: str, field: str, query: Vector | str, expr: str, limit: int,
    output: Sequence[str], timeout: float,
) -> tuple[Columns, Sequence[float]]:  # fmt: skip
    """Search one vector column; returns the columns, the ids among them, and the engine's scores, best first."""
    request = Prepare.search_requests_with_expr(
        space, field, {}, limit, data=[query], expr=expr, output_fields=list(output)
    )
    handler = await client._get_connection()
    # A connection that is being made again is waited for, within the timeout.
    response: SearchResults = await handler._async_stub.Search(request, timeout=timeout, wait_for_ready=True)
    check_status(response.status)
    columns = _columns(response.results.fields_data)
    columns["id"] = response.results.ids.str_id.data
    return columns, response.results.scores


async def query(
    client: AsyncMilvusClient, space: str, expr: str, limit: int, offset: int, output: Sequence[str], timeout: float
) -> Columns:
    """Read the columns of rows that pass a filter, in no order."""
    request = Prepare.query_request(space, expr, list(output), None, limit=limit, offset=offset)
    handler = await client._get_connection()
    response: QueryResults = await handler._async_stub.Query(request, timeout=timeout, wait_for_ready=True)
    check_status(response.status)
    return _columns(response.fields_data)


def hits(columns: Columns, scores: Sequence[float]) -> list[Hit]:
    """Return rows that were read with CHUNK_OUTPUT as hits; with the column "dense" they carry their vectors."""
    vectors: Sequence[NDArray[np.float32] | None] = columns.get("dense") or [None] * len(scores)
    rows = zip(
        columns["id"], columns["text"], columns["extra"], columns["collection_key"], columns["revision_key"],
        columns["lexical_text"], scores, vectors, strict=True,
    )  # fmt: skip
    return [
        Hit(
            decode_chunk({"id": id_, "text": text, "extra": extra}),
            score,
            collection_key,
            revision_key,
            lexical,
            vector,
        )
        for id_, text, extra, collection_key, revision_key, lexical, score, vector in rows
    ]


def _columns(fields: Sequence[FieldData]) -> dict[str, Sequence[Any]]:
    return {field.field_name: _values(field) for field in fields}


def _values(field: FieldData) -> Sequence[Any]:
    if field.vectors.HasField("float_vector"):
        # The floats end the serialised message as they are in memory; taking them one by one costs a millisecond.
        count = len(field.vectors.float_vector.data)
        packed = field.vectors.float_vector.SerializeToString()[-4 * count :] if count else b""
        return list(np.frombuffer(packed, dtype="<f4").reshape(-1, max(1, field.vectors.dim)))
    kind = field.scalars.WhichOneof("data")
    values: Sequence[Any] = getattr(field.scalars, kind).data if kind else ()
    return values
