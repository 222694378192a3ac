"""Collections from indexing, cached until indexing writes anything; also used while indexing does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import grpc
from footnote.internal.indexing.v1alpha1.layout_service_pb2 import LocateCollectionsRequest, LocateCollectionsResponse
from footnote.internal.indexing.v1alpha1.layout_service_pb2_grpc import LayoutServiceStub
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.breaker import Breaker
from footnote_kit.caches import AgedCache, EpochCache
from footnote_kit.epochs import EpochReader, Epochs, received
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable

from footnote_retrieval.ports import Resolved, Searchable

RECENT_SECONDS = 60.0
"""How long an answer without an epoch may be used while indexing does not answer.

What other writers delete or hide in that time may still be found.
"""
ASK_SECONDS = 3.0
"""Timeout of a request when a recent answer can stand in for it."""
PAUSE_SECONDS = 2.0
"""How long indexing is not called after it failed to answer, when a recent answer can stand in."""
_MOST_ANSWERS = 1024
_MOST_COLLECTIONS = 20_000

_Question: TypeAlias = tuple[bytes, tuple[str, ...]]


class _Answer(NamedTuple):
    epoch: str
    visible: tuple[Searchable, ...]
    asked: float
    refused: bool = False


class IndexingCollections:
    """Asks indexing which collections a caller may see, unless the answer of its current epoch is cached.

    An answer is valid in its epoch only: every write before a search begins counts for it. An older answer is used only
    while indexing does not answer, and is marked stale. It must be of the current collections epoch: since
    that began, only documents in progress were written. So a search never finds what was deleted or hidden.

    An indexing service on PostgreSQL has no epoch, since other processes write there too. Its answers may be used for
    `RECENT_SECONDS` after the request, and are marked stale.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        epochs: EpochReader,
        of_collections: EpochReader,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stub = LayoutServiceStub(channel)
        self._epochs = epochs
        self._answers: EpochCache[_Question, _Answer] = EpochCache(
            of_collections, _MOST_ANSWERS, most_parts=_MOST_COLLECTIONS, parts=_count
        )
        """Answers of the current collections epoch, in which only documents on their way were written."""
        self._clock = clock
        self._recent: AgedCache[_Question, _Answer] = AgedCache(
            _MOST_ANSWERS, _MOST_COLLECTIONS, _count, lambda answer: answer.asked + RECENT_SECONDS, clock
        )
        """Answers without an epoch, by age from the time of the request; using one does not extend its life."""
        self._silent = Breaker(1, PAUSE_SECONDS, clock)

    def known(self, scope: Scope, names: Sequence[str]) -> tuple[Searchable, ...] | None:
        """Return the answer of the current epoch; None if the question was not asked in it."""
        answer = self._answers.get(_question(scope, names))
        if answer is None or not answer.epoch or answer.epoch != self._epochs.current():
            return None
        return answer.visible

    async def resolve(self, scope: Scope, names: Sequence[str], *, stale_too: bool = False) -> Resolved:
        """Return the named collections, or every visible one, in order; `stale_too` allows the last known answer."""
        if (known := self.known(scope, names)) is not None:
            return Resolved(known)
        question = _question(scope, names)
        recent = self._recent.get(question) if stale_too else None
        if recent is not None and recent.refused:
            recent = None
        if recent is not None and self._silent.rest:
            return Resolved(recent.visible, stale=True)
        asked = self._clock()
        try:
            response, epochs = await self._ask(question, scope, None if recent is None else ASK_SECONDS)
        except (Unavailable, DeadlineExceeded):
            self._silent.failed()
            if recent is not None:
                return Resolved(recent.visible, stale=True)
            last = self._answers.get(question) if stale_too else None
            if last is None:
                raise
            return Resolved(last.visible, stale=True)
        except FootnoteError:
            self._keep_recent(question, _Answer("", (), asked, refused=True))
            raise
        self._silent.answered()
        answer = _Answer(epochs.epoch, _searchable(response), asked)
        if _is_newer(answer, self._answers.get(question)):
            self._answers.keep(question, epochs.collections, answer)
        if not epochs.collections:
            self._keep_recent(question, answer)
        return Resolved(answer.visible)

    def _keep_recent(self, question: _Question, answer: _Answer) -> None:
        """Keep an answer or refusal, unless one to a later request is held: responses may overtake each other."""
        if _is_newer(answer, self._recent.get(question)):
            self._recent[question] = answer

    async def _ask(
        self, question: _Question, scope: Scope, seconds: float | None
    ) -> tuple[LocateCollectionsResponse, Epochs]:
        request = LocateCollectionsRequest(scope=scope, collections=question[1])
        try:
            async with asyncio.timeout(seconds):
                return await received(self._stub.LocateCollections(request))
        except TimeoutError as error:
            raise DeadlineExceeded("Indexing does not say which collections there are") from error


def _is_newer(answer: _Answer, held: _Answer | None) -> bool:
    return held is None or answer.asked >= held.asked


def _count(answer: _Answer) -> int:
    return len(answer.visible)


def _question(scope: Scope, names: Sequence[str]) -> _Question:
    """Return everything an answer depends on, except what is written."""
    return scope.SerializeToString(deterministic=True), tuple(dict.fromkeys(names))


def _searchable(response: LocateCollectionsResponse) -> tuple[Searchable, ...]:
    return tuple(
        Searchable(
            collection=found.collection,
            space=found.space,
            collection_key=found.collection_key,
            hidden_revisions=tuple(found.hidden_revisions),
            languages=tuple(found.languages),
        )
        for found in response.collections
    )
