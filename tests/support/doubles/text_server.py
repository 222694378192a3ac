"""Text-embeddings-inference and its like on loopback, as strict as the real ones: /v1/embeddings and /rerank.

Vectors are of shared words and scores of words in common, so that what is near comes near.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from footnote_providers.builtin import embed
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from support.doubles.model_server import ModelServer, error, serve_routes

MOST = 32
"""Texts of one request, as text-embeddings-inference has it by default."""


class TextServer(ModelServer):
    """Embeds by words; refuses what the real one refuses."""

    async def embeddings(self, request: Request) -> Response:
        texts = (await request.json())["input"]
        if len(texts) > MOST:
            return error(422, f"batch size {len(texts)} > maximum allowed batch size {MOST}")
        return await super().embeddings(request)

    @staticmethod
    def _row(index: int, text: str, dimensions: int, body: dict[str, Any]) -> dict[str, Any]:
        return {"object": "embedding", "index": index, "embedding": embed([text], dimensions)[0].tolist()}

    async def rerank(self, request: Request) -> Response:
        """POST /rerank in both forms: "texts" is text-embeddings-inference's, "documents" Cohere's."""
        body = await request.json()
        ours = "texts" in body
        texts = body["texts"] if ours else body["documents"]
        if not texts:
            return error(422 if ours else 400, "`texts` cannot be empty")
        if ours and len(texts) > MOST:
            return error(422, f"batch size {len(texts)} > maximum allowed batch size {MOST}")
        wanted = set(re.findall(r"\w+", body["query"].lower()))
        rows = [
            {"index": index, ("score" if ours else "relevance_score"): _common(wanted, text)}
            for index, text in enumerate(texts)
        ]
        rows.sort(key=lambda row: -row["score" if ours else "relevance_score"])
        return JSONResponse(rows if ours else {"results": rows})

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("/v1/rerank", self.rerank, methods=["POST"])]


def _common(wanted: set[str], text: str) -> float:
    words = set(re.findall(r"\w+", text[:10_000].lower()))
    return len(words & wanted) / max(1, len(wanted))


@asynccontextmanager
async def text_server() -> AsyncIterator[TextServer]:
    """Run one; its `base_url` ends in /v1."""
    state = TextServer()
    async with serve_routes(state.routes()) as url:
        state.base_url = url
        yield state
