"""Fetches the spans of a trace from the server and merges them with the command's own."""

import asyncio
from collections.abc import Sequence

from footnote.edge.v1.system_pb2 import GetTraceRequest, GetTraceResponse
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan

from footnote_cli.errors import CommandError
from footnote_cli.render.waterfall import Waterfall
from footnote_cli.session import Session, merge_spans

_ATTEMPTS = 10
_PAUSE = 0.1


async def fetch(session: Session, trace_id: str) -> GetTraceResponse:
    """Return the stages' spans of a trace."""
    response: GetTraceResponse = await session.call(session.stub.GetTrace, GetTraceRequest(trace_id=trace_id))
    return response


async def own_waterfall(session: Session, trace_id: str) -> Waterfall:
    """Return the waterfall of the call this command has just made, its own root span included.

    The server records its outermost span just after the client has seen the end of the call. So the request is repeated
    until that span is there, for at most a second.
    """
    own = session.telemetry.spans()
    roots = {span.span_id for span in own}
    response = GetTraceResponse()
    for attempt in range(_ATTEMPTS):
        try:
            response = await fetch(session, trace_id)
        except CommandError as error:
            if error.reason != "TRACE_NOT_FOUND" or attempt == _ATTEMPTS - 1:
                raise
        if any(span.parent_span_id in roots for span in response.spans):
            break
        await asyncio.sleep(_PAUSE)
    return Waterfall(merge_spans(response.spans, own), trace_id, _still_missing(response))


def _still_missing(response: GetTraceResponse) -> Sequence[str]:
    """Return the stages that did not answer and whose spans did not come from another stage either."""
    have = {_stage(span) for span in response.spans}
    return [stage for stage in response.missing if stage not in have]


def _stage(span: TraceSpan) -> str:
    return span.service.removeprefix("footnote-")
