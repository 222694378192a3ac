"""Collections as indexing knows them, remembered for as long as indexing has written nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

import grpc
from footnote.indexing.v1.indexing_service_pb2 import ResolveCollectionsRequest, ResolveCollectionsResponse
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.epochs import EpochReader

from footnote_retrieval.ports import Searchable

_MOST_ANSWERS = 1024
_MOST_COLLECTIONS = 20_000

_Question: TypeAlias = tuple[bytes, tuple[str, ...]]
_Answer: TypeAlias = tuple[str, tuple[Searchable, ...]]


class IndexingCollections:
    """Asks the indexing service which collections a caller may see, unless it has said so in its current epoch.

    An answer is never used in another epoch: whatever was written before a search begins, by whomever, counts for it.
    """

    def __init__(self, channel: grpc.aio.Channel, epochs: EpochReader) -> None:
        self._stub = IndexingServiceStub(channel)
        self._epochs = epochs
        self._answers: OrderedDict[_Question, _Answer] = OrderedDict()
        self._collections = 0

    def known(self, scope: Scope, names: Sequence[str]) -> tuple[Searchable, ...] | None:
        """Return what was answered in the current epoch; None for what was not asked since it began."""
        question = _question(scope, names)
        epoch, found = self._answers.get(question, ("", ()))
        if not epoch or epoch != self._epochs.current():
            return None
        self._answers.move_to_end(question)
        return found

    async def resolve(self, scope: Scope, names: Sequence[str]) -> tuple[Searchable, ...]:
        """Return the named collections, or every visible one, in that order."""
        if (known := self.known(scope, names)) is not None:
            return known
        question = _question(scope, names)
        response = await self._stub.ResolveCollections(ResolveCollectionsRequest(scope=scope, collections=question[1]))
        found = _searchable(response)
        self._forget(question)
        # A file that a service left here which is elsewhere now names another epoch than the answer.
        if response.epoch and response.epoch == self._epochs.current():
            self._keep(question, (response.epoch, found))
        return found

    def _keep(self, question: _Question, answer: _Answer) -> None:
        self._answers[question] = answer
        self._collections += len(answer[1])
        while len(self._answers) > _MOST_ANSWERS or self._collections > _MOST_COLLECTIONS:
            _, (_, oldest) = self._answers.popitem(last=False)
            self._collections -= len(oldest)

    def _forget(self, question: _Question) -> None:
        _, found = self._answers.pop(question, ("", ()))
        self._collections -= len(found)


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
