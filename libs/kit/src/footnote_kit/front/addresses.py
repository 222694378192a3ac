"""Whose connection a call came by: gRPC sees the front door's end of it, and this tells the caller's address.

The front door gives its end of each connection to gRPC's own server a name: on Linux one that the kernel chooses for
an unnamed socket, on TCP the port. Elsewhere sockets have no name, and callers no address.
"""

import socket
import sys
from urllib.parse import unquote

_addresses: dict[str, str] = {}


class Origin:
    """The address of one caller, known by its connection's name until that ends."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._name = ""

    def name(self, connection: socket.socket) -> None:
        """Name the front door's end of a connection, before it is connected where that is possible."""
        if connection.family != socket.AF_UNIX:
            host, port = connection.getsockname()[:2]
            self._remember(f"ipv4:{host}:{port}")
        elif sys.platform == "linux":
            connection.bind("")
            bound = connection.getsockname()
            self._remember("unix-abstract:" + bytes(bound).lstrip(b"\0").decode("ascii", "replace"))

    def _remember(self, name: str) -> None:
        self._name = name
        _addresses[name] = self._address

    def end(self) -> None:
        """Forget it."""
        _addresses.pop(self._name, None)


def address_of(peer: str) -> str:
    """Return the address of the caller behind what gRPC calls a peer; "" where it is not known."""
    return _addresses.get(unquote(peer), "")
