"""The steps of a lane that concern rows of own vectors, and their audit."""

from __future__ import annotations

from collections import defaultdict

from footnote.edge.v1 import collections_pb2 as collections
from footnote.edge.v1 import vectors_pb2 as vectors
from footnote.types.v1.collection_pb2 import ChunkingSettings, Collection, CollectionSettings, EmbeddingSettings
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_providers.own_vectors import PROVIDER

from support.harness import reference_model as model
from support.harness.caller import Caller, Outcome
from support.harness.conversation_steps import ConversationSteps
from support.harness.plan import Step
from support.harness.reference_model import Possible, Presence, ReferenceModel

DIMENSIONS = 2
SIZE = 300
ROWS = 3
"""Rows of one call, which are added and deleted together."""


class OwnVectors(ConversationSteps):
    """The lane's collection of own vectors, created with its first row, and the rows that each step added."""

    _own: model.Collection | None = None

    async def _vectors(self, step: Step) -> bool:
        where = self._own or await self._own_collection(step)
        if where is None:
            return True
        names = [f"{self._seed}-{step.lane}-{step.number}-{row}" for row in range(ROWS)]
        rows = self._world.rows[where.id]
        rows.update((name, Possible(None)) for name in names)
        outcome = await self._add(step, where, names)
        if outcome.result is not None and list(outcome.result.ids) != names:
            self._world.problem(f"rows {names} were acknowledged as {list(outcome.result.ids)}")
        return True

    async def _revise(self, step: Step) -> bool:
        """Add the rows of an earlier step with another text."""
        return self._own is not None and bool(await self._add(step, self._own, self._names(step)))

    async def _unvector(self, step: Step) -> bool:
        if self._own is None:
            return False
        where, names = self._own, self._names(step)
        request = vectors.DeleteVectorsRequest(collection=where.id, ids=names, allow_missing=True)
        outcome = await self._caller.retry(
            step, lambda: self._caller.call("DeleteVectors", request), abandon=step.abandon
        )
        self._rows_settled(step, outcome, where, names, None)
        return True

    def _names(self, step: Step) -> list[str]:
        return [f"{self._seed}-{step.lane}-{step.other}-{row}" for row in range(ROWS)]

    async def _own_collection(self, step: Step) -> model.Collection | None:
        name = f"v{self._seed}-{step.lane}"
        settings = CollectionSettings(
            chunking=ChunkingSettings(size=SIZE), embedding=EmbeddingSettings(provider=PROVIDER, dimensions=DIMENSIONS)
        )
        request = collections.CreateCollectionRequest(
            collection=Collection(name=name, settings=settings), request_id=f"{name}-create"
        )
        outcome = await self._caller.retry(step, lambda: self._caller.call("CreateCollection", request))
        if self._answered(step, outcome):
            made = outcome.result.collection.id
            self._own = model.Collection(name, made, Possible(""), Possible(DIMENSIONS), Possible(SIZE))
            self._world.collections.append(self._own)
        return self._own

    async def _add(self, step: Step, where: model.Collection, names: list[str]) -> Outcome:
        text = f"Row as of step {step.number}"
        rows = [VectorRow(id=name, text=text, vector=[1.0, at + 1.0]) for at, name in enumerate(names)]
        request = vectors.AddVectorsRequest(collection=where.id, rows=rows, request_id=self._id(step))
        outcome = await self._caller.retry(step, lambda: self._caller.call("AddVectors", request), abandon=step.abandon)
        self._rows_settled(step, outcome, where, names, text)
        return outcome

    def _rows_settled(
        self, step: Step, outcome: Outcome, where: model.Collection, names: list[str], value: str | None
    ) -> None:
        for name in names:
            of = self._world.rows[where.id].setdefault(name, Possible(None))
            if outcome.result is not None:
                of.acknowledged(value, outcome.lost)
            elif outcome.error is None:
                of.maybe(value)
        if outcome.error is not None:
            self._answered(step, outcome)


async def audit(caller: Caller, world: ReferenceModel) -> list[str]:
    """Compare the listed rows with the acknowledged ones, and the rows of one call with each other."""
    found, there = [], 0
    possible = {one.id for one in world.collections if one.presence is Presence.POSSIBLE}
    listed_collections = await caller.pages("ListCollections", collections.ListCollectionsRequest(), "collections")
    lost = possible - {one.id for one in listed_collections}
    for collection_id, rows in world.rows.items():
        if collection_id in lost:
            continue
        request = vectors.ListVectorsRequest(collection=collection_id, page_size=500)
        listed = {row.id: row.text for row in await caller.pages("ListVectors", request, "rows")}
        found += [f"ghost: no caller added row {one}" for one in listed.keys() - rows.keys()]
        calls: defaultdict[str, set[str | None]] = defaultdict(set)
        for name, of in rows.items():
            text = listed.get(name)
            calls[name if name in world.alone else name.rpartition("-")[0]].add(text)
            if not of.allows(text):
                category = "lost" if text is None else "ghost" if of.certain is None else "differs"
                found.append(f"{category}: row {name} is {text!r}, outcome was {of}")
        found += [f"half: rows {call} are {sorted(map(str, texts))}" for call, texts in calls.items() if len(texts) > 1]
        there += len(listed)
    world.counts["own rows"] = there
    return found
