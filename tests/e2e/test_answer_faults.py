"""A chat model that dies, stalls, throttles or cuts its words anywhere, as a caller of the public API sees it.

All services run in one process behind the real launcher, and ask a scripted OpenAI-compatible server.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import grpc
import pytest
import pytest_asyncio
from footnote.edge.v1 import answers_pb2 as pb
from footnote.types.v1 import answer_pb2 as ans
from footnote_kit.errors import DeadlineExceeded, Unavailable
from support.deployment import Deployment, deployment
from support.doubles.model_chat import Cut, Fail, Finish, Hold, ModelServer, Say, serve_model
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "How many days of paid leave do employees have, and how many bikes are in stock?"
LEAVE = b"Employees receive 25 days of paid leave per year."
STOCK = b"The bikes in stock number 40, all of them red."
FIRST_TOKEN_SECONDS = 4
GUARD_SECONDS = 60
"""Only so that a test that would hang fails instead."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def model() -> AsyncIterator[ModelServer]:
    """A scripted chat model on loopback."""
    async with serve_model() as server:
        yield server


@pytest.fixture(scope="module")
def running(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose answers the scripted model writes."""
    env = {
        "FOOTNOTE_GENERATION_PROVIDER": "openai",
        "FOOTNOTE_OPENAI_BASE_URL": model.url,
        "FOOTNOTE_OPENAI_API_KEY": "sk-test-key-of-no-value",
        "FOOTNOTE_GENERATION_FIRST_TOKEN_TIMEOUT": str(FIRST_TOKEN_SECONDS),
    }
    folder: Path = tmp_path_factory.mktemp("faults")
    with deployment(folder, env=env) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of the public API, its two documents in place."""
    async with edge_client(running.address()) as client:
        for text, name in ((LEAVE, "leave.txt"), (STOCK, "stock.txt")):
            assert (await client.put(text, name)).chunk_count == 1
        yield client


async def read_on(call: Any, seen: list[pb.AskResponse]) -> None:
    """Collect what an answer still has to say."""
    async for event in call:
        seen.append(event)


async def test_model_that_dies_midway_gives_the_partial_text_then_a_typed_error(
    model: ModelServer, edge: EdgeClient
) -> None:
    model.script([Say(["Employees receive 25 days of paid leave [1]. And ", "then"]), Cut()])
    before = len(model.seen)
    seen: list[pb.AskResponse] = []
    with pytest.raises(Unavailable) as caught:
        await read_on(edge.stub.Ask(pb.AskRequest(question=QUESTION), timeout=GUARD_SECONDS), seen)
    assert "".join(event.text_delta for event in seen) == "Employees receive 25 days of paid leave [1]. And then"
    assert not any(event.HasField("completed") for event in seen)
    assert caught.value.reason == "PROVIDER_FAILED"
    assert caught.value.metadata["stage"] == "generation"
    assert len(model.seen) == before + 1, "a started answer is not asked for again"


async def test_cancel_closes_the_models_connection_within_200_ms(model: ModelServer, edge: EdgeClient) -> None:
    """The median of several, so that one hiccup of a busy machine proves nothing."""
    took = []
    for _ in range(9):
        model.script([Say(["Employees ", "receive "]), Hold(), Finish()])
        call = edge.stub.Ask(pb.AskRequest(question=QUESTION), timeout=GUARD_SECONDS)
        async for event in call:
            if event.text_delta:
                break
        request = model.seen[-1]
        assert not request.closed.is_set()
        cancelled = perf_counter()
        call.cancel()
        async with asyncio.timeout(GUARD_SECONDS):
            await request.closed.wait()
        took.append(request.closed_at - cancelled)
    print(f"\nconnection closed after {', '.join(f'{1000 * one:.1f}' for one in took)} ms")
    assert median(took) < 0.2


async def test_cancel_before_the_first_token_closes_the_connection_too(model: ModelServer, edge: EdgeClient) -> None:
    model.script([Hold()])
    model.arrived.clear()
    call = edge.stub.Ask(pb.AskRequest(question=QUESTION), timeout=GUARD_SECONDS)
    reading = asyncio.ensure_future(read_on(call, []))
    async with asyncio.timeout(GUARD_SECONDS):
        await model.arrived.wait()
        call.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await model.seen[-1].closed.wait()


async def test_429_then_success(model: ModelServer, edge: EdgeClient) -> None:
    model.script(
        [Fail(429, {"Retry-After": "0.1"})],
        [Say(["Employees receive 25 days of paid leave [1]."]), Finish()],
        [Say(['{"verdicts": []}']), Finish()],
    )
    before = len(model.seen)
    done = await edge.answer(QUESTION)
    assert done.answer.text == "Employees receive 25 days of paid leave [1]."
    assert done.answer.provider == "openai"
    assert len(model.seen) == before + 3  # refused, answered, and asked to read the statement
    assert not done.degradations


async def test_slow_first_token_is_a_deadline_error_that_says_which_stage(model: ModelServer, edge: EdgeClient) -> None:
    model.script([Hold()])
    with pytest.raises(DeadlineExceeded) as caught:
        await edge.answer(QUESTION)
    assert caught.value.reason == "DEADLINE"
    assert caught.value.metadata["stage"] == "generation"
    assert caught.value.metadata["waiting_for"] == "first token"
    async with asyncio.timeout(GUARD_SECONDS):
        await model.seen[-1].closed.wait()


async def test_a_callers_own_deadline_ends_the_models_call(model: ModelServer, edge: EdgeClient) -> None:
    model.script([Say(["Employees "]), Hold()])
    with pytest.raises((DeadlineExceeded, grpc.aio.AioRpcError)):
        await read_on(edge.stub.Ask(pb.AskRequest(question=QUESTION), timeout=5), [])
    async with asyncio.timeout(GUARD_SECONDS):
        await model.seen[-1].closed.wait()


async def test_markers_cut_at_every_place_give_the_same_citations(model: ModelServer, edge: EdgeClient) -> None:
    text = (
        "Employees have 25 days of leave [1, 2]. Red bikes number 40 [Source 2: stock.txt]. "
        "[9] According to leave.txt, line 1, all is well (source 1)."
    )
    model.script([Say([text]), Finish()])
    whole = (await edge.answer(QUESTION)).answer
    whole.ClearField("id")
    assert [citation.number for citation in whole.citations] == [1, 2, 2, 1, 1]
    assert whole.reliability.invalid_citations == 1
    for cut in range(1, len(text)):
        model.script([Say([text[:cut], text[cut:]]), Finish()])
        events = await edge.ask(QUESTION)
        answer = events[-1].completed.answer
        answer.ClearField("id")
        assert answer == whole, cut
        assert "".join(event.text_delta for event in events) == whole.text
        cited = [event.citation for event in events if event.HasField("citation")]
        assert cited == list(whole.citations)
    assert whole.finish_reason == ans.FINISH_REASON_ANSWERED
