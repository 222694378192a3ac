"""Which caller sees which collection, as SQL conditions for the rule of `footnote_kit.access`, and grants."""

from collections.abc import Sequence

import sqlalchemy as sa
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import (
    ACCESS_READ,
    VISIBILITY_PRIVATE,
    Access,
    Collection,
    Grant,
)
from footnote.types.v1.role_pb2 import ROLE_UNSPECIFIED
from footnote_kit.access import OPEN_TO_ALL, is_for, is_system, role_of, sees_all
from footnote_kit.errors import InvalidArgument
from footnote_kit.identifiers import GROUP, GROUP_RULE, NAME, RULE
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import collections, grants

MOST_GRANTS = 100
_USER, _GROUP = "user", "group"


def visible(scope: Scope) -> sa.ColumnElement[bool]:
    """Return the condition that this caller may read a collection; it matches `footnote_kit.access.may_read`."""
    if not scope.tenant_id or not scope.user_id or role_of(scope) == ROLE_UNSPECIFIED:
        return sa.false()
    of_tenant = collections.c.tenant_id == scope.tenant_id
    if is_system(scope):
        return of_tenant
    of_tenant = sa.and_(of_tenant, collections.c.hidden.is_(sa.false()))
    if sees_all(scope):
        return of_tenant
    shared_with_me = collections.c.id.in_(sa.select(grants.c.collection_id).where(_to(scope)))
    mine = collections.c.owner_id == scope.user_id
    private = sa.and_(collections.c.visibility == VISIBILITY_PRIVATE, sa.or_(mine, shared_with_me))
    return sa.and_(of_tenant, sa.or_(collections.c.visibility.in_(OPEN_TO_ALL), private))


def granted(scope: Scope) -> sa.ScalarSelect[int]:
    """Return the query for the access that a collection's grants give this caller, NULL for none."""
    mine = sa.and_(grants.c.collection_id == collections.c.id, _to(scope))
    return sa.select(sa.func.max(grants.c.access)).where(mine).scalar_subquery()


def _to(scope: Scope) -> sa.ColumnElement[bool]:
    user = sa.and_(grants.c.kind == _USER, grants.c.grantee == scope.user_id)
    if not scope.groups:
        return user
    return sa.or_(user, sa.and_(grants.c.kind == _GROUP, grants.c.grantee.in_(list(scope.groups))))


def holder(collection: Collection) -> str:
    """Return the namespace in which a collection's name is unique: its owner, or "" for tenant-wide ones.

    If names were unique in the tenant, "already exists" would reveal collections that the caller cannot see.
    """
    return collection.owner_id if collection.visibility == VISIBILITY_PRIVATE else ""


def nearness(scope: Scope, collection: Collection, name_or_id: str) -> int:
    """Return a collection's precedence among those of the same name; the lowest number wins."""
    if collection.id == name_or_id:
        return 0
    if collection.visibility in OPEN_TO_ALL:
        return 2
    if collection.owner_id == scope.user_id:
        return 1
    return 3 if any(is_for(scope, grant) for grant in collection.grants) else 4


def ambiguous(name: str, found: Sequence[Collection]) -> InvalidArgument:
    """Return the error for a name of several collections that other users share with the caller."""
    ids = ", ".join(sorted(one.id for one in found)[:10])
    return InvalidArgument.field(
        "collection", f"'{name}' is the name of several collections of other users; give the id of one: {ids}"
    )


def check_grants(collection: Collection) -> None:
    """Fill in the access where none is given; InvalidArgument for grants that cannot be stored."""
    if not collection.grants:
        return
    if collection.visibility != VISIBILITY_PRIVATE:
        raise InvalidArgument.field(
            "collection.grants", "are for private collections: every user of the tenant sees this one. Clear them"
        )
    if len(collection.grants) > MOST_GRANTS:
        raise InvalidArgument.field("collection.grants", f"must be at most {MOST_GRANTS}")
    seen: set[tuple[str, str]] = set()
    for index, grant in enumerate(collection.grants):
        field = f"collection.grants[{index}]"
        _check_grant(field, grant)
        if _key(grant) in seen:
            raise InvalidArgument.field(field, "names somebody a second time")
        seen.add(_key(grant))


def _check_grant(field: str, grant: Grant) -> None:
    kind = grant.WhichOneof("grantee")
    if kind is None:
        raise InvalidArgument.field(field, "must name a user_id or a group")
    if kind == "user_id" and not NAME.fullmatch(grant.user_id):
        raise InvalidArgument.field(f"{field}.user_id", RULE)
    if kind == "group" and not GROUP.fullmatch(grant.group):
        raise InvalidArgument.field(f"{field}.group", GROUP_RULE)
    if grant.access not in Access.values():
        raise InvalidArgument.field(f"{field}.access", f"has no value {grant.access}")
    grant.access = grant.access or ACCESS_READ


def _key(grant: Grant) -> tuple[str, str]:
    return (_USER, grant.user_id) if grant.WhichOneof("grantee") == "user_id" else (_GROUP, grant.group)


async def write_grants(connection: AsyncConnection, collection_id: str, wanted: Sequence[Grant]) -> None:
    """Replace a collection's grants in the table."""
    await connection.execute(sa.delete(grants).where(grants.c.collection_id == collection_id))
    rows = [
        {"collection_id": collection_id, "kind": _key(grant)[0], "grantee": _key(grant)[1], "access": grant.access}
        for grant in wanted
    ]
    if rows:
        await connection.execute(sa.insert(grants), rows)
