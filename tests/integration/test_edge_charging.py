"""An answer is charged at every interface: gRPC, HTTP, OpenAI dialect and MCP; also if it fails or is cancelled."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER, ChatMessage
from footnote_edge import offline
from footnote_edge.adapters.usage import UsageTable
from footnote_edge.app import build
from footnote_edge.gateway.ports import Spent
from footnote_generation.answering.permitted import Permitted
from footnote_generation.app import build as build_generation
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError, PermissionDenied, Unavailable
from footnote_kit.testing import Served, serve_app
from support.doubles.model_chat import Cut, Fail, Finish, Hold, ModelServer, Say, Step, serve_model
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

LONG = "tea " * 400
PROMPT = 400  # tokens of it, and a few more
SAID = ["Tea is brewed at 80 degrees. ", "It is green and "]
PATHS: dict[str, tuple[str, dict[str, Any], str]] = {
    "http": ("/v1/ask", {"question": LONG}, "application/json"),
    "http stream": ("/v1/ask", {"question": LONG}, "text/event-stream"),
    "openai": ("/v1/chat/completions", {"model": "footnote", "messages": [{"role": "user", "content": LONG}]}, "*/*"),
    "openai stream": (
        "/v1/chat/completions",
        {"model": "footnote", "stream": True, "messages": [{"role": "user", "content": LONG}]},
        "*/*",
    ),
    "mcp": (
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "ask", "arguments": {"question": LONG}},
        },
        "application/json, text/event-stream",
    ),
}
DOORS = ("grpc", *PATHS)
STREAMS = ("grpc", "http stream", "openai stream")


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    """A scripted chat model with prices."""
    async with serve_model() as server:
        monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
        monkeypatch.setenv("FOOTNOTE_GENERATION_PRICES", '{"scripted": [1000, 1000]}')
        monkeypatch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
        monkeypatch.setenv("FOOTNOTE_GENERATION_MODEL", "scripted")
        yield server


@pytest.fixture
async def served(model: ModelServer, tmp_path: Path) -> AsyncIterator[Served]:
    """Edge before real generation and the doubles of the other stages."""
    async with serve_doubles(World()) as doubles, serve_app(build_generation) as generation:
        addresses = {**doubles, "generation": generation.address}
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as running:
            yield running


async def ask(served: Served, door: str) -> None:
    """Ask by a door to the end, whatever that is."""
    if door == "grpc":
        with suppress(FootnoteError):
            async for _ in EdgeStub(served.channel).Ask(AskRequest(question=LONG), timeout=60):
                pass
        return
    path, body, accept = PATHS[door]
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=60) as http:
        await http.post(path, json=body, headers={"accept": accept})


async def charged(folder: Path, at_least: int = 1) -> Spent:
    """Return what is written down for today, as soon as there are so many tokens of answers."""
    opened, _ = await offline.limits(folder)
    try:
        async with asyncio.timeout(240):
            while True:
                used = await UsageTable(opened).of("default", datetime.now(UTC).date().isoformat())
                if used.completion_tokens >= at_least:
                    return used
                await asyncio.sleep(0.05)
    finally:
        await opened.close()


@pytest.mark.parametrize("door", DOORS)
async def test_what_the_model_says_is_charged(served: Served, model: ModelServer, tmp_path: Path, door: str) -> None:
    model.script([Say(["Fine."]), Finish(usage=(123, 45))])
    await ask(served, door)
    used = await charged(tmp_path, 45)
    assert (used.prompt_tokens, used.completion_tokens) == (123, 45)
    assert used.cost_usd == pytest.approx(0.168)


@pytest.mark.parametrize("door", DOORS)
async def test_what_was_refused_before_a_word_is_charged_to_nobody(
    served: Served, model: ModelServer, tmp_path: Path, door: str
) -> None:
    model.script([Fail(400, message="no such parameter")], [Say(["Fine."]), Finish(usage=(123, 45))])
    await ask(served, door)
    await ask(served, door)
    used = await charged(tmp_path, 45)
    assert (used.prompt_tokens, used.completion_tokens) == (123, 45)


@pytest.mark.parametrize("door", DOORS)
async def test_a_broken_answer_is_charged_until_then(
    served: Served, model: ModelServer, tmp_path: Path, door: str
) -> None:
    model.script([Say(SAID), Cut()])
    await ask(served, door)
    used = await charged(tmp_path)
    assert used.prompt_tokens >= PROMPT
    assert used.cost_usd > 0


async def abandon(served: Served, model: ModelServer, door: str) -> None:
    """Ask by a door and leave while the model speaks; without a source its words are held back until it has ended."""
    if door == "grpc":
        call = EdgeStub(served.channel).Ask(AskRequest(question=LONG), timeout=60)
        async for event in call:
            if event.HasField("text_delta"):
                call.cancel()
                return
    path, body, accept = PATHS[door]
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=60) as http:
        asking = asyncio.ensure_future(http.post(path, json=body, headers={"accept": accept}))
        async with asyncio.timeout(240):
            await model.arrived.wait()
            await model.seen[-1].started.wait()
        # The words pass two services, and no event shows when they arrive.
        await asyncio.sleep(1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


@pytest.mark.parametrize("door", DOORS)
async def test_an_abandoned_answer_stops_the_model_and_is_charged_until_then(
    served: Served, model: ModelServer, tmp_path: Path, door: str
) -> None:
    model.script([Say(SAID), Hold(), Finish(usage=(9999, 9999))])
    await abandon(served, model, door)
    async with asyncio.timeout(240):
        await model.seen[-1].closed.wait()
    used = await charged(tmp_path)
    assert PROMPT <= used.prompt_tokens < PROMPT * 2
    assert 1 <= used.completion_tokens < 50
    assert used.cost_usd > 0


@pytest.mark.parametrize("door", DOORS)
async def test_who_leaves_before_a_word_pays_for_what_the_model_read(
    served: Served, model: ModelServer, tmp_path: Path, door: str
) -> None:
    model.script([Hold()], [Say(["Fine."]), Finish(usage=(123, 45))])
    asking = asyncio.ensure_future(ask(served, door))
    async with asyncio.timeout(240):
        await model.arrived.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    async with asyncio.timeout(240):
        await model.seen[-1].closed.wait()
    await ask(served, door)
    used = await charged(tmp_path, 45)
    assert used.completion_tokens == 45
    assert PROMPT + 123 <= used.prompt_tokens < PROMPT * 2


@pytest.mark.parametrize("error", [Unavailable("away"), PermissionDenied("no", reason="PROVIDER_NOT_ALLOWED")])
async def test_a_question_whose_model_was_not_called_costs_nothing(
    served: Served, model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: FootnoteError
) -> None:
    def refuse(self: Permitted, *_: Any) -> None:
        raise error

    with monkeypatch.context() as refusing:
        refusing.setattr(Permitted, "check", refuse)
        await ask(served, "grpc")
    assert not model.seen
    model.script([Say(["Fine."]), Finish(usage=(123, 45))])
    await ask(served, "grpc")
    used = await charged(tmp_path, 45)
    assert (used.prompt_tokens, used.completion_tokens) == (123, 45)


@pytest.mark.parametrize("rewriting", [[Hold()], [Say(["Half"]), Cut()]])
async def test_a_rewriting_that_is_given_up_or_breaks_off_is_charged(
    served: Served, model: ModelServer, tmp_path: Path, rewriting: Sequence[Step]
) -> None:
    def respond(body: dict[str, Any]) -> Sequence[Step]:
        rewrites = "Rewrite the user's last message" in body["messages"][0]["content"]
        return rewriting if rewrites else [Say(["Fine."]), Finish(usage=(123, 45))]

    model.respond(respond)
    said = "Tea is brewed at 80 degrees, and green tea at 70. " * 8
    history = [ChatMessage(role=MESSAGE_ROLE_USER, text=said), ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text=said)]
    async for _ in EdgeStub(served.channel).Ask(AskRequest(question="And how long?", history=history), timeout=60):
        pass
    assert len(model.seen) == 2
    used = await charged(tmp_path, 45)
    assert used.prompt_tokens >= 123 + 150
