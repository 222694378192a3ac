"""Reads `google.api.field_behavior` from the contracts: required fields and output-only fields."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.api import field_behavior_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message


def is_required(field: FieldDescriptor) -> bool:
    """Return whether a request without the field is refused."""
    return field_behavior_pb2.REQUIRED in behaviors(field)


def is_output_only(field: FieldDescriptor) -> bool:
    """Return whether only the server sets the field and ignores it in requests."""
    return field_behavior_pb2.OUTPUT_ONLY in behaviors(field)


def behaviors(field: FieldDescriptor) -> tuple[int, ...]:
    """Return the field's numbers of google.api.FieldBehavior."""
    return tuple(field.GetOptions().Extensions[field_behavior_pb2.field_behavior])


def clear_outputs(request: Message) -> None:
    """Clear every OUTPUT_ONLY field of a request, including those in nested messages."""
    outputs, inner = _places(request.DESCRIPTOR)
    for name in outputs:
        request.ClearField(name)
    for name, repeated in inner:
        if repeated:
            for one in getattr(request, name):
                clear_outputs(one)
        elif request.HasField(name):
            clear_outputs(getattr(request, name))


@cache
def _places(descriptor: Descriptor) -> tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]:
    """Return the names of the OUTPUT_ONLY fields, and of the fields whose messages may contain some."""
    outputs = tuple(field.name for field in descriptor.fields if is_output_only(field))
    inner = tuple((field.name, field.is_repeated) for field in _messages(descriptor) if _holds(field.message_type))
    return outputs, inner


def _messages(descriptor: Descriptor) -> Iterator[Any]:
    for field in descriptor.fields:
        if field.message_type is not None and not is_output_only(field):
            yield field


@cache
def _holds(descriptor: Descriptor) -> bool:
    """Return whether a message has an OUTPUT_ONLY field, itself or in a nested message."""
    seen, waiting = set(), [descriptor]
    while waiting:
        here = waiting.pop()
        if here.full_name in seen or here.full_name.startswith("google."):
            continue
        seen.add(here.full_name)
        if any(is_output_only(field) for field in here.fields):
            return True
        waiting += [field.message_type for field in _messages(here)]
    return False
