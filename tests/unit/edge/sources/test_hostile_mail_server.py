"""Mail servers that send without end, or ever so slowly: a run ends all the same, and its thread with it."""

import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from footnote_edge.sources.kinds import imap_client
from footnote_edge.sources.kinds.imap_client import Folder
from footnote_edge.sources.ports import SourceRefused, SourceUnavailable

Answer = Callable[[bytes], Iterator[bytes]]


class Server:
    """Speaks IMAP up to the folder's opening; the test's function answers the rest."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        connected, _ = self.listening.accept()
        with suppress(OSError), connected, connected.makefile("rb") as lines:
            connected.sendall(b"* OK ready\r\n")
            for line in lines:
                tag, command = line.split()[:2]
                known = {b"CAPABILITY": b"* CAPABILITY IMAP4REV1\r\n", b"SELECT": b"", b"EXAMINE": b"", b"LOGIN": b""}
                parts = iter([known[command] + tag + b" OK done\r\n"]) if command in known else self.answer(tag)
                for part in parts:
                    connected.sendall(part)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], Folder]]:
    """Return a folder of such a server, opened over a plain connection, and with one second for each command."""

    def plain(self: imap_client._Pinned, timeout: float | None) -> socket.socket:
        return socket.create_connection((self._address, self.port), timeout)

    monkeypatch.setattr(imap_client._Pinned, "_create_socket", plain)
    monkeypatch.setattr(imap_client, "_SLACK", 100_000)
    opened: list[tuple[Folder, Server]] = []

    def begin(answer: Answer) -> Folder:
        server = Server(answer)
        made = Folder("127.0.0.1", server.port, ["127.0.0.1"], 5.0, 1_000_000, 1.0)
        made.open("ann", "x", "INBOX")
        opened.append((made, server))
        return made

    yield begin
    for made, server in opened:
        made.close()
        server.thread.join()
        server.listening.close()


def endless(tag: bytes) -> Iterator[bytes]:
    return itertools.repeat(b"* SEARCH " + b"1 " * 50_000 + b"\r\n")


def trickling(tag: bytes) -> Iterator[bytes]:
    for _ in range(100):
        time.sleep(0.1)
        yield b"*"


@pytest.mark.parametrize("answer", [endless, trickling])
@pytest.mark.timeout(30)
def test_a_server_that_never_ends_its_answer_is_left(folder: Callable[[Answer], Folder], answer: Answer) -> None:
    began = time.monotonic()
    with pytest.raises(SourceUnavailable):
        folder(answer).numbers()
    assert time.monotonic() - began < 4.0


@pytest.mark.timeout(30)
def test_closing_ends_the_thread_that_waits(folder: Callable[[Answer], Folder]) -> None:
    opened = folder(trickling)
    failures: list[Exception] = []

    def read() -> None:
        try:
            opened.numbers()
        except SourceUnavailable as error:
            failures.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    time.sleep(0.3)
    opened.close()
    reading.join(0.5)
    assert not reading.is_alive()
    assert failures


def test_numbers_are_read_in_order_once_each(folder: Callable[[Answer], Folder]) -> None:
    def answer(tag: bytes) -> Iterator[bytes]:
        yield b"* SEARCH 12 3\r\n* SEARCH 3 700\r\n" + tag + b" OK done\r\n"

    assert folder(answer).numbers() == [3, 12, 700]


class Plain:
    """Stands for an imaplib client whose server takes LOGIN alone."""

    capabilities = ("IMAP4REV1",)

    def __init__(self) -> None:
        self.said: tuple[str, str] | None = None

    def login(self, username: str, password: str) -> None:
        self.said = username, password


def test_a_user_name_is_quoted_and_letters_that_login_cannot_say_are_refused() -> None:
    client = Plain()
    imap_client._log_in(client, 'DOMAIN\\ann "bo"', "x y")  # type: ignore[arg-type]
    assert client.said == ('"DOMAIN\\\\ann \\"bo\\""', "x y"), "imaplib quotes the password itself"
    for username, password, why in (("ann", "pässword", "ASCII"), ("ann", "x\r\nA1 DELETE INBOX", "control")):
        with pytest.raises(SourceRefused, match=why):
            imap_client._log_in(client, username, password)  # type: ignore[arg-type]
