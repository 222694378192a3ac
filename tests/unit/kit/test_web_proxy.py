"""Docker and many companies put a web proxy into the environment; gRPC's core takes it for any channel."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import grpc
import pytest
from footnote_augmentation.adapters.http import HttpReranker
from footnote_kit.clients import check_health, open_channel
from footnote_kit.errors import Unavailable
from footnote_kit.settings import KitSettings
from footnote_providers.endpoints import endpoint
from footnote_providers.openai_client import OpenAIClient
from footnote_providers.resilience import RetryableFailure
from footnote_store import tls

NOWHERE = "192.0.2.1"  # RFC 5737: no machine has it


def of_a_stage() -> grpc.aio.Channel:
    return open_channel(f"{NOWHERE}:7102", "indexing", KitSettings())


def of_a_store() -> grpc.aio.Channel:
    return tls.address(f"http://{NOWHERE}:19530").channel()


@asynccontextmanager
async def web_proxy(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[bytes]]:
    """Set a proxy in the environment; yield the first lines of its requests."""
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for scheme in ("http", "https"):
            monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "localhost,127.0.0.1,.corp.example")
        yield asked


async def of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_OLLAMA_BASE_URL", f"http://{NOWHERE}:11434/v1")
    client = OpenAIClient(endpoint("ollama"), "x", timeout=1.0)
    with pytest.raises(RetryableFailure):
        await client.embed(["A text."], "m")
    await client.close()


async def of_a_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = HttpReranker(f"http://{NOWHERE}:8080/rerank", "", "cohere", "", 1.0)
    with pytest.raises(Unavailable):
        await reranker.rerank("A question?", ["A text."], [1.0])
    await reranker.close()


@pytest.mark.parametrize("call", [of_a_model, of_a_reranker])
@pytest.mark.parametrize("stays", [True, False])
async def test_no_web_proxy_gets_texts_that_stay_here(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[pytest.MonkeyPatch], Awaitable[None]], stays: bool
) -> None:
    """Without encryption it reads them: FOOTNOTE_LOCAL_HOSTS says that they do not leave."""
    monkeypatch.setenv("FOOTNOTE_LOCAL_HOSTS", NOWHERE if stays else "another")
    async with web_proxy(monkeypatch) as asked:
        await call(monkeypatch)
    assert bool(asked) is not stays


def of_a_store_outside() -> grpc.aio.Channel:
    return tls.address(f"https://{NOWHERE}:443").channel()


@pytest.mark.parametrize(("open_one", "taken"), [(of_a_stage, False), (of_a_store, False), (of_a_store_outside, True)])
async def test_no_web_proxy_stands_between_services(
    monkeypatch: pytest.MonkeyPatch, open_one: Callable[[], grpc.aio.Channel], taken: bool
) -> None:
    async with web_proxy(monkeypatch) as asked, open_one() as channel:
        with suppress(grpc.RpcError):  # the store's channel has errors of its own
            await check_health(channel, "indexing", timeout=0.5)
    assert bool(asked) == taken
