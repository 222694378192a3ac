"""A stage in a process of its own, which can be stopped where it stands or hold its interpreter.

    python -m support.guinea_process ADDRESS

It listens as a service of the kit does, by TLS where the environment says so, and prints its port. `trace_id` says
what a call does: "hold:3" keeps the interpreter for three seconds, in which no Python runs, and all else is answered at
once; a stream says "first", then nothing for as long, as in "silent:3", and "last".
"""

import asyncio
import ctypes
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from footnote_kit import server, tls
from footnote_kit.settings import KitSettings

from support.guinea_pigs import Answer, Guinea, stand_in

STAGE = "indexing"
"""It also stands in for this stage: every call is answered with an empty message."""


def seconds(request: Any) -> int:
    """Return how long a request wants it to take."""
    return int(request.trace_id.rpartition(":")[2] or 0)


async def unary(request: Any, context: Any) -> Answer:
    """Answer, after holding the interpreter where that is wanted."""
    if held := seconds(request):
        ctypes.PyDLL(None).sleep(held)
    return Answer(name="fine")


async def stream(request: Any, context: Any) -> AsyncIterator[Answer]:
    """Say something, and something else later."""
    yield Answer(name="first")
    await asyncio.sleep(seconds(request))
    yield Answer(name="last")


async def main(address: str) -> None:
    """Serve until the process is killed."""
    settings = KitSettings()
    serving = grpc.aio.server(options=server._options(settings, public=False))
    Guinea(unary=unary, stream=stream)._add(None, serving)
    for add, servicer, _ in stand_in(STAGE, []).servicers:
        add(servicer, serving)
    credentials = tls.server_credentials(settings)
    port = serving.add_secure_port(address, credentials) if credentials else serving.add_insecure_port(address)
    await serving.start()
    print(port, flush=True)
    await serving.wait_for_termination()


@contextmanager
def guinea_process(address: str = "127.0.0.1:0", env: dict[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """Run one; yield its process id and its address."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})}
    command = [sys.executable, "-m", "support.guinea_process", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port, "it has ended"
            yield process.pid, address if address.startswith("unix:") else f"127.0.0.1:{port}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
