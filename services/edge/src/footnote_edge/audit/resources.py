"""Reads a call's resource and changed fields from its messages, without any of the caller's text."""

import re
from collections.abc import Iterator
from typing import Any

from footnote_kit.redact import redact
from google.protobuf.message import Message

from footnote_edge.audit.coverage import Audited

MOST_FIELDS = 50
"""Names of changed fields in one event."""
_DEPTH = 4
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
# Strict patterns: neither a key pasted in the wrong place nor a sentence is an id.
_BY_KIND = {
    "collections": re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,127}"),
    "limits": re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+|:-]{0,127}"),
    "keys": re.compile(r"[0-9a-f]{1,40}"),
    "providers": re.compile(r"[a-z0-9][a-z0-9_-]{0,40}"),
}
_KEY_TEXT = "fn_"
_NOT_CHANGED = frozenset({"id", "etag", "tenant_id"})


def resource(declared: Audited, request: Message | None, response: Message | None) -> str:
    """Return the resource, as in "documents/ID"; empty where neither message names it.

    Named parts follow, as in "conversations/ID/answers/ID".
    """
    named = _named(declared.kind, (response, declared.made), (request, declared.named))
    parts = [_named(kind, (response, path), (request, path)) for kind, path in declared.within] if named else []
    return "/".join(part for part in (named, *parts) if part)


def _named(kind: str, *places: tuple[Message | None, str]) -> str:
    for message, path in places:
        text = _at(message, path) if message is not None and path else None
        if isinstance(text, str) and _is_id(kind, text):
            return f"{kind}/{redact(text)}"
    return ""


def changed_fields(declared: Audited, request: Message | None) -> tuple[str, ...]:
    """Return the names of the fields that a request changes, as in the contract."""
    changed = _at(request, declared.changes) if request is not None and declared.changes else None
    if not isinstance(changed, Message):
        return ()
    mask = _at(request, "update_mask") if request is not None else None
    paths = list(mask.paths) if mask is not None and isinstance(mask, Message) else []  # type: ignore[attr-defined]
    if paths:
        known = {path for path in paths if _is_field(changed.DESCRIPTOR, path)}
    else:
        known = {path for path, _ in _leaves(changed)}
    return tuple(sorted(known)[:MOST_FIELDS])


def providers(declared: Audited, request: Message | None) -> tuple[str, ...]:
    """Return the providers that a request chooses, as "settings.generation.provider=openai"."""
    changed = _at(request, declared.changes) if request is not None and declared.changes else None
    if not isinstance(changed, Message):
        return ()
    chosen = ((path, value) for path, value in _leaves(changed) if path.rpartition(".")[2] == "provider")
    return tuple(f"{path}={value}" for path, value in chosen if value and _is_id("providers", value))


def _is_id(kind: str, text: str) -> bool:
    return not text.startswith(_KEY_TEXT) and _BY_KIND.get(kind, _ID).fullmatch(text) is not None


def _at(message: Any, path: str) -> Any:
    """Return the value at a dotted path; None if it is not set or the field does not exist."""
    for name in path.split("."):
        if not isinstance(message, Message) or name not in message.DESCRIPTOR.fields_by_name:
            return None
        field = message.DESCRIPTOR.fields_by_name[name]
        if field.has_presence and not message.HasField(name):
            return None
        message = getattr(message, name)
    return message


def _leaves(message: Message, before: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of set fields; a list, a JSON object or a time counts as one value."""
    for field, value in message.ListFields():
        path = f"{before}{field.name}"
        if not before and field.name in _NOT_CHANGED:
            continue
        inner = field.message_type
        if inner is None or field.is_repeated or depth == 0 or inner.full_name.startswith("google.protobuf."):
            yield path, value
        else:
            yield from _leaves(value, f"{path}.", depth - 1)


def _is_field(descriptor: Any, path: str) -> bool:
    """Return whether a path exists in a message's contract."""
    level = descriptor
    for name in path.split("."):
        if level is None or name not in level.fields_by_name:
            return False
        level = level.fields_by_name[name].message_type
    return True
