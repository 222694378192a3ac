"""How a stage authenticates the services that call it, and which scope it accepts from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from google.protobuf.message import DecodeError

from footnote_kit.credential import HEADER, ServiceCredential, refused
from footnote_kit.errors import PermissionDenied, Unauthenticated

_NAMES = ("x509_common_name", "x509_subject_alternative_name")


class Trust:
    """A stage's requirements for its callers: a proof by the shared secret, an allowed certificate name, or both."""

    def __init__(self, audience: str, credential: ServiceCredential | None, peers: Iterable[str] = ()) -> None:
        self._audience = audience
        self._credential = credential
        self._peers = frozenset(peers)
        if credential is None and not self._peers:
            raise ValueError("a stage needs a secret or peer names to authenticate its callers")

    def admit(self, method: str, metadata: Iterable[tuple[str, Any]]) -> bytes | None:
        """Return the serialised scope that the caller's proof contains; runs before the message is read.

        Returns None when certificates alone authenticate callers. Raises Unauthenticated without a valid proof.
        """
        if self._credential is None:
            return None
        headers = [value for key, value in metadata if key == HEADER]
        if len(headers) > 1:
            raise refused("The call carries two proofs")
        return self._credential.verify(str(headers[0]) if headers else "", self._audience, method)

    def recognise(self, identity: Callable[[], Mapping[str, Sequence[bytes]]]) -> None:
        """Check the names in the caller's certificate against the allow-list, if there is one.

        Raises Unauthenticated. `identity` returns the connection's properties; it is a function because this is the
        slowest part.
        """
        if not self._peers:
            return
        found = identity()
        names = {value.decode(errors="replace") for key in _NAMES for value in found.get(key, ())}
        if not names & self._peers:
            raise refused("The caller's certificate is not that of a service (FOOTNOTE_TLS_PEERS)")


def believed(request: Any, proven: bytes | None) -> Scope | None:
    """Return the request's scope, replaced by the proof's; None for a request type without a scope.

    `proven` is the result of `Trust.admit`. Raises Unauthenticated when the scope is missing or differs from the
    proof. Raises PermissionDenied when a scope without ROLE_SYSTEM asks for all tenants.
    """
    fields = request.DESCRIPTOR.fields_by_name
    if "scope" not in fields:
        return None
    scope: Scope = request.scope
    if proven is not None:
        _agree(scope, proven)
    if not scope.tenant_id or not scope.user_id:
        raise Unauthenticated("The request carries no scope with tenant_id and user_id", reason="SCOPE_MISSING")
    if "all_tenants" in fields and request.all_tenants and ROLE_SYSTEM not in scope.roles:
        raise PermissionDenied("Only services may ask for all tenants")
    return scope


def _agree(scope: Scope, proven: bytes) -> None:
    """Compare a message's scope with the proof's in the fields known here, then replace it by the proof's.

    Fields from a later version are not compared, but only the proven scope is passed on to other stages.
    """
    try:
        vouched = Scope.FromString(proven)
    except DecodeError:
        raise refused("The scope in the proof cannot be read") from None
    if scope == vouched:
        return
    if _known(scope) != _known(vouched):
        raise refused("The proof is for another scope than the message's")
    scope.CopyFrom(vouched)


def _known(scope: Scope) -> Scope:
    """Return a copy without the fields that this version does not know."""
    known = Scope()
    known.CopyFrom(scope)
    known.DiscardUnknownFields()  # type: ignore[no-untyped-call,unused-ignore]
    return known
