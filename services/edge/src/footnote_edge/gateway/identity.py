"""Authentication: turns a call's credentials into tenant, user and roles."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_kit.errors import Unauthenticated
from footnote_kit.validation import GROUP, GROUP_RULE, MOST_GROUPS, NAME, RULE

from footnote_edge.gateway.keys import PREFIX, ApiKeys
from footnote_edge.gateway.principals import REFUSAL, Identity, Proof
from footnote_edge.settings import Settings

if TYPE_CHECKING:
    from footnote_edge.gateway.tokens import Tokens

TENANT_HEADER = "x-footnote-tenant"
USER_HEADER = "x-footnote-user"
ROLE_HEADER = "x-footnote-role"
GROUPS_HEADER = "x-footnote-groups"
KEY_HEADER = "x-api-key"

ROLES = {"reader": ROLE_READER, "writer": ROLE_WRITER, "admin": ROLE_ADMIN}
"""Names of the roles that callers may have."""


class Authenticator(Protocol):
    """Turns a call's metadata into an identity, with the scope of all its work."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Identity:
        """Return the caller; raises Unauthenticated without revealing which part is wrong."""
        ...

    def anonymous(self, metadata: Mapping[str, str]) -> bool:
        """Return whether a call has no credentials although authentication is on."""
        ...

    async def check(self, identity: Identity) -> None:
        """Raise Unauthenticated if the key of a running call has ended since."""
        ...


class Off:
    """No authentication, for loopback or `keyless`: the caller may choose its tenant, user, role and groups."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Identity:
        """Return the caller in the headers, by default tenant "default", user "local", role admin and no group."""
        tenant, user = metadata.get(TENANT_HEADER, "default"), metadata.get(USER_HEADER, "local")
        for header, value in ((TENANT_HEADER, tenant), (USER_HEADER, user)):
            if not NAME.fullmatch(value):
                raise Unauthenticated(f"{header} {RULE}")
        role = metadata.get(ROLE_HEADER, "admin")
        if role not in ROLES:
            raise Unauthenticated(f"{ROLE_HEADER} must be reader, writer or admin")
        groups = sorted({group.strip() for group in metadata.get(GROUPS_HEADER, "").split(",") if group.strip()})
        if len(groups) > MOST_GROUPS or not all(map(GROUP.fullmatch, groups)):
            raise Unauthenticated(f"{GROUPS_HEADER} must be at most {MOST_GROUPS}, and each {GROUP_RULE}")
        scope = Scope(tenant_id=tenant, user_id=user, roles=[ROLES[role]], groups=groups)
        return Identity(scope, Proof.NONE)

    def anonymous(self, metadata: Mapping[str, str]) -> bool:
        """Return False: without authentication every caller has an identity."""
        return False

    async def check(self, identity: Identity) -> None:
        """Accept every caller."""


class Credentials:
    """Keys and tokens, as far as each is enabled; the prefix distinguishes a key from a token."""

    def __init__(self, keys: ApiKeys | None, tokens: "Tokens | None") -> None:
        self._keys = keys
        self._tokens = tokens

    async def authenticate(self, metadata: Mapping[str, str]) -> Identity:
        """Return the holder of the key or token in `authorization: Bearer …` or in `x-api-key`."""
        scheme, _, bearer = metadata.get("authorization", "").partition(" ")
        text = bearer.strip() if scheme.lower() == "bearer" else metadata.get(KEY_HEADER, "")
        if text.startswith(f"{PREFIX}_") and self._keys is not None:
            return await self._keys.identify(text)
        if text.count(".") == 2 and self._tokens is not None:
            return await self._tokens.identify(text)
        raise Unauthenticated(REFUSAL)

    def anonymous(self, metadata: Mapping[str, str]) -> bool:
        """Return whether a call has neither key nor token."""
        return not (metadata.get("authorization") or metadata.get(KEY_HEADER))

    async def check(self, identity: Identity) -> None:
        """Raise Unauthenticated if a caller's key has ended since; a token is valid until its call ends."""
        if identity.key_id and self._keys is not None:
            await self._keys.check(identity.key_id)


def authenticator(settings: Settings, keys: ApiKeys) -> Authenticator:
    """Return the authenticator that the settings select."""
    if not settings.auth:
        return Off()
    return Credentials(
        keys if "keys" in settings.auth else None,
        _tokens(settings) if "jwt" in settings.auth else None,
    )


def _tokens(settings: Settings) -> "Tokens":
    from footnote_edge.gateway.tokens import Tokens  # its libraries take 10 MB, which deployments without tokens spare

    return Tokens(settings)
