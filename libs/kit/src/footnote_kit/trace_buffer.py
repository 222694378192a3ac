"""Keeps each tenant's recent traces in memory, so that they can be shown without a trace server."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.util.types import AttributeValue

from footnote_kit.context import current_scope
from footnote_kit.names import TENANT_ID, USER_ID
from footnote_kit.spans import clean

MAX_SPANS = 2000
MAX_TRACE_BYTES = 4 * 1024 * 1024
MAX_TENANTS = 1000
MAX_BYTES = 64 * 1024 * 1024
_SPAN_BYTES = 500  # estimated bytes of a span besides its attributes


@dataclass(slots=True)
class _Trace:
    spans: list[ReadableSpan] = field(default_factory=list)
    size: int = 0


@dataclass(slots=True)
class _Tenant:
    traces: OrderedDict[int, _Trace] = field(default_factory=OrderedDict)
    size: int = 0

    def forget_oldest(self) -> int:
        """Remove the oldest trace and return its size in bytes."""
        _, trace = self.traces.popitem(last=False)
        self.size -= trace.size
        return trace.size


class TraceBuffer(SpanProcessor):
    """Keeps the last `keep` traces of each tenant, and marks every span with tenant and user.

    Each tenant has its own ring, so one tenant's load does not evict another's traces. Above `max_bytes` (estimated)
    in total, the largest tenant loses its oldest traces. A trace keeps at most MAX_SPANS spans and MAX_TRACE_BYTES;
    further spans are dropped. Above MAX_TENANTS, the longest idle tenant is removed. Thread-safe.
    """

    def __init__(self, keep: int = 200, max_bytes: int = MAX_BYTES) -> None:
        self.keep = keep
        self._max_bytes = max_bytes
        self._size = 0
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()  # "" holds the spans without a tenant
        self._lock = threading.Lock()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Mark the span with the current tenant and user."""
        scope = current_scope()
        if scope is not None:
            span.set_attributes({TENANT_ID: scope.tenant_id, USER_ID: scope.user_id})

    def on_end(self, span: ReadableSpan) -> None:
        """Store the span."""
        context = span.get_span_context()
        if context is None or not self.keep:
            return
        attributes = _attributes(span)
        texts = len(span.name) + len(span.status.description or "") + sum(map(_length, attributes.values()))
        size = _SPAN_BYTES + texts
        name = str(attributes.get(TENANT_ID) or "")
        with self._lock:
            tenant = self._tenants.get(name)
            if tenant is None:
                tenant = self._tenants[name] = _Tenant()
                while len(self._tenants) > MAX_TENANTS:
                    _, idle = self._tenants.popitem(last=False)
                    self._size -= idle.size
            self._tenants.move_to_end(name)
            trace = tenant.traces.get(context.trace_id)
            if trace is None:
                trace = tenant.traces[context.trace_id] = _Trace()
                while len(tenant.traces) > self.keep:
                    self._size -= tenant.forget_oldest()
            if len(trace.spans) < MAX_SPANS and trace.size + size <= MAX_TRACE_BYTES:
                trace.spans.append(span)
                trace.size += size
                tenant.size += size
                self._size += size
            while self._size > self._max_bytes:
                self._size -= max(self._tenants.values(), key=lambda one: one.size).forget_oldest()

    def spans(self, trace_id: int, tenant_id: str, user_id: str | None = None) -> Sequence[ReadableSpan]:
        """Return the cleaned spans of a trace that a user may see, by start time; `user_id` None means all users.

        These are the user's own spans. Spans without a tenant, from before authentication, are added only when no
        other tenant or user has a part in the trace. A caller chooses its trace id, so knowing an id must not be
        enough.
        """
        with self._lock:
            own = self._spans(tenant_id, trace_id)
            unowned = self._spans("", trace_id) if tenant_id else []
            alone = not any(name not in ("", tenant_id) and self._spans(name, trace_id) for name in self._tenants)
        found = [span for span in own if user_id is None or _mark(span, USER_ID) == user_id]
        if not found:
            return []
        if user_id is not None and {_mark(span, USER_ID) for span in own} <= {user_id, None}:
            found = own
        else:
            alone = alone and user_id is None
        shown = sorted([*found, *unowned] if alone else found, key=lambda span: span.start_time or 0)
        return [clean(span) for span in shown]

    def _spans(self, name: str, trace_id: int) -> list[ReadableSpan]:
        tenant = self._tenants.get(name)
        trace = tenant.traces.get(trace_id) if tenant is not None else None
        return list(trace.spans) if trace is not None else []


def _mark(span: ReadableSpan, name: str) -> str | None:
    value = _attributes(span).get(name)
    return value if isinstance(value, str) else None


def _attributes(span: ReadableSpan) -> Mapping[str, AttributeValue]:
    """Return a span's attributes as a plain mapping: the original takes a lock at every access."""
    found = span.attributes or {}
    return found.copy() if isinstance(found, MappingProxyType) else found


def _length(value: AttributeValue) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_length, value)) if isinstance(value, Sequence) else 8
