"""The rules of access to a collection, against a table written by hand from the contract."""

from itertools import product

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import (
    ACCESS_READ,
    ACCESS_UNSPECIFIED,
    ACCESS_WRITE,
    VISIBILITY_PRIVATE,
    VISIBILITY_SHARED,
    VISIBILITY_UNSPECIFIED,
    Collection,
    Grant,
)
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_UNSPECIFIED, ROLE_WRITER
from footnote_kit import access
from footnote_kit.access import Access
from footnote_kit.errors import NotFound, PermissionDenied

NONE, READ, WRITE, MANAGE = Access
ROLES = {
    "nothing": [], "unspecified": [ROLE_UNSPECIFIED], "unknown": [9], "reader": [ROLE_READER], "writer": [ROLE_WRITER],
    "both": [ROLE_READER, ROLE_WRITER], "admin": [ROLE_ADMIN], "system": [ROLE_SYSTEM],
}  # fmt: skip
READERS, WRITERS, MASTERS, NOBODIES = ("nothing", "reader"), ("writer", "both"), ("admin", "system"), (
    "unspecified", "unknown",
)  # fmt: skip

# What a private collection of "owner" is shared for -> what a reader and a writer who are not the owner may do.
GRANTS = {
    "nobody": ([], NONE, NONE),
    "me to read": ([Grant(user_id="me", access=ACCESS_READ)], READ, READ),
    "me, unsaid": ([Grant(user_id="me", access=ACCESS_UNSPECIFIED)], READ, READ),
    "me to write": ([Grant(user_id="me", access=ACCESS_WRITE)], READ, WRITE),
    "my group to read": ([Grant(group="ours", access=ACCESS_READ)], READ, READ),
    "my group to write": ([Grant(group="ours", access=ACCESS_WRITE)], READ, WRITE),
    "me to read, my group to write": (
        [Grant(user_id="me", access=ACCESS_READ), Grant(group="ours", access=ACCESS_WRITE)], READ, WRITE,
    ),
    "another user": ([Grant(user_id="you", access=ACCESS_WRITE)], NONE, NONE),
    "another group": ([Grant(group="theirs", access=ACCESS_WRITE)], NONE, NONE),
    "a group named as I am": ([Grant(group="me", access=ACCESS_WRITE)], NONE, NONE),
    "a user named as my group": ([Grant(user_id="ours", access=ACCESS_WRITE)], NONE, NONE),
    "nobody in particular": ([Grant(access=ACCESS_WRITE)], NONE, NONE),
    "an empty group": ([Grant(group="", access=ACCESS_WRITE)], NONE, NONE),
}  # fmt: skip


def scope(role: str, user: str = "me", tenant: str = "t") -> Scope:
    return Scope(tenant_id=tenant, user_id=user, roles=ROLES[role], groups=["ours", ""])


def expected(role: str, by_reader: Access, by_writer: Access) -> Access:
    if role in NOBODIES:
        return NONE
    return MANAGE if role in MASTERS else by_writer if role in WRITERS else by_reader


@pytest.mark.parametrize("role", ROLES)
def test_every_role_in_every_kind_of_collection(role: str) -> None:
    caller = scope(role)
    for visibility, grants in product((VISIBILITY_UNSPECIFIED, VISIBILITY_SHARED), GRANTS.values()):
        for owner in ("me", "owner"):
            shared = Collection(tenant_id="t", owner_id=owner, visibility=visibility, grants=grants[0])
            assert access.access_of(caller, shared) == expected(role, READ, WRITE)
    for name, (grants, by_reader, by_writer) in GRANTS.items():
        theirs = Collection(tenant_id="t", owner_id="owner", visibility=VISIBILITY_PRIVATE, grants=grants)
        assert access.access_of(caller, theirs) == expected(role, by_reader, by_writer), name
        mine = Collection(tenant_id="t", owner_id="me", visibility=VISIBILITY_PRIVATE, grants=grants)
        assert access.access_of(caller, mine) == expected(role, READ, MANAGE), name
        strange = Collection(tenant_id="t", owner_id="me", visibility=9, grants=grants)  # type: ignore[arg-type]
        assert access.access_of(caller, strange) == expected(role, NONE, NONE), name


@pytest.mark.parametrize("role", ROLES)
def test_no_role_reaches_another_tenant(role: str) -> None:
    for visibility, owner, grants in product((0, 1, 2, 9), ("me", "owner", ""), GRANTS.values()):
        collection = Collection(tenant_id="t", owner_id=owner, visibility=visibility, grants=grants[0])  # type: ignore[arg-type]
        for caller in (scope(role, tenant="u"), scope(role, tenant=""), scope(role, user="")):
            assert access.access_of(caller, collection) == NONE
        collection.tenant_id = ""
        assert access.access_of(scope(role, tenant=""), collection) == NONE


def test_who_may_make_what() -> None:
    shared, private = Collection(), Collection(visibility=VISIBILITY_PRIVATE)
    assert [role for role in ROLES if access.may_create(scope(role), shared)] == [*MASTERS]
    assert [role for role in ROLES if access.may_create(scope(role), private)] == [*WRITERS, *MASTERS]
    with pytest.raises(PermissionDenied, match="needs the role admin"):
        access.check_create(scope("writer"), shared)
    with pytest.raises(PermissionDenied, match="needs the role writer"):
        access.check_create(scope("reader"), private)


def test_what_is_hidden_is_missing_and_what_is_seen_is_refused() -> None:
    missing = access.collection_missing("x")
    with pytest.raises(NotFound) as caught:
        access.check(NONE, READ, missing)
    assert caught.value is missing
    access.check(READ, READ, missing)
    with pytest.raises(PermissionDenied, match="not write to it"):
        access.check(READ, WRITE, missing)
    with pytest.raises(PermissionDenied, match="not change, share or delete it"):
        access.check(WRITE, MANAGE, missing)
