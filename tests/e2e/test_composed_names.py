"""Names that a Mac decomposes and that people type composed mean the same collection and the same file."""

from __future__ import annotations

import unicodedata
from uuid import uuid4

from footnote.edge.v1 import documents_pb2 as pb
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest, UpdateCollectionRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.filter_pb2 import COMPARISON_OP_EQ, COMPARISON_OP_IN, Comparison, Filter, FilterValue
from support.edge_client import EdgeClient

FORMS = ("NFC", "NFD")


async def test_a_collection_and_its_file_are_found_in_both_forms(edge: EdgeClient) -> None:
    word = uuid4().hex[:8]
    names = {form: unicodedata.normalize(form, f"Verträge {word}") for form in FORMS}
    files = {form: unicodedata.normalize(form, f"Übersicht {word}.txt") for form in FORMS}
    made = await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=names["NFD"])))
    assert made.collection.name == names["NFC"]
    parts = [
        pb.UploadDocumentRequest(metadata=pb.UploadMetadata(collection=names["NFD"], filename=files["NFD"])),
        pb.UploadDocumentRequest(data=f"The {word} is in the overview.".encode()),
    ]
    stored = (await edge.stub.UploadDocument(iter(parts), timeout=30)).document
    assert stored.filename == files["NFC"]
    async for _ in edge.stub.WatchDocument(pb.WatchDocumentRequest(document_id=stored.id), timeout=60):
        pass
    for form in FORMS:
        found = await edge.stub.GetCollection(GetCollectionRequest(collection=names[form]))
        assert found.collection.id == made.collection.id
        part = unicodedata.normalize(form, f"übersicht {word}")
        listed = await edge.stub.ListDocuments(pb.ListDocumentsRequest(collection=names[form], filename_contains=part))
        assert [one.id for one in listed.documents] == [stored.id]
        value = FilterValue(string_value=files[form])
        one_of = FilterValue(list_value={"items": [value]})
        for condition in (
            Filter(json=f'{{"filename": "{files[form]}"}}'),
            Filter(json=f'{{"filename": {{"$in": ["{files[form]}"]}}}}'),
            Filter(comparison=Comparison(field="filename", op=COMPARISON_OP_EQ, value=value)),
            Filter(comparison=Comparison(field="filename", op=COMPARISON_OP_IN, value=one_of)),
        ):
            request = SearchRequest(query=word, collections=[names[form]], filter=condition)
            assert (await edge.stub.Search(request, timeout=30)).chunks
    renamed = Collection(name=unicodedata.normalize("NFD", f"हिन्दी é {word}"))
    changed = await edge.stub.UpdateCollection(UpdateCollectionRequest(collection=names["NFD"], resource=renamed))
    assert changed.collection.name == unicodedata.normalize("NFC", renamed.name)
