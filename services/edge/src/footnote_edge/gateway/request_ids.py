"""Request ids (AIP-155): a call repeated under its id within 24 hours is the same call, not another.

An idempotent call derives the ids of its objects from a stored seed. So a repeat finds existing objects by id, and
nothing is created twice, whichever of two calls comes first. `made` is noted after creation: if set and the object is
missing, it was deleted and gets a new id. If not set, a crash prevented the creation, and the id stays.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4, uuid5

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import Aborted, InvalidArgument, NotFound
from footnote_kit.text_work import off_loop
from footnote_kit.validation import check_request_id
from footnote_kit.wall_clock import deletion_datetime

from footnote_edge.gateway.ports import Requests, StoredRequest

T = TypeVar("T")

KEPT = timedelta(hours=24)
_MADE = "resource"
_TIME = 13
"""Hexadecimal digits of microseconds since 1970, with which a seed begins."""
_TIME_MARGIN = 60.0
"""Seconds between a seed's time and its row's; an earlier version's seeds are random."""


@dataclass(frozen=True, slots=True)
class IdSeed:
    """The seed of the ids of a call's objects, from its request id; `made` says that they were created before.

    `timed` says that it begins with the time of the call.
    """

    seed: str
    made: bool = False
    timed: bool = False

    def id_of(self, what: str) -> str:
        """Return the id of one object that the call creates."""
        return uuid5(UUID(self.seed), what).hex

    def ordered_id_of(self, number: int) -> str:
        """Return an id for the call's object with this number; in their order, objects are in order of being added.

        It has the form of the ids that indexing makes: the time in microseconds, the number, random digits. A seed of
        an earlier version, without a time, gives its calls the ids that they had.
        """
        if not self.timed:
            return self.id_of(f"row {number}")
        return f"{self.seed[:_TIME]}{number:03x}{self.id_of(f'row {number}')[:16]}"


class RequestIds:
    """Remembers each user's calls for a day."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def claim(self, scope: Scope, request: Any, ignored: Collection[str] = ()) -> IdSeed | None:
        """Return the call that a request's id stands for, None without an id; fields `ignored` may differ each time.

        Raises InvalidArgument for an id that is not 1 to 64 printable ASCII characters. Raises REQUEST_ID_REUSED if
        this user used the id for another request within 24 hours.
        """
        if not request.request_id:
            return None
        check_request_id(request.request_id)
        content = await off_loop(request.ByteSize(), _content, request, ignored)
        found = await self._found(scope, request.request_id) or await self._add(scope, request.request_id, content)
        if found.content != content:
            raise InvalidArgument(
                "This request_id was used for another request within the last 24 hours; use a new one for each "
                "request.",
                reason="REQUEST_ID_REUSED",
                violations=[("request_id", "belongs to another request")],
            )
        return IdSeed(found.seed, found.made, _is_timed(found))

    async def once(
        self, scope: Scope, request: Any, make: Callable[[str], Awaitable[T]], find: Callable[[str], Awaitable[T]]
    ) -> T:
        """Create the requested object, once under its request id, and return it.

        `make` takes the new object's id, empty for any, and returns an existing object with that id. `find` returns the
        current object, or raises NotFound after a deletion; then another one is created.
        """
        claim = await self.claim(scope, request)
        if claim is None:
            return await make("")
        if claim.made:
            try:
                return await find(claim.id_of(_MADE))
            except NotFound:
                await self._requests.forget(scope, request.request_id, claim.seed)
                claim = await self.claim(scope, request) or claim
        made = await make(claim.id_of(_MADE))
        await self._requests.note_made(scope, request.request_id, claim.seed)
        return made

    async def sweep(self) -> None:
        """Delete calls older than a day."""
        await self._requests.sweep(deletion_datetime() - KEPT)

    async def _found(self, scope: Scope, request_id: str) -> StoredRequest | None:
        # By this clock too: a step ahead must not make a call of today another one.
        return await self._requests.find(scope, request_id, deletion_datetime() - KEPT)

    async def _add(self, scope: Scope, request_id: str, content: str) -> StoredRequest:
        now = datetime.now(UTC)
        seed = f"{int(now.timestamp() * 1e6):0{_TIME}x}{uuid4().hex[_TIME:]}"
        request = StoredRequest(content, seed, now)
        if await self._requests.add(scope, request_id, request):
            return request
        if (found := await self._found(scope, request_id)) is None:
            raise Aborted("Another call with this request_id was undone during this one; repeat this call.")
        return found


def _is_timed(request: StoredRequest) -> bool:
    return abs(int(request.seed[:_TIME], 16) / 1e6 - request.create_time.timestamp()) < _TIME_MARGIN


def _content(request: Any, ignored: Collection[str]) -> str:
    """Return a hash of the request's content."""
    plain = type(request)()
    plain.CopyFrom(request)
    for name in ("request_id", *ignored):
        plain.ClearField(name)
    asked = plain.DESCRIPTOR.full_name.encode() + b"\0" + plain.SerializeToString(deterministic=True)
    return hashlib.sha256(asked).hexdigest()
