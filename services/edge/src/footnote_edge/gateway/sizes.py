"""Maximum sizes of requests: one table for every text and every list of the public API.

The limits protect all later work: no longer field reaches a stage, a pattern or the database. Narrower rules (allowed
characters of a name, number of a document's tags) belong to the services and are checked there.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import wraps
from typing import Any, TypeVar

from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument
from footnote_kit.field_behavior import clear_outputs
from footnote_kit.text_work import off_loop
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from footnote_edge.gateway import values

T = TypeVar("T", bound=type)

ID = 256
LIST = 1000
CHARACTERS: dict[str, int] = {
    # Names and ids.
    **dict.fromkeys(
        ("id", "collection", "collections", "document_id", "document_ids", "conversation_id", "message_id", "answer_id",
          "operation_id", "trace_id", "vector_id", "ids", "tenant_id", "owner_id", "user_id", "group", "name", "etag",
          "provider", "model", "source_type", "tags", "key_id", "groups", "action", "resource",
          "source_id", "share_id", "run_id", "kind"), ID
    ),
    **dict.fromkeys(("document_types", "languages", "order_by"), 64),
    "filename": 1024, "filename_contains": ID, "locale": 64, "chunker": 64, "language": 64, "title": 1000, "label": 200,
    **dict.fromkeys(("page_token", "resume_token"), 4096),
    "sha256": 64, "request_id": 64, "chunk_id": 512,
    # Texts.
    "query": 8000, "question": 100_000, "text": 100_000, "description": 20_000, "comment": 20_000,
    "system_prompt": 100_000, "instructions": 100_000, "values": 1000,
    "json": 16_384, "field": 16_384, "string_value": 16_384,
}  # fmt: skip
"""Maximum characters of a text by field name, in any message; for a list, of each of its texts.

The setting FOOTNOTE_EDGE_MAX_QUESTION_CHARACTERS, 8000 by default, limits a question.
"""
BYTES = {"metadata": 256 * 1024, "settings": 64 * 1024, "secrets": 64 * 1024}
"""Maximum bytes of an encoded JSON object (google.protobuf.Struct)."""
ITEMS = {"values": 16, "tags": 1000, "paths": 100, "grants": LIST, "groups": 200, "history": LIST}
"""Maximum items of a list by field name; LIST for all other fields."""
HISTORY = 1_000_000
"""Maximum characters of all messages of a history together."""
_JSON = "google.protobuf.Struct"
CHECKED_BY_HANDLER = frozenset({"UploadDocuments"})
"""Streams whose handler calls `check_all`, because a wrong field there refuses one file of many."""


def bounded(servicer: T) -> T:
    """Wrap every RPC of a servicer class with this `check` and that of `values`, and clear OUTPUT_ONLY fields."""
    for method in METHODS:
        handler = getattr(servicer, method.name)
        if method.client_streaming:
            checked = _of_stream(handler, method.name not in CHECKED_BY_HANDLER)
        else:
            checked = _streaming(handler) if method.server_streaming else _unary(handler)
        setattr(servicer, method.name, checked)
    return servicer


def check(request: Message) -> None:
    """Raise InvalidArgument for the first field that is too long, in a request or a nested message."""
    for field, value in request.ListFields():
        _field(field, value, field.name)


async def check_all(request: Message) -> None:
    """Raise InvalidArgument as this module's `check` and that of `values` do."""
    await off_loop(_effort(request), check, request)
    await values.check(request)


def _field(field: FieldDescriptor, value: Any, path: str) -> None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return  # requests have no such field
    if not field.is_repeated:
        _single(field, value, path)
        return
    most = ITEMS.get(field.name, LIST)
    if _counted(field) and len(value) > most:
        raise InvalidArgument.field(path, f"must have at most {most} items")
    if field.type == FieldDescriptor.TYPE_STRING or field.message_type is not None:
        for index, item in enumerate(value):
            _single(field, item, f"{path}[{index}]")
    if field.name == "history" and sum(len(item.text) for item in value) > HISTORY:
        raise InvalidArgument.field(path, f"must have at most {HISTORY} characters together")


def _counted(field: FieldDescriptor) -> bool:
    """Return whether a list holds texts or messages; a model determines the length of vectors."""
    return field.type == FieldDescriptor.TYPE_STRING or field.message_type is not None


def _single(field: FieldDescriptor, value: Any, path: str) -> None:
    if field.type == FieldDescriptor.TYPE_STRING:
        most = CHARACTERS[field.name]
        if len(value) > most:
            raise InvalidArgument.field(path, f"must have at most {most} characters")
    elif field.message_type is not None and field.message_type.full_name == _JSON:
        if value.ByteSize() > BYTES[field.name]:
            raise InvalidArgument.field(path, f"must have at most {BYTES[field.name]} bytes")
    elif field.message_type is not None and not field.message_type.full_name.startswith("google.protobuf."):
        for inner, part in value.ListFields():
            _field(inner, part, f"{path}.{inner.name}")
    elif isinstance(value, Message) and hasattr(value, "paths") and len(value.paths) > ITEMS["paths"]:
        raise InvalidArgument.field(path, f"must name at most {ITEMS['paths']} fields")


def _effort(request: Message) -> int:
    """Return the work to check a request, as the characters of a text with the same cost.

    It counts the lists of the request and of the messages directly in it.
    """
    items = 0
    for field, value in request.ListFields():
        if field.is_repeated:
            items += _items(field, value)
        elif field.message_type is not None:
            items += sum(_items(inner, part) for inner, part in value.ListFields())
    return 20 * items


def _items(field: FieldDescriptor, value: Any) -> int:
    return len(value) if field.is_repeated and _counted(field) else 0


def _unary(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    async def checked(self: Any, request: Any, context: Any) -> Any:
        clear_outputs(request)
        await check_all(request)
        return await handler(self, request, context)

    return checked


def _streaming(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    async def checked(self: Any, request: Any, context: Any) -> AsyncIterator[Any]:
        clear_outputs(request)
        await check_all(request)
        async with aclosing(handler(self, request, context)) as responses:
            async for response in responses:
                yield response

    return checked


def _of_stream(handler: Callable[..., Any], checks: bool) -> Callable[..., Any]:
    @wraps(handler)
    async def checked(self: Any, requests: AsyncIterator[Any], context: Any) -> Any:
        return await handler(self, _each(requests, checks), context)

    return checked


async def _each(requests: AsyncIterator[Any], checks: bool) -> AsyncIterator[Any]:
    async for request in requests:
        clear_outputs(request)
        if checks:
            await check_all(request)
        yield request
