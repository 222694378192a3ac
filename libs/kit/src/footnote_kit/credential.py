"""What a service proves itself with: a secret that the services of a deployment share, and proofs made with it.

A proof says: a service that knows the secret asks `audience` for `method` on behalf of exactly this scope, now. It is
one header, so that a stage can refuse a stranger before it has read a byte of the message:

    v1.<key id>.<issued>.<lifetime>.<m, or * for every method>.<digest of the scope>.<MAC of all of it>

Imports no grpc.
"""

import hmac
import re
import secrets
import time
from binascii import b2a_base64
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from footnote.types.v1.scope_pb2 import Scope

from footnote_kit.errors import Unauthenticated

HEADER = "x-footnote-proof"
REASON = "SCOPE_INVALID"
MIN_SECRET = 32  # characters
MARGIN = 60  # seconds that a proof lives beyond the deadline of its call
MAX_LIFETIME = 3600 + MARGIN
CLOCK_SKEW = 30  # seconds that the signer's clock may be ahead
_HEADER = re.compile(r"v1\.([0-9a-f]{8})\.(\d{1,12})\.(\d{1,6})\.([m*])\.([A-Za-z0-9+/]{43}=)\.([A-Za-z0-9+/]{43}=)")


class ServiceCredential:
    """One or more secrets: the first signs, all are accepted, so that a secret can be exchanged without a pause.

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

    def sign(self, audience: str, method: str, scope: Scope | None, lifetime: float) -> str:
        """Return the header for a call of `method` ("/package.Service/Method"; "*" for all) of the stage `audience`.

        Good for `lifetime` seconds, at most MAX_LIFETIME, from now. None stands for a call that carries no scope.
        """
        kind = "*" if method == "*" else "m"
        head = f"v1.{self._signing}.{int(time.time())}.{min(MAX_LIFETIME, int(lifetime))}.{kind}.{scope_digest(scope)}"
        return f"{head}.{_mac(self._keys[self._signing], head, audience, method)}"

    def verify(self, header: str, audience: str, method: str) -> str:
        """Return the digest of the scope that a header is for; Unauthenticated unless it is good here and now."""
        match = _HEADER.fullmatch(header)
        if match is None:
            raise refused("The call carries no proof of a service" if not header else "The proof is malformed")
        key_id, issued, lifetime, kind, digest, mac = match.groups()
        key = self._keys.get(key_id)
        expected = _mac(key or b"nobody's", header[: match.start(6) - 1], audience, "*" if kind == "*" else method)
        if not hmac.compare_digest(expected, mac) or key is None:
            raise refused("The proof is not from a service of this deployment, or not for this call")
        now = time.time()
        if int(issued) > now + CLOCK_SKEW:
            raise refused("The proof is from the future: the services' clocks differ")
        if int(lifetime) > MAX_LIFETIME or now > int(issued) + int(lifetime):
            raise refused("The proof has expired")
        return digest


def new_secret() -> str:
    """Return a new secret: 256 bits in hexadecimal."""
    return secrets.token_hex(32)


def scope_digest(scope: Scope | None) -> str:
    """Return the digest of a scope's canonical bytes; fields that a later version adds count, known or not."""
    content = b"" if scope is None else scope.SerializeToString(deterministic=True)
    return _text(blake2b(content, digest_size=32).digest())


def refused(message: str) -> Unauthenticated:
    """Return the error of a scope that is not believed."""
    return Unauthenticated(message, reason=REASON)


def _derived(secret: str, purpose: str) -> bytes:
    return hmac.digest(secret.encode(), b"footnote service " + purpose.encode(), "sha256")


def _mac(key: bytes, head: str, audience: str, method: str) -> str:
    # No field can hold a line's end: the audience is a name of ours, and HTTP/2 has none in a path.
    # BLAKE2 with a key is a MAC by itself, and takes a tenth of the time of HMAC in the library.
    return _text(blake2b(f"{head}\n{audience}\n{method}".encode(), key=key, digest_size=32).digest())


def _text(digest: bytes) -> str:
    return b2a_base64(digest, newline=False).decode()
