"""Six processes send their spans and metrics to one collector, where an upload and an answer are one trace."""

import asyncio
from collections.abc import Iterator

import pytest
from footnote_kit import context, telemetry
from footnote_kit.settings import STAGES
from support.deployment import Deployment, deployment
from support.doubles.otlp import Receiver, receiver
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow]

SERVICES = {f"footnote-{stage}" for stage in STAGES}
TEXT = b"# Travel\n\nThe daily travel allowance abroad is 48 euros.\n"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, Receiver]]:
    """A deployment of separate processes that sends to a collector."""
    with receiver() as (found, address):
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": address,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
            "FOOTNOTE_EDGE_BACKLOG_SECONDS": "0.2",
        }
        with deployment(tmp_path_factory.mktemp("collected"), separate=True, env=env) as running:
            yield running, found


@pytest.fixture(scope="module")
def traced(collected: tuple[Deployment, Receiver]) -> str:
    """The id of a trace of a caller who uploads a document and then asks about it."""
    running, found = collected

    async def use() -> str:
        with context.detached(""), telemetry.span("a caller"):
            async with edge_client(running.address()) as client:
                accepted = await client.upload(TEXT, "travel.md")
                await client.settle(accepted.document.id)
                done = await client.answer("How much is the daily travel allowance abroad?", collections=["default"])
                assert "48" in done.answer.text
                assert done.trace_id == telemetry.current_trace_id()
                return done.trace_id

    trace_id = asyncio.run(use())
    found.wait(lambda got: {one.service for one in got.spans if one.trace_id == trace_id} == SERVICES)
    found.wait(lambda got: any(one.span.name.endswith("/Ask") and one.trace_id == trace_id for one in got.spans))
    return trace_id


def edges(found: Receiver, trace_id: str) -> set[tuple[str, str]]:
    """Return (caller, called) for every pair of services, the store and the model among them, in a trace."""
    spans = [one for one in found.spans if one.trace_id == trace_id]
    service_of = {one.span.span_id: one.service for one in spans}
    pairs = {(service_of.get(one.span.parent_span_id, ""), one.service) for one in spans}
    stores = {(one.service, one.attribute("db.system.name")) for one in spans if one.attribute("db.system.name")}
    return {(caller, called) for caller, called in pairs | stores if caller and caller != called}


def test_an_upload_and_an_answer_are_one_trace_over_six_processes(
    collected: tuple[Deployment, Receiver], traced: str
) -> None:
    _, found = collected
    assert {one.service for one in found.spans if one.trace_id == traced} == SERVICES
    assert edges(found, traced) >= {
        ("footnote-edge", "footnote-ingestion"),
        ("footnote-edge", "footnote-indexing"),
        ("footnote-edge", "footnote-retrieval"),
        ("footnote-edge", "footnote-augmentation"),
        ("footnote-edge", "footnote-generation"),
        ("footnote-retrieval", "milvus"),
    }


def test_the_job_is_a_trace_of_its_own_that_names_the_upload(
    collected: tuple[Deployment, Receiver], traced: str
) -> None:
    _, found = collected

    def of_the_upload(got: Receiver) -> list[str]:
        jobs = [one for one in got.spans if one.span.name in ("process document", "process documents")]
        return [one.trace_id for one in jobs if [link.trace_id.hex() for link in one.span.links] == [traced]]

    found.wait(lambda got: bool(of_the_upload(got)))
    (job,) = of_the_upload(found)
    expected = {
        ("footnote-edge", "footnote-ingestion"),
        ("footnote-edge", "footnote-indexing"),
        ("footnote-indexing", "milvus"),
    }
    found.wait(lambda got: edges(got, job) >= expected)


def test_every_service_sends_metrics_with_exemplars_of_its_traces(
    collected: tuple[Deployment, Receiver], traced: str
) -> None:
    _, found = collected
    found.wait(lambda got: {service for service, name in got.metrics if name == "rpc.server.call.duration"} == SERVICES)
    found.wait(lambda got: all(traced in got.exemplars.get(service, ()) for service in SERVICES))
    assert {service for service, _ in found.metrics} == SERVICES


async def test_the_backlog_is_a_metric(collected: tuple[Deployment, Receiver], traced: str) -> None:
    running, found = collected

    def figure(got: Receiver, name: str) -> float:
        metric = got.metrics.get(("footnote-edge", f"footnote.edge.jobs.{name}"))
        return -1.0 if metric is None else float(metric.gauge.data_points[0].as_double)

    await asyncio.to_thread(found.wait, lambda got: figure(got, "waiting") == 0 and figure(got, "age") == 0)
    running.kill("indexing")
    try:
        async with edge_client(running.address()) as client:
            accepted = await client.upload(TEXT + b"\nMore.\n", "waits.md")
            await asyncio.to_thread(found.wait, lambda got: figure(got, "waiting") == 1 and figure(got, "age") > 0)
            await asyncio.to_thread(running.start, "indexing")
            await client.settle(accepted.document.id)
        await asyncio.to_thread(found.wait, lambda got: figure(got, "waiting") == 0 and figure(got, "age") == 0)
    finally:
        if "indexing" not in running.processes:
            await asyncio.to_thread(running.start, "indexing")
