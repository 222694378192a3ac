"""A real S3 server for tests: moto's, run as a process of its own when it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def program() -> str | None:
    """The path of moto's server, named by FOOTNOTE_TEST_MOTO or found on the path; None when there is none."""
    named = os.environ.get("FOOTNOTE_TEST_MOTO")
    return named if named and Path(named).exists() else shutil.which("moto_server")


@contextmanager
def server() -> Iterator[str]:
    """Run a server and yield its endpoint."""
    path = program()
    assert path is not None
    command = [path, "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if (found := _ADDRESS.search(line)) is not None:
                    # It logs every request: an unread pipe would block it after some hundred.
                    threading.Thread(target=process.stderr.read, daemon=True).start()
                    yield found[0]
                    return
            raise RuntimeError("the S3 server did not start")
        finally:
            process.terminate()


def make_bucket(endpoint: str, name: str) -> None:
    """Create a bucket; the server checks no signature."""
    httpx2.put(
        f"{endpoint}/{name}",
        headers={"Authorization": "AWS4-HMAC-SHA256 Credential=test/20200101/us-east-1/s3/aws4_request"},
    ).raise_for_status()
