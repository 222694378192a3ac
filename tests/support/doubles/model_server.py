"""A faithful OpenAI-compatible HTTP server on loopback, with faults on demand.

`ModelServer` counts what it is asked, answers as the real thing does (base64 or lists, usage, error bodies), and plays
a script of faults, one entry a request, before it behaves. Further routes are mounted by `routes=`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass
class Fault:
    """What to do instead of answering: see the functions below."""

    kind: str
    status: int = 0
    retry_after: str | None = None
    message: str = ""
    only_if: str = ""
    """Play this fault only for requests holding this text, and leave it in the script for the others."""


def throttled(retry_after: str | None = None, only_if: str = "") -> Fault:
    """429, with or without Retry-After."""
    return Fault("status", 429, retry_after, "Rate limit reached for requests", only_if)


def broken(status: int = 500, message: str = "The server had an error", only_if: str = "") -> Fault:
    """An HTTP error with the usual body."""
    return Fault("status", status, None, message, only_if)


def stalled(only_if: str = "") -> Fault:
    """No answer until the client goes away."""
    return Fault("stall", only_if=only_if)


def cut(only_if: str = "") -> Fault:
    """The connection closes in the middle of the body."""
    return Fault("cut", only_if=only_if)


def wrong_dimensions(only_if: str = "") -> Fault:
    """Vectors of one number too few."""
    return Fault("dimensions", only_if=only_if)


def missing(only_if: str = "") -> Fault:
    """One vector fewer than texts."""
    return Fault("missing", only_if=only_if)


def not_json(only_if: str = "") -> Fault:
    """200 with a page of HTML, as proxies do."""
    return Fault("html", only_if=only_if)


def vector_of(text: str, dimensions: int) -> list[float]:
    """The vector that this server gives for a text: deterministic, of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=dimensions)
    return [float(value) for value in (vector / np.linalg.norm(vector)).astype(np.float32)]


@dataclass
class ModelServer:
    """State of the server: its script of faults, and what it was asked."""

    dimensions: int = 64
    reorder: bool = True
    """Give results in reverse order, each with its index, as the interface allows."""
    script: deque[Fault] = field(default_factory=deque)
    batches: list[list[str]] = field(default_factory=list)
    """The texts of every embedding request, failed ones included."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a request arrives; tests clear it and wait."""
    running: int = 0
    most_running: int = 0
    delay: float = 0.0
    """Seconds that a good answer takes."""
    base_url: str = ""

    def fail_with(self, *faults: Fault, times: int = 1) -> None:
        """Add faults to the script."""
        self.script.extend(fault for _ in range(times) for fault in faults)

    def next_fault(self, text: str) -> Fault | None:
        """Take the first fault of the script that fits a request."""
        for fault in self.script:
            if fault.only_if in text:
                self.script.remove(fault)
                return fault
        return None

    async def embeddings(self, request: Request) -> Response:
        """POST /v1/embeddings."""
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
        self.batches.append(texts)
        self.arrived.set()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.times.append(asyncio.get_running_loop().time())
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            fault = self.next_fault("\n".join(texts))
            if fault is not None and fault.kind not in ("dimensions", "missing"):
                return await play(fault)
            if self.delay:
                await asyncio.sleep(self.delay)
            if any(not text for text in texts):
                return error(400, "'$.input' is invalid. Please check the API reference")
            dimensions = int(body.get("dimensions") or self.dimensions)
            if fault is not None and fault.kind == "dimensions":
                dimensions -= 1
            rows = [self._row(index, text, dimensions, body) for index, text in enumerate(texts)]
            if fault is not None and fault.kind == "missing":
                rows.pop()
            if self.reorder:
                rows.reverse()
            tokens = sum(len(text.split()) for text in texts)
            usage = {"prompt_tokens": tokens, "total_tokens": tokens}
            return JSONResponse({"object": "list", "model": body["model"], "data": rows, "usage": usage})
        finally:
            self.running -= 1

    @staticmethod
    def _row(index: int, text: str, dimensions: int, body: dict[str, Any]) -> dict[str, Any]:
        vector: Any = vector_of(text, dimensions)
        if body.get("encoding_format") == "base64":
            vector = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
        return {"object": "embedding", "index": index, "embedding": vector}

    def routes(self) -> list[Route]:
        """The routes of this part, to be mounted with others."""
        return [Route("/v1/embeddings", self.embeddings, methods=["POST"])]


def error(status: int, message: str, retry_after: str | None = None) -> Response:
    """An error as the OpenAI interface words it."""
    kind = "requests" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return JSONResponse(body, status, {"retry-after": retry_after} if retry_after is not None else {})


class CutResponse(Response):
    """Promises a long body and closes the connection in its middle."""

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"100000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"object": "list", "data": [', "more_body": True})
        raise ConnectionResetError("cut on purpose")


async def play(fault: Fault) -> Response:
    """Do what a fault says."""
    if fault.kind == "stall":
        await asyncio.sleep(3600)
    if fault.kind == "cut":
        return CutResponse()
    if fault.kind == "html":
        return Response("<html><body>Bad gateway</body></html>", media_type="text/html")
    return error(fault.status, fault.message, fault.retry_after)


def build_app(routes: Iterable[Route]) -> Starlette:
    """The application with these routes; requests for a model list are answered too."""

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "test-model", "object": "model"}]})

    return Starlette(routes=[*routes, Route("/v1/models", models)])


@asynccontextmanager
async def serve_routes(routes: Sequence[Route]) -> AsyncIterator[str]:
    """Serve routes on an ephemeral loopback port of this event loop; yields the base URL that ends in /v1."""
    config = uvicorn.Config(
        build_app(routes), host="127.0.0.1", port=0, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    task = asyncio.create_task(server.serve())
    try:
        while not server.started:
            if task.done():
                task.result()
            await asyncio.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        server.force_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def model_server(**values: Any) -> AsyncIterator[ModelServer]:
    """Run a server with the embeddings part alone."""
    state = ModelServer(**values)
    async with serve_routes(state.routes()) as url:
        state.base_url = url
        yield state


class HostileServer:
    """An endpoint that says the key it was given, in the words chosen by `say`, wherever a server can say anything."""

    def __init__(self) -> None:
        self.base_url = ""
        self.status = 400
        self.say: Callable[[str], str] = lambda key: key
        self.redirect = False
        self.stream = False
        self.embeds: ModelServer | None = None
        """What embeds in its stead, while that is to work."""
        self.seen: list[str] = []
        """Paths that were asked for, also after a redirect."""

    def routes(self) -> list[Route]:
        """Everything that is asked for is answered here."""
        return [Route("/{path:path}", self.answer, methods=["GET", "POST"])]

    async def answer(self, request: Request) -> Response:
        """Echo the key: in the body, in headers, in the address of a redirect, in a stream and as a model's name."""
        self.seen.append(request.url.path)
        if self.embeds is not None and request.url.path.endswith("/embeddings"):
            return await self.embeds.embeddings(request)
        key = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        words = self.say(key)
        header = words.encode("ascii", "replace").decode().replace("\n", " ")
        if self.redirect and "away" not in request.url.path:
            return Response(status_code=307, headers={"location": f"{self.base_url}/away/{header}?key={key}"})
        if self.stream:
            return Response(_stream_of(words), media_type="text/event-stream", headers={"x-echo": header})
        body = {"error": {"message": f"Refused: {words}", "type": key, "code": words, "param": key}}
        return JSONResponse(body, self.status, {"x-echo": header, "www-authenticate": header})


def _stream_of(words: str) -> bytes:
    def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": words, "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\n".encode()

    half = len(words) // 2
    parts = [{"content": "Your key is "}, {"content": words[:half]}, {"content": f"{words[half:]} indeed."}]
    return b"".join([*map(event, parts), event({}, "stop"), b"data: [DONE]\n\n"])


@asynccontextmanager
async def hostile_server() -> AsyncIterator[HostileServer]:
    """Run a server that gives keys away."""
    state = HostileServer()
    async with serve_routes(state.routes()) as url:
        state.base_url = url.removesuffix("/v1")
        yield state
