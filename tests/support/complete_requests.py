"""Requests of any RPC that hold what the contract says is REQUIRED, and calls with them."""

from collections.abc import AsyncIterator
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.field_behavior import is_required
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from support.doubles.services import message_class


def complete(method: MethodDescriptor, scope: Scope | None = None) -> Any:
    """Return a request of which every REQUIRED field holds something."""
    request: Any = message_class(method.input_type)()
    fill_required(request)
    if scope is not None and "scope" in request.DESCRIPTOR.fields_by_name:
        request.scope.CopyFrom(scope)
    return request


def is_head(field: FieldDescriptor) -> bool:
    """Return whether a field is required in the first message of a stream."""
    return field.containing_oneof is not None and field.name in ("metadata", "header")


def fill_required(message: Any) -> None:
    """Give every REQUIRED field something, but the scope."""
    for field in message.DESCRIPTOR.fields:
        if field.name == "scope" or not (is_required(field) or is_head(field)):
            continue
        if field.is_repeated:
            held = getattr(message, field.name)
            fill_required(held.add()) if field.message_type else held.append(_something(field))
        elif field.message_type:
            getattr(message, field.name).SetInParent()
            fill_required(getattr(message, field.name))
        else:
            setattr(message, field.name, _something(field))


def _something(field: FieldDescriptor) -> str | int:
    return "x" if field.type == FieldDescriptor.TYPE_STRING else 1


async def call(channel: Any, service_name: str, method: MethodDescriptor, request: Any) -> None:
    """Make a call; a stream of requests is the one given and an empty one."""
    kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    stub = getattr(channel, kind)(
        f"/{service_name}/{method.name}",
        message_class(method.input_type).SerializeToString,
        message_class(method.output_type).FromString,
    )

    async def stream() -> AsyncIterator[Message]:
        yield request
        yield message_class(method.input_type)()

    as_stream = method.client_streaming and isinstance(request, Message)
    made = stub(stream() if as_stream else request, timeout=10)
    if method.server_streaming:
        async for _ in made:
            pass
    else:
        await made
