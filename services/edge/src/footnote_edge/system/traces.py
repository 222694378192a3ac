"""A recent trace, put together from the spans that every process kept."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, GetTraceResponse, TraceSpan
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.telemetry_service import TelemetryServicer

from footnote_edge.adapters.stages import STAGE_NAMES
from footnote_edge.system.trace_questions import TraceQuestions

TIMEOUT = 3.0
_EDGE = "footnote-edge"

Replicas = Callable[[str], AbstractAsyncContextManager[Sequence[Any]]]
"""The telemetry service of each replica of a stage."""
Kept = list[Sequence[TraceSpan] | None]
"""By replica, None for one that was not reached."""


class Traces:
    """Asks every replica of every stage and of edge, itself among them, for the spans of a trace."""

    def __init__(
        self, replicas: Replicas, own: TelemetryServicer, questions: TraceQuestions, alone: Callable[[], bool]
    ) -> None:
        """`alone` tells whether this is the only replica of edge."""
        self._replicas = replicas
        self._own = own
        self._questions = questions
        self._alone = alone

    async def get(self, scope: Scope, trace_id: str) -> tuple[list[TraceSpan], list[str]]:
        """Return the spans by start time and the stages not reached; raises NotFound when there are no spans.

        Where there are other replicas of edge, or were, and a stage was called from a span that nobody has, edge is
        among those not reached: what a killed replica knew is gone.
        """
        request = GetTraceRequest(scope=scope, trace_id=trace_id)
        found: dict[str, TraceSpan] = {}
        missing: list[str] = []
        own, edges, others = await asyncio.gather(
            _spans(self._own.GetTrace(request, None)),
            self._questions.ask(request),
            asyncio.gather(*(self._of(name, request) for name in STAGE_NAMES)),
        )
        kept: list[Kept] = [[own, *edges], *others]
        for name, of_replicas in zip(("edge", *STAGE_NAMES), kept, strict=True):
            if None in of_replicas:
                missing.append(name)
            # In one process all stages share their spans: each is shown once.
            found.update({span.span_id: span for some in of_replicas for span in some or ()})
        if not found:
            raise NotFound(f"Trace '{trace_id}' is not among those kept", reason="TRACE_NOT_FOUND")
        if "edge" not in missing and not self._alone() and _called_from_elsewhere(found):
            missing.append("edge")
        spans = sorted(found.values(), key=lambda span: (span.start_time.ToNanoseconds(), span.span_id))
        return spans, missing

    async def _of(self, stage: str, request: GetTraceRequest) -> Kept:
        """Return what each replica of a stage has kept, None for one that was not reached."""
        try:
            async with self._replicas(stage) as stubs:
                return await asyncio.gather(*(_spans(stub.GetTrace(request, timeout=TIMEOUT)) for stub in stubs))
        except OSError:  # there is no such name
            return [None]


def _called_from_elsewhere(found: Mapping[str, TraceSpan]) -> bool:
    """Tell whether a stage was called from a span that is not here; what calls edge itself is the user's."""
    # Of what goes on here the caller's span has not ended either: with one replica that says nothing.
    return any(
        span.parent_span_id and span.parent_span_id not in found and span.service != _EDGE for span in found.values()
    )


async def _spans(call: Awaitable[GetTraceResponse]) -> Sequence[TraceSpan] | None:
    """Return what was kept; None where nobody answered."""
    try:
        return (await call).spans
    except NotFound:
        return ()
    except FootnoteError:
        return None
