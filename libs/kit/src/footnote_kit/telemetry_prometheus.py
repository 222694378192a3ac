"""Metrics for Prometheus with exemplars, which OpenTelemetry's exporter leaves out: from a slow bucket to a trace."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import HistogramDataPoint, MetricReader, MetricsData
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar as Shown
from prometheus_client.samples import Sample

Bucket = tuple[str, frozenset[tuple[str, str]], float]
"""Name, labels and upper limit."""

_OWN_LABELS = ("le", "otel_scope_")  # what the exporter adds to a point's attributes


class _Reader(PrometheusMetricReader):
    """The exporter's reader, which also keeps the exemplars of the last reading by bucket."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry=registry)
        self.exemplars: dict[Bucket, Exemplar] = {}

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> None:
        self.exemplars = dict(_exemplars(metrics_data))
        super()._receive_metrics(metrics_data, timeout_millis, **kwargs)


class Exposition(Collector):
    """What a registry serves: the exporter's families, with an exemplar on each bucket that has one.

    Exemplars are shown to those who ask for the OpenMetrics format; the older text format has no place for them.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._exporters = CollectorRegistry()
        self._reader = _Reader(self._exporters)
        self._registry = registry
        registry.register(self)

    @property
    def reader(self) -> MetricReader:
        """What a MeterProvider is given."""
        return self._reader

    def describe(self) -> Iterable[Metric]:
        """Describe nothing: which metrics there are is known when they are recorded."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Read the metrics."""
        for family in self._exporters.collect():
            family.samples = [self._with_exemplar(family.name, sample) for sample in family.samples]
            yield family

    def close(self) -> None:
        """Serve them no more."""
        self._registry.unregister(self)

    def _with_exemplar(self, family: str, sample: Sample) -> Sample:
        if not sample.name.endswith("_bucket"):
            return sample
        labels = frozenset((key, value) for key, value in sample.labels.items() if not key.startswith(_OWN_LABELS))
        found = self._reader.exemplars.get((family, labels, float(sample.labels["le"])))
        if found is None:
            return sample
        ids = {"trace_id": f"{found.trace_id or 0:032x}", "span_id": f"{found.span_id or 0:016x}"}
        return sample._replace(exemplar=Shown(ids, found.value, found.time_unix_nano / 1e9))


def _exemplars(data: MetricsData) -> Iterator[tuple[Bucket, Exemplar]]:
    """Yield the exemplars of every histogram with the bucket that each falls into, named as the exporter does."""
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                name = metric.name.replace(".", "_") + ("_seconds" if metric.unit == "s" else "")
                for point in metric.data.data_points:
                    if not isinstance(point, HistogramDataPoint):
                        continue
                    attributes = point.attributes or {}
                    labels = frozenset((key.replace(".", "_"), str(value)) for key, value in attributes.items())
                    limits = (*point.explicit_bounds, math.inf)
                    for one in point.exemplars:
                        yield (name, labels, limits[bisect_left(point.explicit_bounds, one.value)]), one
