"""A receiver of OpenTelemetry's own protocol, as a collector would be: what every process sends is kept here."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_pb
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import (
    MetricsServiceServicer,
    add_MetricsServiceServicer_to_server,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)


@dataclass(frozen=True, slots=True)
class Received:
    """One span and the service whose process sent it."""

    service: str
    span: Any

    @property
    def trace_id(self) -> str:
        return str(self.span.trace_id.hex())

    def attribute(self, name: str) -> str:
        return next((one.value.string_value for one in self.span.attributes if one.key == name), "")


class Receiver:
    """Takes spans and metrics."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.metrics: dict[tuple[str, str], Any] = {}
        """The newest state of a metric by (service, name)."""
        self.exemplars: dict[str, set[str]] = {}
        """Trace ids of exemplars by service; a later reading has others."""
        self.came = Condition()

    def wait(self, there: Callable[["Receiver"], bool], timeout: float = 60.0) -> None:
        """Wait until `there` is true of what came; fail when it does not become so."""
        with self.came:
            assert self.came.wait_for(lambda: there(self), timeout), "the spans or metrics did not come"


class _Traces(TraceServiceServicer):  # type: ignore[misc]
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def Export(self, request: Any, context: Any) -> Any:
        with self._receiver.came:
            for part in request.resource_spans:
                service = _service(part.resource)
                self._receiver.spans += [Received(service, span) for one in part.scope_spans for span in one.spans]
            self._receiver.came.notify_all()
        return trace_pb.ExportTraceServiceResponse()


class _Metrics(MetricsServiceServicer):  # type: ignore[misc]
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def Export(self, request: Any, context: Any) -> Any:
        with self._receiver.came:
            for part in request.resource_metrics:
                service = _service(part.resource)
                for metric in (metric for one in part.scope_metrics for metric in one.metrics):
                    self._receiver.metrics[service, metric.name] = metric
                    for point in metric.histogram.data_points:
                        traces = {one.trace_id.hex() for one in point.exemplars}
                        self._receiver.exemplars.setdefault(service, set()).update(traces)
            self._receiver.came.notify_all()
        return metrics_pb.ExportMetricsServiceResponse()


@contextmanager
def receiver() -> Iterator[tuple[Receiver, str]]:
    """Listen, and yield what comes with the address to send it to."""
    found = Receiver()
    server = grpc.server(ThreadPoolExecutor(4))
    add_TraceServiceServicer_to_server(_Traces(found), server)
    add_MetricsServiceServicer_to_server(_Metrics(found), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield found, f"http://127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


def _service(resource: Any) -> str:
    return next(str(one.value.string_value) for one in resource.attributes if one.key == "service.name")
