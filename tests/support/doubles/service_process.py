"""A stage in its own process, which tests can stop (SIGSTOP) or whose interpreter they can block.

    python -m support.doubles.service_process ADDRESS

It listens like a service of the kit, with TLS if the environment configures it, and prints its port. `trace_id` says
what a call does: "hold:3" blocks the interpreter for three seconds; all else is answered at once. A stream sends
"first", then nothing for the seconds in "silent:3", then "last".
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

from support.doubles.services import Answer, SampleService, empty_stage

STAGE = "indexing"
"""It also implements this stage: every call is answered with an empty message."""


def seconds(request: Any) -> int:
    """Return how long a request wants it to take."""
    return int(request.trace_id.rpartition(":")[2] or 0)


async def unary(request: Any, context: Any) -> Answer:
    """Answer, after blocking the interpreter if the request says so."""
    if held := seconds(request):
        ctypes.PyDLL(None).sleep(held)
    return Answer(name="fine")


async def stream(request: Any, context: Any) -> AsyncIterator[Answer]:
    """Send one message now and one later."""
    yield Answer(name="first")
    await asyncio.sleep(seconds(request))
    yield Answer(name="last")


async def main(address: str) -> None:
    """Serve until the process is killed."""
    settings = KitSettings()
    serving = grpc.aio.server(options=server._options(settings, public=False))
    SampleService(unary=unary, stream=stream)._add(None, serving)
    for add, servicer, _ in empty_stage(STAGE, []).servicers:
        add(servicer, serving)
    credentials = tls.server_credentials(settings)
    port = serving.add_secure_port(address, credentials) if credentials else serving.add_insecure_port(address)
    await serving.start()
    print(port, flush=True)
    await serving.wait_for_termination()


@contextmanager
def service_process(address: str = "127.0.0.1:0", env: dict[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """Run one; yield its process id and its address."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})}
    command = [sys.executable, "-m", "support.doubles.service_process", address]
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
