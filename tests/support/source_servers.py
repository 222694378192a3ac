"""What sources read in tests, on this machine: a web site, and a Git server that is Git's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest


@dataclass
class Reply:
    """What a site answers; `raw` writes to the socket itself."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: Callable[[Any], None] | None = None
    etag: bool = True


@dataclass
class Site:
    """A web site: replies by path with query, and what was asked."""

    base: str = ""
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)
    """Addresses that requests came from: one for each connection."""
    down: bool = False
    """Every answer is 503."""

    def page(self, path: str, body: str, *, title: str = "", head: str = "", lang: str = "en") -> None:
        html = (
            f"<!doctype html><html lang={lang}><head><title>{title or path}</title>{head}</head>"
            f"<body><nav><a href=/>Menu</a></nav><main>{body}</main><footer>Imprint</footer></body></html>"
        )
        self.replies[path] = Reply(html.encode(), headers={"content-type": "text/html; charset=utf-8"})

    def put(self, path: str, body: bytes, content_type: str = "text/plain", **headers: str) -> None:
        self.replies[path] = Reply(body, headers={"content-type": content_type, **headers})

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked if path != "/robots.txt"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Web servers send the body at once; with Nagle's algorithm it waits 40 ms for the client's acknowledgement."""
    site: Site

    def do_GET(self) -> None:
        self.site.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.site.times.append(time.monotonic())
        self.site.connections.add(self.client_address)
        reply = self.site.replies.get(self.path)
        if self.site.down:
            reply = Reply(b"down", 503)
        if reply is None:
            reply = Reply(b"not here", 404, {"content-type": "text/plain"})
        if reply.raw is not None:
            reply.raw(self)
            return
        etag = f'"{sha256(reply.body).hexdigest()[:16]}"'
        known = self.headers.get("if-none-match")
        if reply.status == 200 and reply.etag and known == etag:
            self.send_response(304)
            self.send_header("ETag", etag)
            self._say(reply)
            self.end_headers()
            return
        self.send_response(reply.status)
        if reply.etag:
            self.send_header("ETag", etag)
        self._say(reply)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def _say(self, reply: Reply) -> None:
        for name, value in reply.headers.items():
            for line in value.split("\n"):
                self.send_header(name, line)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve on loopback and yield the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def site() -> Iterator[Site]:
    """A web site of this machine."""
    made = Site()
    handler = type("Handler", (_Handler,), {"site": made})
    with served(handler) as port:
        made.base = f"http://127.0.0.1:{port}"
        yield made


GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; skips the test where there is none."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed (apt-get install git)")
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **GIT}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@dataclass
class GitRepository:
    """A working copy, whose commits are pushed where they are served from."""

    folder: Path
    url: str = ""
    bytes_sent: int = 0
    requests: int = 0
    password: str = ""

    @classmethod
    def make(cls, folder: Path) -> GitRepository:
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        return cls(folder)

    def commit(self) -> str:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", "change")
        return git(self.folder, "rev-parse", "HEAD")


@contextmanager
def git_server(repository: GitRepository) -> Iterator[GitRepository]:
    """Serve a repository by `git http-backend`."""

    class Backend(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers.get("content-length") or 0)))

        def answer(self, body: bytes) -> None:
            repository.requests += 1
            if repository.password and self.headers.get("authorization") is None:
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            parts = urlsplit(self.path)
            environment = {
                **os.environ, **GIT,
                "GIT_PROJECT_ROOT": str(repository.folder.parent), "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": parts.path, "QUERY_STRING": parts.query, "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": self.headers.get("git-protocol", ""), "REMOTE_ADDR": "127.0.0.1",
            }  # fmt: skip
            done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
            head, _, rest = done.stdout.partition(b"\r\n\r\n")
            lines = [line.split(": ", 1) for line in head.decode().split("\r\n") if line]
            status = next((int(value.split()[0]) for name, value in lines if name == "Status"), 200)
            repository.bytes_sent += len(rest)
            self.send_response(status)
            for name, value in lines:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with served(Backend) as port:
        repository.url = f"http://127.0.0.1:{port}/{repository.folder.name}"
        yield repository
