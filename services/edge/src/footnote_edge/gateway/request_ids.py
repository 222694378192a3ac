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
from footnote_database.times import utc
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.request_ids import check
from footnote_kit.text_work import beside
from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.exc import IntegrityError

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import RequestIdRow

T = TypeVar("T")

KEPT = timedelta(hours=24)
_MADE = "resource"


@dataclass(frozen=True, slots=True)
class Claim:
    """A call identified by its request id; `made` says that its object was created before."""

    seed: str
    made: bool = False

    def id_of(self, what: str) -> str:
        """Return the id of one object that the call creates."""
        return uuid5(UUID(self.seed), what).hex


class RequestIds:
    """Remembers each user's calls for a day."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def claim(self, scope: Scope, request: Any, apart: Collection[str] = ()) -> Claim | None:
        """Return the call that a request's id stands for, None without an id; fields `apart` may differ each time.

        Raises InvalidArgument for an id that is not 1 to 64 printable ASCII characters. Raises REQUEST_ID_REUSED if
        this user used the id for another request within 24 hours.
        """
        if not request.request_id:
            return None
        check(request.request_id)
        content = await beside(request.ByteSize(), _content, request, apart)
        found = await self._found(scope, request.request_id) or await self._note(scope, request.request_id, content)
        if found.content != content:
            raise InvalidArgument(
                "This request_id was used for another request within the last 24 hours; give each request its own.",
                reason="REQUEST_ID_REUSED",
                violations=[("request_id", "belongs to another request")],
            )
        return Claim(found.seed, found.made)

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
                await self._forget(scope, request.request_id, claim)
                claim = await self.claim(scope, request) or claim
        made = await make(claim.id_of(_MADE))
        await self._note_made(scope, request.request_id, claim)
        return made

    async def sweep(self) -> None:
        """Delete calls older than a day."""
        async with self._sessions.begin() as session:
            await session.execute(delete(RequestIdRow).where(RequestIdRow.create_time <= datetime.now(UTC) - KEPT))

    async def _found(self, scope: Scope, request_id: str) -> RequestIdRow | None:
        async with self._sessions.begin() as session:
            row = await session.get(RequestIdRow, (scope.tenant_id, scope.user_id, request_id))
            if row is not None and utc(row.create_time) <= datetime.now(UTC) - KEPT:
                await session.delete(row)
                return None
        return row

    async def _note_made(self, scope: Scope, request_id: str, claim: Claim) -> None:
        change = update(RequestIdRow).where(*_which(scope, request_id, claim)).values(made=True)
        async with self._sessions.begin() as session:
            await session.execute(change)

    async def _forget(self, scope: Scope, request_id: str, claim: Claim) -> None:
        async with self._sessions.begin() as session:
            await session.execute(delete(RequestIdRow).where(*_which(scope, request_id, claim)))

    async def _note(self, scope: Scope, request_id: str, content: str) -> RequestIdRow:
        row = RequestIdRow(
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            request_id=request_id,
            content=content,
            seed=uuid4().hex,
            made=False,
            create_time=datetime.now(UTC),
        )
        try:
            async with self._sessions.begin() as session:
                session.add(row)
        except IntegrityError:  # a concurrent repeat of this call
            found = await self._found(scope, request_id)
            if found is None:
                raise
            return found
        return row


def _which(scope: Scope, request_id: str, claim: Claim) -> tuple[ColumnElement[bool], ...]:
    return (
        RequestIdRow.tenant_id == scope.tenant_id,
        RequestIdRow.user_id == scope.user_id,
        RequestIdRow.request_id == request_id,
        RequestIdRow.seed == claim.seed,
    )


def _content(request: Any, apart: Collection[str]) -> str:
    """Return a hash of the request's content."""
    plain = type(request)()
    plain.CopyFrom(request)
    for name in ("request_id", *apart):
        plain.ClearField(name)
    asked = plain.DESCRIPTOR.full_name.encode() + b"\0" + plain.SerializeToString(deterministic=True)
    return hashlib.sha256(asked).hexdigest()
