"""The suite of stores on one that is none of ours, and on broken ones, each of which it finds out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from footnote_store import testing
from footnote_store.filters import TRUE, RowScope
from footnote_store.rows import Hit
from support.memory_store import MemoryStore


@pytest.mark.parametrize("check", testing.STORE)
async def test_a_store_in_memory_conforms(check: Any) -> None:
    await check(MemoryStore())


class TellsNoTenants(MemoryStore):
    async def search_lexical(
        self, space: str, lexical_query: str, scope: RowScope, limit: int, *more: Any, **named: Any
    ) -> list[Hit]:
        for row in self.spaces[space].values():
            scope = RowScope(row["tenant_id"], scope.collection_keys, scope.hidden_revisions, scope.now)
        return await super().search_lexical(space, lexical_query, scope, limit, *more, **named)


class ShowsTheHidden(MemoryStore):
    async def search_dense(
        self, space: str, vector: Any, scope: RowScope, limit: int, *more: Any, **named: Any
    ) -> list[Hit]:
        scope = RowScope(scope.tenant_id, scope.collection_keys, (), scope.now)
        return await super().search_dense(space, vector, scope, limit, *more, **named)


class ShowsTheExpired(MemoryStore):
    async def search_dense(
        self, space: str, vector: Any, scope: RowScope, limit: int, *more: Any, **named: Any
    ) -> list[Hit]:
        scope = RowScope(scope.tenant_id, scope.collection_keys, scope.hidden_revisions, 0.0)
        return await super().search_dense(space, vector, scope, limit, *more, **named)


class ForgetsTheFilter(MemoryStore):
    async def search_dense(self, *given: Any, where: str = TRUE, **named: Any) -> list[Hit]:
        return await super().search_dense(*given, **named)


class WorstFirst(MemoryStore):
    async def search_lexical(self, *given: Any, **named: Any) -> list[Hit]:
        return (await super().search_lexical(*given, **named))[::-1]


class ReadsInAnyOrder(MemoryStore):
    async def read(self, *given: Any, **named: Any) -> list[Hit]:
        return (await super().read(*given, **named))[::-1]


class KeepsWhatWasRemoved(MemoryStore):
    async def delete(self, space: str, expr: str, timeout: float = 60.0) -> int:
        return await self.count(space, expr)


class TakesEverything(MemoryStore):
    async def upsert(self, space: str, rows: Sequence[Any], timeout: float = 60.0) -> int:
        try:
            return await super().upsert(space, rows)
        except Exception:
            return len(rows)


class ConfirmsTooMuch(MemoryStore):
    async def insert(self, space: str, rows: Sequence[Any], timeout: float = 60.0) -> int:
        return await super().insert(space, rows[:1000]) + len(rows[1000:])


class TellsEverybodysMessages(MemoryStore):
    async def search_messages(self, space: str, vector: Any, tenant_id: str, user_id: str, *more: Any) -> Any:
        found = [
            await super(TellsEverybodysMessages, self).search_messages(space, vector, tenant_id, user, *more)
            for user in "uv"
        ]
        return [message for several in found for message in several]


@pytest.mark.parametrize(
    ("store", "check"),
    [
        (TellsNoTenants, "keeps_to_its_scope"),
        (ShowsTheHidden, "keeps_to_its_scope"),
        (ShowsTheExpired, "keeps_to_its_scope"),
        (ForgetsTheFilter, "understands_filters"),
        (WorstFirst, "finds_the_nearest_and_the_best_worded_first"),
        (ReadsInAnyOrder, "reads_in_order_page_by_page"),
        (KeepsWhatWasRemoved, "removes_what_passes_and_says_how_many"),
        (TakesEverything, "refuses_what_does_not_fit"),
        (ConfirmsTooMuch, "replaces_and_inserts"),
        (TellsEverybodysMessages, "keeps_messages_for_their_user"),
    ],
)
async def test_a_broken_store_fails_the_check(store: type[MemoryStore], check: str) -> None:
    (found,) = [one for one in testing.STORE if one.__name__ == check]
    with pytest.raises(AssertionError):
        await found(store())
