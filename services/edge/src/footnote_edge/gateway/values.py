"""Values that a message can carry but no service can store: NaN, infinity, impossible times.

JSON has no NaN and no infinity, databases cannot store them in an object, and a Timestamp may lie outside the calendar.
This module refuses them by type, so that no field needs its own rule.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

from footnote_kit.errors import InvalidArgument
from footnote_kit.text_work import off_loop
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

_JSON = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")
_TIME, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_SECONDS = {_TIME: (-62_135_596_800, 253_402_300_799), _DURATION: (-315_576_000_000, 315_576_000_000)}
"""Ranges from the documentation of both types."""
MOST_DEPTH = 16
"""Maximum nesting of objects and lists.

Protobuf parses 100 nested messages, and JSON needs three per level; some answers nest a document's metadata deeper than
the request that brought it.
"""
_REAL = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_NUMBER = "must be a number, not NaN or infinity"


async def check(request: Message) -> None:
    """Raise InvalidArgument for the first invalid value of a request; large requests are checked in a thread."""
    wanted = _looked_at(request.DESCRIPTOR)
    if not wanted:
        return
    found = [(field, value) for field, value in request.ListFields() if field.number in wanted]
    if found:
        await off_loop(sum(_weight(field, value) for field, value in found), _check_all, found)


def _weight(field: FieldDescriptor, value: Any) -> int:
    if field.message_type is None:
        return 8
    return sum(one.ByteSize() for one in value) if field.is_repeated else int(value.ByteSize())


def _check_all(found: list[tuple[FieldDescriptor, Any]]) -> None:
    for field, value in found:
        for path, problem in _of_field(field, value, field.name):
            raise InvalidArgument.field(path, problem)


@cache
def _looked_at(descriptor: Descriptor) -> frozenset[int]:
    """Return the numbers of the fields that can hold such a value, or a message that can."""
    return frozenset(field.number for field in descriptor.fields if _may_be_wrong(field))


def _may_be_wrong(field: FieldDescriptor) -> bool:
    seen: set[str] = set()
    waiting = [field]
    while waiting:
        one = waiting.pop()
        inner = one.message_type
        if inner is None:
            if one.cpp_type in _REAL and not one.is_repeated:  # vectors are checked when they are read
                return True
        elif inner.full_name in (*_JSON, *_SECONDS):
            return True
        elif inner.full_name not in seen and not inner.full_name.startswith("google."):
            seen.add(inner.full_name)
            waiting += inner.fields
    return False


def _of_field(field: FieldDescriptor, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if field.is_repeated:
        for index, one in enumerate(value):
            yield from _of_value(field, one, f"{path}[{index}]")
    else:
        yield from _of_value(field, value, path)


def _of_value(field: FieldDescriptor, value: Any, path: str) -> Iterator[tuple[str, str]]:
    inner = field.message_type
    if inner is None:
        if not math.isfinite(value):
            yield path, _NUMBER
    elif inner.full_name in _JSON:
        yield from _of_json(inner.full_name, value, path)
    elif inner.full_name in _SECONDS:
        low, high = _SECONDS[inner.full_name]
        if not low <= value.seconds <= high or abs(value.nanos) > 999_999_999:
            yield path, "must be a time between the years 1 and 9999" if inner.full_name == _TIME else "is too long"
        elif inner.full_name == _TIME and value.nanos < 0:
            yield path, "must not have negative nanos"
    else:
        wanted = _looked_at(inner)
        for one, part in value.ListFields():
            if one.number in wanted:
                yield from _of_field(one, part, f"{path}.{one.name}")


def _of_json(kind: str, value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > MOST_DEPTH:
        yield path[: 4 * MOST_DEPTH], f"must be nested at most {MOST_DEPTH} deep"
    elif kind == _JSON[0]:
        for key, one in value.fields.items():
            yield from _of_json(_JSON[1], one, f"{path}.{key[:64]}", depth)
    elif kind == _JSON[2]:
        for index, one in enumerate(value.values):
            yield from _of_json(_JSON[1], one, f"{path}[{index}]", depth)
    else:
        held = value.WhichOneof("kind")
        if held == "number_value" and not math.isfinite(value.number_value):
            yield path, _NUMBER
        elif held == "struct_value":
            yield from _of_json(_JSON[0], value.struct_value, path, depth + 1)
        elif held == "list_value":
            yield from _of_json(_JSON[2], value.list_value, path, depth + 1)
