"""A reader may take its time with a file of an object store: the store's timeouts are for single requests."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from footnote_ingestion.adapters import blobs
from footnote_ingestion.adapters.blobs import PART_BYTES, Blobs

CONTENT = os.urandom(24 * 1024 * 1024)
"""More than the sockets between store and reader hold."""
FASTER = 40
"""How many times shorter the timeouts are here: 60 seconds become 1.5."""


class Bucket(BaseHTTPRequestHandler):
    """A bucket of S3 with one file and an empty one."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return None

    def do_HEAD(self) -> None:
        self._begin(self._content(), 200)

    def do_GET(self) -> None:
        first, _, last = (self.headers.get("Range") or "").removeprefix("bytes=").partition("-")
        data = self._content()[int(first or 0) : int(last or len(CONTENT)) + 1]
        try:
            self._begin(
                data, (206 if data else 416) if first else 200, f"bytes {first}-{last}/{len(CONTENT)}" if first else ""
            )
            self.wfile.write(data)
        except OSError:
            self.close_connection = True

    def _content(self) -> bytes:
        return b"" if self.path.endswith("empty") else CONTENT

    def _begin(self, data: bytes, status: int, content_range: str = "") -> None:
        self.send_response(status)
        if content_range:
            self.send_header("Content-Range", content_range)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"one"')
        self.send_header("Last-Modified", "Sun, 29 Nov 2026 00:00:00 GMT")
        self.end_headers()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Blobs]:
    """The files of a bucket, with short timeouts."""
    monkeypatch.setattr(blobs, "timedelta", lambda seconds: timedelta(seconds=seconds / FASTER))
    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        options = {
            "endpoint": f"http://127.0.0.1:{server.server_port}", "region": "us-east-1",
            "access_key_id": "a", "secret_access_key": "b",
        }  # fmt: skip
        yield Blobs.open("s3://bucket/prefix", options, tmp_path, tmp_path)
        server.shutdown()
        thread.join()


@pytest.mark.slow
async def test_a_slow_reader_gets_the_whole_file(files: Blobs) -> None:
    found = []
    async for part in files.parts("uploads/file"):
        assert 0 < len(part) <= PART_BYTES
        found.append(part)
        await asyncio.sleep(0.04)
    assert b"".join(found) == CONTENT


async def test_an_empty_file_is_empty(files: Blobs) -> None:
    assert [part async for part in files.parts("uploads/empty")] == []
