"""Addresses that sources may reach: a name is resolved once, and the connection uses a checked address.

A name that resolves to both public and private addresses is refused: the connection might go to either.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpcore2

from footnote_edge.sources.policy import Network, Policy
from footnote_edge.sources.ports import SourceUnavailable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_INSIDE = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "5f00::/16", "3fff::/20")
)
"""Addresses that some Python versions or registries call public: protocol assignments, relays, Azure's own address."""
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_LEAST_PORT = 1024
_WEB_PORTS = (80, 443)


class AddressRefused(Exception):
    """A host that sources may not reach; the message gives the reason without the resolved address."""


def is_public(address: Address) -> bool:
    """Return whether an address, and every address embedded in it, belongs to the public network."""
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    if any(address in network for network in _INSIDE if network.version == address.version):
        return False
    return isinstance(address, ipaddress.IPv4Address) or all(is_public(inner) for inner in _embedded(address))


def _embedded(address: ipaddress.IPv6Address) -> Iterable[ipaddress.IPv4Address]:
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return a host's addresses, in any notation."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


async def permitted(
    host: str, port: int, policy: Policy, resolving: Resolve = resolve, ports: Sequence[int] = _WEB_PORTS
) -> Sequence[str]:
    """Return a host's permitted addresses; raises AddressRefused or SourceUnavailable.

    `ports` are the protocol's ports below 1024.
    """
    if not policy.allows_name(host):
        raise AddressRefused(f"{host} is not among the hosts that the operator allows.")
    private_port = policy.is_private_host(host, port)
    if port < _LEAST_PORT and port not in ports and not private_port:
        raise AddressRefused(f"Port {port} of {host} is not allowed for this protocol.")
    try:
        found = await resolving(host, port)
    except (OSError, UnicodeError):
        raise SourceUnavailable(f"{host} is not found.") from None
    if not found:
        raise SourceUnavailable(f"{host} is not found.")
    for one in found:
        if not (private_port or _allowed(one, policy.private_networks)):
            raise AddressRefused(f"{host} resolves to an address that is not public.")
    return found


def _allowed(text: str, networks: Sequence[Network]) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return is_public(address) or any(address in network for network in networks if network.version == address.version)


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to exactly the checked address: the name is not resolved a second time."""

    def __init__(self, policy: Policy, resolving: Resolve = resolve) -> None:
        self._policy = policy
        self._resolving = resolving
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        """Connect to one of a host's permitted addresses, in order."""
        failure: Exception | None = None
        for address in await permitted(host, port, self._policy, self._resolving):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: sources may not use sockets of this machine."""
        raise AddressRefused("Sources may not use local sockets.")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
