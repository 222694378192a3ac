"""Documents and what is searched of them, compared: chunks that a document in ERROR does not know go."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as indexing_upkeep
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING
from footnote_edge.documents.consistency import ConsistencyCheck
from footnote_edge.settings import Settings
from footnote_kit.errors import NotFound, Unavailable


@dataclass
class Both:
    """Both stages and the jobs: the documents of one, and the searched revisions of the other."""

    documents: dict[str, Document]
    searched: dict[str, int]
    replaced: dict[str, int] = field(default_factory=dict)
    """By document the revision that is searched again where the searched one is removed."""
    removed: list[str] = field(default_factory=list)
    removed_for_good: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    provider_is_away: bool = False
    collections: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    compared: int = 0

    async def ListDocuments(self, request: Any, **more: Any) -> ingestion.ListDocumentsResponse:
        wanted = [one for one in self.documents.values() if not request.states or one.state in request.states]
        return ingestion.ListDocumentsResponse(documents=wanted)

    async def GetDocument(self, request: Any, **more: Any) -> ingestion.GetDocumentResponse:
        return ingestion.GetDocumentResponse(document=self.documents[request.document_id])

    async def FindDocuments(self, request: Any, **more: Any) -> ingestion_upkeep.FindDocumentsResponse:
        return ingestion_upkeep.FindDocumentsResponse(document_ids=self.documents.keys(), instance="i")

    async def ListIndexedDocuments(self, request: Any, **more: Any) -> indexing_upkeep.ListIndexedDocumentsResponse:
        found = [
            indexing_upkeep.IndexedDocument(document_id=one, revision=revision)
            for one, revision in self.searched.items()
            if not request.document_ids or one in request.document_ids
        ]
        return indexing_upkeep.ListIndexedDocumentsResponse(documents=found, instance="x")

    async def deletion_of(self, collection_id: str) -> object:
        return collection_id if collection_id == "being deleted" else None

    async def DeleteDocumentChunks(self, request: Any, **more: Any) -> indexing.DeleteDocumentChunksResponse:
        if request.collection_id in {"lost", "being deleted"}:
            raise NotFound("There is no such collection", reason="COLLECTION_NOT_FOUND")
        self.removed.append(request.document_id)
        if not request.revision:
            self.removed_for_good.append(request.document_id)
        if request.revision in (0, self.searched.get(request.document_id)):
            self.searched.pop(request.document_id, None)
            if request.document_id in self.replaced:
                self.searched[request.document_id] = self.replaced.pop(request.document_id)
        return indexing.DeleteDocumentChunksResponse()

    async def deleted(self, most: int) -> list[tuple[str, str]]:
        return [("acme", "gone"), ("acme", "back")][:most]

    async def GetCollection(self, request: Any, **more: Any) -> indexing.GetCollectionResponse:
        found = request.collection if request.collection in self.collections else self.named.get(request.collection)
        if not found:
            raise NotFound("There is no such collection", reason="COLLECTION_NOT_FOUND")
        return indexing.GetCollectionResponse(collection=Collection(id=found))

    async def DeleteCollection(self, request: Any, **more: Any) -> indexing.DeleteCollectionResponse:
        assert request.scope.tenant_id == "acme"
        found = request.collection if request.collection in self.collections else self.named.get(request.collection)
        if not found:
            raise NotFound("There is no such collection", reason="COLLECTION_NOT_FOUND")
        self.collections.remove(found)
        return indexing.DeleteCollectionResponse()

    async def renew(self, scope: Any, document: Document) -> Document:
        self.renewed.append(document.id)
        return document

    async def compare(self) -> None:
        self.compared += 1

    async def process(self, document: Document) -> None:
        pass

    async def once(self, scope: Any, document_id: str) -> bool:
        self.restored.append(document_id)
        if self.provider_is_away:
            raise Unavailable("away", reason="PROVIDER_FAILED")
        return bool(self.documents[document_id].indexed_revision)


@pytest.mark.parametrize(
    ("state", "recorded", "searched", "removed", "renewed"),
    [
        (DOCUMENT_STATE_INDEXED, 3, 3, False, False),
        (DOCUMENT_STATE_INDEXED, 3, 4, True, True),
        (DOCUMENT_STATE_INDEXED, 3, 0, True, True),
        (DOCUMENT_STATE_ERROR, 0, 0, False, False),
        (DOCUMENT_STATE_ERROR, 0, 4, True, False),
        (DOCUMENT_STATE_ERROR, 2, 2, False, False),
        (DOCUMENT_STATE_ERROR, 2, 0, True, False),
        (DOCUMENT_STATE_ERROR, 2, 4, True, False),
        (DOCUMENT_STATE_PROCESSING, 0, 4, False, False),
    ],
)
async def test_what_is_searched_is_what_is_recorded(
    state: Any, recorded: int, searched: int, removed: bool, renewed: bool
) -> None:
    document = Document(id="d", state=state, revision=5, indexed_revision=recorded)
    both = Both({"d": document}, {"d": searched} if searched else {})
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    await ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings()))).run()
    assert (both.removed, both.renewed) == (["d"] * removed, ["d"] * renewed)
    assert not both.removed_for_good, "indexing would refuse the new revision"
    assert both.restored == ["d"] * (state == DOCUMENT_STATE_ERROR and removed)


@pytest.mark.parametrize(("recorded", "left"), [(0, {}), (2, {"d": 2})])
async def test_what_is_searched_again_instead_is_removed_unless_it_is_recorded(
    recorded: int, left: dict[str, int]
) -> None:
    document = Document(id="d", state=DOCUMENT_STATE_ERROR, revision=5, indexed_revision=recorded)
    both = Both({"d": document}, {"d": 4}, replaced={"d": 2})
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    await ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings()))).run()
    assert both.searched == left
    assert not both.removed_for_good


async def test_a_provider_that_is_away_holds_up_no_other_repair() -> None:
    failed = {
        name: Document(id=name, state=DOCUMENT_STATE_ERROR, revision=2, indexed_revision=1) for name in ("a", "b")
    }
    both = Both(failed, {}, provider_is_away=True)
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    await ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings()))).run()
    assert both.restored == ["a", "b"]


async def test_what_was_in_progress_at_a_restart_is_compared_when_it_has_ended() -> None:
    running = {name: Document(id=name, state=DOCUMENT_STATE_PROCESSING, revision=1) for name in ("a", "b")}
    both = Both(dict(running), {})
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    check = ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings())))
    await check.run()
    for name, renewed in (("a", []), ("b", ["a", "b"])):
        running[name].state, running[name].indexed_revision = DOCUMENT_STATE_INDEXED, 1
        await check.run()
        assert both.renewed == renewed
    both.documents["c"] = Document(id="c", state=DOCUMENT_STATE_INDEXED, revision=1, indexed_revision=1)
    await check.run()
    assert both.renewed == ["a", "b"], "the next check is due in an hour"


async def test_a_deleted_collection_that_is_back_after_a_restart_is_deleted_again() -> None:
    both = Both({}, {}, collections=["back", "other"])
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    check = ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings())))
    await check.run()
    assert both.collections == ["other"]
    both.collections.append("back")
    await check.run()
    assert both.collections == ["other", "back"], "only a restart may have lost it"


async def test_a_collection_that_has_the_id_of_a_deleted_one_as_its_name_is_not_deleted() -> None:
    both = Both({}, {}, collections=["new"], named={"gone": "new"})
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    await ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings()))).run()
    assert both.collections == ["new"]


async def test_documents_of_a_lost_collection_are_processed_again_so_that_they_say_so() -> None:
    def document(name: str, **fields: Any) -> Document:
        return Document(id=name, revision=1, indexed_revision=1, **fields)

    both = Both(
        {
            "lost": document("lost", collection_id="lost", state=DOCUMENT_STATE_INDEXED),
            "failed": document("failed", collection_id="lost", state=DOCUMENT_STATE_ERROR),
            "going": document("going", collection_id="being deleted", state=DOCUMENT_STATE_INDEXED),
        },
        {},
    )
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    await ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings()))).run()
    assert both.renewed == ["lost"]


async def test_a_check_of_what_has_ended_that_fails_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Document(id="a", state=DOCUMENT_STATE_PROCESSING, revision=1)
    both = Both({"a": running}, {})
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    check = ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings())))
    await check.run()
    running.state, running.indexed_revision = DOCUMENT_STATE_INDEXED, 1
    with monkeypatch.context() as away:

        async def fails() -> int:
            raise Unavailable("away")

        away.setattr(check, "_missing", fails)
        with pytest.raises(Unavailable):
            await check.run()
    await check.run()
    assert both.renewed == ["a"]


@pytest.mark.parametrize(("documents", "searched", "believed"), [({}, {"d": 1}, 0), ({}, {}, 1), ({"d"}, {"d": 1}, 1)])
async def test_a_database_without_any_document_is_not_believed(
    documents: set[str], searched: dict[str, int], believed: int
) -> None:
    there = {one: Document(id=one, state=DOCUMENT_STATE_INDEXED, revision=1, indexed_revision=1) for one in documents}
    both = Both(there, searched)
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both, indexing_upkeep=both)
    await ConsistencyCheck(*cast(Any, (stages, both, both, both, both, both, Settings()))).run()
    assert (both.compared, both.removed) == (believed, [])
