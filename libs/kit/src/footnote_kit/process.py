"""Set-up of a process, done once: logs, trace export and metrics, flushed once at its end."""

import asyncio
import ctypes
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from footnote_kit import logs, redact, telemetry
from footnote_kit.native_logs import NativeLogs
from footnote_kit.settings import KitSettings

# From half a millisecond, a network hop, to five minutes, a big document.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
# How long a thread keeps the interpreter while another wants it. With Python's default of 5 ms, the event loop waits
# at least that long at each turn while threads analyse text. Beside two busy threads its wake-up took 14-20 ms at
# p95, with this value 1-3 ms; per second of processor time the threads did 1-15 % less work.
_SWITCH_SECONDS = 0.001
# glibc gives threads separate heaps, up to eight a core, and memory freed in one cannot serve another. Edge with its
# forty threads held 18 MiB of such gaps after half an hour and grew by the minute; with two heaps it held 5 MiB.
_HEAPS = 2
_M_ARENA_MAX = -8
# Python's default of 700 begins a collection several times in a search, which took 2.4 % of retrieval's time.
_COLLECT_AFTER = 5000


def _wanted(signal: str) -> str:
    """Return the OTLP protocol for exporting a signal; empty when the standard variables request no export."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return ""
    if os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp") != "otlp":
        return ""
    if not any(os.environ.get(f"OTEL_EXPORTER_OTLP_{name}ENDPOINT") for name in ("", f"{signal}_")):
        return ""
    general = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    return os.environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", general)


def _span_exporter(protocol: str) -> SpanExporter:
    # Imported on demand, so that processes without export do not pay for loading them.
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter()


def _metric_exporter(protocol: str) -> MetricExporter:
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcExporter

        return GrpcExporter()
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpExporter

    return HttpExporter()


class ProcessTelemetry:
    """The exporters of one process; `close` sends what is left."""

    def __init__(self, settings: KitSettings, services: Sequence[str] = ()) -> None:
        self._closers: list[Callable[[], object]] = []
        self.metrics_address = ""
        telemetry.ring.keep = settings.keep_traces
        telemetry.capture_content(settings.capture_content)
        telemetry.trace_providers(settings.trace_providers)
        if protocol := _wanted("TRACES"):
            processor = BatchSpanProcessor(_span_exporter(protocol))
            telemetry.processors().add_span_processor(processor)
            self._closers.append(processor.shutdown)
        readers = self._metric_readers(settings)
        if readers:
            provider = MeterProvider(
                metric_readers=readers,
                # Several services in one process share their instruments; attributes then carry the service's name.
                resource=telemetry.resource(services[0] if len(services) == 1 else ""),
                views=[View(instrument_unit="s", aggregation=ExplicitBucketHistogramAggregation(_SECONDS))],
                shutdown_on_exit=False,
            )
            metrics.set_meter_provider(provider)
            self._closers.append(provider.shutdown)

    def _metric_readers(self, settings: KitSettings) -> list[MetricReader]:
        readers: list[MetricReader] = []
        if protocol := _wanted("METRICS"):
            readers.append(PeriodicExportingMetricReader(_metric_exporter(protocol)))
        if settings.metrics_port is not None:
            from prometheus_client import REGISTRY, start_http_server

            from footnote_kit.telemetry_prometheus import Exposition

            exposition = Exposition(REGISTRY)
            readers.append(exposition.reader)
            self._closers.append(exposition.close)
            try:
                server, thread = start_http_server(settings.metrics_port, addr=settings.listen_host)
            except OSError as error:
                exposition.close()
                raise OSError(error.errno, f"cannot serve metrics on port {settings.metrics_port}: {error}") from error
            self.metrics_address = f"{settings.listen_host}:{server.server_port}"
            self._closers += [server.shutdown, server.server_close, thread.join]
        return readers

    def close_last(self, closer: Callable[[], object]) -> None:
        """Call this, too, once the rest is closed."""
        self._closers.append(closer)

    async def close(self) -> None:
        """Send the remaining data and stop exporting; takes a few seconds at most."""
        for closer in self._closers:
            await asyncio.to_thread(closer)
        self._closers.clear()


def _share_heaps() -> None:
    """Limit glibc's heaps so that threads share them, unless the environment sets a limit; no effect elsewhere."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def collect_garbage_seldom() -> None:
    """Enable garbage collection of what a started process makes from now on.

    Objects from the start are kept: otherwise each full collection would stop every request for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
    gc.enable()


def configure(settings: KitSettings, services: Sequence[str] = ()) -> ProcessTelemetry:
    """Set up logs and exports of a process that runs `services`, once; OSError when the metrics port is taken."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    _share_heaps()
    redact.learn()
    native = None if logs.for_people(settings) else NativeLogs("+".join(services))
    logs.configure(settings)
    exported = ProcessTelemetry(settings, services)
    if native is not None:
        exported.close_last(native.close)
    return exported
