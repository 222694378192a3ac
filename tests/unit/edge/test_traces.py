"""What a trace says is missing from it."""

from contextlib import asynccontextmanager
from typing import Any

import pytest
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceResponse, TraceSpan
from footnote.types.v1.scope_pb2 import Scope
from footnote_edge.adapters.stages import STAGE_NAMES
from footnote_edge.system.traces import Traces
from footnote_kit.errors import NotFound, Unavailable

TRACE = "ab" * 16
RETRIEVAL = TraceSpan(span_id="02", parent_span_id="01", service="footnote-retrieval", name="Retrieve")
EDGE = TraceSpan(span_id="01", parent_span_id="00", service="footnote-edge", name="Search")


class Kept:
    """A process that has kept these spans, or does not answer."""

    def __init__(self, *spans: TraceSpan, away: bool = False) -> None:
        self._spans, self._away = spans, away

    async def GetTrace(self, request: Any, context: Any = None, timeout: float = 0) -> GetTraceResponse:
        if self._away:
            raise Unavailable("away")
        if not self._spans:
            raise NotFound("none", reason="TRACE_NOT_FOUND")
        return GetTraceResponse(spans=self._spans)


async def missing(own: Kept, retrieval: Kept, replicas: int) -> list[str]:
    @asynccontextmanager
    async def of(stage: str) -> Any:
        yield [retrieval if stage == "retrieval" else Kept()]

    traces = Traces(of, own, lambda: replicas == 1)  # type: ignore[arg-type]
    return (await traces.get(Scope(tenant_id="acme"), TRACE))[1]


@pytest.mark.parametrize(
    ("own", "retrieval", "replicas", "told"),
    [
        (Kept(EDGE), Kept(RETRIEVAL), 2, []),
        (Kept(), Kept(RETRIEVAL), 2, ["edge"]),  # another replica called it
        (Kept(), Kept(RETRIEVAL), 1, []),  # what called it has not ended
        (Kept(EDGE), Kept(away=True), 2, ["retrieval"]),
    ],
)
async def test_who_is_missing_is_said(own: Kept, retrieval: Kept, replicas: int, told: list[str]) -> None:
    assert "retrieval" in STAGE_NAMES
    assert await missing(own, retrieval, replicas) == told
