"""Reuses the vectors of the searched revision for chunks of the next one with the same text."""

from collections.abc import Mapping, Sequence

from footnote.types.v1 import chunk_pb2
from footnote_providers.base import Vectors

from footnote_indexing.chunking.drafts import embedded_text
from footnote_indexing.model import Entry
from footnote_indexing.ports import ChunkStore
from footnote_indexing.writing.store_writer import revision_expr
from footnote_indexing.writing.vectorizers import Vectorizer

_PAGE = 1000
_MOST = 200_000
"""Maximum number of chunks compared; beyond it, only the cache helps."""


class PreviousRevision:
    """Knows which chunk of the previous revision has which text, and fetches vectors on demand."""

    def __init__(self, store: ChunkStore, space: str, entry: Entry, vectorizer: Vectorizer) -> None:
        self._store = store
        self._space = space
        self._key = entry.key
        self._vectorizer = vectorizer
        self._with_header = entry.contextual_header
        self._ids: dict[str, str] = {}

    async def load(self) -> None:
        """Read the texts; only their keys are kept."""
        offset = 0
        while offset < _MOST:
            chunks = await self._store.query(self._space, revision_expr(self._key), _PAGE, offset)
            for chunk in chunks:
                if chunk.level != chunk_pb2.CHUNK_LEVEL_PARENT:
                    self._ids[self._vectorizer.key(embedded_text(chunk, self._with_header))] = chunk.id
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
