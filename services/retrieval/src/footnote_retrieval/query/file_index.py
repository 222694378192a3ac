"""The file names of the collections searched, read from the store and kept for a while."""

from __future__ import annotations

import time
from collections.abc import Sequence

from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.text_work import beside
from footnote_store.filters import conjunction

from footnote_retrieval.model import Group
from footnote_retrieval.ports import ChunkStore
from footnote_retrieval.query.files import FileNames, effort

_log = get_logger("footnote.retrieval.files")
_MAX_FILES = 5000  # above that, names in questions are not looked for
_TTL = 30.0
_MAX_CACHED = 256


class FileIndex:
    """File names of the collections, kept for half a minute unless the collections change before."""

    def __init__(self, store: ChunkStore) -> None:
        self._store = store
        self._cache: dict[tuple[object, ...], tuple[float, FileNames]] = {}

    async def of(self, groups: Sequence[Group], now: float, timeout: float) -> FileNames:
        """Return the names in all these groups together."""
        of_groups = [await self.names(group, now, timeout) for group in groups]
        if len(of_groups) == 1:
            return of_groups[0]
        found = {i: name for names in of_groups for name, ids in names.documents.items() for i in ids}
        return await beside(effort(found), FileNames, found)

    async def names(self, group: Group, now: float, timeout: float) -> FileNames:
        """Return the names; none when there are too many, or the store does not answer."""
        key = (
            group.space,
            group.tenant_id,
            *((m.collection_key, m.hidden_revisions, m.collection.chunk_count, m.collection.document_count)
              for m in group.members),
        )  # fmt: skip
        cached = self._cache.get(key)
        if cached and cached[0] > time.monotonic():
            return cached[1]
        try:
            expr = conjunction([group.scope(now).rows(), "ordinal == 0"])
            found = await self._store.filenames(group.space, expr, _MAX_FILES + 1, timeout)
        except FootnoteError as error:
            _log.warning("filenames_unavailable", error=error.message)
            return FileNames({})
        names = await beside(effort(found), FileNames, found if len(found) <= _MAX_FILES else {})
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[key] = (time.monotonic() + _TTL, names)
        return names
