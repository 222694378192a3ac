"""The secret that the services of a deployment share, and the proofs made with it.

A proof says: a service that knows the secret asks the stage `audience` for `method` on behalf of exactly this scope,
now. It is one header, so that a stage can refuse a stranger before it has read a byte of the message. The contract is
docs/service-proof.md; tests/polyglot/proof has it in Go, Java and TypeScript.

Imports no grpc.
"""

import hmac
import re
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from footnote.types.v1.scope_pb2 import Scope

from footnote_kit.errors import Unauthenticated

HEADER = "x-footnote-proof"
REASON = "SCOPE_INVALID"
MIN_SECRET = 32  # characters
MARGIN = 60  # seconds that a proof lives beyond the deadline of its call
MAX_LIFETIME = 3600 + MARGIN
CLOCK_SKEW = 30  # seconds that the signer's clock may be ahead
EVERY_METHOD = "*"
_HEADER = re.compile(r"v1\.([0-9a-f]{8})\.([0-9]{1,12})\.([0-9]{1,12})\.([m*])\.([A-Za-z0-9_-]*)\.([0-9a-f]{64})")
_NO_KEY = bytes(32)  # an unknown key id takes as long as a wrong MAC


class ServiceCredential:
    """One or more secrets: the first signs, all are accepted, so that a secret is replaced without a pause.

    `local`: it was made on this machine and is good for loopback only. ValueError for a secret that is too short.
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
        """Return one that nobody else has."""
        return cls(new_secret(), local=True)

    def accepting(self, other: "ServiceCredential") -> "ServiceCredential":
        """Return one that signs as this one does and believes the other's proofs as well."""
        both = ServiceCredential.random()
        both._keys, both._signing, both.local = {**other._keys, **self._keys}, self._signing, self.local
        return both

    def exported(self) -> dict[str, object]:
        """Return what `imported` makes the same one of, for a process of this deployment that we start: secret."""
        keys = {name: key.hex() for name, key in self._keys.items()}
        return {"keys": keys, "signing": self._signing, "local": self.local}

    @classmethod
    def imported(cls, exported: Mapping[str, Any]) -> "ServiceCredential":
        """Return the one that was exported."""
        same = cls.random()
        same._keys = {name: bytes.fromhex(key) for name, key in exported["keys"].items()}
        same._signing, same.local = exported["signing"], exported["local"]
        return same

    def sign(self, audience: str, method: str, scope: Scope | bytes | None, lifetime: float) -> str:
        """Return the header for a call of `method` ("/package.Service/Method"; "*" for all) of the stage `audience`.

        Good for `lifetime` seconds, at most MAX_LIFETIME, from now. Bytes are a serialised scope; None stands for a
        call that carries none.
        """
        issued = int(time.time())
        return self.signed(audience, method, scope, issued, issued + min(MAX_LIFETIME, int(lifetime)))

    def signed(self, audience: str, method: str, scope: Scope | bytes | None, issued: int, expires: int) -> str:
        """Return the header as `sign` does, for any times: Unix seconds."""
        content = scope.SerializeToString() if isinstance(scope, Scope) else scope or b""
        text = urlsafe_b64encode(content).rstrip(b"=").decode()
        kind = EVERY_METHOD if method == EVERY_METHOD else "m"
        head = f"v1.{self._signing}.{issued}.{expires}.{kind}.{text}"
        return f"{head}.{_mac(self._keys[self._signing], head, audience, method)}"

    def verify(self, header: str, audience: str, method: str) -> bytes:
        """Return the bytes of the scope that a header vouches for; Unauthenticated unless it is good here and now."""
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
            raise refused("The proof has expired, or lives too long")
        if len(scope) % 4 == 1:
            raise refused("The proof is malformed: its scope is no base64url")
        return urlsafe_b64decode(scope + "=" * (-len(scope) % 4))


def new_secret() -> str:
    """Return a new secret: 256 bits in hexadecimal."""
    return secrets.token_hex(32)


def refused(message: str) -> Unauthenticated:
    """Return the error of a scope that is not believed."""
    return Unauthenticated(message, reason=REASON)


def _derived(secret: str, purpose: str) -> bytes:
    return hmac.digest(secret.encode(), b"footnote service " + purpose.encode(), "sha256")


def _mac(key: bytes, head: str, audience: str, method: str) -> str:
    # The fields cannot run into one another: neither a stage's name nor HTTP/2's paths have a line feed.
    return hmac.digest(key, f"{head}\n{audience}\n{method}".encode(), "sha256").hex()
