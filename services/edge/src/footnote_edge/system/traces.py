"""Assembles a recent trace from the spans of every process."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, GetTraceResponse, TraceSpan
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.telemetry import TelemetryServicer

from footnote_edge.ports import STAGE_NAMES
from footnote_edge.system.trace_questions import TraceQuestions

TIMEOUT = 3.0
_EDGE = "footnote-edge"

Replicas = Callable[[str], AbstractAsyncContextManager[Sequence[Any]]]
"""The telemetry service of each replica of a stage."""
SpanBatches = list[Sequence[TraceSpan] | None]
"""Spans by replica, None for one that was not reached."""


class Traces:
    """Asks every replica of every stage and of edge, itself included, for the spans of a trace."""

    def __init__(
        self, replicas: Replicas, own: TelemetryServicer, questions: TraceQuestions, alone: Callable[[], bool]
    ) -> None:
        """`alone` returns whether this is the only replica of edge."""
        self._replicas = replicas
        self._own = own
        self._questions = questions
        self._alone = alone

    async def get(self, scope: Scope, trace_id: str) -> tuple[list[TraceSpan], list[str]]:
        """Return the spans by start time and the stages not reached; raises NotFound if there are no spans.

        Edge counts as not reached if it has, or had, other replicas and a stage was called from an unknown span: a
        killed replica's spans are lost.
        """
        request = GetTraceRequest(scope=scope, trace_id=trace_id)
        found: dict[str, TraceSpan] = {}
        missing: list[str] = []
        own, edges, others = await asyncio.gather(
            _spans(self._own.GetTrace(request, None)),
            self._questions.ask(request),
            asyncio.gather(*(self._of(name, request) for name in STAGE_NAMES)),
        )
        kept: list[SpanBatches] = [[own, *edges], *others]
        for name, of_replicas in zip(("edge", *STAGE_NAMES), kept, strict=True):
            if None in of_replicas:
                missing.append(name)
            # Stages in one process share their spans: each is shown once.
            found.update({span.span_id: span for some in of_replicas for span in some or ()})
        if not found:
            raise NotFound(f"Trace '{trace_id}' is not stored", reason="TRACE_NOT_FOUND")
        if "edge" not in missing and not self._alone() and _called_from_elsewhere(found):
            missing.append("edge")
        spans = sorted(found.values(), key=lambda span: (span.start_time.ToNanoseconds(), span.span_id))
        return spans, missing

    async def _of(self, stage: str, request: GetTraceRequest) -> SpanBatches:
        """Return the spans of each replica of a stage, None for one that was not reached."""
        try:
            async with self._replicas(stage) as stubs:
                return await asyncio.gather(*(_spans(stub.GetTrace(request, timeout=TIMEOUT)) for stub in stubs))
        except OSError:  # the name does not resolve
            return [None]


def _called_from_elsewhere(found: Mapping[str, TraceSpan]) -> bool:
    """Return whether a stage was called from an unknown span; edge's own parents are the user's."""
    # For a trace in progress the caller's span is missing too: with one replica that means nothing.
    return any(
        span.parent_span_id and span.parent_span_id not in found and span.service != _EDGE for span in found.values()
    )


async def _spans(call: Awaitable[GetTraceResponse]) -> Sequence[TraceSpan] | None:
    """Return the stored spans; None if the call failed."""
    try:
        return (await call).spans
    except NotFound:
        return ()
    except FootnoteError:
        return None
