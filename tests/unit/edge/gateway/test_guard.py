"""Roles: what is not a role that we know is none."""

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_UNSPECIFIED, ROLE_WRITER
from footnote_edge.gateway.guard import ROLES, allows


@pytest.mark.parametrize("roles", [[], [ROLE_UNSPECIFIED], [99], [ROLE_UNSPECIFIED, 2_000_000]])
def test_nobody_comes_in_without_a_role(roles: list[int]) -> None:
    scope = Scope(tenant_id="t", user_id="u", roles=roles)  # type: ignore[arg-type]
    assert not [name for name, least in ROLES.items() if allows(scope, least)]


def test_a_role_includes_those_below() -> None:
    writer = Scope(tenant_id="t", user_id="u", roles=[ROLE_UNSPECIFIED, ROLE_WRITER])
    assert [allows(writer, least) for least in (ROLE_READER, ROLE_WRITER, ROLE_ADMIN)] == [True, True, False]


def test_every_call_needs_one() -> None:
    assert ROLE_UNSPECIFIED not in ROLES.values()
