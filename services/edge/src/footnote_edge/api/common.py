"""Helpers that the handlers share."""

from collections.abc import AsyncIterator
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.context import current_scope, time_remaining
from footnote_kit.errors import InvalidArgument, Unauthenticated


def caller() -> Scope:
    """Return the scope that the guard determined for this call; raises Unauthenticated if there is none."""
    scope = current_scope()
    if scope is None:
        raise Unauthenticated("The call carries no identity", reason="SCOPE_MISSING")
    return scope


def seconds(default: float) -> float:
    """Return the caller's timeout in seconds, else `default`."""
    remaining = time_remaining()
    return default if remaining is None else remaining


async def first_of(messages: AsyncIterator[Any]) -> Any:
    """Return the metadata in a client stream's first message; raises InvalidArgument if it is missing."""
    first = await anext(messages, None)
    if first is None or first.WhichOneof("payload") != "metadata":
        raise InvalidArgument.field("metadata", "must come in the first message")
    return first.metadata


async def bytes_of(messages: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """Yield the bytes of the remaining messages of a client stream."""
    async for message in messages:
        if message.WhichOneof("payload") != "data":
            raise InvalidArgument.field("data", "must follow the metadata, which comes once")
        yield message.data
