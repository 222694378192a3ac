"""JSON web tokens (OIDC): verified by the issuer's keys, audience and time; claims give tenant, user and roles."""

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import jwt
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_kit.errors import Unauthenticated, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.validation import GROUP, MOST_GROUPS, NAME

from footnote_edge.gateway.principals import REFUSAL, Identity, Proof
from footnote_edge.settings import Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with public keys only: with a secret shared with the issuer, every replica could issue tokens."""

_OF_KEYS = {
    "RSA": [name for name in ALGORITHMS if name.startswith(("RS", "PS"))],
    "EC": [name for name in ALGORITHMS if name.startswith("ES")],
    "OKP": ["EdDSA"],
}
"""Algorithms by the issuer's key type; the library crashes on a signature of another type."""
_MALFORMED = (TypeError, ValueError, OverflowError, RecursionError)
"""Exceptions of the library for headers and claims with values of unexpected types."""
_AGAIN = 5.0
"""Seconds until an issuer that did not answer is asked again."""
_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

_ROLES = {"reader": ROLE_READER, "writer": ROLE_WRITER, "admin": ROLE_ADMIN}

_DIGEST = "subject-sha256:"
_LONGEST_SUBJECT = 255

_log = get_logger(__name__)


class _IssuerKeys(jwt.PyJWKClient):
    """The issuer's keys, fetched again after ten minutes; an issuer that does not answer is left alone for a while."""

    def __init__(self, url: str) -> None:
        super().__init__(url, lifespan=600, timeout=5)
        self._not_before = 0.0

    def fetch_data(self) -> Any:
        """Fetch the keys; raises PyJWKClientConnectionError, for some seconds without a request after one that failed.

        A request holds a thread of the process, and the lock that all tokens wait for, until it times out.
        """
        if time.monotonic() < self._not_before:
            raise jwt.PyJWKClientConnectionError("The issuer did not answer a moment ago.")
        try:
            return super().fetch_data()
        except jwt.PyJWKClientConnectionError:
            self._not_before = time.monotonic() + _AGAIN
            raise


class Tokens:
    """Verifies tokens of one issuer."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys = _IssuerKeys(settings.jwt_jwks_url)

    async def identify(self, text: str) -> Identity:
        """Return the caller in a token's claims; raises Unauthenticated for an invalid token."""
        try:
            key = await asyncio.to_thread(self._keys.get_signing_key_from_jwt, text)
            claims = jwt.decode(
                text,
                key.key,
                algorithms=_OF_KEYS.get(key.key_type or "", []),
                audience=self._settings.jwt_audience,
                issuer=self._settings.jwt_issuer or None,
                leeway=self._settings.jwt_leeway_seconds,
                options={"require": ["exp", "sub"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            _log.error("jwks_unreachable", error=type(error).__name__)
            raise Unavailable("Tokens cannot be verified now.", retry_after=_AGAIN) from None
        except (jwt.PyJWTError, *_MALFORMED):
            raise Unauthenticated(REFUSAL) from None
        return Identity(self._scope(claims), Proof.TOKEN, expire_time=_end(claims["exp"]))

    def _scope(self, claims: Mapping[str, Any]) -> Scope:
        tenant = _claim(claims, self._settings.jwt_tenant_claim) or self._settings.jwt_default_tenant
        subject = claims.get("sub")
        if not isinstance(tenant, str) or not isinstance(subject, str) or not NAME.fullmatch(tenant):
            raise Unauthenticated(REFUSAL)
        named = _words(_claim(claims, self._settings.jwt_roles_claim))
        roles = sorted({_ROLES[name] for name in named if name in _ROLES})
        if not named and self._settings.jwt_default_role:
            roles = [_ROLES[self._settings.jwt_default_role]]
        # Without a known role the caller may do nothing.
        return Scope(tenant_id=tenant, user_id=_user(subject), roles=roles, groups=self._groups(claims))

    def _groups(self, claims: Mapping[str, Any]) -> list[str]:
        """Return the groups that collections can be shared with; other groups are ignored, as they grant nothing."""
        named = sorted(set(_words(_claim(claims, self._settings.jwt_groups_claim))))
        groups = [name for name in named if GROUP.fullmatch(name)][:MOST_GROUPS]
        if len(groups) < len(named):
            _log.warning("groups_left_out", left_out=len(named) - len(groups), most=MOST_GROUPS)
        return groups


def _end(seconds: object) -> datetime:
    """Return when a token ends, at most the last second of the calendar."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Unauthenticated(REFUSAL)
    return datetime.fromtimestamp(seconds, UTC) if seconds < _LAST.timestamp() else _LAST


def _user(subject: str) -> str:
    """Return the user of a subject: itself, or a digest where it is no name here ("repo:o/r:ref:refs/heads/main").

    OpenID Connect allows any 255 ASCII characters. Raises Unauthenticated for others.
    """
    if NAME.fullmatch(subject) and not subject.startswith(_DIGEST):
        return subject
    if not 0 < len(subject) <= _LONGEST_SUBJECT or not (subject.isascii() and subject.isprintable()):
        raise Unauthenticated(REFUSAL)
    return _DIGEST + hashlib.sha256(subject.encode()).hexdigest()


def _words(given: Any) -> list[str]:
    """Return the words of a claim: a list, or a text separated by spaces."""
    named = given.split() if isinstance(given, str) else given if isinstance(given, Sequence) else []
    return [name for name in named if isinstance(name, str)]


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim by its name, which may be a URL, or by its dotted path ("realm_access.roles"); None if missing."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
