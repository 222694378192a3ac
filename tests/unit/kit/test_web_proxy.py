"""Docker and many companies put a web proxy into the environment; gRPC's core takes it for any channel."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import grpc
import pytest
from footnote_kit.clients import check_health, open_channel
from footnote_kit.settings import KitSettings
from footnote_store import tls

NOWHERE = "192.0.2.1"  # RFC 5737: no machine has it


def of_a_stage() -> grpc.aio.Channel:
    return open_channel(f"{NOWHERE}:7102", "indexing", KitSettings())


def of_a_store() -> grpc.aio.Channel:
    return tls.address(f"http://{NOWHERE}:19530").channel()


def of_a_store_outside() -> grpc.aio.Channel:
    return tls.address(f"https://{NOWHERE}:443").channel()


@pytest.mark.parametrize(("open_one", "taken"), [(of_a_stage, False), (of_a_store, False), (of_a_store_outside, True)])
async def test_no_web_proxy_stands_between_services(
    monkeypatch: pytest.MonkeyPatch, open_one: Callable[[], grpc.aio.Channel], taken: bool
) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for scheme in ("http", "https"):
            monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "localhost,127.0.0.1,.corp.example")
        async with open_one() as channel:
            with suppress(grpc.RpcError):  # the store's channel has errors of its own
                await check_health(channel, "indexing", timeout=0.5)
    assert bool(asked) == taken
