"""The file names of the searched collections, read from the store and cached."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from footnote_kit.caches import AgedCache
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.text_work import off_loop
from footnote_store.filters import conjunction

from footnote_retrieval.model import Group
from footnote_retrieval.ports import ChunkStore
from footnote_retrieval.query.files import FileNames, effort

_log = get_logger("footnote.retrieval.files")
_MAX_FILES = 5000  # above that, questions are not searched for names
_TTL = 30.0
_MAX_CACHED = 256
_MAX_NAMES = 40_000
"""Maximum number of cached names: 50 MB, at 1.3 kB per name of 36 characters (tracemalloc, 5 000 names)."""
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Cached:
    """Names, their expiry, and the collections' state when they were read."""

    until: float
    state: tuple[object, ...]
    names: FileNames


class FileIndex:
    """File names of the collections, cached for half a minute unless the collections change before.

    Only the newest names of the same collections are kept: each upload makes the earlier ones useless.
    """

    def __init__(self, store: ChunkStore) -> None:
        self._store = store
        self._cache: AgedCache[Key, _Cached] = AgedCache(
            _MAX_CACHED, _MAX_NAMES, lambda held: len(held.names), lambda held: held.until, time.monotonic
        )

    async def of(self, groups: Sequence[Group], now: float, timeout: float) -> FileNames:
        """Return the names in all these groups together."""
        of_groups = [await self.names(group, now, timeout) for group in groups]
        if len(of_groups) == 1:
            return of_groups[0]
        found = {i: name for names in of_groups for name, ids in names.documents.items() for i in ids}
        whole = all(names.complete for names in of_groups)
        return await off_loop(effort(found), _names, found, whole)

    async def names(self, group: Group, now: float, timeout: float) -> FileNames:
        """Return the names; none if there are too many or the store does not answer."""
        if sum(m.collection.document_count for m in group.members) > _MAX_FILES:
            return FileNames({})
        key = (group.space, group.tenant_id, *(m.collection_key for m in group.members))
        state = tuple(
            (m.hidden_revisions, m.collection.chunk_count, m.collection.document_count) for m in group.members
        )
        cached = self._cache.get(key)
        if cached is not None and cached.state == state:
            return cached.names
        try:
            expr = conjunction([group.scope(now).rows(), "ordinal == 0"])
            found = await self._store.filenames(group.space, expr, _MAX_FILES + 1, timeout)
        except FootnoteError as error:
            _log.warning("filenames_unavailable", error=error.message)
            return FileNames({})
        whole = len(found) <= _MAX_FILES
        names = await off_loop(effort(found), _names, found if whole else {}, whole)
        self._cache[key] = _Cached(time.monotonic() + _TTL, state, names)
        return names


def _names(found: Mapping[str, str], complete: bool) -> FileNames:
    return FileNames(found, complete=complete)
