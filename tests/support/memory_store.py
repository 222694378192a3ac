"""A vector store of another package: rows in memory, filters evaluated in Python, without Milvus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote_store.fields import kind_of
from footnote_store.filters import TRUE, RowScope, quote
from footnote_store.rows import (
    HIT_COLUMNS,
    Hit,
    MessageRow,
    Row,
    Vector,
    decode_message,
    dimensions_of,
    encode_chunk,
    encode_message,
    space_name,
    unit,
)
from numpy.typing import NDArray

Stored = Mapping[str, Any]
_LITERAL = re.compile(r'("(?:[^"\\]|\\.)*")')


class Value:
    """What is at a path of the facets, perhaps nothing: compared with its own kind only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def _like(self, other: Any) -> bool:
        return self.value is not None and kind_of(self.value) == kind_of(other)

    def __eq__(self, other: object) -> bool:
        return self._like(other) and bool(self.value == other)

    def __lt__(self, other: Any) -> bool:
        return self._like(other) and bool(self.value < other)

    def __le__(self, other: Any) -> bool:
        return self._like(other) and bool(self.value <= other)

    def __gt__(self, other: Any) -> bool:
        return self._like(other) and bool(self.value > other)

    def __ge__(self, other: Any) -> bool:
        return self._like(other) and bool(self.value >= other)

    __hash__ = None  # type: ignore[assignment]


class Facets:
    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Value:
        return Value(self._values.get(key))


def passes(expr: str) -> Callable[[Stored], bool]:
    """Return a filter: but for true and false, what the store is asked is Python."""
    parts = _LITERAL.split(expr)
    parts[::2] = [re.sub(r"\b(true|false)\b", lambda m: m[0].title(), part) for part in parts[::2]]
    code = compile("".join(parts), "filter", "eval")
    return lambda row: bool(eval(code, {}, {**row, "facets": Facets(row.get("facets", {}))}))


class MemoryStore:
    """Spaces by name, rows by id."""

    spaces: dict[str, dict[str, Stored]]

    def __init__(self) -> None:
        self.spaces = {}

    async def ensure_space(self, dimensions: int, variant: int = 0, timeout: float = 30.0) -> str:
        self.spaces.setdefault(space_name(dimensions, variant), {})
        return space_name(dimensions, variant)

    async def ensure_message_space(self, dimensions: int, timeout: float = 30.0) -> str:
        self.spaces.setdefault(f"messages_{dimensions}", {})
        return f"messages_{dimensions}"

    async def upsert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        return self._write(space, [encode_chunk(row, dimensions_of(space)) for row in rows])

    async def insert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        return await self.upsert(space, rows)

    def _write(self, space: str, rows: Sequence[Stored]) -> int:
        self.spaces.setdefault(space, {}).update({row["id"]: row for row in rows})
        return len(rows)

    def _passing(self, space: str, *exprs: str) -> list[Stored]:
        checks = [passes(expr) for expr in exprs]
        found = [row for row in self.spaces.get(space, {}).values() if all(check(row) for check in checks)]
        return sorted(found, key=lambda row: str(row["id"]))

    async def search_dense(
        self, space: str, vector: Vector, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = TRUE
    ) -> list[Hit]:
        query = np.asarray(unit(vector, len(vector)), dtype=np.float32)
        rows = self._passing(space, scope.searched(by_tenant=True), where)
        return _best([(float(np.asarray(row["dense"]) @ query), row) for row in rows], limit)

    async def search_lexical(
        self, space: str, lexical_query: str, scope: RowScope, limit: int, timeout: float = 10.0, *,
        where: str = TRUE, vectors: bool = False,
    ) -> list[Hit]:  # fmt: skip
        terms = set(lexical_query.split())
        rows = self._passing(space, scope.searched(by_tenant=True), where)
        counts = [(Counter(row["lexical_text"].split()), row) for row in rows]
        scored = [(sum(words[term] for term in terms) / (8 + words.total()), row) for words, row in counts]
        return _best([(score, row) for score, row in scored if score > 0], limit)

    async def query(self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0) -> list[Chunk]:
        return [hit.chunk for hit in await self.read(space, expr, limit, offset)]

    async def read(
        self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0, *, vectors: bool = False
    ) -> list[Hit]:
        return [_hit(0.0, row) for row in self._passing(space, expr)[offset : offset + limit]]

    async def ids(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> list[str]:
        return [row["id"] for row in self._passing(space, expr)[:limit]]

    async def filenames(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> dict[str, str]:
        return {row["document_id"]: row["filename"] for row in self._passing(space, expr)[:limit]}

    async def vectors(self, space: str, ids: Sequence[str], timeout: float = 10.0) -> dict[str, NDArray[np.float32]]:
        rows = self.spaces.get(space, {})
        return {id: np.asarray(rows[id]["dense"], dtype=np.float32) for id in ids if id in rows}

    async def count(self, space: str, expr: str, timeout: float = 10.0) -> int:
        return len(self._passing(space, expr))

    async def delete(self, space: str, expr: str, timeout: float = 60.0) -> int:
        gone = self._passing(space, expr)
        for row in gone:
            del self.spaces[space][row["id"]]
        return len(gone)

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow], timeout: float = 30.0) -> int:
        return self._write(space, [encode_message(row, dimensions_of(space)) for row in rows])

    async def search_messages(
        self, space: str, vector: Vector, tenant_id: str, user_id: str, limit: int,
        exclude_conversation_id: str = "", timeout: float = 5.0,
    ) -> list[MemoryMessage]:  # fmt: skip
        if not tenant_id or not user_id:
            return []
        expr = f"tenant_id == {quote(tenant_id)} and user_id == {quote(user_id)}"
        if exclude_conversation_id:
            expr += f" and conversation_id != {quote(exclude_conversation_id)}"
        scored = [(float(np.asarray(row["dense"]) @ np.asarray(vector)), row) for row in self._passing(space, expr)]
        scored.sort(key=lambda pair: -pair[0])
        return [decode_message(row["text"], row["extra"], score) for score, row in scored[:limit]]

    async def health(self, timeout: float = 3.0) -> dict[str, Any]:
        started = perf_counter()
        rows = {space: len(held) for space, held in self.spaces.items()}
        return {"healthy": True, "engine": "memory", "rows": rows, "latency_ms": (perf_counter() - started) * 1000}

    async def close(self) -> None:
        """Hold nothing."""


def _best(scored: list[tuple[float, Stored]], limit: int) -> list[Hit]:
    return [_hit(score, row) for score, row in sorted(scored, key=lambda pair: -pair[0])[:limit]]


def _hit(score: float, row: Stored) -> Hit:
    return Hit(*(row[name] for name in HIT_COLUMNS), score, np.asarray(row["dense"], dtype=np.float32))


SHARED = MemoryStore()
"""The one that all services of a process look into."""
