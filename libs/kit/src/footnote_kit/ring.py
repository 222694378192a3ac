"""The last traces, kept in memory so that one can be shown without a trace server."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from footnote_kit.context import current_scope
from footnote_kit.names import TENANT_ID

MAX_SPANS = 2000


class TraceRing(SpanProcessor):
    """Keeps the spans of the last `keep` traces, and marks every span with the tenant it was made for.

    A trace holds at most MAX_SPANS spans; more are dropped. Safe to use from several threads.
    """

    def __init__(self, keep: int = 200) -> None:
        self.keep = keep
        self._traces: OrderedDict[int, list[ReadableSpan]] = OrderedDict()
        self._lock = threading.Lock()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Mark the span with the current tenant."""
        scope = current_scope()
        if scope is not None:
            span.set_attribute(TENANT_ID, scope.tenant_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Keep the span."""
        context = span.get_span_context()
        if context is None or not self.keep:
            return
        with self._lock:
            spans = self._traces.get(context.trace_id)
            if spans is None:
                spans = self._traces[context.trace_id] = []
                while len(self._traces) > self.keep:
                    self._traces.popitem(last=False)
            if len(spans) < MAX_SPANS:
                spans.append(span)

    def spans(self, trace_id: int, tenant_id: str) -> Sequence[ReadableSpan]:
        """Return what a tenant may see of a trace, by start time.

        These are its own spans, and those of no tenant (before authentication) in a trace that no other tenant has a
        part in: a caller chooses its trace id, so that knowing one must not be enough.
        """
        with self._lock:
            spans = list(self._traces.get(trace_id, ()))
        tenants = {(span.attributes or {}).get(TENANT_ID) for span in spans} - {None}
        if tenant_id not in tenants:
            return []
        allowed = {tenant_id, None} if tenants == {tenant_id} else {tenant_id}
        found = [span for span in spans if (span.attributes or {}).get(TENANT_ID) in allowed]
        return sorted(found, key=lambda span: span.start_time or 0)
