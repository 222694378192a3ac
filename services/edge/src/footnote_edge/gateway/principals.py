"""The authenticated principal of the current call, how it authenticated, and whether it is an operator."""

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.errors import PermissionDenied, Unauthenticated

from footnote_edge.settings import Settings

REFUSAL = "The key or token is missing, unknown, expired or revoked."
"""One message for every cause: a more precise one would help only attackers."""


class KeyRefused(Unauthenticated):
    """An existing key with a wrong secret, or an ended one; the caller gets the same error as for an unknown key.

    `tenant_id` and `key_id` are the key's, for the audit log of its tenant.
    """

    def __init__(self, tenant_id: str, key_id: str) -> None:
        super().__init__(REFUSAL)
        self.tenant_id, self.key_id = tenant_id, key_id


class Proof(Enum):
    """How a caller authenticated."""

    NONE = "none"
    KEY = "key"
    TOKEN = "token"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: the scope of its work, and how it authenticated; `expire_time` is in UTC."""

    scope: Scope
    proof: Proof
    key_id: str = ""
    key_label: str = ""
    expire_time: datetime | None = None


_known: ContextVar[Identity | None] = ContextVar("footnote_edge_known", default=None)
_admitted: ContextVar[Identity | None] = ContextVar("footnote_edge_admitted", default=None)


def recognise(identity: Identity) -> None:
    """Note a call's principal, even if the call may still be refused."""
    _known.set(identity)


def known() -> Identity | None:
    """Return the call's principal, admitted or refused; None if unknown."""
    return _known.get()


def admit(identity: Identity) -> None:
    """Note the principal of an admitted call."""
    recognise(identity)
    _admitted.set(identity)


def is_admitted() -> bool:
    """Return whether the current call was admitted."""
    return _admitted.get() is not None


def identity() -> Identity:
    """Return the principal of the current call; raises Unauthenticated if the call was not admitted."""
    found = _admitted.get()
    if found is None:
        raise Unauthenticated(REFUSAL)
    return found


class Operators:
    """Distinguishes operators from administrators of a tenant."""

    def __init__(self, settings: Settings) -> None:
        self._tenant = settings.operator_tenant

    def includes(self, identity: Identity) -> bool:
        """Return whether a caller is an operator."""
        if ROLE_ADMIN not in identity.scope.roles:
            return False
        return identity.proof is Proof.NONE or (bool(self._tenant) and identity.scope.tenant_id == self._tenant)

    def check(self, identity: Identity) -> None:
        """Raise PermissionDenied for a caller that is no operator."""
        if not self.includes(identity):
            raise PermissionDenied("This needs an operator of the deployment.", reason="OPERATOR_ONLY")

    def tenant(self, identity: Identity, named: str) -> str:
        """Return the tenant that a caller names, by default its own; raises PermissionDenied for another."""
        own = identity.scope.tenant_id
        if named and named != own:
            self.check(identity)
        return named or own
