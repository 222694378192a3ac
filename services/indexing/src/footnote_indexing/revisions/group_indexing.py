"""Indexes several small new documents of one collection together, in two transactions and few store calls."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from footnote.stages.v1 import parsing_pb2, scope_pb2, stored_document_pb2
from footnote.types.v1 import chunk_pb2
from footnote_kit import names
from footnote_kit.access import Access
from footnote_kit.errors import Aborted, FailedPrecondition, FootnoteError, InvalidArgument, Unavailable
from footnote_kit.telemetry import span
from footnote_providers.base import Vectors
from footnote_providers.own_vectors import brings_own
from footnote_store.rows import Row

from footnote_indexing.chunking import registry
from footnote_indexing.chunking.cutting import Cutters
from footnote_indexing.chunking.drafts import Draft, fingerprint, settings_digest
from footnote_indexing.chunking.model import Chosen
from footnote_indexing.collections.collections import Collections, Found
from footnote_indexing.model import Audience, IndexVersion, RevisionKey
from footnote_indexing.ports import Ledger, ModelMoves
from footnote_indexing.revisions.document_indexing import Result, assign, dated
from footnote_indexing.revisions.revision_writer import Tally, follows_later
from footnote_indexing.settings import Settings
from footnote_indexing.writing.permitted import Permitted, bounds_of
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter
from footnote_indexing.writing.vectorizers import Vectorizer, Vectorizers


@dataclass(slots=True)
class Member:
    """One document of a group, with everything that was parsed; `parsed` is None if its stream broke off."""

    document: stored_document_pb2.Document
    blocks: list[parsing_pb2.Block] = field(default_factory=list)
    parsed: parsing_pb2.ParsedMetadata | None = None


@dataclass(frozen=True, slots=True)
class _Cut:
    """A document cut into drafts."""

    document: stored_document_pb2.Document
    drafts: Sequence[Draft]
    chosen: Chosen
    language: str
    characters: int
    tally: Tally

    def values(self) -> dict[str, object]:
        """Return the columns of the ledger that its publication sets."""
        expires = self.document.HasField("expire_time")
        return {
            "strategy": self.chosen[0], "choice": self.chosen[1], "language": self.language[:16],
            "chunks_expected": len(self.drafts), "chunks_stored": len(self.drafts), "characters": self.characters,
            "expire_at": self.document.expire_time.ToMilliseconds() if expires else None,
            "vectors_owed": self.tally.owed,
        }  # fmt: skip


class GroupIndexing:
    """Indexes groups of documents that the ledger does not know yet; all others need `Documents.index`."""

    def __init__(
        self,
        collections: Collections,
        moves: ModelMoves,
        ledger: Ledger,
        vectorizers: Vectorizers,
        writer: StoreWriter,
        permitted: Permitted,
        cutters: Cutters,
        locks: DocumentLocks,
        settings: Settings,
    ) -> None:
        self._collections = collections
        self._moves = moves
        self._ledger = ledger
        self._vectorizers = vectorizers
        self._writer = writer
        self._permitted = permitted
        self._cutters = cutters
        self._locks = locks
        self._settings = settings

    async def index(self, scope: scope_pb2.Scope, members: Sequence[Member]) -> list[Result | FootnoteError]:
        """Index the documents of a group; return for each, in order, its result or its own error.

        Raises the errors that concern all of them: FailedPrecondition for a collection that needs `Documents.index`,
        Unavailable for a store or a provider. Rows written until then stay invisible, and `Documents.index` continues
        from them.
        """
        found = await self._collections.find(scope, members[0].document.collection_id, Access.WRITE)
        index_version = await self._index_version(found)
        self._permitted.check_embedding(scope, index_version.embedding, bounds_of(found.collection))
        vectorizer = await self._vectorizers.get(index_version.embedding)
        outcomes: list[Result | FootnoteError] = [FailedPrecondition(_BEGUN) for _ in members]
        async with AsyncExitStack() as held:
            keys: dict[RevisionKey, int] = {}
            for index, member in enumerate(members):
                lock = self._locks.of(member.document.id)
                if (refusal := _refusal(member, members[0])) is not None:
                    outcomes[index] = refusal
                elif not lock.locked():  # so this does not wait, and two groups cannot wait for each other
                    await held.enter_async_context(lock)
                    assign(member.document, found, scope)
                    keys[RevisionKey(found.collection.id, index_version.number, member.document.id, 1)] = index
            with span("index documents", {names.CHUNKS: len(keys)}):
                cut = await self._open_and_cut(found, {key: members[at] for key, at in keys.items()})
                if cut:
                    await self._write(index_version, vectorizer, found.audience, cut)
                    refused = await self._ledger.publish_new({key: one.values() for key, one in cut.items()})
                    digest = settings_digest(found.effective)
                    for key, one in cut.items():
                        outcomes[keys[key]] = refused.get(key) or _result(one, digest)
                    await self._clean_up(index_version, refused)
        return outcomes

    async def _index_version(self, found: Found) -> IndexVersion:
        """Return the one index version to write to."""
        targets = await self._moves.targets(found)
        if len(targets) != 1 or brings_own(targets[0].embedding) or registry.needs_vectors(found.effective.chunking):
            raise FailedPrecondition("This collection takes its documents one by one")
        return targets[0]

    async def _open_and_cut(self, found: Found, members: Mapping[RevisionKey, Member]) -> dict[RevisionKey, _Cut]:
        """Announce the documents that are new, and cut them; those without a chunk are left to `Documents.index`."""
        if not members:
            return {}
        documents = {key: dated(member.document, found.effective) for key, member in members.items()}
        marks = {key: fingerprint(document, found.effective) for key, document in documents.items()}
        new = await self._ledger.open_new(marks, found.effective.chunking.contextual_header)
        cut: dict[RevisionKey, _Cut] = {}
        for key in (key for key in members if key in new):
            async with self._cutters.cutting(documents[key], found.effective, _no_vectors) as cutter:
                parsed = members[key].parsed
                assert parsed is not None
                drafts = [*await cutter.feed(members[key].blocks), *await cutter.finish(parsed)]
                chosen, language, _, characters = cutter.state
            if drafts:
                cut[key] = _Cut(documents[key], drafts, chosen, language, characters, Tally(stored=len(drafts)))
        return cut

    async def _write(
        self, index_version: IndexVersion, vectorizer: Vectorizer, audience: Audience, cut: Mapping[RevisionKey, _Cut]
    ) -> None:
        """Embed and store all chunks, and check that the store holds them."""
        space = await self._writer.ensure_same(index_version)
        tallies = {key.document_id: one.tally for key, one in cut.items()}
        drafts = [draft for one in cut.values() for draft in one.drafts]
        for start in range(0, len(drafts), self._settings.store_batch):
            batch = drafts[start : start + self._settings.store_batch]
            rows = await self._rows(index_version, vectorizer, audience, batch, tallies)
            await self._writer.write(space, rows, new=True)
        count = await self._writer.count_all(space, list(cut))
        if count != len(drafts):  # some were deleted or cancelled meanwhile, with their rows, or the store lost some
            raise Unavailable(
                f"the vector store holds {count} of the {len(drafts)} chunks written", reason="STORE_UNAVAILABLE"
            )

    async def _rows(
        self,
        index_version: IndexVersion,
        vectorizer: Vectorizer,
        audience: Audience,
        drafts: Sequence[Draft],
        tallies: Mapping[str, Tally],
    ) -> list[Row]:
        embedded = [draft for draft in drafts if draft.chunk.level != chunk_pb2.CHUNK_LEVEL_PARENT]
        texts = [draft.embedded_text for draft in embedded]
        keys = vectorizer.keys(audience, texts)
        vectors: dict[str, Vectors] = {}
        sent: set[int] = set()
        if follows_later(index_version, vectorizer, self._settings):
            vectors.update(await vectorizer.found(keys, {}))
        else:
            made = await vectorizer.embed(keys, texts, {})
            vectors.update(zip(keys, made.vectors, strict=True))
            sent.update(made.sent)
        for at, (draft, key) in enumerate(zip(embedded, keys, strict=True)):
            tally = tallies[draft.chunk.document_id]
            tally.embedded += at in sent
            tally.tokens += draft.chunk.token_count if at in sent else 0
            tally.cache_hits += at not in sent and key in vectors
            tally.owed += key not in vectors
        by_id = {draft.chunk.id: vectors.get(key) for draft, key in zip(embedded, keys, strict=True)}
        collection = index_version.collection_key
        return [Row(draft.chunk, collection, by_id.get(draft.chunk.id), draft.lexical_text) for draft in drafts]

    async def _clean_up(self, index_version: IndexVersion, refused: Mapping[RevisionKey, Aborted]) -> None:
        """Remove the rows of documents that were deleted or cancelled while they were written."""
        for key in refused:
            if not await self._ledger.wanted(key):
                await self._writer.purge(index_version.space, key)


_BEGUN = "This document was begun before"


def _refusal(member: Member, first: Member) -> FootnoteError | None:
    if member.parsed is None:
        return InvalidArgument("The document broke off: its blocks ended without the metadata that closes it")
    if member.document.collection_id != first.document.collection_id:
        return InvalidArgument.field("header.document.collection_id", "must be the same for all documents of a group")
    if not member.document.id or member.document.revision != 1:
        return FailedPrecondition(_BEGUN)
    return None


def _result(cut: _Cut, digest: str) -> Result:
    return Result(len(cut.drafts), len(cut.drafts), cut.chosen, digest, cut.tally)


def _no_vectors(texts: Sequence[str]) -> Vectors:
    raise AssertionError("chunkers that need vectors take no groups")
