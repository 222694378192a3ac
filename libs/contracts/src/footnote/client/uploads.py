"""Converts files to the messages of an upload, once per attempt, and small ones to groups for one call each."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from footnote_kit.errors import FootnoteError

from footnote.client.repeating import new_request_id
from footnote.edge.v1.documents_pb2 import (
    UploadDocumentRequest,
    UploadDocumentResponse,
    UploadDocumentsRequest,
    UploadMetadata,
)

PART_SIZE = 256 * 1024
"""Bytes; the largest part that the contract allows. A larger file is uploaded by a call of its own."""
MOST_FILES, MOST_BYTES = 64, 4 * 2**20
"""Maximum number of files of one call, and of their bytes with their metadata."""

Content = Path | tuple[str, bytes]
"""A file, or a name with the bytes."""


@dataclass(frozen=True, slots=True)
class UploadResult:
    """What came of one of several files: the response, or why it failed; an OSError if it could not be read."""

    content: Content
    response: UploadDocumentResponse | None = None
    error: FootnoteError | OSError | None = None


@dataclass(slots=True)
class Group:
    """Files of one call with their messages, one larger file without a message, or one that could not be read."""

    contents: list[Content] = field(default_factory=list)
    requests: list[UploadDocumentsRequest] = field(default_factory=list)
    error: OSError | None = None
    size: int = 0


def grouped(contents: Iterable[Content], collection: str, metadata: UploadMetadata | None) -> Iterator[Group]:
    """Yield files in groups; larger and unreadable ones alone, before the small ones that came earlier."""
    group = Group()
    for content in contents:
        source, name = (content, "") if isinstance(content, Path) else (content[1], content[0])
        try:
            about = described(source, collection, name, metadata)
            large = about.size_bytes > PART_SIZE
            data = b"" if large else source if isinstance(source, bytes) else source.read_bytes()
        except OSError as error:
            yield Group([content], error=error)
            continue
        if large or len(data) > PART_SIZE:
            yield Group([content])
            continue
        request = UploadDocumentsRequest(metadata=about, data=data)
        size = request.ByteSize()
        if len(group.contents) == MOST_FILES or group.size + size > MOST_BYTES:
            yield group
            group = Group()
        group.contents.append(content)
        group.requests.append(request)
        group.size += size
    if group.contents:
        yield group


def name_of(path: Path) -> str:
    """Return a file's name as the contract takes it: bytes that are no UTF-8, as of old archives, become U+FFFD."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def described(content: bytes | Path, collection: str, filename: str, metadata: UploadMetadata | None) -> UploadMetadata:
    """Return an upload's first message, with a request id that makes it safe to retry; ValueError without a name."""
    result = UploadMetadata()
    if metadata is not None:
        result.CopyFrom(metadata)
    result.collection = collection or result.collection
    result.filename = filename or result.filename or (name_of(content) if isinstance(content, Path) else "")
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
