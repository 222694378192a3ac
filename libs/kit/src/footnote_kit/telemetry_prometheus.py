"""Prometheus metrics with exemplars, which link a slow bucket to a trace; OpenTelemetry's exporter omits them."""

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
"""Metric name, labels and upper bound."""

_OWN_LABELS = ("le", "otel_scope_")  # labels that the exporter adds to a point's attributes


class _Reader(PrometheusMetricReader):
    """The exporter's reader, which also keeps the exemplars of the last collection by bucket."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry=registry)
        self.exemplars: dict[Bucket, Exemplar] = {}

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> None:
        self.exemplars = dict(_exemplars(metrics_data))
        super()._receive_metrics(metrics_data, timeout_millis, **kwargs)


class Exposition(Collector):
    """A Prometheus collector: the exporter's metric families, with exemplars on the buckets that have them.

    Only the OpenMetrics format shows exemplars; the older text format has no syntax for them.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._exporters = CollectorRegistry()
        self._reader = _Reader(self._exporters)
        self._registry = registry
        registry.register(self)

    @property
    def reader(self) -> MetricReader:
        """The metric reader to pass to a MeterProvider."""
        return self._reader

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because metrics become known only when they are recorded."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families with their exemplars."""
        for family in self._exporters.collect():
            family.samples = [self._with_exemplar(family.name, sample) for sample in family.samples]
            yield family

    def close(self) -> None:
        """Unregister the collector."""
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
    """Yield each histogram exemplar with its bucket, named as the exporter names it."""
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
