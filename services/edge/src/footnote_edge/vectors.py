"""Vectors as they come from callers: a list of numbers, or what it was instead, for a clear error."""

from typing import Any

from footnote.edge.v1.vectors_pb2 import VectorDocument


def numbers_of(document: VectorDocument) -> dict[str, Any]:
    """Return the embedding as `embedding`, or as `raw_embedding` when it is anything but a list of numbers."""
    if not document.HasField("embedding"):
        return {}
    value = document.embedding
    if value.WhichOneof("kind") == "list_value":
        items = value.list_value.values
        if items and all(item.WhichOneof("kind") == "number_value" for item in items):
            return {"embedding": [item.number_value for item in items]}
    return {"raw_embedding": value}
