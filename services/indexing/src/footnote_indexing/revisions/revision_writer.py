"""Writes one revision of one document into one index version: embed, store, check, publish.

Chunks with a text of the searched revision reuse its vectors.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from time import monotonic

from footnote.stages.v1 import passage_pb2
from footnote.types.v1 import chunk_pb2
from footnote_kit.errors import Unavailable
from footnote_providers.base import Vectors
from footnote_store.connection import StoreFrozen
from footnote_store.rows import Row

from footnote_indexing.chunking.drafts import Draft, embedded_text
from footnote_indexing.chunking.model import Chosen
from footnote_indexing.model import CURRENT, Audience, Entry, IndexVersion, Opened, RevisionKey
from footnote_indexing.ports import ChunkStore, Ledger
from footnote_indexing.settings import Settings
from footnote_indexing.writing.store_writer import StoreWriter, revision_expr
from footnote_indexing.writing.vectorizers import Vectorizer

_PAGE = 1000
_CHECK_EVERY = 5.0


@dataclass(slots=True)
class Tally:
    """What was done so far."""

    embedded: int = 0
    cache_hits: int = 0
    unchanged: int = 0
    tokens: int = 0
    vectors: int = 0
    stored: int = 0
    owed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is recorded when a revision becomes current."""

    chosen: Chosen
    language: str
    chunks: int
    characters: int
    expire_at: int | None


class RevisionWriter:
    """Writes the drafts of a revision as they arrive, in concurrent batches."""

    def __init__(
        self,
        ledger: Ledger,
        writer: StoreWriter,
        vectorizer: Vectorizer,
        audience: Audience,
        index_version: IndexVersion,
        key: RevisionKey,
        settings: Settings,
    ) -> None:
        self._ledger = ledger
        self._writer = writer
        self._vectorizer = vectorizer
        self._audience = audience
        self._index_version = index_version
        self.key = key
        self._settings = settings
        self._later = follows_later(index_version, vectorizer, settings)
        self._first_attempt = False
        self._present: dict[str, bytes] = {}
        self._previous: PreviousRevision | None = None
        self._announced = 0.0
        self._headstart = 0.0
        self._checked = 0.0
        self.tally = Tally()
        self.store_failures: list[Unavailable] = []

    async def open(self, fingerprint: str, contextual_header: bool) -> Opened:
        """Announce the revision and find the rows of an earlier attempt and of the previous revision."""
        opened = await self._ledger.open(self.key, fingerprint, contextual_header)
        self._announced = self._checked = monotonic()
        before = opened.before
        self._first_attempt = before is None
        if before is not None and before.state == CURRENT:
            return opened
        space = await self._writer.ensure_same(self._index_version)
        if before is not None:
            if before.fingerprint == fingerprint:
                await self._find_present()
            else:
                await self._writer.purge(space, self.key)
        if opened.current is not None:
            # A search that began just before the announcement does not know that this revision is hidden.
            self._headstart = self._settings.headstart
            keys = partial(self._vectorizer.keys, self._audience)
            self._previous = PreviousRevision(self._writer.store, space, opened.current, keys)
            await self._previous.load()
        return opened

    async def write(self, drafts: Sequence[Draft]) -> None:
        """Embed and store one batch. A store failure is raised later, so that the other batches still run."""
        if self._present:
            missing = [draft for draft in drafts if self._present.get(draft.chunk.id) != fingerprint_of(draft.chunk)]
            if self._later:
                self.tally.owed += len(drafts) - len(missing)  # an upper bound; the exact number shows later
            self.tally.stored += len(drafts) - len(missing)
            self.tally.vectors += len(drafts) - len(missing)
            drafts = missing
        if not drafts:
            return
        rows = await self._rows(drafts)
        wait = self._announced + self._headstart - monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        if monotonic() > self._checked + _CHECK_EVERY:
            # Deleted or replaced meanwhile: rows written now could outlive the entry that hides them.
            self._checked = monotonic()
            await self._ledger.check_wanted(self.key)
        try:
            await self._writer.write(self._index_version.space, rows, new=self._first_attempt)
        except StoreFrozen:
            raise  # the other batches would each wait for it in turn
        except Unavailable as error:
            self.store_failures.append(error)
        else:
            self.tally.stored += len(rows)

    async def _rows(self, drafts: Sequence[Draft]) -> list[Row]:
        embedded = [draft for draft in drafts if draft.chunk.level != chunk_pb2.CHUNK_LEVEL_PARENT]
        texts = [draft.embedded_text for draft in embedded]
        keys = self._vectorizer.keys(self._audience, texts)
        known = await self._previous.vectors(keys) if self._previous is not None else {}
        if self._later:
            return await self._rows_for_now(drafts, keys, embedded, known)
        result = await self._vectorizer.embed(keys, texts, known)
        self.tally.embedded += len(result.sent)
        self.tally.unchanged += sum(1 for key in keys if key in known)
        self.tally.cache_hits += len(keys) - len(result.sent) - sum(1 for key in keys if key in known)
        self.tally.tokens += sum(embedded[row].chunk.token_count for row in result.sent)
        self.tally.vectors += len(drafts)
        by_id = {draft.chunk.id: vector for draft, vector in zip(embedded, result.vectors, strict=True)}
        key = self._index_version.collection_key
        return [Row(draft.chunk, key, by_id.get(draft.chunk.id), draft.lexical_text) for draft in drafts]

    async def _rows_for_now(
        self, drafts: Sequence[Draft], keys: Sequence[str], embedded: Sequence[Draft], known: Mapping[str, Vectors]
    ) -> list[Row]:
        """Return rows with the vectors available now; the others follow later."""
        found = await self._vectorizer.found(keys, known)
        by_id = {draft.chunk.id: found[key] for draft, key in zip(embedded, keys, strict=True) if key in found}
        self.tally.owed += len(embedded) - len(by_id)
        self.tally.unchanged += sum(1 for key in keys if key in known)
        self.tally.cache_hits += sum(1 for key in keys if key in found and key not in known)
        self.tally.vectors += len(drafts) - len(embedded) + len(by_id)
        key = self._index_version.collection_key
        return [Row(draft.chunk, key, by_id.get(draft.chunk.id), draft.lexical_text) for draft in drafts]

    async def publish(self, outcome: Outcome, written: Collection[int]) -> None:
        """Check that the store holds exactly the cut chunks, then let searches see them.

        `written` are all the index versions that the document goes into.
        """
        if self.store_failures:
            raise self.store_failures[0]
        space = self._index_version.space
        count = await self._writer.count(space, self.key)
        if count > outcome.chunks:
            await self._writer.trim(space, self.key, outcome.chunks)
            count = await self._writer.count(space, self.key)
        if count > outcome.chunks:
            # Two rows of one id: from two concurrent writers in two processes, or from a deleted document of the same
            # id. The next attempt starts with none.
            await self._writer.purge(space, self.key)
        if count != outcome.chunks:
            await self._ledger.check_wanted(self.key)  # deleted meanwhile, with its rows
            raise Unavailable(
                f"the vector store holds {count} of the {outcome.chunks} chunks written", reason="STORE_UNAVAILABLE"
            )
        await self._ledger.publish(
            self.key,
            chosen=outcome.chosen,
            language=outcome.language,
            chunks=outcome.chunks,
            characters=outcome.characters,
            expire_at=outcome.expire_at,
            grace_ms=int(self._settings.purge_grace * 1000),
            written=written,
            owed=self.tally.owed,
        )

    async def clean_up(self) -> None:
        """Remove the rows of a revision that was deleted or replaced; a wanted one is left alone."""
        if not await self._ledger.wanted(self.key):
            await self._writer.purge(self._index_version.space, self.key)

    async def _find_present(self) -> None:
        """Find which chunks an earlier attempt stored, so that only missing ones are written."""
        expr, offset = revision_expr(self.key), 0
        while True:
            chunks = await self._writer.store.query(self._index_version.space, expr, _PAGE, offset)
            self._present.update((chunk.id, fingerprint_of(chunk)) for chunk in chunks)
            if len(chunks) < _PAGE:
                return
            offset += _PAGE


def follows_later(index_version: IndexVersion, vectorizer: Vectorizer, settings: Settings) -> bool:
    """Return whether rows are stored before their vectors, which follow."""
    later = settings.vectors_later
    # An index version being built beside the searched one replaces it only when it is complete.
    return index_version.state == CURRENT and (later == "always" or (later == "auto" and vectorizer.slow))


def fingerprint_of(chunk: passage_pb2.Chunk) -> bytes:
    """Return a digest of a whole chunk."""
    return sha256(chunk.SerializeToString(deterministic=True)).digest()


_MOST = 200_000
"""Maximum number of chunks compared; beyond it, only the cache helps."""


class PreviousRevision:
    """Knows which chunk of the previous revision has which text, and fetches vectors on demand."""

    def __init__(
        self, store: ChunkStore, space: str, entry: Entry, keys: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        self._store = store
        self._space = space
        self._key = entry.key
        self._keys = keys
        self._with_header = entry.contextual_header
        self._ids: dict[str, str] = {}

    async def load(self) -> None:
        """Read the texts; only their keys are kept."""
        offset = 0
        while offset < _MOST:
            chunks = await self._store.query(self._space, revision_expr(self._key), _PAGE, offset)
            embedded = [chunk for chunk in chunks if chunk.level != chunk_pb2.CHUNK_LEVEL_PARENT]
            keys = self._keys([embedded_text(chunk, self._with_header) for chunk in embedded])
            self._ids.update((key, chunk.id) for key, chunk in zip(keys, embedded, strict=True))
            if len(chunks) < _PAGE:
                return
            offset += _PAGE

    async def vectors(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the vectors of texts that the previous revision shares, by key."""
        ids = {self._ids[key]: key for key in keys if key in self._ids}
        if not ids:
            return {}
        found = await self._store.vectors(self._space, list(ids))
        return {ids[chunk]: vector for chunk, vector in found.items() if vector.any()}  # a zero vector is still owed
