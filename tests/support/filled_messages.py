"""Messages of which every field holds something, each something else."""

from itertools import count
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

M = TypeVar("M", bound=Message)
_DEPTH = 4


def filled(kind: type[M]) -> M:
    """Return a message with every field set; of a oneof, the first."""
    made = kind()
    _fill(made, count(1), 0)
    return made


def _fill(message: Any, numbers: Any, depth: int) -> None:
    if isinstance(message, Struct):
        message.update({f"key{next(numbers)}": "value"})
        return
    seen: set[str] = set()
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if oneof is not None and oneof.name in seen:
            continue
        if oneof is not None:
            seen.add(oneof.name)
        if field.message_type is not None:
            if depth >= _DEPTH:
                continue
            child = getattr(message, field.name)
            _fill(child.add() if field.is_repeated else _present(child), numbers, depth + 1)
        elif field.is_repeated:
            getattr(message, field.name).append(_value(field, next(numbers)))
        else:
            setattr(message, field.name, _value(field, next(numbers)))


def _present(message: Any) -> Any:
    message.SetInParent()
    return message


def _value(field: FieldDescriptor, number: int) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values[1].number
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return b"x" if field.type == FieldDescriptor.TYPE_BYTES else f"{field.name} {number}"
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return True
    return number
