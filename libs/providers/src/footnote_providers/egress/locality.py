"""Decides whether data sent to an address leaves this machine."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from footnote_kit.net import is_loopback

from footnote_providers.egress.policy import matches_any


def stays_here(url: str, local_hosts: Sequence[str] = ()) -> bool:
    """Return whether an HTTP address is on this machine: loopback, or a host that the operator declares local."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return bool(host) and (is_loopback(host) or matches_any(local_hosts, [host]))
