"""A faithful chat model server for tests: `/v1/chat/completions` as OpenAI-compatible providers speak it, scripted.

Each request takes the next script; the last one is repeated. A script is a list of steps: words in the chunking wanted,
pauses (until an event, so that no test sleeps), errors before the stream, a connection cut in the middle.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from queue import Queue
from time import perf_counter
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True)
class Say:
    """Words, one event per part."""

    parts: Sequence[str]
    pause: float = 0.0
    """Seconds before each part."""


@dataclass(frozen=True)
class Think:
    """A model's reasoning before its answer, one event per part, separate from its words."""

    parts: Sequence[str]
    field: str = "reasoning_content"
    pause: float = 0.0
    """Seconds before each part."""


@dataclass(frozen=True)
class Hold:
    """Says nothing until the event is set; for ever by default."""

    until: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Fail:
    """Answers with an error instead of a stream."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "the model is busy"
    body: Any = None
    """The whole body, where it is not the usual one."""


@dataclass(frozen=True)
class Cut:
    """Closes the connection without an end."""


@dataclass(frozen=True)
class Finish:
    """The regular end: finish reason, usage chunk when asked for, [DONE]."""

    reason: str = "stop"
    usage: tuple[int, int] | None = (100, 20)


@dataclass(frozen=True)
class Event:
    """An event as it stands, beside id and model."""

    body: dict[str, Any]


Step = Say | Think | Hold | Fail | Cut | Event | Finish
Responder = Callable[[dict[str, Any]], Sequence[Step]]


@dataclass
class Seen:
    """One request as it came in; `closed_at` is when the client went away before the end."""

    body: dict[str, Any]
    authorization: str
    request_id: str = ""
    traceparent: str = ""
    started: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    closed_at: float = 0.0


class CutConnection(Exception):
    """Raised inside the server to drop a connection."""


class ModelServer:
    """The server's state: what it is to say and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self._scripts: list[Sequence[Step]] = [[Say(["Hello."]), Finish()]]
        self._responder: Responder | None = None
        self.arrived = asyncio.Event()

    def script(self, *scripts: Sequence[Step]) -> None:
        """Sets what the next requests get, in order."""
        self._scripts = list(scripts)
        self._responder = None

    def respond(self, responder: Responder) -> None:
        """Lets a function make the script from each request."""
        self._responder = responder

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", endpoint=_Chat(self), methods=["POST"]),  # type: ignore[arg-type]
                Route("/v1/models", endpoint=self._models),
            ]
        )

    async def _models(self, request: Request) -> JSONResponse:
        return JSONResponse(
            {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "us"}]}
        )

    def next_script(self, body: dict[str, Any]) -> Sequence[Step]:
        if self._responder is not None:
            return self._responder(body)
        return self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]


class _Chat:
    """Plain ASGI, since only there a connection can be cut and a client's going away be seen at once."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        seen = Seen(
            await request.json(),
            request.headers.get("authorization", ""),
            request.headers.get("x-client-request-id", ""),
            request.headers.get("traceparent", ""),
        )
        self._server.seen.append(seen)
        self._server.arrived.set()
        script = self._server.next_script(seen.body)
        if script and isinstance(script[0], Fail):
            fail = script[0]
            body = fail.body or {"error": {"message": fail.message, "type": "server_error", "code": None}}
            await JSONResponse(body, fail.status, fail.headers)(scope, receive, send)
            return
        talk = asyncio.create_task(self._talk(script, seen, send))
        watch = asyncio.create_task(receive())
        done, _ = await asyncio.wait({talk, watch}, return_when=asyncio.FIRST_COMPLETED)
        if talk not in done:
            seen.closed_at = perf_counter()
            seen.closed.set()
            talk.cancel()
            await asyncio.gather(talk, return_exceptions=True)
            return
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        talk.result()

    async def _talk(self, script: Sequence[Step], seen: Seen, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._event(send, seen, {"delta": {"role": "assistant", "content": ""}})
        for step in script:
            if isinstance(step, Say):
                for part in step.parts:
                    if step.pause:
                        await asyncio.sleep(step.pause)
                    await self._event(send, seen, {"delta": {"content": part}})
                seen.started.set()
            elif isinstance(step, Think):
                for part in step.parts:
                    await asyncio.sleep(step.pause)
                    await self._event(send, seen, {"delta": {step.field: part}})
            elif isinstance(step, Hold):
                await step.until.wait()
            elif isinstance(step, Event):
                await self._send(send, {**_chunk(seen), **step.body})
            elif isinstance(step, Cut):
                raise CutConnection
            elif isinstance(step, Finish):
                await self._event(send, seen, {"delta": {}, "finish_reason": step.reason})
                if step.usage and seen.body.get("stream_options", {}).get("include_usage"):
                    prompt, completion = step.usage
                    usage = {
                        "prompt_tokens": prompt,
                        "completion_tokens": completion,
                        "total_tokens": prompt + completion,
                    }
                    await self._send(send, {**_chunk(seen), "choices": [], "usage": usage})
                await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _event(self, send: Send, seen: Seen, choice: dict[str, Any]) -> None:
        await self._send(send, {**_chunk(seen), "choices": [{"index": 0, "finish_reason": None, **choice}]})

    async def _send(self, send: Send, chunk: dict[str, Any]) -> None:
        data = f"data: {json.dumps(chunk)}\n\n".encode()
        await send({"type": "http.response.body", "body": data, "more_body": True})


def _chunk(seen: Seen) -> dict[str, Any]:
    model = seen.body.get("model", "scripted")
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}


@contextmanager
def model_aside() -> Iterator[ModelServer]:
    """Runs the server in a thread, for tests whose own thread has another event loop."""
    loop, ended, found = asyncio.new_event_loop(), asyncio.Event(), Queue[ModelServer]()

    async def serve() -> None:
        async with serve_model() as server:
            found.put(server)
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    yield found.get()
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


@asynccontextmanager
async def serve_model() -> AsyncIterator[ModelServer]:
    """Runs the server on a free port of the loopback; `url` ends in /v1."""
    model = ModelServer()
    config = uvicorn.Config(
        model.app(), host="127.0.0.1", port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    model.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.should_exit = True
        await task
        listening.close()
