"""Watches sources that report changes, and begins a run soon after a change.

The schedule still runs: it finds missed changes, and changes of sources that cannot be watched.
"""

import asyncio
import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from footnote.edge.v1.operations_pb2 import OPERATION_STATE_SUCCEEDED
from footnote_database.cancel_safe import outcome
from footnote_database.transactions import utc
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import observe

from footnote_edge.jobs.ports import OperationStore
from footnote_edge.sources.ports import SourceRefused, SourceUnavailable, Watch
from footnote_edge.sources.registry import Openings
from footnote_edge.sources.schedule import Schedule
from footnote_edge.sources.stored import COMPLETE, LISTING, SourceStore, StoredSource

CHECK_SECONDS = 1.0
"""Seconds between two checks of what the watches report."""
_REFRESH = 5.0
"""Seconds between two checks of which sources there are to watch."""
_QUIET = 0.5
"""Seconds without a further change before a run begins: many files are written together."""
_MOST_DELAY = 5.0
"""Seconds after the first change at which a run begins although changes go on."""
_AGAIN = 60.0
"""Seconds until a source that could not be watched is tried again."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _Watched:
    """A source, its watch, and the changes since its last run began. Times are seconds of the monotonic clock."""

    etag: str
    watch: Watch | None = None
    """None: it cannot be watched."""
    opened: float = 0.0
    latest: datetime | None = None
    """Time of the latest change since the last run."""
    first: float = 0.0
    last: float = 0.0
    not_before: float = 0.0
    operation_id: str = ""
    """The run that a change has begun, until its listing has ended: then the source rests as long as that took."""
    begun: float = 0.0

    def changed(self) -> None:
        """Note a change; called by the watch's thread."""
        now = time.monotonic()
        self.last = now
        if self.latest is None:
            self.first = now
        self.latest = datetime.now(UTC)

    def keep(self, change: datetime | None) -> None:
        """Let a change wait further, unless a later one does."""
        self.latest = self.latest or change

    def is_due(self, now: float) -> bool:
        """Return whether a run should begin."""
        if self.latest is None or now < self.not_before:
            return False
        return now - self.last >= _QUIET or now - self.first >= _MOST_DELAY


class SourceWatches:
    """The watches of one replica, at most `most`."""

    def __init__(
        self, store: SourceStore, operations: OperationStore, schedule: Schedule, openings: Openings, most: int
    ) -> None:
        self._store = store
        self._operations = operations
        self._schedule = schedule
        self._openings = openings
        self._most = most
        self._kinds = [kind_id for kind_id, kind in openings.kinds.items() if kind.watch is not None]
        self._watched: dict[str, _Watched] = {}
        self._refreshed = 0.0
        self._overfull = False
        observe("footnote.edge.sources.watched", lambda: sum(one.watch is not None for one in self._watched.values()))

    async def begin_changed(self) -> int:
        """Begin runs of sources that have changed; return how many began."""
        if not self._most:
            return 0
        if time.monotonic() - self._refreshed >= _REFRESH:
            await self._refresh()
            self._refreshed = time.monotonic()
        begun = 0
        for source_id, one in list(self._watched.items()):
            if one.operation_id:
                await self._look_at_listing(source_id, one)
            if one.is_due(time.monotonic()):
                begun += await self._begin(source_id, one)
        return begun

    async def close(self) -> None:
        """End all watches."""
        while self._watched:
            await self._end(next(iter(self._watched)))

    async def _begin(self, source_id: str, one: _Watched) -> bool:
        row = await self._store.read(source_id)
        if row is None or row.paused or row.deleting:
            return False
        latest, one.latest = one.latest, None  # the run may miss later changes
        try:
            if latest is None or await self._is_covered(row, latest):
                return False
            operation = await self._schedule.begin(row)
        except BaseException:
            one.keep(latest)
            raise
        if operation is None:  # the run in progress may have listed the source before the change, or its listing fail
            one.keep(latest)
            one.not_before = time.monotonic() + CHECK_SECONDS
            if (active := await self._store.active(source_id)) is not None:
                await self._schedule.follow(row, active)
            return False
        one.operation_id, one.begun, one.not_before = operation.id, time.monotonic(), math.inf
        _log.info("source_change_noticed", source_id=source_id)
        return True

    async def _is_covered(self, row: StoredSource, latest: datetime) -> bool:
        """Return whether a run that began after the latest change has listed the source whole, and has not failed."""
        now = datetime.now(UTC)  # a time ahead of it comes from a clock that was wrong
        if row.in_step_time is not None and latest <= utc(row.in_step_time) <= now:
            return True
        last = await self._operations.read(row.run_id) if row.run_id and row.run_listed == COMPLETE else None
        if last is None or last.failed_only or not latest <= utc(last.create_time) <= now:
            return False
        return last.end_time is None or last.state == OPERATION_STATE_SUCCEEDED

    async def _look_at_listing(self, source_id: str, one: _Watched) -> None:
        """Let a source rest as long as its last listing took: one that always changes is read half of the time."""
        row, run = await self._store.read(source_id), await self._operations.read(one.operation_id)
        if (
            row is None
            or run is None
            or run.end_time is not None
            or (row.run_id == run.id and row.run_listed != LISTING)
        ):
            now = time.monotonic()
            one.operation_id, one.not_before = "", now + (now - one.begun)

    async def _refresh(self) -> None:
        """Open and close watches to match the existing sources."""
        rows = await self._store.watchable(self._kinds, self._most + 1)
        if len(rows) > self._most and not self._overfull:
            _log.warning("sources_not_watched", most=self._most)
        self._overfull = len(rows) > self._most
        wanted = {row.id: row for row in rows[: self._most]}
        for source_id, one in list(self._watched.items()):
            row = wanted.get(source_id)
            if row is None or row.etag != one.etag or not await self._works(one):
                await self._end(source_id)
        for source_id in wanted.keys() - self._watched.keys():
            await self._open(wanted[source_id])

    async def _works(self, one: _Watched) -> bool:
        if one.watch is None:
            return time.monotonic() - one.opened < _AGAIN
        try:
            return await asyncio.to_thread(one.watch.works)
        except Exception as error:  # an error of one source must not stop the other watches
            _log.warning("source_watch_failed", error=type(error).__name__)
            return False

    async def _open(self, row: StoredSource) -> None:
        one = self._watched[row.id] = _Watched(row.etag, opened=time.monotonic())
        try:
            kind, opening = self._openings.of(row)
            if kind.watch is not None:
                opened = asyncio.ensure_future(asyncio.to_thread(kind.watch, opening, one.changed))
                try:
                    one.watch = await outcome(opened)
                except asyncio.CancelledError:
                    if not opened.cancelled() and opened.exception() is None:
                        one.watch = opened.result()  # the thread has opened it: `close` ends it
                    raise
                one.changed()  # the watch missed changes before its start
        except (SourceUnavailable, SourceRefused, FootnoteError) as error:
            _log.info("source_not_watched", source_id=row.id, reason=str(error))
        except Exception as error:
            _log.warning("source_not_watched", source_id=row.id, reason=type(error).__name__)

    async def _end(self, source_id: str) -> None:
        one = self._watched.pop(source_id)
        if one.watch is not None:
            await asyncio.to_thread(one.watch.close)
