"""Converts a file to the messages of an upload, once per attempt."""

from collections.abc import Iterator
from pathlib import Path

from footnote.client.repeating import new_request_id
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata

PART_SIZE = 256 * 1024
"""Bytes; the largest part that the contract allows."""


def described(content: bytes | Path, collection: str, filename: str, metadata: UploadMetadata | None) -> UploadMetadata:
    """Return an upload's first message, with a request id that makes it safe to retry; ValueError without a name."""
    result = UploadMetadata()
    if metadata is not None:
        result.CopyFrom(metadata)
    result.collection = collection or result.collection
    result.filename = filename or result.filename or (content.name if isinstance(content, Path) else "")
    if not result.filename:
        raise ValueError("bytes need a filename")
    if not result.HasField("size_bytes"):
        result.size_bytes = len(content) if isinstance(content, bytes) else content.stat().st_size
    result.request_id = result.request_id or new_request_id()
    return result


def parts(content: bytes | Path) -> Iterator[bytes]:
    """Yield the bytes in parts of at most PART_SIZE; OSError if a file cannot be read."""
    if isinstance(content, bytes):
        for start in range(0, len(content), PART_SIZE):
            yield content[start : start + PART_SIZE]
        return
    with content.open("rb") as file:
        while data := file.read(PART_SIZE):
            yield data


def messages(content: bytes | Path, metadata: UploadMetadata) -> Iterator[UploadDocumentRequest]:
    """Yield an upload's messages."""
    yield UploadDocumentRequest(metadata=metadata)
    for data in parts(content):
        yield UploadDocumentRequest(data=data)
