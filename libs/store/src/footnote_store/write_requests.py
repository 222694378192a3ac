"""Builds write requests from rows, column by column.

pymilvus takes dicts and packs them value by value on the event loop, and inspects every character of every string.
For chunks of 800 characters that took longer than the engine needs to store them. Its handler also accepts a finished
request. This module builds one off the loop, about ten times as fast; the encoder has validated the values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from pymilvus import DataType
from pymilvus.grpc_gen.milvus_pb2 import InsertRequest, UpsertRequest
from pymilvus.grpc_gen.schema_pb2 import FieldData

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
        field.type = DataType.VARCHAR
        field.scalars.string_data.data.extend(values)
    elif isinstance(first, int):
        field.type = DataType.INT64
        field.scalars.long_data.data.extend(values)
    elif isinstance(first, Mapping):
        field.type = DataType.JSON
        field.scalars.json_data.data.extend(
            json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() for value in values
        )
    else:
        field.type = DataType.FLOAT_VECTOR
        vectors = np.asarray(values, dtype="<f4")
        field.vectors.dim = vectors.shape[1]
        # Packed floats are exactly these bytes; adding them one by one would create a Python object for each.
        field.vectors.float_vector.MergeFromString(_packed(vectors.tobytes()))


def _packed(data: bytes) -> bytes:
    """Return protobuf's encoding of a bytes field with number 1: tag, length, bytes."""
    length, head = len(data), bytearray(b"\x0a")
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + data
