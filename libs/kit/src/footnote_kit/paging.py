"""Pagination as in AIP-158: opaque tokens bound to caller and request, stable under concurrent writes.

A token holds the position of the last element shown, that is, its sort key, never an offset. Elements added or
deleted meanwhile neither repeat nor hide others. A token is no secret and grants no rights: every page is restricted
to its caller's scope again.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from footnote.stages.v1.scope_pb2 import Scope
from google.protobuf.message import Message

from footnote_kit.errors import InvalidArgument

DEFAULT_SIZE = 100
LARGEST_SIZE = 1000
PAGE_BYTES = 3_500_000
"""The most bytes of a page, below the 4 MiB that every client accepts by default."""

MOST_TOKEN = 4096
"""A token length in characters that no issued token reaches."""

_MOST_SEQUENCE = 2**31 - 1
_MOST_MICROS = 253_402_300_799_999_999
"""The last microsecond of the year 9999, the upper limit of a Timestamp."""

M = TypeVar("M", bound=Message)
Position = tuple[Any, ...]
"""Values of the kinds that the list declares."""
Kind = Callable[[object], Any]
"""Parses one value of a position; raises ValueError for a value that no list is ordered by."""


def text(value: object) -> str:
    """Parse a text that every database accepts."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("no text")
    value.encode()  # a lone surrogate raises ValueError
    return value


def sequence(value: object) -> int:
    """Parse a sequence number, position or revision."""
    return _whole(value, _MOST_SEQUENCE)


def long_sequence(value: object) -> int:
    """Parse a sequence number of a table that counts its rows in 64 bits."""
    return _whole(value, 2**63 - 1)


def micros(value: object) -> int:
    """Parse microseconds since 1970, or a number of bytes."""
    return _whole(value, _MOST_MICROS)


def moment(value: object) -> datetime:
    """Parse an ISO 8601 time in UTC."""
    found = datetime.fromisoformat(text(value))
    if found.utcoffset() not in (None, timedelta()):
        raise ValueError("not in UTC")
    return found.replace(tzinfo=UTC)


def _whole(value: object, most: int) -> int:
    if type(value) is not int or not -1 <= value <= most:
        raise ValueError("no such number")
    return value


TEXTS: Sequence[Kind] = (text, text)


@dataclass(frozen=True, slots=True)
class Page:
    """A requested page: at most `size` elements after `position`, which is None for the first page."""

    size: int
    position: Position | None
    _print: str

    @classmethod
    def first(cls, size: int = DEFAULT_SIZE) -> "Page":
        """Return the first page of a list that will not be continued."""
        return cls(size, None, "")

    @classmethod
    def of(cls, scope: Scope, request: Any, *, kinds: Sequence[Kind] = (text,)) -> "Page":
        """Parse `page_size` and `page_token` of a request; `kinds` are the parsers of the position's values.

        Raises InvalidArgument for a negative size, and for a token that was not issued for this list.
        """
        if request.page_size < 0:
            raise InvalidArgument.field("page_size", f"must be 1 to {LARGEST_SIZE}, or 0 for {DEFAULT_SIZE}")
        size = min(request.page_size or DEFAULT_SIZE, LARGEST_SIZE)
        print_ = _print(scope, request)
        return cls(size, _read(request.page_token, print_, kinds) if request.page_token else None, print_)

    def token(self, position: Sequence[str | int]) -> str:
        """Return the token of the page after the element at `position`."""
        return _written(self._print, position)


def position_token(scope: Scope, request: Any, position: Sequence[str | int]) -> str:
    """Return a token to continue a request's list at `position`, valid for its caller only."""
    return _written(_print(scope, request), position)


def position_of(
    scope: Scope, request: Any, token: str, *, kinds: Sequence[Kind], field: str = "page_token"
) -> Position:
    """Return the position in a token; raises InvalidArgument for one that was not issued for this request."""
    return _read(token, _print(scope, request), kinds, field)


def fitting(elements: Sequence[M], most_bytes: int = PAGE_BYTES) -> int:
    """Return how many elements fit into a page; at least one if there is any."""
    total = 0
    for count, element in enumerate(elements):
        total += element.ByteSize() + 8
        if total > most_bytes and count:
            return count
    return len(elements)


def _print(scope: Scope, request: Any) -> str:
    """Return a hash of what a token is bound to: the caller, and the request without its page fields."""
    plain = type(request)()
    plain.CopyFrom(request)
    for name in ("page_size", "page_token", "resume_token", "scope"):
        if name in plain.DESCRIPTOR.fields_by_name:
            plain.ClearField(name)
    who = f"{scope.tenant_id}\0{scope.user_id}\0{plain.DESCRIPTOR.full_name}\0".encode()
    return hashlib.sha256(who + plain.SerializeToString(deterministic=True)).hexdigest()[:20]


def _written(print_: str, position: Sequence[str | int]) -> str:
    text = json.dumps([print_, *position], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(token: str, print_: str, kinds: Sequence[Kind], field: str = "page_token") -> Position:
    """Return the position in a token. The caller controls the content, so each value is validated."""
    try:
        if len(token) > MOST_TOKEN:
            raise ValueError
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        given, *values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        # A token of another request may hold values of other kinds, so compare the hash first.
        position = tuple(kind(value) for kind, value in zip(kinds, values, strict=True)) if given == print_ else None
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise InvalidArgument.field(field, "was not issued by this service") from None
    if position is None:
        raise InvalidArgument.field(field, "belongs to another request: send it with the request that returned it")
    return position
