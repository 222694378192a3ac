"""Makes the vectors of rows that can already be searched by their words, at the model's speed.

The ledger records how many are owed, and the store which rows lack one. So a crash loses nothing: the next worker
continues with the rows that have no vector.
"""

from collections.abc import Sequence

from footnote.types.v1.chunk_pb2 import CHUNK_LEVEL_PARENT
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_store.compiler import quote
from footnote_store.rows import Hit, Row

from footnote_indexing.chunking.drafts import embedded_text
from footnote_indexing.model import Audience, IndexVersion, RevisionKey
from footnote_indexing.ports import IndexVersions, VectorClaims
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter, revision_expr
from footnote_indexing.writing.vectorizers import Vectorizer, Vectorizers

_log = get_logger("footnote.indexing.owed")
_PAGE = 500
_TOGETHER = 16
"""Texts per call; their vectors are written before the next call."""
_CLAIM = 300.0


class OwedVectors:
    """Makes owed vectors one revision after the other; one that fails is left for the next round."""

    def __init__(
        self,
        claims: VectorClaims,
        index_versions: IndexVersions,
        writer: StoreWriter,
        vectorizers: Vectorizers,
        locks: DocumentLocks,
    ) -> None:
        self._claims = claims
        self._index_versions = index_versions
        self._writer = writer
        self._vectorizers = vectorizers
        self._locks = locks
        self.made = 0
        """Vectors made since the start of this process."""

    async def round(self) -> None:
        """Make all owed vectors; raises the first failure after the other revisions had their turn."""
        failed: dict[RevisionKey, FootnoteError] = {}
        while (claimed := await self._claims.claim(failed, _CLAIM)) is not None:
            key, with_header = claimed
            try:
                await self._pay(key, with_header)
            except FootnoteError as error:
                failed[key] = error
            except BaseException:
                await self._claims.release(key)
                raise
        for key in failed:
            await self._claims.release(key)
        if failed:
            raise next(iter(failed.values()))

    async def _pay(self, key: RevisionKey, with_header: bool) -> None:
        index_version = await self._index_versions.find(key.collection_id, key.index_version)
        if index_version is None:
            return
        await self._writer.ensure(index_version)
        vectorizer = await self._vectorizers.get(index_version.embedding)
        audience = await self._index_versions.audience(index_version)
        offset = 0
        while True:
            page = await self._writer.store.read(index_version.space, revision_expr(key), _PAGE, offset, vectors=True)
            lacking = [hit for hit in page if lacks_vector(hit)]
            for start in range(0, len(lacking), _TOGETHER):
                some = lacking[start : start + _TOGETHER]
                await self._write(index_version, key, vectorizer, audience, some, with_header)
                self.made += len(some)
                if not await self._claims.paid(key, len(some), _CLAIM):
                    await self._claims.release(key)
                    if not await self._claims.searched(key):
                        await self._gone(index_version, key)
                    return  # the rows are relabelled: a later round looks which ones lack a vector then
            if len(page) < _PAGE:
                break
            offset += _PAGE
        await self._claims.settled(key)
        _log.info("vectors_paid", document_id=key.document_id, revision=key.revision)

    async def _write(
        self,
        index_version: IndexVersion,
        key: RevisionKey,
        vectorizer: Vectorizer,
        audience: Audience,
        hits: Sequence[Hit],
        with_header: bool,
    ) -> None:
        """Embed, then write the rows in their current state: they may have been relabelled or removed."""
        texts = [embedded_text(hit.chunk, with_header) for hit in hits]
        made = await vectorizer.embed(vectorizer.keys(audience, texts), texts, {})
        vectors = {hit.id: vector for hit, vector in zip(hits, made.vectors, strict=True)}
        async with self._locks.of(key.document_id), self._claims.writing(key) as holds:
            if not holds:
                return
            expr = f"{revision_expr(key)} and id in [{', '.join(map(quote, vectors))}]"
            rows = [
                Row(hit.chunk, key.collection_key, vectors[hit.id], hit.lexical_text)
                for hit in await self._writer.store.read(index_version.space, expr, len(vectors))
            ]
            if rows:
                await self._writer.write(index_version.space, rows)

    async def _gone(self, index_version: IndexVersion, key: RevisionKey) -> None:
        """Remove the rows of a revision that was deleted or replaced meanwhile."""
        async with self._locks.of(key.document_id):
            await self._writer.purge(index_version.space, key)


def lacks_vector(hit: Hit) -> bool:
    """Return whether a row, read with its vector, still lacks one."""
    return hit.chunk.level != CHUNK_LEVEL_PARENT and (hit.vector is None or not hit.vector.any())
