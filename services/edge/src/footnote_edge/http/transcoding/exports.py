"""Feedback as JSON lines, for review and for training sets."""

import json
from collections.abc import AsyncGenerator

from footnote.edge.v1 import answers_pb2 as pb
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from footnote_edge.http.door.caller import Caller
from footnote_edge.http.transcoding.binding import to_json

PAGE = 1000


def routes(caller: Caller) -> list[Route]:
    """Return the routes of exports."""

    async def feedback(request: Request) -> Response:
        first = await _page(caller, request, "")
        return StreamingResponse(_lines(caller, request, first), media_type="application/jsonl")

    return [Route("/v1/feedback.jsonl", feedback, methods=["GET"], name="feedback.export")]


async def _page(caller: Caller, request: Request, token: str) -> pb.ListFeedbackResponse:
    asked = pb.ListFeedbackRequest(page_size=PAGE, page_token=token)
    page: pb.ListFeedbackResponse = await caller.unary("ListFeedback", asked, request)
    return page


async def _lines(caller: Caller, request: Request, page: pb.ListFeedbackResponse) -> AsyncGenerator[str]:
    while True:
        for one in page.feedback:
            yield json.dumps(to_json(one), ensure_ascii=False) + "\n"
        if not page.next_page_token:
            return
        page = await _page(caller, request, page.next_page_token)
