"""A real Redis server for tests, where its program is on the path; nothing of it outlives the test."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.frozen import freeze, thaw

_START_SECONDS = 30.0


def why_not() -> str | None:
    """Why no server can be started here; None when one can."""
    return None if shutil.which("redis-server") else "redis-server is not installed (apt-get install redis-server)"


class RedisServer:
    """A server on a fixed port of loopback, which can go away, hang and come back; it keeps nothing on disk."""

    def __init__(self, folder: Path, certificates: Mapping[str, Path] | None = None) -> None:
        self._folder = folder
        self._certificates = certificates
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address as settings take it."""
        scheme = "redis" if self._certificates is None else "rediss"
        return f"{scheme}://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = ["redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        if self._certificates is None:
            command += ["--port", str(self._port)]
        else:  # besides a socket in its folder, by which it is asked whether it has started
            command += ["--port", "0", "--tls-port", str(self._port), "--unixsocket", str(self._folder / "redis.sock")]
            for name, path in self._certificates.items():
                command += [f"--tls-{name}-file", str(path)]
        self._process = subprocess.Popen(
            command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + _START_SECONDS
        while self.command("PING") != b"+PONG\r\n":
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("Redis did not start")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it at once, with all that it holds."""
        process, self._process = self._process, None
        if process is not None:
            thaw(process.pid)
            process.kill()
            process.wait(10)

    def kill(self) -> None:
        """End it at once: it keeps nothing that an orderly end could save."""
        self.stop()

    def freeze(self) -> None:
        """Let it take connections and answer nothing."""
        assert self._process is not None
        freeze(self._process.pid)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        thaw(self._process.pid)

    def command(self, name: str) -> bytes:
        """Send a command without arguments and return the first bytes of the reply; empty if the server is down."""
        try:
            with self._connect() as connection:
                connection.sendall(f"{name}\r\n".encode())
                return connection.recv(4096)
        except OSError:
            return b""

    def _connect(self) -> socket.socket:
        if self._certificates is None:
            return socket.create_connection(("127.0.0.1", self._port), timeout=5)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(5)
        try:
            connection.connect(str(self._folder / "redis.sock"))
        except OSError:
            connection.close()
            raise
        return connection


@contextmanager
def redis_server(certificates: Mapping[str, Path] | None = None) -> Iterator[RedisServer]:
    """Run a server of its own; with `certificates` (`cert`, `key`, `ca-cert`) for callers who show one, over TLS."""
    folder = Path(tempfile.mkdtemp(prefix="footnote-redis-"))
    server = RedisServer(folder, certificates)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
