"""Exports as JSON lines: feedback for review and training sets, the audit log for log collectors."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from footnote_edge.http.serving.caller import Caller
from footnote_edge.http.transcoding.binding import bind, to_json
from footnote_edge.http.transcoding.rules import Rule, rules

PAGE = 1000
_EXPORTS = {
    "/v1/feedback.jsonl": ("feedback.export", "ListFeedback", "feedback"),
    "/v1/audit/events.jsonl": ("audit.export", "ListAuditEvents", "events"),
}
"""By path: the route's name, its RPC, and the list in the response."""


def routes(caller: Caller) -> list[Route]:
    """Return the export routes; the query has the RPC's fields."""
    known = {rule.method.name: rule for rule in rules()}
    return [
        Route(path, _export(caller, known[method], listed), methods=["GET"], name=name)
        for path, (name, method, listed) in _EXPORTS.items()
    ]


def _export(caller: Caller, rule: Rule, listed: str) -> Any:
    async def export(request: Request) -> Response:
        asked: Any = bind(rule, {}, request.query_params.multi_items(), {})
        asked.page_size = asked.page_size or PAGE
        first = await caller.unary(rule.method.name, asked, request)
        return StreamingResponse(_lines(caller, request, rule, asked, listed, first), media_type="application/jsonl")

    return export


async def _lines(
    caller: Caller, request: Request, rule: Rule, asked: Any, listed: str, page: Any
) -> AsyncGenerator[str]:
    while True:
        one: Message
        for one in getattr(page, listed):
            yield json.dumps(to_json(one), ensure_ascii=False) + "\n"
        if not page.next_page_token:
            return
        asked.page_token = page.next_page_token
        page = await caller.unary(rule.method.name, asked, request)
