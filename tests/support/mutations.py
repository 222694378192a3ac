"""What a caller might send in place of what the server gave it: every text and bytes field of a message, changed."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

TEXT, BYTES = FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES
PLACEHOLDER = "~~~~~~"
NO_UTF8 = b"\xed\xa0\x80\xed\xbf\xbf"
"""Two halves of a surrogate pair, as long as the placeholder, in whose place they are put."""
TEXTS = (
    "\0", "a\0b", "é\u202e", "\uffff", "🦆" * 50, "%00", "../..", "' OR 1=1 --", "\u2028", "9" * 30, str(2**63),
    str(10**100), "-1", "NaN", "1e999", "\x7f\x1b[0m", "x" * 5000, "{", "[" * 5000, "null", '{"a": 1e999}', "a/b",
    PLACEHOLDER,
)  # fmt: skip
STORED = ("\0", "a\0b", "\uffff", "🦆" * 50, "' OR 1=1 --", str(2**63), str(10**100), "x" * 5000, PLACEHOLDER)
"""Texts that one database stores or compares and another refuses."""
REFUSED = ("a\0b", "\uffff🦆", "x" * 5000, PLACEHOLDER)
"""The fewest of them, for fields that another method has given all of them to."""
WRITTEN = ("\0", "\uffff", "9" * 30, "{", "x" * 5000, PLACEHOLDER)
"""Texts that JSON writes in a way of its own, or that look like another of its values."""
VALUES: tuple[Any, ...] = (
    2**63, 2**63 - 1, -(2**63), 2**31, 2**31 - 1, -1, -2, 10**100, 10**18, "\ud800", "a\udfff", "\0", "x", "", None,
    True, 1.5, float("nan"), float("inf"), [], {}, [1], "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+23:59",
    "2026-11-26", "2026-11-26T08:00:00-12:34:56.789", "10000-01-01", "9" * 300,
)  # fmt: skip


def tokens(real: str) -> Iterator[str]:
    """Yield tokens made of one that the server gave: other values in it, more or fewer of them, other bytes."""
    print_, *position = json.loads(base64.urlsafe_b64decode(real + "=" * (-len(real) % 4)))
    for place in range(len(position)):
        for value in VALUES:
            changed = [*position]
            changed[place] = value
            yield _encoded(json.dumps([print_, *changed]))
    for value in VALUES:
        yield _encoded(json.dumps([value, *position]))
        yield _encoded(json.dumps(value))
    yield from (_encoded(json.dumps([print_, *position, "more"])), _encoded(json.dumps([print_])), _encoded("[]"))
    yield from (real[:-1], real[1:], real + "A", real + "=", real * 50, real.swapcase(), f" {real}", f"{real}\n")
    yield from (_encoded(b"\xff\xfe"), _encoded("[" * 3000), _encoded(f'["{print_}",{"9" * 3000}]'), "é", "🦆")


def _encoded(text: str | bytes) -> str:
    raw = text if isinstance(text, bytes) else text.encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def ways(descriptor: Descriptor, path: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Yield the way to every text and bytes field, of a message that holds itself the first only."""
    for field in descriptor.fields:
        if field.message_type is None:
            if field.type in (TEXT, BYTES):
                yield (*path, field)
        elif not field.message_type.full_name.startswith("google.") and field.message_type not in _types(path):
            yield from ways(field.message_type, (*path, field))


def fresh(method: MethodDescriptor, methods: Sequence[MethodDescriptor]) -> set[tuple[FieldDescriptor, ...]]:
    """Return the ways of a method whose field no method before it has: messages that several have are walked once."""
    before: set[FieldDescriptor] = set()
    for one in methods:
        here = {path for path in ways(one.input_type) if path[-1] not in before}
        if one is method:
            return here
        before |= {path[-1] for path in here}
    raise ValueError(method.name)


def _types(path: tuple[FieldDescriptor, ...]) -> list[Descriptor]:
    return [field.message_type for field in path]


def put(message: Any, path: tuple[FieldDescriptor, ...], value: str | bytes) -> None:
    """Put a value at the end of a way."""
    for field in path[:-1]:
        held = getattr(message, field.name)
        message = (held[0] if held else held.add()) if field.is_repeated else held
        if not field.is_repeated:
            message.SetInParent()
    last = path[-1]
    if last.type == BYTES and isinstance(value, str):
        value = value.encode()
    if last.is_repeated:
        del getattr(message, last.name)[:]
        getattr(message, last.name).append(value)
    else:
        setattr(message, last.name, value)


def raw(message: Any) -> bytes:
    """Return the bytes of a message, those that are no UTF-8 in place of the placeholder."""
    return bytes(re.sub(PLACEHOLDER.encode(), NO_UTF8, message.SerializeToString()))
