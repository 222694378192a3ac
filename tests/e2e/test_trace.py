"""One trace from the question to the store and the model, whatever process each part runs in."""

from collections.abc import Sequence
from typing import Any

import pytest
from footnote.edge.v1 import system_pb2 as pb
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow


def descends(spans: Sequence[Any], child: Any, service: str) -> bool:
    """Return whether a span has an ancestor of a service."""
    by_id = {span.span_id: span for span in spans}
    while child.parent_span_id in by_id:
        child = by_id[child.parent_span_id]
        if child.service == service:
            return True
    return False


def calls(spans: Sequence[Any], caller: str, callee: str) -> bool:
    """Return whether a span of `callee` is directly below one of `caller`."""
    by_id = {span.span_id: span for span in spans}
    return any(
        span.service == callee and span.parent_span_id in by_id and by_id[span.parent_span_id].service == caller
        for span in spans
    )


async def test_an_asks_trace_has_the_edges_from_edge_to_store_and_model(edge: EdgeClient, handbook: str) -> None:
    done = await edge.answer("How much is the daily travel allowance abroad?", collections=[handbook])
    trace = await edge.stub.GetTrace(pb.GetTraceRequest(trace_id=done.trace_id))
    assert not trace.missing
    spans = trace.spans
    for stage in ("retrieval", "augmentation", "generation"):
        assert calls(spans, "footnote-edge", f"footnote-{stage}"), stage
    searches = [span for span in spans if "db.system.name" in span.attributes and "search" in span.name]
    assert searches
    assert all(descends(spans, span, "footnote-retrieval") for span in searches)
    assert all(descends(spans, span, "footnote-edge") for span in searches)
    models = [span for span in spans if "gen_ai.operation.name" in span.attributes and span.name.startswith("chat")]
    assert models
    assert all(descends(spans, span, "footnote-generation") for span in models)
    roots = [span for span in spans if span.parent_span_id not in {one.span_id for one in spans}]
    assert len(roots) == 1


async def test_content_stays_out_of_spans(edge: EdgeClient, handbook: str) -> None:
    done = await edge.answer("How much is the daily travel allowance abroad?", collections=[handbook])
    trace = await edge.stub.GetTrace(pb.GetTraceRequest(trace_id=done.trace_id))
    assert "allowance" not in str(trace)


async def test_a_traces_spans_are_its_tenants_alone(edge: EdgeClient, handbook: str) -> None:
    done = await edge.answer("How much is the daily travel allowance abroad?", collections=[handbook])
    other = (("x-footnote-tenant", "other"),)
    with pytest.raises(Exception, match="is not stored"):
        await edge.stub.GetTrace(pb.GetTraceRequest(trace_id=done.trace_id), metadata=other)
