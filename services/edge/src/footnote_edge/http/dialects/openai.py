"""An OpenAI-compatible API over Ask: `/v1/chat/completions` and `/v1/models`; footnotes become annotations."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from footnote.edge.v1.answers_pb2 import AskCompleted, AskResponse
from footnote.edge.v1.collections_pb2 import ListCollectionsRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote_kit.errors import FootnoteError, Internal, NotFound
from footnote_kit.printable import enum_word
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from footnote_edge.http.dialects.chat_request import EVERYTHING, ChatRequest, parse
from footnote_edge.http.serving.disconnects import while_connected
from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.http.serving.problems import headers_of, openai_error, status_of
from footnote_edge.http.transcoding import streams
from footnote_edge.http.transcoding.binding import to_json
from footnote_edge.http.transcoding.transcoder import read_json

PAGE = 1000

_FINISH = {
    ans.FINISH_REASON_MAX_TOKENS: "length",
    ans.FINISH_REASON_REFUSED: "content_filter",
}


class OpenAiApi:
    """Handlers in OpenAI's dialect, errors included."""

    def __init__(self, calls: GrpcCalls, public_origin: str = "") -> None:
        """Take what calls the RPCs, and the address that footnotes link to; "" is that of each request."""
        self._calls = calls
        self._public_origin = public_origin

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/chat/completions", self.completions, methods=["POST"], name="openai.completions"),
            Route("/v1/models", self.models, methods=["GET"], name="openai.models"),
            Route("/v1/models/{model:path}", self.model, methods=["GET"], name="openai.model"),
        ]

    async def completions(self, request: Request) -> Response:
        """Answer a chat, whole or as a stream."""
        try:
            chat = await read_json(request, parse)
            events = self._calls.stream("Ask", chat.ask, request)
            if chat.stream:
                return streams.response(await streams.started(_chunks(chat, events, self._base(request)), _error_event))
            completed = await while_connected(request, _completed(events))
        except FootnoteError as error:
            return failure(error)
        return JSONResponse(completion(chat.model, completed, self._base(request)))

    def _base(self, request: Request) -> str:
        return self._public_origin or str(request.base_url).rstrip("/")

    async def models(self, request: Request) -> Response:
        """List the collections as models, and one model for all of them."""
        try:
            found = await self._collections(request)
        except FootnoteError as error:
            return failure(error)
        return JSONResponse({"object": "list", "data": [_model(name, made) for name, made in found.items()]})

    async def model(self, request: Request) -> Response:
        """Return one model."""
        name = request.path_params["model"]
        try:
            found = await self._collections(request)
            if name not in found:
                raise NotFound(f"The model '{name}' does not exist", reason="COLLECTION_NOT_FOUND")
        except FootnoteError as error:
            return failure(error)
        return JSONResponse(_model(name, found[name]))

    async def _collections(self, request: Request) -> dict[str, int]:
        found, token = {EVERYTHING: 0}, ""
        while True:
            asked = ListCollectionsRequest(page_size=PAGE, page_token=token)
            page = await self._calls.unary("ListCollections", asked, request)
            found |= {one.name: one.create_time.seconds for one in page.collections}
            token = page.next_page_token
            if not token:
                return found


def completion(model: str, completed: AskCompleted, base: str) -> dict[str, Any]:
    """Return a complete answer as a chat completion."""
    answer = completed.answer
    message = {
        "role": "assistant",
        "content": answer.text,
        "refusal": None,
        "annotations": annotations(completed, base),
    }
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(answer), "logprobs": None}
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": usage(answer),
        "footnote": extras(completed),
    }


def annotations(completed: AskCompleted, base: str) -> list[dict[str, Any]]:
    """Return the footnotes as URL citations of the claims, with extra keys for details that a URL cannot hold."""
    collections = {source.number: source.collection_id for source in completed.sources}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": citation.claim_span.start,
                "end_index": citation.claim_span.end,
                "title": citation.label or citation.title or citation.filename,
                "url": f"{base}/v1/{_path(citation, collections.get(citation.number, ''))}",
                "number": citation.number,
                "quote": citation.quote,
                "chunk_id": citation.chunk_id,
                "support": enum_word(ans.Verdict.DESCRIPTOR, citation.support).lower(),
                "basis": enum_word(ans.Basis.DESCRIPTOR, citation.basis).lower() if citation.basis else "",
                "reader": citation.reader,
            },
        }
        for citation in completed.answer.citations
    ]


def _path(citation: ans.Citation, collection_id: str) -> str:
    """Return the path of the cited revision's file; of a row with an own vector, which has none, the row's."""
    if not citation.revision:
        return f"collections/{collection_id}/vectors/{quote(citation.document_id, safe='')}"
    page = citation.locator.page.page
    fragment = f"#page={page}" if page else ""
    return f"documents/{citation.document_id}:download?revision={citation.revision}{fragment}"


def extras(completed: AskCompleted) -> dict[str, Any]:
    """Return the parts of an answer that OpenAI's format lacks."""
    answer, near = completed.answer, completed.answer.nearest
    offered = {"label": near.label, "quote": near.quote, "document_id": near.document_id}
    return {
        "answer_id": answer.id,
        **({"nearest": offered} if answer.HasField("nearest") else {}),
        "trace_id": completed.trace_id,
        "sources": [
            {"number": one.number, "label": one.label, "document_id": one.document_id, "text": one.text}
            for one in completed.sources
        ],
        "degradations": [to_json(one) for one in completed.degradations],
        "reliability": to_json(answer.reliability),
        "warnings": list(answer.warnings),
    }


def finish_reason(answer: ans.Answer) -> str:
    """Return OpenAI's finish reason of an answer."""
    return _FINISH.get(answer.finish_reason, "stop")


def usage(answer: ans.Answer) -> dict[str, int]:
    """Return the token usage."""
    prompt, answered = answer.usage.prompt_tokens, answer.usage.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": answered, "total_tokens": prompt + answered}


def failure(error: FootnoteError) -> Response:
    """Return a failure in OpenAI's format."""
    return JSONResponse(openai_error(error), status_of(error), headers_of(error))


async def _completed(events: AsyncGenerator[AskResponse]) -> AskCompleted:
    async with aclosing(events):
        async for event in events:
            if event.HasField("completed"):
                return event.completed
    raise Internal("The answer ended without its last event")


async def _chunks(chat: ChatRequest, events: AsyncGenerator[AskResponse], base: str) -> AsyncGenerator[str]:
    head = {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": chat.model,
    }

    def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return streams.encode({**head, "choices": [choice], **more})

    async with aclosing(events):
        begun = False
        async for event in events:
            if not begun:
                begun = True
                yield chunk({"role": "assistant", "content": ""})
            if event.text_delta:
                yield chunk({"content": event.text_delta})
            elif event.HasField("completed"):
                answer = event.completed.answer
                delta = {"annotations": annotations(event.completed, base)} if answer.citations else {}
                yield chunk(delta, finish_reason(answer), footnote=extras(event.completed))
                if chat.include_usage:
                    yield streams.encode({**head, "choices": [], "usage": usage(answer)})
    yield "data: [DONE]\n\n"


def _error_event(error: FootnoteError) -> str:
    return streams.encode(openai_error(error))


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "footnote"}
