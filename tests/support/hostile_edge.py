"""An edge whose every text tries to act on the terminal that shows it."""

import functools
import inspect
from collections.abc import AsyncIterator
from typing import Any

from footnote.stages.v1 import stored_document_pb2
from footnote_kit import errors
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from support.doubles.scripted_edge import ScriptedEdge

HOSTILE = (
    "\x1b]0;pwned\x07\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\\x1b[2J\x1b[38;5;201mpink\x1b[0m\x1bc\x9b31m\x9d0;x\x9c"
    "\r\u202eturned\u202c\u2066x\u2069zero\u200bwidth\ufeff\U000e0041\x7f\x08\x08[red]red[/red][link=https://e]l[/link]:smile:"
)
# Tokens go back to the server, states and ids steer the client.
_KEPT = {"next_page_token", "trace_id", "span_id", "parent_span_id", "id", "collection_id"}


def infest(message: Message) -> Message:
    """Put the hostile text behind every text in a message."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if field.message_type.GetOptions().map_entry:
                continue
            for item in value if field.is_repeated else [value]:
                infest(item)
        elif field.type == FieldDescriptor.TYPE_STRING and field.name not in _KEPT:
            if field.is_repeated:
                value[:] = [item + HOSTILE for item in value]
            else:
                setattr(message, field.name, value + HOSTILE)
    return message


class HostileEdge(ScriptedEdge):
    """Answers as the scripted one does, infested; what is asked of a document named "boom" fails in hostile words."""

    def __init__(self) -> None:
        super().__init__()
        for name, method in inspect.getmembers(self, inspect.iscoroutinefunction):
            if not name.startswith("_"):
                setattr(self, name, self._answered(method))
        for name, method in inspect.getmembers(self, inspect.isasyncgenfunction):
            if name != "DownloadDocument":
                setattr(self, name, self._streamed(method))

    def _answered(self, method: Any) -> Any:
        @functools.wraps(method)
        async def answer(request: Any, context: Any) -> Any:
            if getattr(request, "document_id", "") == "boom":
                raise errors.NotFound("Nothing" + HOSTILE, reason="DOCUMENT_NOT_FOUND", metadata={"hint": HOSTILE})
            return infest(await method(request, context))

        return answer

    def _streamed(self, method: Any) -> Any:
        @functools.wraps(method)
        async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
            async for item in method(request, context):
                failed = getattr(item, "document", stored_document_pb2.Document()).failure.message
                yield infest(item) if failed or method.__name__ != "WatchDocument" else item

        return answer
