"""Verdicts that change during the stream: the rules' are sent first, and the verifier's changes follow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter

from footnote.types.v1.answer_pb2 import ClaimsRevised, Usage

from footnote_generation.answering.model_verifier import ModelVerifier
from footnote_generation.ports import Opinion
from footnote_generation.verification.checker import Checker, OpenStatement
from footnote_generation.verification.citing import Checked
from footnote_generation.verification.claims import Sentence

_BATCH = 8  # statements that justify a call before the answer's end
_MARGIN = 0.5  # seconds of the call reserved for the steps after it


class LateVerdicts:
    """Asks about settled statements in batches, one call at a time; opinions apply only in `revised`."""

    def __init__(self, checker: Checker, remaining: float | None = None) -> None:
        self._checker = checker
        self._end = None if remaining is None else perf_counter() + remaining - _MARGIN
        self._sentences: list[Sentence] = []
        self._shown: dict[Sentence, Checked] = {}
        self._waiting: list[OpenStatement] = []
        self._asked: list[OpenStatement] = []
        self._spent = 0
        self._task: asyncio.Task[Sequence[Sequence[Opinion]]] | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is a verifier to ask."""
        return self._checker.verifier is not None

    @property
    def usage(self) -> Usage:
        """The verifier's usage so far, empty unless it is a language model."""
        verifier = self._checker.verifier
        return verifier.usage if isinstance(verifier, ModelVerifier) else Usage()

    def limit(self) -> float | None:
        """Return the time limit of a call in seconds, None for the verifier's own only."""
        return None if self._end is None else max(0.0, self._end - perf_counter())

    async def offer(self, sentences: Sequence[Sentence], shown: Sequence[Checked]) -> None:
        """Take sentences whose verdicts have gone out; when enough are waiting, start a call."""
        self._sentences += sentences
        self._shown.update(zip(sentences, shown, strict=True))
        self._waiting += await asyncio.to_thread(self._checker.open_statements, sentences)
        if len(self._waiting) >= _BATCH:
            self._begin()

    def _begin(self) -> None:
        if self._task is not None or not self._waiting:
            return
        self._asked, self._waiting = self._waiting, []
        self._task = asyncio.ensure_future(self._checker.ask(self._asked, self.limit()))

    async def revised(self) -> ClaimsRevised | None:
        """Return the changes of a finished call, None for none."""
        if self._task is None or not self._task.done():
            return None
        opinions, self._task = await self._task, None
        return await asyncio.to_thread(self._apply, opinions)

    def last(self) -> bool:
        """Start a call about the rest; return whether a call is running."""
        self._begin()
        return self._task is not None

    async def wait(self, seconds: float) -> None:
        """Wait up to this long for the running call."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    def has_spent(self) -> bool:
        """Return whether usage has grown since the last check."""
        spent = self.usage.prompt_tokens + self.usage.completion_tokens
        before, self._spent = self._spent, spent
        return spent != before

    async def close(self) -> None:
        """Cancel a running call."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _apply(self, opinions: Sequence[Sequence[Opinion]]) -> ClaimsRevised | None:
        if not self._checker.apply(self._asked, opinions):
            return None
        event = ClaimsRevised()
        for sentence, now in zip(self._sentences, self._checker.check_by_rules(self._sentences), strict=True):
            if now != self._shown[sentence]:
                self._shown[sentence] = now
                event.claims.append(now.claim)
                event.citations.extend(now.citations)
        return event if event.claims else None
