"""What a trace says is missing from it."""

from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceResponse, TraceSpan
from footnote_edge.ports import STAGE_NAMES
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


class Edges:
    """The other replicas of edge: each one's response, None for one that does not answer."""

    def __init__(self, *told: Sequence[TraceSpan] | None) -> None:
        self._told = told

    async def ask(self, request: Any) -> list[Sequence[TraceSpan] | None]:
        return list(self._told)


async def missing(own: Kept, retrieval: Kept, replicas: int, edges: Edges) -> list[str]:
    @asynccontextmanager
    async def of(stage: str) -> Any:
        yield [retrieval if stage == "retrieval" else Kept()]

    traces = Traces(of, own, edges, lambda: replicas == 1)  # type: ignore[arg-type]
    return (await traces.get(Scope(tenant_id="acme"), TRACE))[1]


@pytest.mark.parametrize(
    ("own", "retrieval", "replicas", "edges", "told"),
    [
        (Kept(EDGE), Kept(RETRIEVAL), 2, Edges(()), []),
        (Kept(), Kept(RETRIEVAL), 2, Edges([EDGE]), []),  # another replica called it
        (Kept(), Kept(RETRIEVAL), 2, Edges(()), ["edge"]),  # one that is gone called it
        (Kept(), Kept(RETRIEVAL), 2, Edges(None), ["edge"]),
        (Kept(EDGE), Kept(RETRIEVAL), 3, Edges((), None), ["edge"]),
        (Kept(), Kept(RETRIEVAL), 1, Edges(), []),  # what called it has not ended
        (Kept(EDGE), Kept(away=True), 2, Edges(()), ["retrieval"]),
    ],
)
async def test_who_is_missing_is_said(own: Kept, retrieval: Kept, replicas: int, edges: Edges, told: list[str]) -> None:
    assert "retrieval" in STAGE_NAMES
    assert await missing(own, retrieval, replicas, edges) == told
