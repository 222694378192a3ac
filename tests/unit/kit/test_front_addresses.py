"""Whose connection a call came by, from what gRPC calls its peer."""

import socket
import sys

import pytest
from footnote_kit.front.proxy import Origin, address_of


@pytest.mark.skipif(sys.platform != "linux", reason="sockets have no names of their own elsewhere")
def test_a_socket_is_known_while_its_connection_lasts() -> None:
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        origins = {}
        for connection, address in ((one, "10.0.0.1"), (other, "10.0.0.2")):
            origin = Origin(address)
            origin.name(connection)
            name = connection.getsockname()
            peer = "unix-abstract:" + bytes(name).lstrip(b"\0").decode()
            assert address_of(peer) == address
            origins[peer] = origin
        assert len(origins) == 2
        for peer, origin in origins.items():
            origin.end()
            origin.end()
            assert address_of(peer) == ""


def test_a_port_is_known_too() -> None:
    with socket.socket() as listener, socket.socket() as connection:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        connection.connect(listener.getsockname())
        origin = Origin("10.0.0.1")
        origin.name(connection)
        assert address_of(f"ipv4:127.0.0.1:{connection.getsockname()[1]}") == "10.0.0.1"
        origin.end()


@pytest.mark.parametrize("peer", ["", "unix:", "ipv4:127.0.0.1:1", "unix-abstract:%00"])
def test_an_unknown_peer_has_no_address(peer: str) -> None:
    assert address_of(peer) == ""
