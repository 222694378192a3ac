"""The ways to sign in to the console, and the origins that its page contacts for that."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from footnote_edge.settings import Settings


def ways(settings: Settings) -> Mapping[str, Any]:
    """Return the settings that the page needs before sign-in; nothing of it is secret.

    `keys` says whether the form accepts a key or a pasted token; `oidc` is present if there is an issuer. `links` says
    whether addresses in answers may be followed.
    """
    if not settings.oidc_client_id:
        return {"keys": True, "links": settings.external_links}
    return {
        "links": settings.external_links,
        "keys": "keys" in settings.auth,
        "oidc": {
            "issuer": settings.jwt_issuer,
            "client_id": settings.oidc_client_id,
            "scope": settings.oidc_scopes,
            "token": settings.oidc_token,
        },
    }


def places(settings: Settings) -> tuple[str, ...]:
    """Return the origins from which the page requests tokens: the issuer's and configured ones; none without OIDC."""
    if not settings.oidc_client_id:
        return ()
    parts = urlsplit(settings.jwt_issuer)
    return tuple(dict.fromkeys((f"{parts.scheme}://{parts.netloc}", *settings.oidc_origins)))
