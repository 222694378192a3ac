"""How people sign in to the console, and with which other places its page may speak for that."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from footnote_edge.settings import Settings


def ways(settings: Settings) -> Mapping[str, Any]:
    """Return what the page has to know before anybody is known: nothing of it is secret.

    `keys` says whether a key or a pasted token is taken by the form; `oidc` is there where there is an issuer to go to.
    `links` says whether addresses in answers may be followed.
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
    """Return the origins that the page asks for tokens: the issuer's and those named beside it; none without OIDC."""
    if not settings.oidc_client_id:
        return ()
    parts = urlsplit(settings.jwt_issuer)
    return tuple(dict.fromkeys((f"{parts.scheme}://{parts.netloc}", *settings.oidc_origins)))
