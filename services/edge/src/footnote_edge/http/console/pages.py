"""The console's page, its assets and the ways to sign in: files without data, which need no authentication."""

import asyncio
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from footnote_edge.settings import Settings

BUILT = Path(__file__).parent / "built"

SIGN_IN = "/signin.json"
"""The page reads the ways to sign in from here."""

_SECURITY = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
# An asset's name changes with its content, so that it may be cached forever; the page's name does not.
_FOREVER, _ASK_AGAIN = "public, max-age=31536000, immutable", "no-cache"


@dataclass(frozen=True)
class _File:
    """A built file, gzipped and as it is."""

    content: bytes
    packed: bytes
    etag: str


@cache
def files() -> Mapping[str, Path]:
    """Return the console's paths, each with its file."""
    assets = {f"/assets/{path.name}": path for path in sorted((BUILT / "assets").iterdir())}
    return {"/": BUILT / "index.html", **assets}


def paths() -> frozenset[str]:
    """Return all paths of the console; none of them needs authentication."""
    return frozenset({*files(), SIGN_IN})


def policy(places: Sequence[str]) -> str:
    """Return the content security policy of a page that may also request tokens from these origins.

    Only this origin's own files may load: a script in an answer, a name or a cell never runs.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "worker-src 'self'",
            "style-src 'self'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            " ".join(("connect-src 'self'", *places)),
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def routes(settings: Settings) -> list[Route]:
    """Return a route for each built file, and one for the ways to sign in."""
    security = {**_SECURITY, "content-security-policy": policy(places_to_sign_in(settings))}
    known = ways_to_sign_in(settings)

    async def ways(_: Request) -> Response:
        return JSONResponse(known, headers={**security, "cache-control": _ASK_AGAIN})

    asked = Route(SIGN_IN, ways, methods=["GET"], name="console-signin")
    return [*(_route(path, file, security) for path, file in files().items()), asked]


def _route(path: str, file: Path, security: Mapping[str, str]) -> Route:
    lasting = _ASK_AGAIN if path == "/" else _FOREVER

    async def serve(request: Request) -> Response:
        known = await asyncio.to_thread(_read, file)
        headers = {**security, "cache-control": lasting, "etag": known.etag, "vary": "accept-encoding"}
        if known.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        content = known.content
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
            content = known.packed
        return Response(content, headers={**headers, "content-type": _TYPES[file.suffix]})

    return Route(path, serve, methods=["GET"], name=f"console{path}")


@cache
def _read(file: Path) -> _File:
    content = file.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, gzip.compress(content, compresslevel=9, mtime=0), etag)


def _takes_gzip(accepted: str) -> bool:
    for one in accepted.split(","):
        coding, _, weight = one.partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def ways_to_sign_in(settings: Settings) -> Mapping[str, Any]:
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


def places_to_sign_in(settings: Settings) -> tuple[str, ...]:
    """Return the origins from which the page requests tokens: the issuer's and configured ones; none without OIDC."""
    if not settings.oidc_client_id:
        return ()
    parts = urlsplit(settings.jwt_issuer)
    return tuple(dict.fromkeys((f"{parts.scheme}://{parts.netloc}", *settings.oidc_origins)))
