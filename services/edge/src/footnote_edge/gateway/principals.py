"""Who a caller is, and by what it proved so; kept for the call that it makes."""

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import Unauthenticated

REFUSAL = "The key or token is missing, unknown, expired or revoked."
"""One sentence for all of it: which of these it is helps only those who guess."""


class KeyRefused(Unauthenticated):
    """A key that exists was shown with a wrong secret, or after its end: its caller hears no more than any stranger.

    `tenant_id` and `key_id` are the key's, for the audit log of its tenant.
    """

    def __init__(self, tenant_id: str, key_id: str) -> None:
        super().__init__(REFUSAL)
        self.tenant_id, self.key_id = tenant_id, key_id


class Proof(Enum):
    """By what a caller is known."""

    NONE = "none"
    KEY = "key"
    TOKEN = "token"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: the scope of all that is done for it, and what it proved itself by; `expire_time` is in UTC."""

    scope: Scope
    proof: Proof
    key_id: str = ""
    key_label: str = ""
    expire_time: datetime | None = None


_known: ContextVar[Identity | None] = ContextVar("footnote_edge_known", default=None)
_admitted: ContextVar[Identity | None] = ContextVar("footnote_edge_admitted", default=None)


def recognise(identity: Identity) -> None:
    """Note who makes a call, which may still be refused."""
    _known.set(identity)


def known() -> Identity | None:
    """Return who makes the call, admitted or refused; None where it is not known."""
    return _known.get()


def admit(identity: Identity) -> None:
    """Note who makes the call that is being served."""
    recognise(identity)
    _admitted.set(identity)


def is_admitted() -> bool:
    """Tell whether the caller of the call that is being served was let in."""
    return _admitted.get() is not None


def identity() -> Identity:
    """Return who makes the call that is being served; raises Unauthenticated where nobody was let in."""
    found = _admitted.get()
    if found is None:
        raise Unauthenticated(REFUSAL)
    return found
