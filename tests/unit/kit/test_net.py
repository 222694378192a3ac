"""What connections inherit from the socket that accepts them."""

import socket

import pytest
from footnote_kit.front.proxy import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_small_pieces_of_an_answer_go_out_at_once(host: str) -> None:
    [listener] = listen(host, 0)
    with listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
