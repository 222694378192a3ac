"""Parses the wrapper's documents with embeddings, and refuses them in the wrapper's own terms."""

from collections.abc import Sequence
from typing import Any

from footnote.edge.v1.vectors_pb2 import AddVectorsRequest
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.errors import InvalidArgument

from footnote_edge.http.transcoding.binding import fill


def addition(collection: str, body: Any) -> AddVectorsRequest:
    """Return the request in a body; raises InvalidArgument."""
    documents = body.get("documents") if isinstance(body, dict) else None
    if not isinstance(documents, list) or not documents:
        raise InvalidArgument("Documents array is required", violations=[("documents", "must not be empty")])
    if not all(isinstance(document, dict) for document in documents):
        raise InvalidArgument("Each document must be an object with text, metadata and embedding")
    if any(document.get("embedding") is None for document in documents):
        raise InvalidArgument(
            "All documents must include pre-computed embeddings", violations=[("documents.embedding", "is required")]
        )
    rows = [_row(index, document) for index, document in enumerate(documents)]
    return AddVectorsRequest(collection=collection, rows=rows)


def _row(index: int, document: dict[str, Any]) -> VectorRow:
    known = {key: document[key] for key in ("id", "text", "metadata") if document.get(key) is not None}
    row = fill(known, VectorRow())
    row.vector.extend(_numbers(index, document["embedding"]))
    return row


def _numbers(index: int, embedding: Any) -> Sequence[float]:
    if not isinstance(embedding, list) or not embedding:
        raise _format(index, f"got {_kind(embedding)}")
    wrong = [value for value in embedding if type(value) not in (int, float)]
    if wrong:
        raise _format(index, f"it holds {_kind(wrong[0])}")
    try:
        return [float(value) for value in embedding]
    except OverflowError:
        raise _format(index, "it holds a number that is too large") from None


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", dict: "an object"}
    return names.get(type(value), "null")


def _format(index: int, problem: str) -> InvalidArgument:
    return InvalidArgument(
        f"Invalid embedding format in document {index}: must be an array of numbers, but {problem}",
        violations=[(f"documents[{index}].embedding", "must be an array of numbers")],
    )
