"""Numbers that are none and times that no calendar has are refused wherever a public request can hold them."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from footnote.edge.v1 import documents_pb2 as pb
from footnote_edge.gateway import values
from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import ListValue, Struct, Value

REAL = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
STRUCT, TIME, DURATION = (f"google.protobuf.{name}" for name in ("Struct", "Timestamp", "Duration"))
NONE = (float("nan"), float("inf"), float("-inf"))


def ways(descriptor: Descriptor, path: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Yield the way to every field that can hold such a value, the first of each message that holds itself."""
    for field in descriptor.fields:
        if field in path:
            continue
        here = (*path, field)
        if field.message_type is None:
            if field.cpp_type in REAL and not field.is_repeated:
                yield here
        elif field.message_type.full_name in (STRUCT, TIME, DURATION):
            yield here
        elif not field.message_type.full_name.startswith("google."):
            yield from ways(field.message_type, here)


WAYS = {method.name: list(ways(method.input_type)) for method in METHODS}


def wrong(field: FieldDescriptor) -> list[Any]:
    """Return values of a field that nothing can keep."""
    if field.message_type is None:
        return list(NONE)
    if field.message_type.full_name == STRUCT:
        inner = [Value(number_value=one) for one in NONE]
        lists = [Value(list_value=ListValue(values=[Value(), one])) for one in inner]
        deeper = Value(struct_value=Struct(fields={"b": inner[0]}))
        return [Struct(fields={"a": one}) for one in (*inner, *lists, deeper)]
    kind: Any = GetMessageClass(field.message_type)
    return [kind(seconds=2**62), kind(seconds=-(2**62)), kind(seconds=1, nanos=2**31 - 1), kind(seconds=10**12)]


def filled(method: MethodDescriptor, path: tuple[FieldDescriptor, ...], value: Any) -> Message:
    request = GetMessageClass(method.input_type)()
    inside: Any = request
    for field in path[:-1]:
        held = getattr(inside, field.name)
        inside = held.add() if field.is_repeated else held
        inside.SetInParent()
    if path[-1].message_type is None:
        setattr(inside, path[-1].name, value)
    else:
        getattr(inside, path[-1].name).CopyFrom(value)
    return request


@pytest.mark.parametrize(
    "method", [method for method in METHODS if WAYS[method.name]], ids=lambda method: str(method.name)
)
async def test_it_is_refused_by_name(method: MethodDescriptor) -> None:
    for path in WAYS[method.name]:
        for value in wrong(path[-1]):
            with pytest.raises(InvalidArgument) as caught:
                await values.check(filled(method, path, value))
            assert path[-1].name in caught.value.violations[0].field


async def test_what_is_a_value_passes() -> None:
    for method in METHODS:
        await values.check(GetMessageClass(method.input_type)())
    metadata = pb.UploadMetadata(filename="a.txt")
    metadata.metadata.update({"a": 1.5, "b": [1, None, {"c": -1e308}], "d": "Infinity"})
    metadata.ttl.FromSeconds(3600)
    await values.check(pb.UploadDocumentRequest(metadata=metadata))


@pytest.mark.parametrize("depth", [values.MOST_DEPTH + 1, 30])
async def test_json_that_is_nested_too_deep_is_refused(depth: int) -> None:
    for left, right in (('{"a":', "}"), ("[", "]")):
        request = pb.UploadDocumentRequest()
        for levels in (values.MOST_DEPTH, depth):
            request.metadata.metadata.update({"a": json.loads(left * levels + "1" + right * levels)})
            if levels == values.MOST_DEPTH:
                await values.check(request)
        with pytest.raises(InvalidArgument, match="nested at most 16 deep"):
            await values.check(request)


async def test_a_part_of_a_file_is_not_looked_through() -> None:
    await values.check(pb.UploadDocumentRequest(data=struct.pack("<d", float("nan")) * 1000))


def test_there_are_such_fields() -> None:
    assert sum(map(len, WAYS.values())) > 100
