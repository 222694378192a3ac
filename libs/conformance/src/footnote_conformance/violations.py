"""Requests with one wrong field, derived from the contracts' rules for their fields."""

from collections.abc import Iterator
from typing import Any

from footnote.types.v1 import bounds_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_DEPTH = 6
_UNKNOWN = 29_999
_LIST = "footnote.types.v1.StringList"
_DURATION = "google.protobuf.Duration"
_NOTHING: dict[int, Any] = {FieldDescriptor.CPPTYPE_STRING: "", FieldDescriptor.CPPTYPE_FLOAT: 0.0}
Steps = tuple[FieldDescriptor, ...]


def fields(descriptor: Any, above: Steps = ()) -> Iterator[Steps]:
    """Yield the paths to every field of a request, through messages and lists; each type once per path."""
    for field in descriptor.fields:
        way = (*above, field)
        yield way
        inner = field.message_type
        if inner is None or inner.full_name.startswith("google.") or inner.full_name == _LIST:
            continue
        if len(way) < _DEPTH and not any(inner is step.message_type for step in above):
            yield from fields(inner, way)


def unknown_enums(request: Message) -> Iterator[tuple[str, Message]]:
    """Yield (path, request) with an unknown enum number, for each enum field."""
    for way in fields(request.DESCRIPTOR):
        if way[-1].enum_type is not None:
            yield _with(request, way, _UNKNOWN)


def broken_bounds(request: Message) -> Iterator[tuple[str, Message]]:
    """Yield (path, request) for each bound of each field, violated as slightly as possible."""
    for way in fields(request.DESCRIPTOR):
        field = way[-1]
        bounds = field.GetOptions().Extensions[bounds_pb2.bounds]
        for value in _beyond(field, bounds):
            yield _with(request, way, value)


def _beyond(field: FieldDescriptor, bounds: bounds_pb2.Bounds) -> Iterator[Any]:
    """Yield values that violate a field's bounds; lists if the list itself is too long."""
    whole = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
    lasts = field.message_type is not None and field.message_type.full_name == _DURATION
    if bounds.HasField("min") and not (lasts and bounds.min <= 1):
        yield int(bounds.min) - 1 if whole or lasts else bounds.min - 0.5
    if bounds.HasField("max"):
        yield int(bounds.max) + 1 if whole or lasts else bounds.max + 0.5
    if bounds.HasField("max_length") and field.message_type is None:
        yield "x" * (bounds.max_length + 1)
    if bounds.HasField("max_items") and field.is_repeated:
        yield _Many(bounds.max_items + 1)


class _Many(int):
    """A list of this many default elements."""


def _with(request: Message, way: Steps, value: Any) -> tuple[str, Message]:
    """Return the path in BadRequest's notation, and a copy of the request with the value there."""
    made: Any = type(request)()
    made.CopyFrom(request)
    here: Any = made
    names = []
    for field in way[:-1]:
        inner = getattr(here, field.name)
        if field.is_repeated:
            names.append(f"{field.name}[{len(inner)}]")
            here = inner.add()
        else:
            names.append(field.name)
            inner.SetInParent()
            here = inner
    last = way[-1]
    names.append(_put(here, last, value))
    return ".".join(names), made


def _put(here: Any, field: FieldDescriptor, value: Any) -> str:
    """Set a value and return the field's name in the path."""
    there = getattr(here, field.name)
    if isinstance(value, _Many):
        for _ in range(value):
            there.add() if field.message_type is not None else there.append(_NOTHING.get(field.cpp_type, 0))
        return field.name
    if field.is_repeated:
        there.append(value)
        return f"{field.name}[{len(there) - 1}]"
    if field.message_type is not None:
        there.seconds = value
    else:
        setattr(here, field.name, value)
    return field.name
