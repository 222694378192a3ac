"""Where the embedded engine listens: a Unix socket that only this user reaches, or a port of loopback."""

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
        """As pymilvus takes it."""
        ...

    @property
    def listen(self) -> str:
        """As the engine takes it."""
        ...

    def prepare(self) -> None:
        """Make way for an engine that starts."""
        ...

    async def connect(self) -> Streams:
        """Connect to it; OSError when nobody listens."""
        ...


class Socket:
    """A socket in the engine's folder; where that path is too long, in a private folder of this user's elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.path = socket_path(folder)

    @property
    def uri(self) -> str:
        """As pymilvus takes it."""
        return f"unix:{self.path}"

    @property
    def listen(self) -> str:
        """As the engine takes it."""
        return self.uri

    def prepare(self) -> None:
        """Let only this user into the folder, and take away what a killed engine has left."""
        # The engine's folder may be a link to a larger disk; one where everybody can write may not.
        make_private(self.path.parent.resolve() if self.path.name == _NAME else self.path.parent)
        self.path.unlink(missing_ok=True)

    async def connect(self) -> Streams:
        """Connect to it; OSError when nobody listens."""
        return await asyncio.open_unix_connection(self.path)


class Loopback:
    """A port of 127.0.0.1, where nothing keeps other users of the machine out; 0 for a free one."""

    def __init__(self, port: int) -> None:
        self._port = port or _free_port()

    @property
    def uri(self) -> str:
        """As pymilvus takes it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def listen(self) -> str:
        """As the engine takes it."""
        return f"127.0.0.1:{self._port}"

    def prepare(self) -> None:
        """Nothing stands in the way that could be removed."""

    async def connect(self) -> Streams:
        """Connect to it; OSError when nobody listens."""
        return await asyncio.open_connection("127.0.0.1", self._port)


def socket_path(folder: Path) -> Path:
    """Return where the engine over a folder listens; the same in every process of this user."""
    path = folder.absolute() / _NAME
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]
    return socket_folder() / f"{name}.sock"


def socket_uri(folder: Path) -> str:
    """Return the address of the engine over a folder, as pymilvus takes it, whether one runs or not."""
    return Socket(folder).uri


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
