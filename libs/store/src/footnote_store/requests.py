"""Reads and writes the database column by column: builds requests, and turns responses into hits.

pymilvus wraps each value of a response in objects, on the event loop. For a search of 60 passages that took as long
as the engine's search.

To write, pymilvus takes dicts and packs them value by value on the event loop, and inspects every character of every
string. For chunks of 800 characters that took longer than the engine needs to store them. This module builds a request
off the loop, about ten times as fast; the encoder has validated the values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from google.protobuf.wrappers_pb2 import BytesValue
from numpy.typing import NDArray

from footnote_store.milvus import Milvus
from footnote_store.milvus_protocol.common_pb2 import DslType, PlaceholderGroup, PlaceholderType
from footnote_store.milvus_protocol.milvus_pb2 import InsertRequest, QueryRequest, SearchRequest, UpsertRequest
from footnote_store.milvus_protocol.schema_pb2 import DataType, FieldData
from footnote_store.rows import HIT_COLUMNS, Hit

Columns = Mapping[str, Sequence[Any]]


async def search(
    client: Milvus, space: str, field: str, query: NDArray[np.float32] | str, expr: str, limit: int,
    output: Sequence[str], timeout: float,
) -> tuple[Columns, Sequence[float]]:  # fmt: skip
    """Search one vector column; return the columns including the ids, and the engine's scores, best first."""
    response = await client.call("Search", search_request(space, field, query, expr, limit, output), timeout)
    columns = _columns(response.results.fields_data)
    columns["id"] = response.results.ids.str_id.data
    return columns, response.results.scores


async def query(
    client: Milvus, space: str, expr: str, limit: int | None, output: Sequence[str], timeout: float, offset: int = 0
) -> Columns:
    """Return the columns of the rows that pass a filter, in no order; none may be there without rows.

    An output of "count(*)" is their number, and takes no limit.
    """
    response = await client.call("Query", query_request(space, expr, limit, output, offset), timeout)
    return _columns(response.fields_data)


def hits(columns: Columns, scores: Sequence[float]) -> list[Hit]:
    """Return rows read with CHUNK_OUTPUT as hits; with the column "dense" they include their vectors."""
    vectors: Sequence[NDArray[np.float32] | None] = columns.get("dense") or [None] * len(scores)
    read = [columns[name][:] for name in HIT_COLUMNS]  # lists: protobuf's own sequences are slow to iterate
    if any(len(column) != len(scores) for column in (*read, vectors)):
        raise ValueError("the engine's columns differ in length")
    return list(map(Hit, *read, scores[:], vectors))


def search_request(
    space: str, field: str, query: NDArray[np.float32] | str, expr: str, limit: int, output: Sequence[str]
) -> SearchRequest:
    """Return the request that searches a dense column by a vector, or a sparse one by search terms.

    It equals pymilvus's request, but pymilvus packs a vector number by number.
    """
    group = PlaceholderGroup()
    if isinstance(query, str):
        group.placeholders.add(tag="$0", type=PlaceholderType.VarChar, values=[query.encode()])
    else:
        group.placeholders.add(tag="$0", type=PlaceholderType.FloatVector, values=[query.astype("<f4").tobytes()])
    request = SearchRequest(
        collection_name=space, dsl=expr, dsl_type=DslType.BoolExprV1, placeholder_group=group.SerializeToString(),
        output_fields=output, nq=1, use_default_consistency=True,
    )  # fmt: skip
    for key, value in (("anns_field", field), ("topk", str(limit)), ("params", "{}"), ("round_decimal", "-1")):
        request.search_params.add(key=key, value=value)
    return request


def query_request(space: str, expr: str, limit: int | None, output: Sequence[str], offset: int = 0) -> QueryRequest:
    """Return the request that reads the rows which pass a filter; it equals pymilvus's request."""
    request = QueryRequest(collection_name=space, expr=expr, output_fields=output, use_default_consistency=True)
    window = {} if limit is None else {"limit": str(limit), "offset": str(offset)}
    for key, value in (window | {"ignore_growing": "False", "reduce_stop_for_best": "False"}).items():
        request.query_params.add(key=key, value=value)
    return request


def _columns(fields: Sequence[FieldData]) -> dict[str, Sequence[Any]]:
    return {field.field_name: _values(field) for field in fields}


def _values(field: FieldData) -> Sequence[Any]:
    if field.vectors.HasField("float_vector"):
        # The serialised message ends with the floats as in memory; reading them one by one costs a millisecond.
        count = len(field.vectors.float_vector.data)
        packed = field.vectors.float_vector.SerializeToString()[-4 * count :] if count else b""
        return list(np.frombuffer(packed, dtype="<f4").reshape(-1, max(1, field.vectors.dim)))
    kind = field.scalars.WhichOneof("data")
    values: Sequence[Any] = getattr(field.scalars, kind).data if kind else ()
    return values


Request = TypeVar("Request", UpsertRequest, InsertRequest)


def write_request(kind: type[Request], space: str, rows: Sequence[Mapping[str, Any]]) -> Request:
    """Return the request that writes rows with equal columns; a column's first value determines its type."""
    request = kind(collection_name=space, num_rows=len(rows))
    for name in rows[0]:
        _fill(request.fields_data.add(field_name=name), [row[name] for row in rows])
    return request


def _fill(field: FieldData, values: Sequence[Any]) -> None:
    first = values[0]
    if isinstance(first, str):
        field.type = DataType.VarChar
        field.scalars.string_data.data.extend(values)
    elif isinstance(first, int):
        field.type = DataType.Int64
        field.scalars.long_data.data.extend(values)
    elif isinstance(first, Mapping):
        field.type = DataType.JSON
        field.scalars.json_data.data.extend(
            json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() for value in values
        )
    else:
        field.type = DataType.FloatVector
        vectors = np.asarray(values, dtype="<f4")
        field.vectors.dim = vectors.shape[1]
        # Packed floats are encoded as one field of bytes with number 1; adding them one by one would create a Python
        # object for each.
        field.vectors.float_vector.MergeFromString(BytesValue(value=vectors.tobytes()).SerializeToString())
