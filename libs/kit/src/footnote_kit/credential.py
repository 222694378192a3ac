"""The shared secret of a deployment's services, and the proofs signed with it.

A proof states that a service with the secret now calls `method` of the stage `audience` on behalf of exactly this
scope. It is a single header, so that a stage can refuse an unknown caller before reading the message.
docs/service-proof.md specifies it; tests/polyglot/proof implements it in Go, Java and TypeScript.

This module imports no grpc.
"""

import hmac
import re
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM

from footnote_kit import context as call_context
from footnote_kit.errors import PermissionDenied, Unauthenticated

HEADER = "x-footnote-proof"
REASON = "SCOPE_INVALID"
MIN_SECRET = 32  # characters
MARGIN = 60  # seconds that a proof outlives its call's deadline
MAX_LIFETIME = 3600 + MARGIN
CLOCK_SKEW = 30  # seconds by which the signer's clock may be ahead
EVERY_METHOD = "*"
_HEADER = re.compile(r"v1\.([0-9a-f]{8})\.([0-9]{1,12})\.([0-9]{1,12})\.([m*])\.([A-Za-z0-9_-]*)\.([0-9a-f]{64})")
_NO_KEY = bytes(32)  # makes an unknown key id take as long as a wrong MAC


class ServiceCredential:
    """One or more secrets: the first signs, and all are accepted, so that a secret can be rotated without downtime.

    `local` marks a secret made on this machine, valid for loopback only. Raises ValueError for a secret that is too
    short.
    """

    __slots__ = ("_keys", "_signing", "local")

    def __init__(self, *shared: str, local: bool = False) -> None:
        if not shared or any(len(one) < MIN_SECRET for one in shared):
            raise ValueError(
                f"a service token has at least {MIN_SECRET} characters, as `footnote service-token` makes it"
            )
        self._keys = {_derived(one, "id").hex()[:8]: _derived(one, "key") for one in shared}
        self._signing = next(iter(self._keys))
        self.local = local

    def __repr__(self) -> str:
        return f"ServiceCredential({', '.join(self._keys)})"

    @classmethod
    def random(cls) -> "ServiceCredential":
        """Return a credential with a new random secret."""
        return cls(new_secret(), local=True)

    def accepting(self, other: "ServiceCredential") -> "ServiceCredential":
        """Return a credential that signs like this one and also accepts the other's proofs."""
        both = ServiceCredential.random()
        both._keys, both._signing, both.local = {**other._keys, **self._keys}, self._signing, self.local
        return both

    def exported(self) -> dict[str, object]:
        """Return the keys for `imported` in a child process of this deployment. The result is secret."""
        keys = {name: key.hex() for name, key in self._keys.items()}
        return {"keys": keys, "signing": self._signing, "local": self.local}

    @classmethod
    def imported(cls, exported: Mapping[str, Any]) -> "ServiceCredential":
        """Return the credential that `exported` described."""
        same = cls.random()
        same._keys = {name: bytes.fromhex(key) for name, key in exported["keys"].items()}
        same._signing, same.local = exported["signing"], exported["local"]
        return same

    def sign(self, audience: str, method: str, scope: Scope | bytes | None, lifetime: float) -> str:
        """Return the header for a call to the stage `audience`.

        `method` is "/package.Service/Method", or "*" for all. The header is valid for `lifetime` seconds from now, at
        most MAX_LIFETIME. Bytes are a serialised scope; None stands for a call without one.
        """
        issued = int(time.time())
        return self.signed(audience, method, scope, issued, issued + min(MAX_LIFETIME, int(lifetime)))

    def signed(self, audience: str, method: str, scope: Scope | bytes | None, issued: int, expires: int) -> str:
        """Return the header as `sign` does, for any times in Unix seconds."""
        content = scope.SerializeToString() if isinstance(scope, Scope) else scope or b""
        text = urlsafe_b64encode(content).rstrip(b"=").decode()
        kind = EVERY_METHOD if method == EVERY_METHOD else "m"
        head = f"v1.{self._signing}.{issued}.{expires}.{kind}.{text}"
        return f"{head}.{_mac(self._keys[self._signing], head, audience, method)}"

    def verify(self, header: str, audience: str, method: str) -> bytes:
        """Return the serialised scope in a header; Unauthenticated unless the proof is valid for this call and time."""
        match = _HEADER.fullmatch(header)
        if match is None:
            raise refused("The call carries no proof of a service" if not header else "The proof is malformed")
        key_id, issued, expires, kind, scope, mac = match.groups()
        key = self._keys.get(key_id)
        signed_method = EVERY_METHOD if kind == EVERY_METHOD else method
        expected = _mac(key or _NO_KEY, header[: match.start(6) - 1], audience, signed_method)
        if not hmac.compare_digest(expected, mac) or key is None:
            raise refused("The proof is not from a service of this deployment, or not for this call")
        now = int(time.time())
        if int(issued) > now + CLOCK_SKEW:
            raise refused("The proof is from the future: the services' clocks differ")
        if not 0 <= int(expires) - int(issued) <= MAX_LIFETIME or now > int(expires):
            raise refused("The proof has expired, or is valid for too long")
        if len(scope) % 4 == 1:
            raise refused("The proof is malformed: its scope is no base64url")
        return urlsafe_b64decode(scope + "=" * (-len(scope) % 4))


def new_secret() -> str:
    """Return a new secret: 256 bits in hexadecimal."""
    return secrets.token_hex(32)


def refused(message: str) -> Unauthenticated:
    """Return the error for a scope that is not accepted."""
    return Unauthenticated(message, reason=REASON)


def is_refusal(error: BaseException) -> bool:
    """Return whether a stage did not accept a call's proof."""
    return isinstance(error, Unauthenticated) and error.reason == REASON


def _derived(secret: str, purpose: str) -> bytes:
    return hmac.digest(secret.encode(), b"footnote service " + purpose.encode(), "sha256")


def _mac(key: bytes, head: str, audience: str, method: str) -> str:
    # The line feeds separate the fields unambiguously: stage names and HTTP/2 paths contain none.
    return hmac.digest(key, f"{head}\n{audience}\n{method}".encode(), "sha256").hex()


def proof(credential: ServiceCredential, audience: str, method: str, request: Any, timeout: float) -> tuple[str, str]:
    """Return the header for a call of `method`; `request` is its first request, None when there is none.

    The proof is valid for `timeout` seconds plus MARGIN. Raises PermissionDenied when the request's scope has
    ROLE_SYSTEM but the caller being served may not act as the system. A caller thus cannot make a service use its own
    rights.
    """
    carries = request is not None and "scope" in request.DESCRIPTOR.fields_by_name and request.HasField("scope")
    scope = request.scope if carries else None
    if scope is not None and ROLE_SYSTEM in scope.roles and not call_context.may_act_as_system():
        raise PermissionDenied("A service's own scope is not used on behalf of a caller")
    return HEADER, credential.sign(audience, method, scope, timeout + MARGIN)
