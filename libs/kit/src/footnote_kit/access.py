"""Access control for collections: the one rule that edge, ingestion and indexing all apply.

An SQL query that lists readable collections must agree with `access_of`; a test compares the two.
"""

from __future__ import annotations

from enum import IntEnum

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import ACCESS_WRITE, VISIBILITY_PRIVATE, VISIBILITY_UNSPECIFIED, Collection, Grant
from footnote.types.v1.collection_pb2 import VISIBILITY_SHARED as SHARED
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_UNSPECIFIED, ROLE_WRITER, Role

from footnote_kit.errors import NotFound, PermissionDenied

OPEN_TO_ALL = (VISIBILITY_UNSPECIFIED, SHARED)
"""Visibilities that let every user of the tenant read. Values unknown to this version are not among them."""

_ROLES = frozenset((ROLE_READER, ROLE_WRITER, ROLE_ADMIN, ROLE_SYSTEM))


class Access(IntEnum):
    """A caller's rights in a collection; each level includes those before it."""

    NONE = 0
    """The collection does not exist for this caller."""
    READ = 1
    WRITE = 2
    MANAGE = 3


def system_scope(tenant_id: str, user_id: str) -> Scope:
    """Return a job's scope: accepted work is finished, whatever rights its user has lost since."""
    return Scope(tenant_id=tenant_id, user_id=user_id, roles=[ROLE_SYSTEM])


def role_of(scope: Scope) -> Role.ValueType:
    """Return the highest role of a scope: reader when it names no role, UNSPECIFIED when it names only unknown ones."""
    if not scope.roles:
        return ROLE_READER
    return max((role for role in scope.roles if role in _ROLES), default=ROLE_UNSPECIFIED)


def sees_all(scope: Scope) -> bool:
    """Return whether a scope has all rights in every collection of its tenant."""
    return role_of(scope) in (ROLE_ADMIN, ROLE_SYSTEM)


def is_system(scope: Scope) -> bool:
    """Return whether a scope belongs to a service."""
    return role_of(scope) == ROLE_SYSTEM


def access_of(scope: Scope, collection: Collection) -> Access:
    """Return a scope's rights in a collection, which must contain its tenant, owner, visibility and grants."""
    role = role_of(scope)
    if not scope.tenant_id or not scope.user_id or role == ROLE_UNSPECIFIED:
        return Access.NONE
    if collection.tenant_id != scope.tenant_id:
        return Access.NONE
    if sees_all(scope):
        return Access.MANAGE
    writes = role == ROLE_WRITER
    if collection.visibility in OPEN_TO_ALL:
        return Access.WRITE if writes else Access.READ
    if collection.visibility != VISIBILITY_PRIVATE:
        return Access.NONE
    if collection.owner_id == scope.user_id:
        return Access.MANAGE if writes else Access.READ
    mine = [grant for grant in collection.grants if is_for(scope, grant)]
    if not mine:
        return Access.NONE
    return Access.WRITE if writes and any(grant.access == ACCESS_WRITE for grant in mine) else Access.READ


def may_create(scope: Scope, collection: Collection) -> bool:
    """Return whether a scope may create such a collection: a private one as writer, any other as administrator."""
    if collection.visibility == VISIBILITY_PRIVATE:
        return role_of(scope) >= ROLE_WRITER
    return sees_all(scope)


def check_create(scope: Scope, collection: Collection) -> None:
    """Raise PermissionDenied unless a scope may create such a collection, or change one of its own into it."""
    if may_create(scope, collection):
        return
    if collection.visibility == VISIBILITY_PRIVATE:
        raise PermissionDenied("A private collection needs the role writer.")
    raise PermissionDenied("A collection for all of the tenant needs the role admin; a private one the role writer.")


def check(held: Access, needed: Access, missing: NotFound) -> None:
    """Raise `missing` when the collection does not exist for the caller, PermissionDenied when it may do less."""
    if held == Access.NONE:
        raise missing
    if held < needed:
        what = "change, share or delete" if needed == Access.MANAGE else "write to"
        raise PermissionDenied(f"You may read this collection, but not {what} it.")


def collection_missing(name: str) -> NotFound:
    """Return the error for a collection that does not exist or that the caller may not see; the two look the same."""
    return NotFound(f"Collection '{name}' not found", reason="COLLECTION_NOT_FOUND", metadata={"collection": name})


def chunk_missing(chunk_id: str) -> NotFound:
    """Return the error for a chunk that does not exist or that the caller may not see; the two look the same."""
    return NotFound(f"Chunk '{chunk_id}' not found", reason="CHUNK_NOT_FOUND", metadata={"chunk_id": chunk_id})


def document_missing(document_id: str) -> NotFound:
    """Return the error for a document that does not exist or that the caller may not see; the two look the same."""
    return NotFound(f"Document '{document_id}' not found", reason="DOCUMENT_NOT_FOUND")


def is_for(scope: Scope, grant: Grant) -> bool:
    """Return whether a grant applies to this caller."""
    kind = grant.WhichOneof("grantee")
    if kind == "user_id":
        return bool(grant.user_id) and grant.user_id == scope.user_id
    return kind == "group" and bool(grant.group) and grant.group in scope.groups
