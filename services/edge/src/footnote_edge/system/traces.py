"""A recent trace, put together from the spans that every process kept."""

import asyncio

from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, TraceSpan
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.telemetry_service import TelemetryServicer

from footnote_edge.adapters.stages import Stages

TIMEOUT = 3.0


class Traces:
    """Asks every stage, and itself, for the spans of a trace."""

    def __init__(self, stages: Stages, own: TelemetryServicer) -> None:
        self._stages = stages
        self._own = own

    async def get(self, scope: Scope, trace_id: str) -> tuple[list[TraceSpan], list[str]]:
        """Return the spans by start time and the stages not reached; raises NotFound when there are no spans."""
        request = GetTraceRequest(scope=scope, trace_id=trace_id)
        found: dict[str, TraceSpan] = {}
        missing: list[str] = []
        names = list(self._stages.telemetry)
        answers = await asyncio.gather(
            self._own.GetTrace(request, None),
            *(self._stages.telemetry[name].GetTrace(request, timeout=TIMEOUT) for name in names),
            return_exceptions=True,
        )
        for name, answer in zip(["edge", *names], answers, strict=True):
            if isinstance(answer, NotFound):
                continue
            if isinstance(answer, FootnoteError):
                missing.append(name)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                # In one process all stages share their spans: each is shown once.
                found.update({span.span_id: span for span in answer.spans})
        if not found:
            raise NotFound(f"Trace '{trace_id}' is not among those kept", reason="TRACE_NOT_FOUND")
        spans = sorted(found.values(), key=lambda span: (span.start_time.ToNanoseconds(), span.span_id))
        return spans, missing
