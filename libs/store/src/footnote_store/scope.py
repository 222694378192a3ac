"""The rows that a caller may access, as engine filters: one for reads, one for searches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from footnote_store.compiler import FALSE, quote

NEVER_FOUND = 0
"""The `search_key` of rows that reads return but searches never find."""


@lru_cache(maxsize=65_536)
def search_key(tenant_id: str, collection_key: str) -> int:
    """Return the number, 1 to 2**63 - 1, by which a search recognises the rows of a collection.

    The engine compares numbers in bulk and texts one by one. With 10 000 rows, a search that filters by tenant,
    collection and level spends a quarter of its time on that. If two collections ever share a number, a check of each
    hit's tenant and collection keeps them apart.
    """
    name = f"{len(tenant_id)}:{tenant_id}{collection_key}".encode(errors="surrogatepass")
    return max(1, int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) >> 1)


@dataclass(frozen=True, slots=True)
class RowScope:
    """The part of every read and search that a caller cannot change: tenant, collections, revisions, expiry.

    `now` is Unix seconds. Without a tenant or collections, no row passes.
    """

    tenant_id: str
    collection_keys: Sequence[str]
    hidden_revisions: Sequence[str]
    now: float

    def rows(self) -> str:
        """Return the filter of reads, which uses the columns' plain values."""
        if not self.tenant_id or not self.collection_keys:
            return FALSE
        return _all(self._tenant(), _one_of("collection_key", self.collection_keys, "in"), *self._current())

    def searched(self, *, by_tenant: bool) -> str:
        """Return the filter of searches; `by_tenant` is set when each tenant has its own partition."""
        if not self.tenant_id or not self.collection_keys:
            return FALSE
        keys = [search_key(self.tenant_id, key) for key in self.collection_keys]
        found = f"search_key == {keys[0]}" if len(keys) == 1 else f"search_key in {keys}"
        return _all(*([self._tenant()] if by_tenant else ()), found, *self._current())

    def _tenant(self) -> str:
        return f"tenant_id == {quote(self.tenant_id)}"

    def _current(self) -> list[str]:
        hidden = [_one_of("revision_key", self.hidden_revisions, "not in")] if self.hidden_revisions else []
        return [*hidden, f"expires_at > {int(self.now * 1000)}"]


def _all(*parts: str) -> str:
    return " and ".join(parts)


def _one_of(column: str, values: Sequence[str], word: str) -> str:
    return f"{column} {word} [{', '.join(quote(value) for value in values)}]"
