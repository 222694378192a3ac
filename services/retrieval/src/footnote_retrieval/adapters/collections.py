"""Collections as indexing knows them, remembered for as long as indexing has written nothing, or does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import grpc
from footnote.indexing.v1.indexing_service_pb2 import ResolveCollectionsRequest, ResolveCollectionsResponse
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.breaker import Breaker
from footnote_kit.epoch_cache import EpochCache
from footnote_kit.epochs import EpochReader
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable

from footnote_retrieval.adapters.recent import Recent
from footnote_retrieval.ports import Resolved, Searchable

RECENT_SECONDS = 60.0
"""How long what was told without an epoch may be taken while indexing does not answer: what others delete or hide in
that time may still be found."""
ASK_SECONDS = 3.0
"""For an answer where such a one is at hand."""
PAUSE_SECONDS = 2.0
"""Indexing that did not answer is not asked again before, where such a one is at hand."""
_MOST_ANSWERS = 1024
_MOST_COLLECTIONS = 20_000

_Question: TypeAlias = tuple[bytes, tuple[str, ...]]


class _Answer(NamedTuple):
    epoch: str
    visible: tuple[Searchable, ...]


class IndexingCollections:
    """Asks the indexing service which collections a caller may see, unless it has said so in its current epoch.

    An answer is not used in another epoch: whatever was written before a search begins, by whomever, counts for it.
    Only while indexing does not answer is an older one taken, and said to be stale, if since then nothing was written
    but of documents on their way: what was deleted, or taken from a caller's sight, is never found by it.

    An indexing service on PostgreSQL tells no epoch, since others write there too: of such a one an answer is taken for
    `RECENT_SECONDS` after it was asked for, and said to be stale.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        epochs: EpochReader,
        of_collections: EpochReader,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stub = IndexingServiceStub(channel)
        self._epochs = epochs
        self._told: EpochCache[_Question, _Answer] = EpochCache(
            of_collections, _MOST_ANSWERS, most_parts=_MOST_COLLECTIONS, parts=lambda answer: len(answer.visible)
        )
        """What was answered since anything was written but of documents on their way."""
        self._clock = clock
        self._recent = Recent(RECENT_SECONDS, _MOST_ANSWERS, _MOST_COLLECTIONS, clock)
        self._silent = Breaker(1, PAUSE_SECONDS, clock)

    def known(self, scope: Scope, names: Sequence[str]) -> tuple[Searchable, ...] | None:
        """Return what was answered in the current epoch; None for what was not asked since it began."""
        answer = self._told.get(_question(scope, names))
        if answer is None or not answer.epoch or answer.epoch != self._epochs.current():
            return None
        return answer.visible

    async def resolve(self, scope: Scope, names: Sequence[str], *, stale_too: bool = False) -> Resolved:
        """Return the named collections, or every visible one, in that order; `stale_too` as last known."""
        if (known := self.known(scope, names)) is not None:
            return Resolved(known)
        question = _question(scope, names)
        recent = self._recent.get(question) if stale_too else None
        if recent is not None and self._silent.rest:
            return Resolved(recent, stale=True)
        asked = self._clock()
        try:
            response = await self._ask(question, scope, None if recent is None else ASK_SECONDS)
        except (Unavailable, DeadlineExceeded):
            self._silent.failed()
            if recent is not None:
                return Resolved(recent, stale=True)
            last = self._told.get(question) if stale_too else None
            if last is None:
                raise
            return Resolved(last.visible, stale=True)
        except FootnoteError:
            self._recent.forget(question)
            raise
        self._silent.answered()
        found = _searchable(response)
        self._told.keep(question, response.collections_epoch, _Answer(response.epoch, found))
        if not response.epoch:
            self._recent.keep(question, asked, found)
        return Resolved(found)

    async def _ask(self, question: _Question, scope: Scope, seconds: float | None) -> ResolveCollectionsResponse:
        request = ResolveCollectionsRequest(scope=scope, collections=question[1])
        try:
            async with asyncio.timeout(seconds):
                response: ResolveCollectionsResponse = await self._stub.ResolveCollections(request)
        except TimeoutError as error:
            raise DeadlineExceeded("Indexing does not say which collections there are") from error
        return response


def _question(scope: Scope, names: Sequence[str]) -> _Question:
    """Return all that an answer depends on, besides what is written."""
    return scope.SerializeToString(deterministic=True), tuple(dict.fromkeys(names))


def _searchable(response: ResolveCollectionsResponse) -> tuple[Searchable, ...]:
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
