"""TLS in front of a server that speaks none, as a cluster's load balancer has it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def tls_front(socket: Path, own: dict[str, Path], callers: Path | None) -> AsyncIterator[int]:
    """Serve a Unix socket with TLS on a port of loopback and yield it; `callers` are whose certificates it asks for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(own["tls_cert_file"], own["tls_key_file"])
    if callers is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(callers)
    open_ones: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := await reader.read(65536):
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.transport.abort()  # not a byte is owed once one side has hung up

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        try:
            behind_reader, behind_writer = await asyncio.open_unix_connection(socket)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(pump(reader, behind_writer), pump(behind_reader, writer))
        finally:
            open_ones.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(open_ones):
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)
        await asyncio.sleep(0.05)  # sockets are closed in later turns of the loop
