"""The backlog: unfinished documents, vectors to be made, their rates, the oldest job; for metrics and for health."""

import time
from collections import deque
from collections.abc import Sequence
from datetime import datetime

from footnote.edge.v1.system_pb2 import IndexingWork
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2 import GetVectorWorkRequest
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_ERROR,
    DOCUMENT_STATE_INDEXED,
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UPLOADED,
    DocumentState,
)
from footnote_kit.errors import FootnoteError, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import observe, untraced
from footnote_kit.timings import duration

from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

_log = get_logger(__name__)


_UNFINISHED = (DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING)
_FINISHED = (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)


class Backlog:
    """Polls every few seconds, so that reading it makes no calls. Every replica reports the same values."""

    def __init__(self, stages: Stages, jobs: Jobs, settings: Settings) -> None:
        self._ingestion = stages.ingestion
        self._upkeep = stages.indexing_upkeep
        self._jobs = jobs
        self._timeout = settings.call_timeout_seconds
        self._waiting: int | None = None
        self._without_vector: int | None = None
        self._documents, self._vectors = RecentRate(), RecentRate()
        self._oldest: datetime | None = None
        observe("footnote.edge.jobs.waiting", lambda: float(self._waiting or 0))
        observe("footnote.edge.jobs.age", self.age)

    async def refresh(self) -> None:
        """Count the work and find the oldest job; on failure the last values stay, and an unknown one is no work."""
        for count in (self._count_documents, self._count_vectors):
            try:
                await count()
            except FootnoteError as error:  # a stage is down: its own logs and edge's health report it
                _log.debug("backlog_unknown", reason=error.reason)

    async def _count_documents(self) -> None:
        self._oldest = await self._jobs.oldest()
        before, self._waiting = self._waiting, await self._listed(_UNFINISHED)
        if before or self._waiting:  # counting all others costs more, and idle deployments have nothing to measure
            finished = await self._listed(_FINISHED)
            self._documents.note(time.monotonic(), finished, waiting=self._waiting > 0)

    async def _count_vectors(self) -> None:
        request = GetVectorWorkRequest(scope=SYSTEM)
        try:
            found = await self._upkeep.GetVectorWork(request, timeout=self._timeout, metadata=untraced())
        except NotOffered:
            self._without_vector = None
            return
        self._without_vector = found.chunks_without_vector
        self._vectors.note(
            time.monotonic(), found.vectors_made, waiting=found.chunks_without_vector > 0, counter=found.instance
        )

    async def _listed(self, states: "Sequence[DocumentState.ValueType]") -> int:
        count = 0
        for state in states:  # of one state, the first page is read in the order of an index
            request = ingestion.ListDocumentsRequest(scope=SYSTEM, states=[state], page_size=1, all_tenants=True)
            page = await self._ingestion.ListDocuments(request, timeout=self._timeout, metadata=untraced())
            count += page.total_size
        return count

    def age(self) -> float:
        """Return the age of the oldest unfinished job in seconds; 0 if there is none."""
        return 0.0 if self._oldest is None else max(0.0, time.time() - self._oldest.timestamp())

    def work(self) -> IndexingWork | None:
        """Return what waits, its rates and the remaining times; None before the first count."""
        if self._waiting is None:
            return None
        of_documents, of_vectors = self._documents.per_second(), self._vectors.per_second()
        work = IndexingWork(
            documents_waiting=self._waiting,
            documents_per_second=of_documents,
            chunks_without_vector=self._without_vector,
            vectors_per_second=of_vectors,
        )
        if (left := remaining(self._waiting, of_documents)) is not None:
            work.documents_remaining.CopyFrom(duration(left))
        if (left := remaining(self._without_vector, of_vectors)) is not None:
            work.vectors_remaining.CopyFrom(duration(left))
        return work


WINDOW_SECONDS = 60.0
LEAST_SECONDS = 10.0
"""Shorter observations give no rate: one large document or one pause would decide it."""


class RecentRate:
    """Adds up what counters gained while work waited; several processes may each have a counter, read in turn."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, int]] = {}
        self._gains: deque[tuple[float, int]] = deque()

    def note(self, now: float, count: int, *, waiting: bool, counter: str = "") -> None:
        """Note a counter's value at `now`, in seconds of the monotonic clock; a fall in value is no work.

        The minute begins anew when nothing waits: an idle time must not lower the rate of the work after it.
        """
        while self._gains and self._gains[0][0] < now - WINDOW_SECONDS:
            self._gains.popleft()
        self._last = {name: one for name, one in self._last.items() if one[0] >= now - WINDOW_SECONDS}
        gained = max(0, count - self._last[counter][1]) if counter in self._last else 0
        self._last[counter] = (now, count)
        if not waiting:
            self._gains.clear()
        self._gains.append((now, gained))

    def per_second(self) -> float | None:
        """Return the rate, or None if work has not waited for long enough to know it."""
        if not self._gains:
            return None
        first, last = self._gains[0][0], self._gains[-1][0]
        if last - first < LEAST_SECONDS:
            return None
        # The first gain came before the time that is measured.
        return (sum(gained for _, gained in self._gains) - self._gains[0][1]) / (last - first)


def remaining(waiting: int | None, rate: float | None) -> float | None:
    """Return the seconds until nothing waits, if the rate stays; None if that is unknown."""
    return waiting / rate if waiting and rate else None
