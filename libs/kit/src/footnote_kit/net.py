"""Small facts about addresses."""

import ipaddress
import socket


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
