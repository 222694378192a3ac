"""The embedded engine's address: a Unix socket that only this user can reach, or a loopback port."""

import asyncio
import hashlib
import os
import socket
from pathlib import Path
from typing import Protocol

from footnote_kit.private import MAX_SOCKET_PATH, make_private, socket_folder

_NAME = "engine.sock"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Endpoint(Protocol):
    """An address of the engine."""

    @property
    def uri(self) -> str:
        """The address in pymilvus's form."""
        ...

    @property
    def listen(self) -> str:
        """The address in the engine's form."""
        ...

    def prepare(self) -> None:
        """Make the address usable for an engine that starts."""
        ...

    async def connect(self) -> Streams:
        """Connect to the engine; OSError when it does not listen."""
        ...


class Socket:
    """A socket in the engine's folder; when that path is too long, in a private folder of this user."""

    def __init__(self, folder: Path) -> None:
        self.path = socket_path(folder)

    @property
    def uri(self) -> str:
        """The address in pymilvus's form."""
        return f"unix:{self.path}"

    @property
    def listen(self) -> str:
        """The address in the engine's form."""
        return self.uri

    def prepare(self) -> None:
        """Restrict the folder to this user, and remove the socket of a killed engine."""
        # The engine's folder may be a link to a larger disk; a link in a world-writable folder may not be followed.
        make_private(self.path.parent.resolve() if self.path.name == _NAME else self.path.parent)
        self.path.unlink(missing_ok=True)

    async def connect(self) -> Streams:
        """Connect to the engine; OSError when it does not listen."""
        return await asyncio.open_unix_connection(self.path)


class Loopback:
    """A port of 127.0.0.1, open to all users of the machine; 0 for a free one."""

    def __init__(self, port: int) -> None:
        self._port = port or _free_port()

    @property
    def uri(self) -> str:
        """The address in pymilvus's form."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def listen(self) -> str:
        """The address in the engine's form."""
        return f"127.0.0.1:{self._port}"

    def prepare(self) -> None:
        """Do nothing: a port needs no preparation."""

    async def connect(self) -> Streams:
        """Connect to the engine; OSError when it does not listen."""
        return await asyncio.open_connection("127.0.0.1", self._port)


def socket_path(folder: Path) -> Path:
    """Return the path of the socket for an engine's folder; equal in every process of this user."""
    path = folder.absolute() / _NAME
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]
    return socket_folder() / f"{name}.sock"


def socket_uri(folder: Path) -> str:
    """Return the address for an engine's folder in pymilvus's form, whether the engine runs or not."""
    return Socket(folder).uri


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
