"""Who calls: the one place where a call's credentials become a tenant, a user and roles."""

import re
from collections.abc import Mapping
from typing import Protocol

from footnote.types.v1.scope_pb2 import ROLE_ADMIN, Scope
from footnote_kit.errors import Unauthenticated

TENANT_HEADER = "x-footnote-tenant"
USER_HEADER = "x-footnote-user"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


class Authenticator(Protocol):
    """Turns a call's metadata into the scope of everything done for it."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Scope:
        """Return the caller's scope; raises Unauthenticated without saying what is known and what is not."""
        ...


class Off:
    """No authentication, for loopback only: the caller may name its tenant and user and is administrator of it."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Scope:
        """Return the scope that the headers name, else tenant "default" and user "local"."""
        tenant, user = metadata.get(TENANT_HEADER, "default"), metadata.get(USER_HEADER, "local")
        for header, value in ((TENANT_HEADER, tenant), (USER_HEADER, user)):
            if not _NAME.fullmatch(value):
                raise Unauthenticated(
                    f"{header} must be 1 to 128 letters, digits or . _ @ + -, a letter or digit first"
                )
        return Scope(tenant_id=tenant, user_id=user, roles=[ROLE_ADMIN])
