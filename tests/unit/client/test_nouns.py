"""Both clients have a stub for every service, and say so in words when they are closed during a call."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from footnote.client import AsyncClient, Client, Closed
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest
from footnote_kit.edge import SERVICES
from support.doubles.scripted_edge import ScriptedEdge, served


class SlowEdge(ScriptedEdge):
    """Answers nothing."""

    async def GetHealth(self, request: Any, context: Any) -> Any:
        self.began.set()
        await asyncio.Event().wait()


@pytest.fixture
def edge() -> SlowEdge:
    """An edge whose calls never end."""
    return SlowEdge()


@pytest.fixture
def address(edge: SlowEdge) -> Iterator[str]:
    """Where it listens."""
    with served(edge) as where:
        yield where


@pytest.mark.parametrize("service", [one.name.removesuffix("Service").lower() for one in SERVICES])
def test_each_service_has_a_stub(service: str) -> None:
    with Client("127.0.0.1:1") as client:
        assert hasattr(client, service)


async def _health(client: AsyncClient) -> None:
    await client.system.GetHealth(GetHealthRequest())


async def _answer(client: AsyncClient) -> None:
    await client.answer("slow")


async def _ask(client: AsyncClient) -> None:
    async for _ in client.ask(AskRequest(question="slow")):
        pass


@pytest.mark.parametrize("call", [_health, _answer, _ask])
async def test_a_call_of_a_task_says_that_its_client_was_closed(
    call: Callable[[AsyncClient], Any], address: str, edge: SlowEdge
) -> None:
    client = AsyncClient(address)
    under_way = asyncio.create_task(call(client))
    assert await asyncio.to_thread(edge.began.wait, 10)
    await client.close()
    with pytest.raises(Closed, match="closed"):
        await asyncio.wait_for(under_way, 10)
    with pytest.raises(Closed):
        await asyncio.wait_for(call(client), 10)


@pytest.mark.parametrize("call", [_health, _answer, _ask])
async def test_a_cancelled_task_stays_cancelled(
    call: Callable[[AsyncClient], Any], address: str, edge: SlowEdge
) -> None:
    async with AsyncClient(address) as client:
        under_way = asyncio.create_task(call(client))
        assert await asyncio.to_thread(edge.began.wait, 10)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.system.GetHealth(GetHealthRequest()),
        lambda client: client.answer("slow"),
        lambda client: list(client.ask("slow")),
    ],
    ids=["health", "answer", "ask"],
)
def test_a_call_of_a_thread_says_that_its_client_was_closed(
    call: Callable[[Client], Any], address: str, edge: SlowEdge
) -> None:
    client, caught = Client(address), []

    def called() -> None:
        try:
            call(client)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=called)
    thread.start()
    assert edge.began.wait(10)
    client.close()
    thread.join(10)
    assert [type(error) for error in caught] == [Closed]
    with pytest.raises(Closed):
        call(client)


async def test_leaving_a_stream_cancels_its_call(address: str, edge: SlowEdge) -> None:
    async with AsyncClient(address) as client:
        events: AsyncIterator[Any] = client.ask("slow")
        await anext(events)
        assert await asyncio.to_thread(edge.began.wait, 10)
        await events.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(edge.cancelled.wait, 10)


def test_another_thread_ends_a_stream_and_nothing_else(address: str, edge: SlowEdge) -> None:
    with Client(address) as client:
        stream = client.answers.Ask(AskRequest(question="slow"))
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.extend(stream))
        thread.start()
        assert edge.began.wait(10)
        stream.cancel()
        thread.join(10)
        assert not thread.is_alive()
        assert edge.cancelled.wait(10)
        assert len(list(islice(client.answers.Ask(AskRequest(question="slow")), 1))) == 1


def test_a_stream_that_is_ended_before_it_begins_has_no_events(address: str) -> None:
    with Client(address) as client:
        stream = client.answers.Ask(AskRequest(question="slow"))
        stream.cancel()
        assert list(stream) == []


async def test_another_task_ends_a_stream_and_nothing_else(address: str, edge: SlowEdge) -> None:
    async with AsyncClient(address) as client:
        stream = client.answers.Ask(AskRequest(question="slow"))

        async def read() -> list[Any]:
            return [item async for item in stream]

        reading = asyncio.create_task(read())
        assert await asyncio.to_thread(edge.began.wait, 10)
        stream.cancel()
        await asyncio.wait_for(reading, 10)
        assert await asyncio.to_thread(edge.cancelled.wait, 10)
        again = client.answers.Ask(AskRequest(question="slow"))
        await anext(aiter(again))
        again.cancel()


@pytest.mark.parametrize("kind", ["threads", "tasks"])
async def test_a_stream_that_is_left_ends_without_a_collection_of_garbage(
    kind: str, address: str, edge: SlowEdge
) -> None:
    gc.disable()
    try:
        if kind == "threads":
            with Client(address) as client:
                for _ in client.answers.Ask(AskRequest(question="slow")):
                    assert edge.began.wait(10)
                    break
                assert edge.cancelled.wait(10)
        else:
            async with AsyncClient(address) as task_client:
                async for _ in task_client.answers.Ask(AskRequest(question="slow")):
                    assert await asyncio.to_thread(edge.began.wait, 10)
                    break
                assert await asyncio.to_thread(edge.cancelled.wait, 10)
    finally:
        gc.enable()
