"""Which caller sees which collection, as SQL for the rule of `footnote_kit.access`, and the rows of grants."""

from collections.abc import Sequence

import sqlalchemy as sa
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection, Grant
from footnote.types.v1.role_pb2 import ROLE_UNSPECIFIED
from footnote_kit.access import OPEN_TO_ALL, is_system, role_of, sees_all
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import collections, grants

_USER, _GROUP = "user", "group"


def visible(scope: Scope) -> sa.ColumnElement[bool]:
    """Return the condition that this caller may read a collection; it matches `access_of(…) >= Access.READ`."""
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
