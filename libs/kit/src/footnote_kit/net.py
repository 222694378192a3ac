"""Small facts about addresses."""

import asyncio
import ipaddress
import socket
from functools import lru_cache

# A peer that vanished is noticed after two minutes of silence, or one of bytes that nobody acknowledges.
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 60_000}


def is_loopback(host: str) -> bool:
    """Return whether an address, without its port, can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.startswith("unix:")


def port_is_free(host: str, port: int) -> bool:
    """Return whether nobody listens there; asked before gRPC tries, whose core complains on stderr by itself."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError:
        return False
    return True


def peer_of(transport: asyncio.Transport) -> str:
    """Return who is at the other end: its address, of IPv6 the network that one subscriber has."""
    return peer_named(transport.get_extra_info("peername"))


def peer_named(name: object) -> str:
    """Return who has the address of a socket: the address, of IPv6 the network that one subscriber has."""
    if not isinstance(name, tuple):
        return "local"
    return _subscriber(str(name[0]))


@lru_cache(maxsize=4096)
def _subscriber(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def prepare(listener: socket.socket) -> None:
    """Give connections that will be accepted what they need: silent ones are noticed, small pieces go out at once.

    Otherwise the second piece of an answer waits up to 40 ms for the caller's acknowledgement of the first: asyncio
    sees to that only for sockets that were made with TCP's number.
    """
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
