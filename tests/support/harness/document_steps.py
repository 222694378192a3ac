"""The steps of a lane that concern collections and documents; each outcome goes into the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import collections_pb2 as collections
from footnote.edge.v1 import documents_pb2 as docs
from footnote.types.v1.collection_pb2 import (
    ACCESS_READ,
    SEARCH_STRATEGY_FULLTEXT,
    VISIBILITY_PRIVATE,
    ChunkingSettings,
    Collection,
    CollectionSettings,
    EmbeddingSettings,
    Grant,
    RetrievalSettings,
)
from footnote_kit.errors import FootnoteError, NotFound
from google.protobuf.field_mask_pb2 import FieldMask

from support.harness import reference_model as model
from support.harness.caller import Caller, Outcome
from support.harness.plan import Step
from support.harness.reference_model import Possible, Presence, ReferenceModel, sha256, text, word
from support.harness.vector_steps import OwnVectors

SIZES = (300, 500)
DIMENSIONS = (384, 64)
"""Chunk sizes and vector lengths that collections change between."""


class Lane(OwnVectors):
    """One lane of a round: runs its steps in order, and keeps what they create by the plan's numbers."""

    def __init__(self, world: ReferenceModel, caller: Caller, seed: int, begun: Callable[[], None]) -> None:
        super().__init__(world, caller, seed)
        self._begun = begun
        self._collections: dict[int, model.Collection] = {}
        self._documents: dict[int, model.Document] = {}

    async def run(self, steps: tuple[Step, ...]) -> None:
        """Run all steps."""
        for step in steps:
            self._begun()
            do: Callable[[Step], Awaitable[bool]] = getattr(self, f"_{step.kind}")
            if not await do(step):
                self._world.counts["steps about nothing"] += 1

    # Collections

    async def _collect(self, step: Step) -> bool:
        name = f"c{self._seed}-{step.lane}-{step.number}"
        settings = CollectionSettings(
            chunking=ChunkingSettings(size=SIZES[0]), embedding=EmbeddingSettings(dimensions=DIMENSIONS[0])
        )
        request = collections.CreateCollectionRequest(
            collection=Collection(name=name, settings=settings), request_id=f"{name}-create"
        )
        outcome = await self._caller.retry(step, lambda: self._caller.call("CreateCollection", request))
        if not self._answered(step, outcome):
            return True
        made = outcome.result.collection
        if step.repeat:
            await self._same(step, made.id, lambda: self._caller.call("CreateCollection", request), "collection")
        one = model.Collection(name, made.id, Possible(""), Possible(DIMENSIONS[0]), Possible(SIZES[0]))
        self._collections[step.number] = one
        self._world.collections.append(one)
        return True

    async def _describe(self, step: Step) -> bool:
        words = f"described in step {step.number}"
        return await self._change(
            step, Collection(description=words), "description", lambda one: one.description, words
        )

    async def _share(self, step: Step) -> bool:
        user = f"user-{step.number}"
        changed = Collection(visibility=VISIBILITY_PRIVATE, grants=[Grant(user_id=user, access=ACCESS_READ)])
        return await self._change(step, changed, "visibility,grants", lambda one: one.grantee, user)

    async def _resize(self, step: Step) -> bool:
        size = SIZES[step.number % 2]
        changed = Collection(settings=CollectionSettings(chunking=ChunkingSettings(size=size)))
        return await self._change(step, changed, "settings.chunking.size", lambda one: one.size, size)

    async def _move(self, step: Step) -> bool:
        """Change the embedder, and index all documents again so that searches move to it."""
        length = DIMENSIONS[step.number % 2]
        changed = Collection(settings=CollectionSettings(embedding=EmbeddingSettings(dimensions=length)))
        path = "settings.embedding.dimensions"
        if not await self._change(step, changed, path, lambda one: one.dimensions, length):
            return False
        where = self._collections[step.collection]
        request = docs.ReindexDocumentsRequest(collection=where.id, request_id=self._id(step))
        return await self._begin(step, request, "move")

    async def _change(
        self, step: Step, changed: Collection, path: str, of: Callable[[model.Collection], Possible], value: object
    ) -> bool:
        where = self._collections.get(step.collection)
        if where is None:
            return False
        request = collections.UpdateCollectionRequest(
            collection=where.id, resource=changed, update_mask=FieldMask(paths=path.split(","))
        )
        outcome = await self._caller.retry(
            step, lambda: self._caller.call("UpdateCollection", request), abandon=step.abandon
        )
        self._settle(step, outcome, of(where), value)
        return True

    async def _drop(self, step: Step) -> bool:
        where = self._collections.pop(step.collection, None)
        if where is None:
            return False
        request = collections.DeleteCollectionRequest(collection=where.id, allow_missing=True)
        outcome = await self._caller.retry(step, lambda: self._caller.call("DeleteCollection", request))
        if self._answered(step, outcome):
            where.presence = Presence.GONE
            if outcome.result.HasField("operation"):
                self._world.operations[outcome.result.operation.id] = f"deletion of {where.name}"
        for one in [one for one in self._documents.values() if one.collection is where]:
            one.presence = Presence.GONE
        self._documents = {at: one for at, one in self._documents.items() if one.collection is not where}
        return True

    # Documents

    async def _upload(self, step: Step) -> bool:
        where = self._collections.get(step.collection)
        if where is None:
            return False
        one = model.Document(self._id(step), where, Possible(step.content))
        self._documents[step.number] = one
        self._world.documents.append(one)
        outcome = await self._put(step, one, abandon=step.abandon)
        if outcome.result is None and outcome.error is None:
            one.presence = Presence.POSSIBLE
            return True
        if not self._answered(step, outcome):
            one.presence = Presence.GONE
            return True
        one.id = outcome.result.document.id
        if outcome.result.duplicate:
            self._world.problem(f"{one.name} was stored without its request id: it is its own duplicate")
        if step.repeat:
            again = await self._put(step, one, abandon=False)
            if again.result is None or again.result.document.id != one.id:
                self._world.problem(f"{one.name} uploaded again under its request id: {again}")
        return True

    async def _put(self, step: Step, one: model.Document, *, abandon: bool, suffix: str = "") -> Outcome:
        content = one.content.certain
        assert isinstance(content, int)
        metadata = docs.UploadMetadata(
            collection=one.collection.id, filename=f"{one.name}.md", request_id=f"{self._id(step)}{suffix}",
            sha256=sha256(content),
        )  # fmt: skip
        return await self._caller.retry(step, lambda: self._caller.upload(metadata, text(content)), abandon=abandon)

    async def _duplicate(self, step: Step) -> bool:
        """Upload the bytes of a document again: the response must be that document."""
        one = self._known(step)
        if one is None or one.content.late:
            return False
        outcome = await self._put(step, one, abandon=False, suffix="-twin")
        one.twin = one.twin or bool(outcome.lost)
        if self._answered(step, outcome) and (outcome.result.document.id != one.id or not outcome.result.duplicate):
            self._world.problem(f"the bytes of {one.name} were stored again: {outcome.result.document.id}")
        return True

    async def _replace(self, step: Step) -> bool:
        one = self._known(step)
        if one is None:
            return False
        outcome = await self._caller.retry(
            step, lambda: self._caller.replace(one.id, text(step.content)), abandon=step.abandon
        )
        self._settle(step, outcome, one.content, step.content)
        return True

    async def _break_off(self, step: Step) -> bool:
        """Replace a document and cancel that: the earlier content stays searched, unless the new one was in time."""
        if not await self._replace(step):
            return False
        one = self._documents[step.document]
        for operation_id, about in self._world.operations.items():
            if one.name in about or "move" in about:
                self._world.interrupted.add(operation_id)
        request = docs.CancelDocumentRequest(document_id=one.id)
        outcome = await self._caller.retry(step, lambda: self._caller.call("CancelDocument", request))
        if outcome.error is not None and outcome.error.reason != "ILLEGAL_STATE":
            self._answered(step, outcome)
        self._world.counts["processing cancelled"] += outcome.result is not None
        return True

    async def _retag(self, step: Step) -> bool:
        one = self._known(step)
        if one is None:
            return False
        tag = f"tag{step.number}"
        request = docs.UpdateDocumentRequest(document_id=one.id, resource=docs.Document(tags=[tag]))
        outcome = await self._caller.retry(
            step, lambda: self._caller.call("UpdateDocument", request), abandon=step.abandon
        )
        self._settle(step, outcome, one.tag, tag)
        return True

    async def _delete(self, step: Step) -> bool:
        one = self._known(step)
        if one is None:
            return False
        del self._documents[step.document]
        request = docs.DeleteDocumentRequest(document_id=one.id, allow_missing=True)
        outcome = await self._caller.retry(
            step, lambda: self._caller.call("DeleteDocument", request), abandon=step.abandon
        )
        if outcome.result is None and outcome.error is None:
            one.presence = Presence.POSSIBLE
            return True
        if self._answered(step, outcome):
            one.presence = Presence.GONE
            await self._find(step, one)
        return True

    async def _reindex(self, step: Step) -> bool:
        one = self._known(step)
        if one is None:
            return False
        request = docs.ReindexDocumentsRequest(document_ids=[one.id], request_id=self._id(step))
        return await self._begin(step, request, one.name)

    async def _begin(self, step: Step, request: docs.ReindexDocumentsRequest, about: str) -> bool:
        outcome = await self._caller.retry(step, lambda: self._caller.call("ReindexDocuments", request))
        if self._answered(step, outcome):
            self._world.operations[outcome.result.operation.id] = f"reindexing for {about}, step {step.number}"
            if step.repeat:
                call = lambda: self._caller.call("ReindexDocuments", request)  # noqa: E731
                await self._same(step, outcome.result.operation.id, call, "operation")
        return True

    async def _look(self, step: Step) -> bool:
        one = self._known(step)
        if one is None:
            return False
        await self._find(step, one)
        return True

    async def _find(self, step: Step, one: model.Document) -> None:
        """Search for a document once, and check that no deleted document is found."""
        before = {each.id for each in self._world.documents if each.presence is Presence.GONE and each.id}
        for content in {one.content.certain, *one.content.late}:
            assert isinstance(content, int)
            request = answers.SearchRequest(
                query=word(content), settings=RetrievalSettings(strategy=SEARCH_STRATEGY_FULLTEXT)
            )
            try:
                found = await self._caller.call("Search", request)
            except FootnoteError as error:
                self._world.note(f"lane {step.lane} step {step.number} search: {error!r}")
                continue
            self._world.counts["searches"] += 1
            for document_id in {each.chunk.document_id for each in found.chunks} & before:
                self._world.problem(f"{document_id} is found although its deletion was acknowledged")

    # Shared by steps

    def _known(self, step: Step) -> model.Document | None:
        """Return the document of a step if its id was acknowledged."""
        one = self._documents.get(step.document)
        return one if one is not None and one.id else None

    def _settle(self, step: Step, outcome: Outcome, of: Possible, value: object) -> None:
        """Record a change in the model."""
        if outcome.result is not None:
            of.acknowledged(value, outcome.lost)
        elif outcome.error is None:
            of.maybe(value)
        else:
            self._answered(step, outcome)

    async def _same(self, step: Step, known: str, call: Callable[[], Awaitable[Any]], field: str) -> None:
        """Repeat a call with its request id: it must return the first result."""
        again = await self._caller.retry(step, call)
        if isinstance(again.error, NotFound) or again.result is None or getattr(again.result, field).id != known:
            self._world.problem(f"lane {step.lane} step {step.number} repeated under its request id: {again}")
