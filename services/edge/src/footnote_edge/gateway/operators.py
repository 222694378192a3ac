"""Operators: administrators of the configured tenant, or all administrators where authentication is off."""

from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.errors import PermissionDenied

from footnote_edge.gateway.principals import Identity, Proof
from footnote_edge.settings import Settings


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
