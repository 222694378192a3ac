"""Compares the collections, documents and chunks of the public API with what was acknowledged, in both directions."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import dataclass

from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import collections_pb2 as collections
from footnote.edge.v1 import documents_pb2 as docs
from footnote.edge.v1 import operations_pb2 as operations
from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.chunk_pb2 import CHUNK_LEVEL_PARENT
from footnote.types.v1.collection_pb2 import SEARCH_STRATEGY_FULLTEXT, Collection, RetrievalSettings
from footnote_kit.errors import NotFound
from footnote_providers.own_vectors import brings_own

from support.harness import reference_model as model
from support.harness.caller import Caller
from support.harness.reference_model import Content, Presence, ReferenceModel, paragraphs, sha256, word

FINAL = (doc.DOCUMENT_STATE_INDEXED, doc.DOCUMENT_STATE_ERROR)
ENDED = (operations.OPERATION_STATE_SUCCEEDED,)


@dataclass(slots=True)
class Shown:
    """What the public API lists."""

    collections: list[Collection]
    documents: list[docs.Document]

    @property
    def indexed(self) -> dict[str, docs.Document]:
        """The searched documents by id; a failed one is still searched in its earlier revision.

        Documents that no search finds after an accepted loss are left out: their collection was lost, or they are back
        from a deletion that was lost, without their file.
        """
        there = {one.id for one in self.collections}
        return {
            one.id: one
            for one in self.documents
            if one.indexed_revision
            and one.collection_id in there
            and not (one.state == doc.DOCUMENT_STATE_ERROR and one.failure.message.endswith("is gone"))
        }


async def shown(caller: Caller) -> Shown:
    """Read both lists."""
    return Shown(
        await caller.pages("ListCollections", collections.ListCollectionsRequest(page_size=1000), "collections"),
        await caller.pages("ListDocuments", docs.ListDocumentsRequest(page_size=1000), "documents"),
    )


async def unfinished(caller: Caller, world: ReferenceModel) -> list[str]:
    """Return the documents and operations that are still in progress."""
    listed = await shown(caller)
    found = [
        f"unfinished: {one.filename} is {doc.DocumentState.Name(one.state)}"
        for one in listed.documents
        if one.state not in FINAL
    ]
    for operation_id, about in list(world.operations.items()):
        request = operations.GetOperationRequest(operation_id=operation_id)
        try:
            one = (await caller.call("GetOperation", request)).operation
        except NotFound:
            found.append(f"lost: operation {operation_id}, {about}")
            continue
        if not one.HasField("end_time"):
            state = operations.OperationState.Name(one.state)
            found.append(f"unfinished: {about} is {state}, {one.done} of {one.total}")
        elif one.state not in ENDED and operation_id not in world.interrupted:
            found.append(f"failed: {about} ended {operations.OperationState.Name(one.state)}: {one.error.message}")
        else:
            del world.operations[operation_id]  # it has ended
            world.counts["operations ended"] += 1
    return found


async def catalogue(caller: Caller, world: ReferenceModel) -> list[str]:
    """Compare collections and documents with the model."""
    listed = await shown(caller)
    found = _collections(listed, world)
    by_id = {one.id: one for one in listed.documents}
    by_name = Counter(one.filename for one in listed.documents)
    found += [f"doubled: {name} is listed {count} times" for name, count in by_name.items() if count > 1]
    expected: dict[str, model.Document] = {one.filename: one for one in world.documents}
    for one in world.documents:
        there = by_id.get(one.id) if one.id else None
        if one.presence is Presence.THERE and there is None:
            found.append(f"lost: {one.name} ({one.id}) was acknowledged and is not listed")
        elif one.presence is Presence.GONE and there is not None:
            found.append(f"ghost: {one.name} ({one.id}) was deleted and is listed")
    for each in listed.documents:
        known = expected.get(each.filename)
        if known is None:
            found.append(f"ghost: no caller uploaded {each.filename} ({each.id})")
        elif known.id and known.id != each.id and not known.twin:
            found.append(f"doubled: {each.filename} is {each.id}, its uploader got {known.id}")
        elif not known.id and known.presence is Presence.GONE:
            found.append(f"ghost: {each.filename} ({each.id}) is in a collection that was deleted, or was refused")
        else:
            found += _as_told(each, known)
    return found


def _collections(listed: Shown, world: ReferenceModel) -> list[str]:
    found = []
    by_id = {one.id: one for one in listed.collections}
    known = {one.id: one for one in world.collections}
    for one in world.collections:
        there = by_id.get(one.id)
        if one.presence is Presence.THERE and there is None:
            found.append(f"lost: collection {one.name}")
        elif one.presence is Presence.GONE and there is not None:
            found.append(f"ghost: collection {one.name} was deleted")
        elif there is not None:
            settings = there.settings
            grantee = there.grants[0].user_id if there.grants else ""
            values = (there.description, settings.chunking.size, settings.embedding.dimensions, grantee)
            for of, value in zip((one.description, one.size, one.dimensions, one.grantee), values, strict=True):
                if not of.allows(value):
                    found.append(f"differs: collection {one.name} has {value!r}, acknowledged was {of}")
    found += [f"ghost: no caller made collection {one.name}" for one in listed.collections if one.id not in known]
    return found


def _as_told(each: docs.Document, known: model.Document) -> list[str]:
    found = []
    allowed = {known.content.certain, *known.content.late}
    newest = each.replacement if each.HasField("replacement") else each
    if newest.sha256 not in {sha256(one) for one in allowed if isinstance(one, int | bytes)}:
        found.append(f"differs: {each.filename} has other bytes than were acknowledged")
    tag = each.tags[0] if each.tags else ""
    if not known.tag.allows(tag) and not known.twin:
        found.append(f"differs: {each.filename} has tag {tag!r}, acknowledged was {known.tag}")
    if each.collection_id != known.collection.id:
        found.append(f"differs: {each.filename} is in another collection")
    failure = each.failure
    if each.state == doc.DOCUMENT_STATE_ERROR and not (failure.reason and failure.message and failure.hint):
        found.append(f"differs: {each.filename} is in ERROR and does not say why")
    if each.state == doc.DOCUMENT_STATE_INDEXED and each.indexed_revision != each.revision:
        found.append(f"half: {each.filename} is INDEXED, and searched is revision {each.indexed_revision}")
    return found


async def chunks(caller: Caller, world: ReferenceModel) -> list[str]:
    """Compare the searched chunks with the documents: each is whole, in one revision, and there is nothing else."""
    found = []
    listed = await shown(caller)
    of: dict[str, list[Chunk]] = {one: [] for one in listed.indexed}
    for collection in listed.collections:
        if brings_own(collection.settings.embedding) or collection.id in world.rows:
            continue  # its rows are not documents; `vector_steps.audit` compares them
        for chunk in await _all_chunks(caller, collection.id):
            if chunk.document_id not in of:
                found.append(f"ghost: chunk {chunk.id} is found, and its document is not listed")
            else:
                of[chunk.document_id].append(chunk)
    contents = {sha256(one): one for each in world.documents for one in _contents(each)}
    for document_id, each in listed.indexed.items():
        found += _whole(each, of[document_id], contents)
    world.counts["documents"] = len(listed.documents)
    world.counts["documents in ERROR"] = sum(one.state == doc.DOCUMENT_STATE_ERROR for one in listed.documents)
    world.counts["chunks"] = sum(map(len, of.values()))
    return found


def _contents(one: model.Document) -> list[Content]:
    return [value for value in (one.content.certain, *one.content.late) if isinstance(value, int | bytes)]


def _whole(each: docs.Document, chunks: list[Chunk], contents: dict[str, Content]) -> list[str]:
    name = each.filename
    if not chunks:
        return [f"lost: {name} is INDEXED and has no chunks"]
    found = []
    if {chunk.revision for chunk in chunks} != {each.indexed_revision}:
        found.append(f"half: {name} is found in revisions {sorted({chunk.revision for chunk in chunks})}")
    places = Counter((chunk.level, chunk.ordinal) for chunk in chunks)
    if max(places.values()) > 1 or len({chunk.id for chunk in chunks}) < len(chunks):
        found.append(f"doubled: {name} has chunks twice")
    if each.state != doc.DOCUMENT_STATE_INDEXED:
        return found  # what is searched is an earlier content
    if each.chunk_count != len(chunks):
        found.append(f"half: {name} has {each.chunk_count} chunks, found are {len(chunks)}")
    content = contents.get(each.sha256)
    if content is not None:
        said = "\n".join(chunk.text for chunk in chunks if chunk.level != CHUNK_LEVEL_PARENT)
        missing = [line for line in paragraphs(content) if line not in said]
        if missing:
            found.append(f"half: {name} lacks {len(missing)} of its paragraphs, as {missing[0][:40]!r}")
        if any(one not in word(content) for one in _words(said)):
            found.append(f"half: {name} is found with words of another content")
    return found


def _words(said: str) -> set[str]:
    return {one for one in said.replace(".", " ").split() if one.startswith("wz") and one.endswith("x")}


async def _all_chunks(caller: Caller, collection_id: str) -> list[Chunk]:
    found: list[Chunk] = []
    token = ""
    while True:
        request = docs.QueryChunksRequest(collection=collection_id, page_size=1000, page_token=token)
        page = await caller.call("QueryChunks", request, timeout=60)
        found += page.chunks
        token = page.next_page_token
        if not token:
            return found


async def found_again(caller: Caller, world: ReferenceModel, seed: int, most: int = 8) -> list[str]:
    """Search for some documents by their own words, and for some deleted ones: caches must not be stale.

    The files of the first are also downloaded and compared byte by byte.
    """
    chance = random.Random(seed)
    sure = [one for one in world.documents if one.id and not one.content.late and not one.twin]
    there = [one for one in sure if one.presence is Presence.THERE]
    gone = [one for one in sure if one.presence is Presence.GONE]
    catalogue = await shown(caller)
    listed = catalogue.documents
    indexed = {one.id for one in catalogue.indexed.values() if one.state == doc.DOCUMENT_STATE_INDEXED}
    revisions = {one.id: one.revision for one in listed}
    found = []
    for one in chance.sample(there, min(most, len(there))):
        content = one.content.certain
        assert isinstance(content, int | bytes)
        hits, degraded = await _hits(caller, content)
        if one.id in indexed and one.id not in hits:
            found.append(f"lost: {one.name} is INDEXED and not found by its own word {degraded}")
        wanted = docs.DownloadDocumentRequest(document_id=one.id, revision=revisions.get(one.id))
        parts = await caller.stream("DownloadDocument", wanted)
        if hashlib.sha256(b"".join(part.data for part in parts)).hexdigest() != sha256(content):
            found.append(f"differs: the file of {one.name} is another than was acknowledged")
    for one in chance.sample(gone, min(most, len(gone))):
        content = one.content.certain
        assert isinstance(content, int | bytes)
        if one.id in (await _hits(caller, content))[0]:
            found.append(f"ghost: {one.name} was deleted and is found")
    return found


async def _hits(caller: Caller, content: Content) -> tuple[set[str], list[str]]:
    """Return the documents found by a content's own word, and what did not work."""
    settings = RetrievalSettings(strategy=SEARCH_STRATEGY_FULLTEXT)
    found = await caller.call("Search", answers.SearchRequest(query=word(content), settings=settings))
    return {one.chunk.document_id for one in found.chunks}, [one.detail for one in found.degradations]
