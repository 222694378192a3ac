"""Small facts about addresses."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether an address, without its port, can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.startswith("unix:")
