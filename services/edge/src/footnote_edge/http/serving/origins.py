"""Checks origins and host names: a foreign page must not use a browser on this machine to make calls."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from footnote_kit.net import is_loopback
from starlette.datastructures import Headers

_KEYLESS_SITES = frozenset({"", "same-origin", "none"})


class Origins:
    """Refuses pages of other origins and, without authentication, foreign names that resolve to this machine.

    `allowed` are the origins whose pages may call, "*" for all. With `keyless`, reachability is the only credential.
    Then only loopback names, addresses and `hosts` are served, and no cross-site browser request except a followed
    link.
    """

    def __init__(self, allowed: Iterable[str], *, keyless: bool, hosts: Iterable[str] = ()) -> None:
        self._allowed = frozenset(allowed)
        self._keyless = keyless
        self._hosts = frozenset(host.lower() for host in hosts)

    def refusal(self, method: str, headers: Headers) -> str:
        """Return the reason for a refusal, with advice; empty if the request is allowed."""
        host = headers.get("host", "")
        if self._keyless and not self._known(host):
            return (
                "Without authentication only loopback names are served: call 127.0.0.1 or localhost, or list this "
                "name in FOOTNOTE_EDGE_ALLOWED_HOSTS."
            )
        origin = headers.get("origin")
        if origin and not self._may(origin, host):
            return "Pages of this origin may not call; list it in FOOTNOTE_EDGE_CORS_ORIGINS."
        site = headers.get("sec-fetch-site", "")
        if self._keyless and site not in _KEYLESS_SITES and not (origin and self._listed(origin)):
            followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
            if not (followed and method == "GET"):
                return (
                    "Without authentication pages of other sites may not call; list them in FOOTNOTE_EDGE_CORS_ORIGINS."
                )
        return ""

    def _known(self, host: str) -> bool:
        name = _name(host)
        return bool(name) and (is_loopback(name) or name in self._hosts)

    def _listed(self, origin: str) -> bool:
        return origin in self._allowed or "*" in self._allowed

    def _may(self, origin: str, host: str) -> bool:
        if self._listed(origin):
            return True
        try:
            return urlsplit(origin).netloc.lower() == host.lower()
        except ValueError:
            return False


def _name(host: str) -> str:
    """Return the name or address in a Host header without its port; empty if invalid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises if it is no number
    except ValueError:
        return ""
    return (parts.hostname or "").rstrip(".") if parts.netloc == host and "@" not in host else ""
