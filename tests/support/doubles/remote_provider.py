"""A remote provider of embeddings, answers and scores, which records every text that it receives."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from support.doubles.model_server import serve_routes, vector_of


@dataclass
class RemoteProvider:
    """Embeds, answers and re-scores; `base_url` is not a loopback address, although it reaches this machine."""

    base_url: str = ""
    bodies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def received(self, *words: str, since: int = 0) -> list[str]:
        """Return the paths that received one of these words, starting with request number `since`."""
        found = []
        for path, body in self.bodies[since:]:
            text = "\n".join(_strings(body))
            # Whole words only: the digits of a delimiter's random number may contain any four digits.
            found += [path] if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words) else []
        return found

    def routes(self) -> list[Route]:
        """Everything under /v1."""
        return [Route("/v1/{path:path}", self.answer, methods=["GET", "POST"])]

    async def answer(self, request: Request) -> Response:
        """Answer as the path asks."""
        path = request.path_params["path"]
        if request.method == "GET":
            return JSONResponse({"object": "list", "data": [{"id": "m", "object": "model"}]})
        body = await request.json()
        self.bodies.append((path, body))
        if path == "embeddings":
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            rows = [{"object": "embedding", "index": i, "embedding": vector_of(t, 64)} for i, t in enumerate(texts)]
            return JSONResponse({"object": "list", "model": body["model"], "data": rows, "usage": {"prompt_tokens": 1}})
        if path == "rerank":
            rows = [{"index": i, "relevance_score": 0.5} for i in range(len(body["documents"]))]
            return JSONResponse({"results": rows})
        return Response(_stream("An answer from elsewhere [1]."), media_type="text/event-stream")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _stream(text: str) -> bytes:
    def event(delta: dict[str, str], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\n".encode()

    return event({"content": text}, None) + event({}, "stop") + b"data: [DONE]\n\n"


@asynccontextmanager
async def remote_provider() -> AsyncIterator[RemoteProvider]:
    """Run the provider."""
    state = RemoteProvider()
    async with serve_routes(state.routes()) as url:
        state.base_url = url.replace("127.0.0.1", "0.0.0.0")
        yield state
