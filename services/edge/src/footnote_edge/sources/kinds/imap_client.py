"""Read-only IMAP over TLS: connects to the checked address, with bounds on the server's data.

The standard library's client blocks, so it runs in a thread.
"""

import base64
import imaplib
import io
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from time import monotonic
from typing import Any

from footnote_edge.sources.kinds.mailbox import headers
from footnote_edge.sources.net.client import TOTAL_SECONDS
from footnote_edge.sources.ports import SourceRefused, SourceUnavailable

_BATCH = 200
_SLACK = 1024 * 1024
_LONGEST_LINE = 16 * 1024 * 1024
"""Maximum bytes of one response line: a search lists every mail of a folder in one line."""
_NUMBER = re.compile(rb"\b\d{1,10}\b")
_UID = re.compile(rb"\bUID (\d{1,10})\b")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,12})\b")
_HEADERS = "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID SUBJECT FROM)]"
_FAILURES = (imaplib.IMAP4.error, OSError, EOFError)


class _Received(io.RawIOBase):
    """What a server sends: bounded in bytes and seconds for each command, however slowly it sends them."""

    def __init__(self, connected: socket.socket, silence: float) -> None:
        self._socket = connected
        self._silence = silence
        self._left, self._end = 0, 0.0

    def expect(self, most: int, seconds: float) -> None:
        """Set the bounds of the next command's response."""
        self._left, self._end = most, monotonic() + seconds

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what has arrived; raises OSError beyond the bounds."""
        seconds = self._end - monotonic()
        if seconds <= 0:
            raise TimeoutError("the server takes too long")
        self._socket.settimeout(min(seconds, self._silence))
        size = self._socket.recv_into(buffer)
        self._left -= size
        if self._left < 0:
            raise OSError("the server sends too much")
        return size


class _Pinned(imaplib.IMAP4_SSL):
    """Connects to one address, and verifies the host's name by its certificate."""

    def __init__(self, host: str, port: int, address: str, timeout: float, most: int, seconds: float) -> None:
        self._address = address
        self._most, self._seconds = most, seconds
        super().__init__(host, port, ssl_context=ssl.create_default_context(), timeout=timeout)

    def _create_socket(self, timeout: float | None) -> ssl.SSLSocket:
        plain = socket.create_connection((self._address, self.port), timeout)
        context: ssl.SSLContext = self.ssl_context
        return context.wrap_socket(plain, server_hostname=self.host)

    def open(self, host: str = "", port: int | None = 993, timeout: float | None = None) -> None:
        """Connect, and bound what is received."""
        super().open(host, port, timeout)
        self.file.close()
        self._received = _Received(self.sock, timeout or self._seconds)
        self.file = io.BufferedReader(self._received)
        self.expect()

    def expect(self) -> None:
        """Begin a command: its response has bounds of its own."""
        self._received.expect(self._most, self._seconds)

    def shutdown(self) -> None:
        """Close the connection, also while another thread waits for its data."""
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        super().shutdown()

    def _log(self, line: str) -> None:
        """Keep no lines for debugging: they may be long."""

    def read(self, size: int) -> bytes:
        """Read a literal, whose length the server chooses."""
        if size > self._most:
            raise self.abort(f"the server sends {size} bytes at once")
        return super().read(size)

    def readline(self) -> bytes:
        """Read a response line."""
        line: bytes = self.file.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            raise self.abort("the server sends a line without an end")
        return line


def _log_in(client: imaplib.IMAP4, username: str, password: str) -> None:
    """Log in with any letters where the server takes SASL PLAIN (RFC 4616), else by LOGIN, which takes ASCII alone."""
    if any(sign < " " or sign == "\x7f" for sign in username + password):
        raise SourceRefused("The user name or password holds a control character.")
    if "AUTH=PLAIN" in client.capabilities:
        client.authenticate("PLAIN", lambda _: f"\0{username}\0{password}".encode())
    elif not (username + password).isascii():
        raise SourceRefused("The mail server takes only ASCII letters in a user name and password.")
    else:
        client.login(_quoted(username), password)


class Folder:
    """One folder of a mailbox, opened for reading. Every method blocks."""

    def __init__(
        self, host: str, port: int, addresses: Sequence[str], timeout: float, most: int, seconds: float = TOTAL_SECONDS
    ) -> None:
        self._host, self._port, self._addresses = host, port, addresses
        self._timeout, self._most, self._seconds = timeout, most + _SLACK, seconds
        self._client: _Pinned | None = None
        self.validity = 0
        """UIDVALIDITY: mails keep their numbers while it stays the same."""

    def open(self, username: str, password: str, folder: str) -> None:
        """Log in and open the folder; raises SourceUnavailable and SourceRefused."""
        self._client = self._connected()
        try:
            self._client.expect()
            _log_in(self._client, username, password)
        except imaplib.IMAP4.abort as error:
            raise SourceUnavailable("The mail server closed the connection.") from error
        except imaplib.IMAP4.error:
            raise SourceRefused("The mail server refuses the user name or password.") from None
        except OSError as error:
            raise _away(error) from None
        try:
            self._client.expect()
            state, _ = self._client.select(quoted_folder(folder), readonly=True)
        except _FAILURES as error:
            raise _away(error) from None
        if state != "OK":
            raise SourceRefused("The mailbox has no folder of this name, or does not open it.")
        found = [one for one in self._client.untagged_responses.get("UIDVALIDITY", []) if isinstance(one, bytes)]
        self.validity = int(found[-1]) if found and found[-1].isdigit() else 0

    def numbers(self) -> list[int]:
        """Return the numbers of mails without a deletion mark, in order."""
        data = self._asked("SEARCH", None, "UNDELETED")
        found = (number for part in data if isinstance(part, bytes) for number in _NUMBER.finditer(part))
        return sorted({int(number[0]) for number in found})

    def heads(self, numbers: Sequence[int]) -> Iterator[tuple[int, int, dict[str, str]]]:
        """Yield number, size and headers of mails."""
        for start in range(0, len(numbers), _BATCH):
            part = ",".join(map(str, numbers[start : start + _BATCH]))
            for line, body in _literals(self._asked("FETCH", part, f"(UID RFC822.SIZE {_HEADERS})")):
                number, size = _UID.search(line), _SIZE.search(line)
                if number is not None:
                    known = {name.lower(): str(value) for name, value in headers(body).items()}
                    yield int(number[1]), int(size[1]) if size else 0, known

    def mail(self, number: int) -> bytes | None:
        """Return a whole mail; None if it no longer exists."""
        for line, body in _literals(self._asked("FETCH", str(number), "(UID BODY.PEEK[])")):
            found = _UID.search(line)
            if found is not None and int(found[1]) == number:
                return body
        return None

    def close(self) -> None:
        """Close the connection without a logout: there is nothing to write."""
        client, self._client = self._client, None
        if client is not None:
            client.shutdown()

    def _connected(self) -> _Pinned:
        failure: Exception = OSError()
        for address in self._addresses:
            try:
                return _Pinned(self._host, self._port, address, self._timeout, self._most, self._seconds)
            except ssl.SSLError as error:
                raise SourceRefused(f"The mail server's certificate is not valid: {error.reason or 'TLS'}.") from None
            except _FAILURES as error:
                failure = error
        raise _away(failure) from None

    def _asked(self, command: str, *arguments: str | None) -> list[Any]:
        assert self._client is not None
        try:
            self._client.expect()
            state, data = self._client.uid(command, *arguments)  # type: ignore[arg-type]
        except _FAILURES as error:
            raise _away(error) from None
        if state != "OK":
            raise SourceUnavailable(f"The mail server does not answer {command}.")
        return data


def _literals(data: Sequence[Any]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the text before or beside a literal, and the literal; a number may follow it."""
    for part, following in zip(data, [*data[1:], b""], strict=True):
        if isinstance(part, tuple):
            rest = following if isinstance(following, bytes) else b""
            yield part[0] + b" " + rest, part[1]


def quoted_folder(folder: str) -> str:
    """Return a folder's name in IMAP's encoding: modified UTF-7, quoted."""
    encoded = ""
    for printable, run in groupby(folder, lambda one: " " <= one <= "~"):
        text = "".join(run)
        packed = base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
        encoded += text.replace("&", "&-") if printable else f"&{packed}-"
    return _quoted(encoded)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _away(error: Exception) -> SourceUnavailable:
    # The server's message may quote the mail or the user name.
    return SourceUnavailable(f"The mail server gave an invalid response: {type(error).__name__}.")
