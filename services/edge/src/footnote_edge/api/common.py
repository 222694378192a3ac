"""What the handlers share."""

from collections.abc import AsyncIterator
from typing import Any

from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.context import current_scope, time_remaining
from footnote_kit.errors import InvalidArgument, Unauthenticated


def caller() -> Scope:
    """Return the scope that the guard found for this call; raises Unauthenticated if it found none."""
    scope = current_scope()
    if scope is None:
        raise Unauthenticated("The call carries no identity", reason="SCOPE_MISSING")
    return scope


def seconds(default: float) -> float:
    """Return the time that the caller gave, else `default`."""
    remaining = time_remaining()
    return default if remaining is None else remaining


async def first_of(messages: AsyncIterator[Any]) -> Any:
    """Return the metadata of a client stream's first message; raises InvalidArgument when it is not there."""
    first = await anext(messages, None)
    if first is None or first.WhichOneof("payload") != "metadata":
        raise InvalidArgument.field("metadata", "must come in the first message")
    return first.metadata


async def bytes_of(messages: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """Yield the bytes of a client stream's further messages."""
    async for message in messages:
        if message.WhichOneof("payload") != "data":
            raise InvalidArgument.field("data", "must follow the metadata, which comes once")
        yield message.data
