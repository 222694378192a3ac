"""Helpers for socket addresses and socket options."""

import asyncio
import ipaddress
import socket
from functools import lru_cache

# A vanished peer is detected after two minutes of silence, or after one minute of unacknowledged data.
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 60_000}


def is_loopback(host: str) -> bool:
    """Return whether a host, given without port, is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.startswith("unix:")


def port_is_free(host: str, port: int) -> bool:
    """Return whether a port has no listener. Probing first avoids gRPC's own complaint on stderr."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError:
        return False
    return True


def peer_of(transport: asyncio.Transport) -> str:
    """Return the address of the peer; for IPv6 the /64 network, which belongs to one subscriber."""
    return peer_named(transport.get_extra_info("peername"))


def peer_named(name: object) -> str:
    """Return the address in a socket's name; for IPv6 the /64 network, which belongs to one subscriber."""
    if not isinstance(name, tuple):
        return "local"
    return _subscriber(str(name[0]))


@lru_cache(maxsize=4096)
def _subscriber(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 6 and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)  # first, since from Python 3.13 on it may be a loopback
    if address.version == 4 or address.is_loopback:
        return str(address)
    return str(ipaddress.ip_network((address, 64), strict=False))


def prepare(listener: socket.socket) -> None:
    """Set TCP options on a listener for its future connections: keepalive, and no delay for small packets.

    With the delay, the second part of a response waits up to 40 ms for the acknowledgement of the first. asyncio
    disables it only for sockets created with TCP's protocol number.
    """
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
