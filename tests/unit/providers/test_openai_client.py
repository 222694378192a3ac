"""The one client: embeddings, chat and the list of models fail alike, typed, and without the key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_providers.endpoints import SERVICES, endpoint
from footnote_providers.openai_client import ChatPart, ChatRequest, OpenAIClient
from footnote_providers.resilience import RetryableFailure
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.doubles import model_server as ms
from support.matrices import crossed

KEY = "sk-very-secret-key-of-nobody"
CHAT = ChatRequest("tiny", [("system", "Be brief."), ("user", "Hello?")], 0.1, 77, stop=["END"], seed=5)
Call = Callable[[OpenAIClient], Awaitable[object]]


async def chat(client: OpenAIClient) -> list[ChatPart]:
    async with aclosing(client.chat(CHAT)) as parts:
        return [part async for part in parts]


CALLS: dict[str, Call] = {
    "embed": lambda client: client.embed(["one", "two"], "m"),
    "chat": chat,
    "models": lambda client: client.models(5.0),
}


class Server:
    """Answers everything alike: with `reply`, which gets the request."""

    def __init__(self) -> None:
        self.base_url = ""
        self.bodies: list[bytes] = []
        self.reply: Callable[[Request], Response | Awaitable[Response]] = lambda request: JSONResponse({})

    async def answer(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        reply = self.reply(request)
        return reply if isinstance(reply, Response) else await reply


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server on loopback whose answers a test sets."""
    state = Server()
    async with ms.serve_routes([Route("/{path:path}", state.answer, methods=["GET", "POST"])]) as url:
        state.base_url = url
        yield state


@pytest.fixture
async def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenAIClient]:
    """A client of that server, with a key."""
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", KEY)
    made = OpenAIClient(endpoint("openai"), "The model x", timeout=20.0, metadata={"stage": "generation"})
    yield made
    await made.close()


def says(status: int, **headers: str) -> Callable[[Request], Response]:
    body = {"error": {"message": f"Sorry,\n{KEY}: " + "no " * 2000}}
    return lambda request: JSONResponse(
        body, status, {name.replace("_", "-"): value for name, value in headers.items()}
    )


@pytest.mark.parametrize(("call", "status"), crossed([*CALLS], [408, 409, 425, 429, 500, 502, 503, 529], every=4))
async def test_what_may_pass_is_told_with_the_pause(
    server: Server, client: OpenAIClient, call: str, status: int
) -> None:
    server.reply = says(status, retry_after="7")
    with pytest.raises(RetryableFailure, match=f"^HTTP {status}: Sorry, ") as caught:
        await CALLS[call](client)
    assert (caught.value.retry_after, caught.value.status) == (7.0, status)
    assert caught.value.throttled is (status == 429)
    assert KEY not in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
    assert len(server.bodies) == 1  # trying again is the caller's


@pytest.mark.parametrize(("call", "status"), crossed([*CALLS], [400, 401, 403, 404, 413, 422], every=3))
async def test_a_refusal_is_typed_and_clean(server: Server, client: OpenAIClient, call: str, status: int) -> None:
    server.reply = says(status)
    with pytest.raises(Unavailable, match=f"^The model x refused: HTTP {status}: Sorry, ") as caught:
        await CALLS[call](client)
    assert caught.value.reason == "PROVIDER_FAILED"
    assert caught.value.metadata == {"provider": "openai", "stage": "generation", "status": str(status)}
    assert KEY not in caught.value.message


TEXT = 'Ada Quokka was dismissed "for theft" on Monday:\n- 54 000 € of Müller & Söhne\n- a van'
QUOTES: dict[str, Callable[[str], Response]] = {
    "OpenAI": lambda text: JSONResponse({"error": {"message": f"no deployment for the request ['{text}']"}}, 500),
    "OpenAI, as Python": lambda text: JSONResponse({"error": {"message": f"no deployment for {[text]!r} yet"}}, 400),
    "OpenAI, as JSON": lambda text: JSONResponse({"error": {"message": f"no deployment for {json.dumps(text)}"}}, 503),
    "a message alone": lambda text: JSONResponse({"message": f"no deployment for {text[4:60]}"}, 400),
    "FastAPI": lambda text: JSONResponse({"detail": [{"loc": ["body"], "msg": "no deployment", "input": text}]}, 422),
    "words": lambda text: Response(f"no deployment for {text.upper()}", 500),
    "a short text": lambda text: JSONResponse({"error": {"message": f"no deployment for {text[:10]}"}}, 500),
    "in the stream": lambda text: Response(
        f'data: {json.dumps({"error": {"message": f"no deployment for {text}"}})}\n\n', media_type="text/event-stream"
    ),
}  # fmt: skip
ASKS: dict[str, Callable[[OpenAIClient, str], Awaitable[object]]] = {
    "embed": lambda client, text: client.embed(["another", text], "m"),
    "chat": lambda client, text: anext(client.chat(replace(CHAT, messages=[("system", "Be brief."), ("user", text)]))),
}


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("quoted", QUOTES)
async def test_an_error_shows_no_text_that_the_server_quotes(
    server: Server, client: OpenAIClient, ask: str, quoted: str
) -> None:
    """It goes into logs, into documents' failures and stored answers, which outlive the text."""
    text = TEXT[:10] if quoted == "a short text" else TEXT
    server.reply = lambda request: QUOTES[quoted](text)
    with pytest.raises((RetryableFailure, Unavailable)) as caught:
        await ASKS[ask](client, text)
    assert not [word for word in ("Quokka", "dismissed", "theft", "54", "ller", "van") if word in caught.value.message]
    if (ask, quoted) != ("embed", "in the stream") and quoted not in ("FastAPI", "words"):
        assert "no deployment for" in caught.value.message, "what the server says of it is kept"


ODD: dict[str, Callable[[Request], Response]] = {
    "a page": lambda request: Response("<html>Bad gateway</html>", media_type="text/html"),
    "half a page of events": lambda request: Response("data: {half\n\n", media_type="text/event-stream"),
    "a list": lambda request: JSONResponse([1, 2]),
    "a text": lambda request: JSONResponse("hello"),
    "numbers for rows": lambda request: JSONResponse({"data": [1, 2]}),
    "an error inside": lambda request: Response(
        f'data: {json.dumps({"error": {"message": f"overloaded {KEY}"}})}\n\n', media_type="text/event-stream"
    ),
    "choices of null": lambda request: Response('data: {"choices": null}\n\n', media_type="text/event-stream"),
    "a cut": lambda request: ms.CutResponse(),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("odd", ODD)
async def test_whatever_comes_back_is_an_answer_or_a_typed_failure(
    server: Server, client: OpenAIClient, call: str, odd: str
) -> None:
    server.reply = ODD[odd]
    failure: RetryableFailure | None = None
    try:
        found = await CALLS[call](client)
    except RetryableFailure as error:
        failure = error
    if failure is not None:
        assert failure.message
        assert KEY not in failure.message
        assert "overloaded" not in failure.kind, "the provider's own words, which other tenants are told"
    else:
        # Nothing was said, so nothing is made up.
        assert call != "embed"
        assert found in ([], [ChatPart()])


@pytest.mark.parametrize("given", [[None, 1], [None, None], [1, 0]])
async def test_vectors_without_an_index_stand_at_their_place(
    server: Server, client: OpenAIClient, given: list[int | None]
) -> None:
    """Gemini leaves an index of 0 out, others leave out all."""
    rows = [
        {"embedding": [float(place if index is None else index)]} | ({} if index is None else {"index": index})
        for place, index in enumerate(given)
    ]
    server.reply = lambda request: JSONResponse({"object": "list", "data": rows, "model": "m"})
    assert await client.embed(["one", "two"], "m") == [[0.0], [1.0]]


@pytest.mark.parametrize("call", CALLS)
async def test_nobody_there_and_nobody_answering(server: Server, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setenv("FOOTNOTE_VLLM_BASE_URL", "http://127.0.0.1:9/v1")
    gone = OpenAIClient(endpoint("vllm"), "x", timeout=5.0)
    with pytest.raises(RetryableFailure, match=r"^no connection \(ConnectError\)$"):
        await CALLS[call](gone)
    await gone.close()

    async def hold(request: Request) -> Response:
        await asyncio.sleep(3600)
        return Response()

    server.reply = hold
    monkeypatch.setenv("FOOTNOTE_VLLM_BASE_URL", server.base_url)
    silent = OpenAIClient(endpoint("vllm"), "x", timeout=0.3)
    if call != "models":  # which has a time of its own
        with pytest.raises(RetryableFailure, match=r"^no answer within 0\.3 s$"):
            await CALLS[call](silent)
    await silent.close()


async def test_an_answer_is_asked_for_and_read(server: Server, client: OpenAIClient) -> None:
    events = [
        {
            "model": "tiny-1",
            "choices": [{"index": 0, "delta": {"content": "Hel", "refusal": False}, "finish_reason": 0}],
        },
        {"model": "tiny-1", "choices": [{"index": 0, "delta": {"refusal": "no"}, "finish_reason": "length"}]},
        {"model": "tiny-1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}},
    ]
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    server.reply = lambda request: Response(lines, media_type="text/event-stream")
    assert await chat(client) == [
        ChatPart(text="Hel", model="tiny-1"),
        ChatPart(refusal="no", stop="length", model="tiny-1"),
        ChatPart(model="tiny-1", prompt_tokens=3, completion_tokens=2),
    ]
    assert json.loads(server.bodies[0]) == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}],
        "temperature": 0.1,
        "max_tokens": 77,
        "stop": ["END"],
        "seed": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize("id", SERVICES)
def test_addresses_and_keys_come_from_the_environment(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix, service = f"FOOTNOTE_{id.upper()}_", SERVICES[id]
    for name in ("BASE_URL", "API_KEY", "MODEL"):
        monkeypatch.delenv(prefix + name, raising=False)
        monkeypatch.delenv(f"{id.upper()}_{name}", raising=False)
    bare = endpoint(id)
    assert (bare.base_url, bare.api_key) == (service.base_url, "")
    if service.needs_key:
        with pytest.raises(FailedPrecondition, match=f"{prefix}API_KEY") as caught:
            bare.require("model")
        assert caught.value.metadata == {"kind": "model", "provider": id, "needs": f"{prefix}API_KEY"}
    else:
        bare.require("model")
    for name in service.own:
        monkeypatch.setenv(name, "http://own.example/v1")
        monkeypatch.setenv(f"FOOTNOTE_{name}", "")  # an empty variable is none
    own = endpoint(id)
    assert own.api_key == ("http://own.example/v1" if f"{id.upper()}_API_KEY" in service.own else "")
    monkeypatch.setenv(f"{prefix}BASE_URL", "http://gpu.example/v1")
    monkeypatch.setenv(f"{prefix}API_KEY", KEY)
    ours = endpoint(id)
    ours.require("embedding")
    assert (ours.base_url, ours.api_key) == ("http://gpu.example/v1", KEY)
    assert KEY not in repr(ours)
    monkeypatch.setenv(f"{prefix}TIMEOUT", "soon")
    with pytest.raises(FailedPrecondition, match=f"{prefix}TIMEOUT: "):
        endpoint(id)


@pytest.mark.parametrize("service", ["anthropic", "openai"])
async def test_the_list_of_models_is_asked_as_its_service_wants(
    server: Server, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    """Anthropic's refuses a bearer token without these headers; no other service gets its key twice."""
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return JSONResponse({"data": [{"id": "tiny"}]})

    server.reply = answer
    monkeypatch.setenv(f"FOOTNOTE_{service.upper()}_BASE_URL", server.base_url)
    monkeypatch.setenv(f"FOOTNOTE_{service.upper()}_API_KEY", KEY)
    client = OpenAIClient(endpoint(service), "x", timeout=5.0)
    assert await client.models(5.0) == ["tiny"]
    await client.close()
    own = {name: asked[0].headers.get(name) for name in ("x-api-key", "anthropic-version")}
    assert own == (
        {"x-api-key": KEY, "anthropic-version": "2023-06-01"} if service == "anthropic" else dict.fromkeys(own)
    )
