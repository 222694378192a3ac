"""Periodic background tasks: work that repeats at intervals while its service runs."""

import asyncio
import random
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

from footnote.stages.v1.scope_pb2 import Scope

from footnote_kit import transient_errors
from footnote_kit.context import current_service, detached
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

JITTER = 0.2
"""Jitter of a pause, as a share of it: replicas that start together soon run at different times."""

_LETTING_GO = 30.0  # seconds in which a cancelled round has to end
_FRAMES = 3

_log = get_logger("footnote.rounds")


class PeriodicTasks:
    """Runs one task every `seconds`, the first time at once unless `at_once` is off.

    A failed round is logged and never ends the rounds; repeated failures of the same kind are logged once. Each round
    has its own request id, and `limit` as its timeout in seconds, if given. A pause begins at the end of a round, so
    rounds never overlap.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[object]],
        seconds: float,
        *,
        service: str | None = None,
        scope: Scope | None = None,
        at_once: bool = True,
        jitter: float = JITTER,
        limit: float | None = None,
    ) -> None:
        self._name = name
        self._work = work
        self._seconds = seconds
        self._service = service
        self._scope = scope
        self._at_once = at_once
        self._jitter = jitter
        self._limit = limit
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._failing: tuple[str, str] | None = None
        self._failed = 0

    async def start(self) -> None:
        """Start without waiting for the first round; a second call has no effect."""
        if self._task is None:
            self._stopping = False
            service = current_service() if self._service is None else self._service
            self._task = asyncio.create_task(self._run(service), name=f"rounds-{self._name}")

    async def stop(self) -> None:
        """Stop, even during a round; a round that does not end in time is abandoned and logged."""
        task, self._task = self._task, None
        if task is None:
            return
        self._stopping = True
        task.cancel()
        _, late = await asyncio.wait({task}, timeout=_LETTING_GO)
        if late:
            _log.warning("round_does_not_end", round=self._name)

    async def _run(self, service: str) -> None:
        if not self._at_once:
            await self._pause()
        # The flag is needed because a library within a round may swallow the cancellation of this task.
        while not self._stopping:
            with detached(service, self._scope):
                await self._once()
            await self._pause()

    async def _pause(self) -> None:
        if not self._stopping:
            await asyncio.sleep(self._seconds * random.uniform(1 - self._jitter, 1 + self._jitter))

    async def _once(self) -> None:
        try:
            async with asyncio.timeout(self._limit):
                await self._work()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if self._stopping or (task is not None and task.cancelling()):
                raise
            self._note(error)  # what the work awaited was cancelled, not this task
        except Exception as error:
            self._note(error)
        else:
            if self._failed:
                _log.info("round_recovered", round=self._name, failed=self._failed)
            self._failed, self._failing = 0, None

    def _note(self, error: BaseException) -> None:
        """Log a failure, with the message of a FootnoteError only: other messages may quote a document."""
        self._failed += 1
        if isinstance(error, Exception):  # a transient failure has its own message, whatever raised it
            error = transient_errors.read(error) or error
        reason = error.reason if isinstance(error, FootnoteError) else ""
        failing = (type(error).__name__, reason)
        if failing == self._failing:
            return
        self._failing = failing
        if isinstance(error, FootnoteError):
            _log.warning("round_failed", round=self._name, reason=reason, error=error.message)
        else:
            _log.error("round_failed", round=self._name, error=failing[0], at=_where(error))


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
