"""Maps connections to caller addresses: gRPC sees only the front proxy's end of each connection.

The front proxy names its end of each connection to gRPC's own server. On Linux the kernel chooses the name of an
unnamed socket; on TCP the port is the name. Elsewhere sockets have no name, and callers have no address.
"""

import socket
import sys
from urllib.parse import unquote

_addresses: dict[str, str] = {}


class Origin:
    """The address of one caller, registered under its connection's name until the connection ends."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._name = ""

    def name(self, connection: socket.socket) -> None:
        """Register the front proxy's end of a connection; on Linux this must happen before it connects."""
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
        """Remove the address."""
        _addresses.pop(self._name, None)


def address_of(peer: str) -> str:
    """Return the address of the caller behind a gRPC peer string; "" when it is unknown."""
    return _addresses.get(unquote(peer), "")
