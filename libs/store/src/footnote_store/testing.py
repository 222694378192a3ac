"""Conformance suite for vector stores, to run in the pytest of a store's package.

`STORE` is a tuple of checks. A check is an async function that raises AssertionError with the store's actual result.
Each check writes under a tenant of its own and deletes its rows.

    @pytest.mark.parametrize("check", testing.STORE)
    async def test_it_conforms(check):
        await check(MyStore(address))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import uuid4

import numpy as np
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, MemoryMessage
from footnote.types.v1.chunk_pb2 import CHUNK_LEVEL_PARENT, CHUNK_LEVEL_STANDARD
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_text.lexical import lexical_text
from numpy.typing import NDArray

from footnote_store.filters import RowScope, compile_expr, conjunction, evaluate, parse_where, quote
from footnote_store.ids import chunk_id
from footnote_store.ports import Store
from footnote_store.rows import MAX_TEXT_BYTES, MessageRow, Row, revision_key, space_name

_DIMENSIONS = 16
_NOW = 1_800_000_000.0
_SIDE_BY_SIDE = 8
_ODD = 'He said "50 % off"\nback\\slash 中文 🙂 and it\'s so'
_TEXTS = (
    "The lighthouse of Calder stands on a rock.",
    "Bread needs flour, water and time.",
    "员工每年享有二十五天带薪年假。",
)
_RELATED = "Water laps at the rock below."  # shares a word with each of the first two


class _Shelf:
    """Rows of a tenant of its own: created here, written and read through the store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tenant = uuid4().hex
        self.space = ""

    async def __aenter__(self) -> _Shelf:
        self.space = await self.store.ensure_space(_DIMENSIONS)
        assert self.space == space_name(_DIMENSIONS), f"the space is called '{self.space}'"
        assert await self.store.ensure_space(_DIMENSIONS) == self.space
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.store.delete(self.space, self.all)

    @property
    def all(self) -> str:
        return f"tenant_id == {quote(self.tenant)}"

    def row(self, text: str, ordinal: int = 0, document: str = "d1", key: str = "c1:1", **values: object) -> Row:
        metadata = values.pop("metadata", {})
        vector = values.pop("vector", None)
        chunk = Chunk(
            id=chunk_id(f"{self.tenant}-{document}", 1, ordinal), tenant_id=self.tenant, owner_id="u",
            collection_id=key.rpartition(":")[0], document_id=f"{self.tenant}-{document}", revision=1, ordinal=ordinal,
            text=text, filename=f"{document}.md", language="en", document_type="md", **values,  # type: ignore[arg-type]
        )  # fmt: skip
        chunk.create_time.FromSeconds(1_700_000_000 + ordinal)
        assert isinstance(metadata, Mapping)
        chunk.metadata.update(dict(metadata))
        parent = chunk.level == CHUNK_LEVEL_PARENT
        assert vector is None or isinstance(vector, np.ndarray)
        return Row(
            chunk, key, None if parent else _vector(text) if vector is None else vector, lexical_text(text, "en")
        )

    async def put(self, *rows: Row) -> None:
        confirmed = await self.store.upsert(self.space, rows)
        assert confirmed == len(rows), f"{confirmed} of {len(rows)} rows were confirmed"

    def scope(self, *keys: str, hidden: Sequence[str] = (), now: float = _NOW) -> RowScope:
        return RowScope(self.tenant, keys or ("c1:1",), hidden, now)

    async def found(self, scope: RowScope, text: str = _TEXTS[0]) -> tuple[list[str], list[str], list[str]]:
        """Return the results of dense search, lexical search and read, each in its order."""
        dense = await self.store.search_dense(self.space, _vector(text), scope, 100)
        lexical = await self.store.search_lexical(self.space, lexical_text(text, "en"), scope, 100)
        read = await self.store.read(self.space, scope.rows(), 100)
        return [hit.text for hit in dense], [hit.text for hit in lexical], [hit.text for hit in read]


def _vector(text: str) -> NDArray[np.float32]:
    """Return a unit vector unrelated to the text's meaning, shape (16,)."""
    seed = int.from_bytes(text.encode("utf-8", "replace")[:32], "big")
    vector = np.random.default_rng(seed).normal(size=_DIMENSIONS).astype(np.float32)
    unit: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return unit


async def reports_its_health(store: Store) -> None:
    """Check that health is JSON-serialisable, and includes the latency."""
    health = await store.health()
    assert health.get("healthy") is True and health.get("engine"), f"health is {health}"
    json.dumps(health)
    assert float(health["latency_ms"]) >= 0


async def gives_back_what_was_written(store: Store) -> None:
    """Check that a chunk of any text and metadata returns unchanged, and its vector scaled to length 1."""
    async with _Shelf(store) as shelf:
        metadata = {"n": 1, "deep": {"x": [True, "y"]}, "odd key \"'\\": _ODD}
        row = shelf.row(_ODD, metadata=metadata, title="T", tags=["a b"], vector=_vector(_ODD) * np.float32(3))
        row.chunk.locator.page.page = 3
        await shelf.put(row)
        read = await store.query(shelf.space, shelf.all, 10)
        assert read == [row.chunk], f"it came back as {read}"
        vectors = await store.vectors(shelf.space, [row.chunk.id, "missing:000001:0000000"])
        assert list(vectors) == [row.chunk.id], f"vectors of {list(vectors)} came"
        np.testing.assert_allclose(vectors[row.chunk.id], _vector(_ODD), atol=1e-5)
        (hit,) = await store.read(shelf.space, shelf.all, 10, vectors=True)
        assert (hit.tenant_id, hit.collection_key) == (shelf.tenant, "c1:1")
        assert hit.revision_key == revision_key(row.chunk.document_id, 1) and hit.vector is not None
        assert await store.filenames(shelf.space, shelf.all, 10) == {row.chunk.document_id: "d1.md"}


async def finds_the_nearest_and_the_best_worded_first(store: Store) -> None:
    """Check order, scores and limit of both channels, and that a query without terms returns no hits."""
    async with _Shelf(store) as shelf:
        await shelf.put(*(shelf.row(text, at) for at, text in enumerate((*_TEXTS, _RELATED))))
        for text in _TEXTS:
            near = await store.search_dense(shelf.space, _vector(text), shelf.scope(), 3)
            assert [hit.text for hit in near][:1] == [text] and len(near) == 3
            cosines = [float(_vector(hit.text) @ _vector(text)) for hit in near]
            np.testing.assert_allclose([hit.score for hit in near], cosines, atol=1e-3)
            assert cosines == sorted(cosines, reverse=True), f"the cosines are {cosines}"
            terms = lexical_text(text, "en")
            worded = await store.search_lexical(shelf.space, terms, shelf.scope(), 3, vectors=True)
            assert worded[0].text == text and worded[0].score > 0 and worded[0].vector is not None
            assert [hit.text for hit in worded[1:]] == ([] if text == _TEXTS[2] else [_RELATED])
            assert [hit.score for hit in worded] == sorted((hit.score for hit in worded), reverse=True)
            assert len(await store.search_dense(shelf.space, _vector(text), shelf.scope(), 1)) == 1
        assert await store.search_lexical(shelf.space, " ", shelf.scope(), 3) == []
        assert await store.search_lexical(shelf.space, "zyxwv", shelf.scope(), 3) == []


async def replaces_and_inserts(store: Store) -> None:
    """Check that a row replaces one with the same id, and that new rows are added."""
    async with _Shelf(store) as shelf:
        await shelf.put(shelf.row(_TEXTS[0]))
        await shelf.put(shelf.row(_TEXTS[1]))
        assert (await shelf.found(shelf.scope(), _TEXTS[1])) == ([_TEXTS[1]],) * 3
        many = [shelf.row(f"Row {at}.", at) for at in range(1, 1201)]
        assert await store.insert(shelf.space, many) == len(many)
        assert await store.count(shelf.space, shelf.all) == 1201


async def keeps_to_its_scope(store: Store) -> None:
    """Check that both channels and reads return only rows of the scope's tenant, collections, revisions and time."""
    async with _Shelf(store) as shelf, _Shelf(store) as other:
        text = _TEXTS[0]
        late = shelf.row(f"{text} Late.", 3)
        late.chunk.expire_time.FromSeconds(int(_NOW) - 5)
        await shelf.put(
            shelf.row(text, 0), shelf.row(f"{text} Elsewhere.", 1, key="c2:1"), shelf.row(f"{text} Old.", 2, "d2"), late
        )
        await other.put(other.row(f"{text} Others.", 0))
        hidden = [revision_key(f"{shelf.tenant}-d2", 1)]
        for scope, wanted in (
            (shelf.scope(hidden=hidden), {""}),
            (shelf.scope(), {"", " Old."}),
            (shelf.scope("c1:1", "c2:1"), {"", " Old.", " Elsewhere."}),
            (shelf.scope(now=_NOW - 100), {"", " Old.", " Late."}),
            (shelf.scope("c3:1"), set()),
            (RowScope(shelf.tenant, (), (), _NOW), set()),
            (RowScope("", ("c1:1",), (), _NOW), set()),
            (other.scope("c1:1", "c2:1"), {" Others."}),
        ):
            for channel in await shelf.found(scope):
                assert {found.removeprefix(text) for found in channel} == wanted, f"{scope} found {channel}"
                assert len(channel) == len(wanted)


async def reads_parents_and_never_finds_them(store: Store) -> None:
    """Check that reads return parent chunks and searches do not."""
    async with _Shelf(store) as shelf:
        await shelf.put(shelf.row(_TEXTS[0], 0, level=CHUNK_LEVEL_PARENT))
        await shelf.put(shelf.row(_TEXTS[1], 1, level=CHUNK_LEVEL_STANDARD))
        dense, lexical, read = await shelf.found(shelf.scope())
        assert dense == [_TEXTS[1]] and lexical == [] and read == list(_TEXTS[:2])


async def reads_in_order_page_by_page(store: Store) -> None:
    """Check that rows are ordered by id, and that the pages together are complete."""
    async with _Shelf(store) as shelf:
        rows = [shelf.row(f"Row {at}.", at) for at in range(23)]
        await shelf.put(*reversed(rows))
        wanted = [row.chunk.id for row in rows]
        assert await store.ids(shelf.space, shelf.all, 100) == wanted
        for size in (1, 5, 23, 100):
            pages = [await store.read(shelf.space, shelf.all, size, at) for at in range(0, 24, size)]
            assert [hit.id for page in pages for hit in page] == wanted, f"in pages of {size} it is another whole"
        assert await store.read(shelf.space, shelf.all, 0) == []


async def understands_filters(store: Store) -> None:
    """Check every operator with every kind of value, also negated, against the reference evaluator."""
    values: tuple[object, ...] = (1, 2.5, "x", 'a "b" \\c', True, False, [1, "x"], None)
    async with _Shelf(store) as shelf:
        rows = [
            shelf.row(f"Row {at}.", at, metadata={} if value is None else {"m": value}, tags=["t"] if at % 2 else [])
            for at, value in enumerate(values)
        ]
        await shelf.put(*rows)
        scalars = (1, 2.5, 0, "x", 'a "b" \\c', "y", True, False)
        filters: list[object] = [{"m": {op: value}} for op in ("$eq", "$ne") for value in scalars]
        filters += [{"m": {op: value}} for op in ("$gt", "$gte", "$lt", "$lte") for value in (1, 2.5, "x")]
        filters += [{"m": {op: [1, "x"]}} for op in ("$in", "$nin")] + [
            {"m": {"$exists": is_}} for is_ in (True, False)
        ]
        filters += [{"ordinal": {op: 3}} for op in ("$eq", "$ne", "$gt", "$lte")] + [{"filename": "d1.md"}]
        filters += [{"created_at": {"$gte": 1_700_000_003_000}}, {"tags": "t"}, {"language": {"$ne": "en"}}]
        filters += [{"$or": [{"m": 1}, {"$not": {"ordinal": {"$gt": 4}}}]}, {"$and": [{"m": "x"}, {"tags": "t"}]}]
        for one in filters:
            expr = parse_where(json.dumps(one))
            wanted = [row.chunk.text for row in rows if evaluate(expr, row.chunk)]
            where = compile_expr(expr)
            got = await store.query(shelf.space, conjunction([shelf.all, where]), 100)
            assert [chunk.text for chunk in got] == wanted, f"{one} as {where} gives {[chunk.text for chunk in got]}"
            hits = await store.search_dense(shelf.space, _vector("x"), shelf.scope(), 100, where=where)
            assert sorted(hit.text for hit in hits) == wanted, f"a search by {one} gives {[hit.text for hit in hits]}"
            assert await store.count(shelf.space, conjunction([shelf.all, where])) == len(wanted)


async def removes_what_passes_and_says_how_many(store: Store) -> None:
    """Check the reported number, that other rows stay, and that no search or read returns deleted rows."""
    async with _Shelf(store) as shelf:
        await shelf.put(*(shelf.row(text, at) for at, text in enumerate(_TEXTS)))
        first = conjunction([shelf.all, "ordinal == 0"])
        assert await store.delete(shelf.space, first) == 1
        assert await store.delete(shelf.space, first) == 0
        dense, lexical, read = await shelf.found(shelf.scope())
        assert _TEXTS[0] not in {*dense, *lexical, *read} and len(read) == len(dense) == 2
        assert await store.delete(shelf.space, shelf.all) == 2


async def refuses_what_does_not_fit(store: Store) -> None:
    """Check a vector of another length and a text too long: the errors are typed, and no row is written."""
    async with _Shelf(store) as shelf:
        for row in (shelf.row("x", vector=np.ones(3, dtype=np.float32)), shelf.row("x" * (MAX_TEXT_BYTES + 1))):
            try:
                await store.upsert(shelf.space, [row])
            except InvalidArgument:
                continue
            raise AssertionError("a row that does not fit was taken")
        assert await store.count(shelf.space, shelf.all) == 0


async def finds_nothing_where_nothing_was_written(store: Store) -> None:
    """Check every read of an empty space and of a missing one."""
    empty = await store.ensure_space(_DIMENSIONS, variant=7)
    scope = RowScope(uuid4().hex, ("c1:1",), (), _NOW)
    for space in (empty, space_name(_DIMENSIONS, 8)):
        assert await store.search_dense(space, _vector("x"), scope, 5) == []
        assert await store.search_lexical(space, "word", scope, 5) == []
        assert await store.read(space, scope.rows(), 5) == [] and await store.ids(space, scope.rows(), 5) == []
        assert await store.count(space, scope.rows()) == 0 and await store.filenames(space, scope.rows(), 5) == {}
        assert await store.delete(space, scope.rows()) == 0


async def keeps_messages_for_their_user(store: Store) -> None:
    """Check that only its user finds a message, best first, without an excluded conversation, until its deletion."""
    space = await store.ensure_message_space(_DIMENSIONS)
    tenant = uuid4().hex

    def row(id: str, user: str, conversation: str = "c1", text: str = "") -> MessageRow:
        text = text or f"{id} of {user}"
        message = MemoryMessage(message_id=id, conversation_id=conversation, role=MESSAGE_ROLE_USER, text=text)
        return MessageRow(message, tenant, user, _vector(text))

    async def found(user: str, of: str = tenant, without: str = "") -> list[str]:
        hits = await store.search_messages(space, _vector("m1 of u"), of, user, 10, without)
        assert all(0 <= hit.score <= 1 for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        return [hit.text for hit in hits]

    # Two users with the same message id have two messages.
    rows = [row("m1", "u"), row("m2", "u", "c2"), row("m1", "v")]
    assert await store.upsert_messages(space, rows) == 3
    try:
        assert (await found("u"))[0] == "m1 of u" and set(await found("u")) == {"m1 of u", "m2 of u"}
        assert await found("v") == ["m1 of v"] and await found("u", uuid4().hex) == [] and await found("") == []
        assert await found("u", without="c1") == ["m2 of u"]
        assert await store.upsert_messages(space, [row("m1", "u", text="Said again.")]) == 1
        assert set(await found("u")) == {"Said again.", "m2 of u"}
    finally:
        assert await store.delete(space, f"tenant_id == {quote(tenant)}") == 3
    assert await found("u") == []


async def runs_side_by_side_and_can_be_cancelled(store: Store) -> None:
    """Check that concurrent searches return the usual results, and that a cancelled one ends without side effects."""
    async with _Shelf(store) as shelf:
        await shelf.put(*(shelf.row(text, at) for at, text in enumerate(_TEXTS)))
        alone = await shelf.found(shelf.scope())
        together = await asyncio.gather(*(shelf.found(shelf.scope()) for _ in range(_SIDE_BY_SIDE)))
        assert all(one == alone for one in together)
        for wait in (0.0, 0.001):
            task = asyncio.create_task(shelf.found(shelf.scope()))
            await asyncio.sleep(wait)
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=60)
            assert done, "a cancelled search does not end"
            assert task.cancelled() or not isinstance(task.exception(), FootnoteError)
        assert await shelf.found(shelf.scope()) == alone


STORE: tuple[Callable[[Store], Awaitable[None]], ...] = (
    reports_its_health,
    gives_back_what_was_written,
    finds_the_nearest_and_the_best_worded_first,
    replaces_and_inserts,
    keeps_to_its_scope,
    reads_parents_and_never_finds_them,
    reads_in_order_page_by_page,
    understands_filters,
    removes_what_passes_and_says_how_many,
    refuses_what_does_not_fit,
    finds_nothing_where_nothing_was_written,
    keeps_messages_for_their_user,
    runs_side_by_side_and_can_be_cancelled,
)
