"""A small OpenID Connect provider on loopback: discovery, a page that asks who one is, code flow with PKCE, keys."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, AUDIENCE = "console", "footnote"
PEOPLE = {"ann": ("acme", "admin"), "rob": ("rival", "admin")}


@dataclass
class Issuer:
    """What the provider gave and was asked; tests set how long tokens live, and what it does wrong."""

    address: str = ""
    lifetime: float = 600.0
    refreshes: bool = True
    wrong_nonce: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh: dict[str, str] = field(default_factory=dict)
    exchanges: list[dict[str, str]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    ended: list[dict[str, str]] = field(default_factory=list)
    private: Any = field(default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048))

    def metadata(self) -> dict[str, Any]:
        ends = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "jwks",
            "end_session_endpoint": "logout",
            "revocation_endpoint": "revoke",
        }
        return {
            "issuer": self.address,
            **{name: f"{self.address}/{path}" for name, path in ends.items()},
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
        }

    def keys(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}

    def authorize(self, asked: dict[str, str], user: str) -> str:
        """Return where the browser is sent with a code."""
        code = secrets.token_urlsafe(24)
        self.codes[code] = {**asked, "user": user}
        return asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"], "iss": self.address})

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Give tokens for a code or a refresh token, each of them once."""
        self.exchanges.append(form)
        if form.get("client_id") != CLIENT or "client_secret" in form:
            return 401, {"error": "invalid_client"}
        if form.get("grant_type") == "refresh_token":
            user = self.refresh.pop(form.get("refresh_token", ""), "")
            return (200, self.given(user, "")) if user else (400, {"error": "invalid_grant"})
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or asked["redirect_uri"] != form.get("redirect_uri")
            or asked.get("code_challenge_method") != "S256"
            or asked["code_challenge"] != challenge
        ):
            return 400, {"error": "invalid_grant"}
        return 200, self.given(asked["user"], asked["nonce"])

    def given(self, user: str, nonce: str) -> dict[str, Any]:
        now = time.time()
        tenant, role = PEOPLE[user]
        common = {"iss": self.address, "sub": user, "iat": now, "exp": now + self.lifetime}
        access = {**common, "aud": AUDIENCE, "tenant": tenant, "roles": [role]}
        identity = {**common, "aud": CLIENT, "nonce": "another" if self.wrong_nonce else nonce}
        answer: dict[str, Any] = {"token_type": "Bearer", "expires_in": self.lifetime}
        answer["access_token"], answer["id_token"] = (
            jwt.encode(claims, self.private, "RS256", headers={"kid": "k1"}) for claims in (access, identity)
        )
        if self.refreshes:
            answer["refresh_token"] = secrets.token_urlsafe(24)
            self.refresh[answer["refresh_token"]] = user
        return answer


def _handler(issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/.well-known/openid-configuration":
                self.send(200, issuer.metadata())
            elif parts.path == "/jwks":
                self.send(200, issuer.keys())
            elif parts.path == "/authorize":
                issuer.asked.append(asked)
                links = "".join(f'<a href="{escape(issuer.authorize(asked, one))}">{one}</a> ' for one in PEOPLE)
                self.page(f"<h1>Who are you?</h1>{links}")
            elif parts.path == "/logout":
                issuer.ended.append(asked)
                self.page(f'<a href="{escape(asked["post_logout_redirect_uri"])}">back</a>')
            else:
                self.send(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            if self.path == "/token":
                self.send(*issuer.token(form))
            else:
                issuer.revoked.append(form.get("token", ""))
                self.send(200, {})

        def send(self, status: int, body: Any) -> None:
            self.answer(status, "application/json", json.dumps(body).encode())

        def page(self, body: str) -> None:
            self.answer(200, "text/html; charset=utf-8", f"<!doctype html><title>Issuer</title>{body}".encode())

        def answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("access-control-allow-origin", "*")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def provider() -> Iterator[Issuer]:
    """Serve a provider on a free port of loopback."""
    issuer = Issuer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(issuer))
    issuer.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(issuer: Issuer, auth: str = "keys,jwt") -> dict[str, str]:
    """Return what makes a deployment take this provider's tokens, and its console sign in there."""
    return {
        "FOOTNOTE_EDGE_AUTH": auth,
        "FOOTNOTE_EDGE_JWT_JWKS_URL": f"{issuer.address}/jwks",
        "FOOTNOTE_EDGE_JWT_ISSUER": issuer.address,
        "FOOTNOTE_EDGE_JWT_AUDIENCE": AUDIENCE,
        "FOOTNOTE_EDGE_JWT_LEEWAY_SECONDS": "0",
        "FOOTNOTE_EDGE_OIDC_CLIENT_ID": CLIENT,
        "FOOTNOTE_EDGE_OIDC_SCOPES": "openid offline_access",
    }
