"""Lines that gRPC's core and other C libraries print to stderr are JSON with our fields, like all others."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import asyncio, os, signal, socket, subprocess, sys
import grpc
from footnote_kit import process
from footnote_kit.settings import KitSettings
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.services import Ask, SampleService, SampleStub

async def main():
    exported = process.configure(KitSettings(), ("retrieval", "generation"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = grpc.aio.server()
        try:
            server.add_insecure_port("127.0.0.1:%d" % taken.getsockname()[1])
        except RuntimeError:
            pass  # the core has said why by itself
        await server.stop(0)
    os.write(2, b"a library says\\nsk-proj-abcdefghijklmnopqrstuvwx1234567890\\n")
    subprocess.run([sys.executable, "-c", "import sys; print('{\\"event\\": \\"of a child\\"}', file=sys.stderr)"])
    import logging
    logging.getLogger("grpc._server").error("of gRPC's Python part")
    if sys.argv[1:] == ["abort"]:
        os.abort()
    await exported.close()
    os.write(2, b"after the end\\n")

asyncio.run(main())
"""


def run(log_format: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FOOTNOTE_", "GRPC_"))}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**clean, "PYTHONPATH": os.pathsep.join(sys.path), "FOOTNOTE_LOG_FORMAT": log_format},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_lines_of_grpc_and_of_libraries_are_json_with_our_fields() -> None:
    done = run("json")
    assert done.returncode == 0, done.stderr
    *lines, last = done.stderr.splitlines()
    assert last == "after the end"
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    of_child = next(one for one in events if one["event"] == "of a child")
    assert of_child == {"event": "of a child"}, "JSON of another process passes as it is"
    core = next(one for one in events if "in use" in one["event"])
    assert core["source"] == "grpc.core"
    assert core["level"] == "error"
    assert core["at"].startswith("add_port.cc:")
    assert core["service"] == "retrieval+generation"
    assert core["timestamp"]
    assert core["event"].startswith("Failed to add port"), "Abseil's prefix became fields"
    assert next(one for one in events if one["event"] == "a library says")["source"] == "stderr"
    assert next(one for one in events if one["event"] == "of gRPC's Python part")["source"] == "grpc._server"
    assert "abcdefghijklmnopqrstuvwx" not in done.stderr, "secrets are removed there too"


def test_lines_for_people_stay_as_they_are() -> None:
    done = run("human")
    assert done.returncode == 0, done.stderr
    assert "add_port.cc" in done.stderr
    assert "a library says\n" in done.stderr


def test_an_abort_prints_where_every_thread_was() -> None:
    done = run("json", "abort")
    assert done.returncode == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in done.stderr
