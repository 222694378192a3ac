"""The store against the real embedded engine."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from footnote.types.v1.answer_pb2 import MemoryMessage, MessageRole
from footnote.types.v1.chunk_pb2 import ChunkLevel
from footnote_kit.errors import FailedPrecondition, InvalidArgument, Unavailable
from footnote_store import tls
from footnote_store.engine import EmbeddedEngine
from footnote_store.expr import MAX_NODES
from footnote_store.filters import Compare, Not, Or, RowScope, compile_expr
from footnote_store.milvus import Milvus
from footnote_store.rows import MessageRow, chunk_schema, space_name
from footnote_store.store import VectorStore, index_parameters
from footnote_text.lexical import lexical_text
from support.chunks import DIMENSIONS, make_chunk, make_row, vector_of
from support.engine import running_engine

NOW = 1_800_000_000.0


@pytest.fixture
async def store(uri: str) -> AsyncIterator[VectorStore]:
    """The store over the engine, emptied after each test."""
    store = VectorStore(uri)
    yield store
    space = await store.ensure_space(DIMENSIONS)
    await store.delete(space, 'id != ""')
    await store.close()


def scope(tenant: str = "t", keys: tuple[str, ...] = ("c1:1",), hidden: tuple[str, ...] = ()) -> RowScope:
    return RowScope(tenant, keys, hidden, NOW)


@pytest.mark.parametrize("made", [(), ("dense",), ("sparse",)], ids=["none", "dense alone", "sparse alone"])
async def test_a_space_whose_making_broke_off_gets_its_indexes(tmp_path: Path, made: tuple[str, ...]) -> None:
    """An engine that dies while it makes a space leaves it there without them: no search could ever use it."""
    name = space_name(DIMENSIONS)
    with running_engine(tmp_path) as uri:
        client = Milvus(tls.address(uri))
        await client.create(chunk_schema(name, DIMENSIONS, partition_by_tenant=False), 10.0)
        for field in made:
            await client.index(name, field, index_parameters(field, embedded=True), 10.0)
        await client.close()
        store = VectorStore(uri)
        space = await store.ensure_space(DIMENSIONS)
        row = make_row(make_chunk("the nozzle is made of brass"))
        await store.upsert(space, [row])
        found = [
            await store.search_lexical(space, lexical_text("brass nozzle", "en"), scope(), 5),
            await store.search_dense(space, row.vector, scope(), 5),
        ]
        await store.close()
    assert [[hit.chunk.text for hit in hits] for hits in found] == [[row.chunk.text]] * 2


async def test_a_process_that_uses_the_client_loads_neither_pymilvus_nor_pandas(uri: str) -> None:
    code = """
import asyncio, sys
from footnote_store.store import VectorStore

async def main():
    store = VectorStore(sys.argv[1])
    assert not await store.count(await store.ensure_space(8), 'id != ""')
    await store.close()

asyncio.run(main())
sys.exit(", ".join({"pymilvus", "pandas", "requests"} & sys.modules.keys()) or 0)
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, uri, stderr=asyncio.subprocess.PIPE, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert (await process.communicate())[1].decode() == ""
    assert process.returncode == 0


async def test_the_engine_takes_a_filter_with_as_many_conditions_as_one_may_have(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    await store.upsert(space, [make_row(make_chunk("x", ordinal=at, metadata={"at": at})) for at in range(MAX_NODES)])
    first = tuple(Compare("at", "eq", at) for at in range(MAX_NODES - 6))
    for wanted, count in ((Or(first), MAX_NODES - 6), (Not(Or(first)), 6)):
        assert len(await store.read(space, compile_expr(wanted), MAX_NODES, 0)) == count


async def test_a_chunk_comes_back_as_it_was_written(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    assert space == f"chunks_l2_{DIMENSIONS}"
    chunk = make_chunk(
        'He said "50 % off"\nback\\slash 中文 🙂',
        tags=["a b"],
        metadata={"n": 1, "deep": {"x": [True, "y"]}},
        title="T",
    )
    chunk.locator.page.page = 3
    chunk.anchors.add().span.end = 4
    assert await store.upsert(space, [make_row(chunk)]) == 1
    assert await store.query(space, scope().rows(), 10) == [chunk]


async def test_both_channels_find_their_best_first(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    texts = ["safety stock of bolts", "parental leave in weeks", "the leave policy for parents and bolts"]
    await store.upsert(space, [make_row(make_chunk(text, ordinal=i)) for i, text in enumerate(texts)])
    dense = await store.search_dense(space, vector_of(texts[1]), scope(), 3)
    assert dense[0].chunk.text == texts[1]
    assert dense[0].score == pytest.approx(1.0, abs=1e-5)
    lexical = await store.search_lexical(space, lexical_text("stocks for safety", "en"), scope(), 3)
    assert [hit.chunk.text for hit in lexical] == [texts[0]]
    assert lexical[0].score > 0
    assert await store.search_lexical(space, "  ", scope(), 3) == []
    assert await store.search_lexical(space, "nothingofthekind", scope(), 3) == []


async def test_a_space_that_never_held_a_row_finds_nothing(store: VectorStore) -> None:
    space = await store.ensure_space(24)
    assert await store.search_lexical(space, "bolt", scope(), 5, vectors=True) == []
    assert await store.search_dense(space, np.ones(24, dtype=np.float32), scope(), 5) == []
    assert await store.query(space, scope().rows(), 5) == []


async def test_lexical_hits_bring_their_vectors_where_wanted(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    chunks = [make_chunk(f"bolt number{i}", ordinal=i, expires=NOW + 60) for i in range(5)]
    await store.upsert(space, [make_row(chunk) for chunk in chunks])
    found = await store.search_lexical(space, "bolt", scope(), 5, vectors=True)
    assert sorted((hit.chunk for hit in found), key=lambda chunk: chunk.ordinal) == chunks
    for hit in found:
        assert hit.vector is not None
        np.testing.assert_allclose(hit.vector, vector_of(hit.chunk.text), atol=1e-6)
    assert all(hit.vector is None for hit in await store.search_lexical(space, "bolt", scope(), 5))


async def test_writing_again_replaces(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    rows = [make_row(make_chunk(f"text {i}", ordinal=i)) for i in range(20)]
    await store.upsert(space, rows)
    await store.upsert(space, rows)
    assert await store.count(space, scope().rows()) == 20


async def test_scope_hides_tenants_collections_revisions_and_the_expired(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    rows = [
        make_row(make_chunk("mine alpha", document_id="a")),
        make_row(make_chunk("other tenant alpha", document_id="b", tenant_id="t2")),
        make_row(make_chunk("other collection alpha", document_id="c", collection_id="c2")),
        make_row(make_chunk("hidden revision alpha", document_id="d", revision=2)),
        make_row(make_chunk("expired alpha", document_id="e", expires=NOW)),
        make_row(make_chunk("expires later alpha", document_id="f", expires=NOW + 0.001)),
    ]
    await store.upsert(space, rows)
    hidden = scope(hidden=("d:2",))
    expected = {"mine alpha", "expires later alpha"}
    assert {chunk.text for chunk in await store.query(space, hidden.rows(), 10)} == expected
    assert {hit.chunk.text for hit in await store.search_lexical(space, "alpha", hidden, 10)} == expected
    assert {hit.chunk.text for hit in await store.search_dense(space, vector_of("x"), hidden, 10)} == expected
    assert await store.count(space, scope(tenant="").rows()) == 0
    assert await store.count(space, scope(keys=()).rows()) == 0
    for nobody in (scope(tenant=""), scope(keys=()), scope(tenant="c1:1", keys=("t",))):
        assert await store.search_lexical(space, "alpha", nobody, 10) == []
        assert await store.search_dense(space, vector_of("x"), nobody, 10) == []


async def test_parents_are_stored_and_never_found(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    parent = make_chunk("wide alpha", ordinal=0, level=ChunkLevel.CHUNK_LEVEL_PARENT)
    child = make_chunk("narrow alpha", ordinal=1, level=ChunkLevel.CHUNK_LEVEL_CHILD, parent_id=parent.id)
    await store.upsert(space, [make_row(parent), make_row(child)])
    assert [hit.chunk.id for hit in await store.search_lexical(space, "alpha", scope(), 9)] == [child.id]
    assert [hit.chunk.id for hit in await store.search_dense(space, vector_of("x"), scope(), 9)] == [child.id]
    assert len(await store.query(space, scope().rows(), 9)) == 2


async def test_query_pages_in_reading_order(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    order = [7, 3, 11, 0, 5, 1, 9, 2, 4, 6, 8, 10]
    for ordinal in order:
        await store.upsert(space, [make_row(make_chunk(f"part {ordinal}", ordinal=ordinal))])
    pages = [await store.query(space, scope().rows(), 5, offset) for offset in (0, 5, 10, 15)]
    assert [[chunk.ordinal for chunk in page] for page in pages] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11], []]


async def test_delete_by_filter_counts(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    rows = [make_row(make_chunk(f"p {i}", document_id=d, ordinal=i)) for d in ("a", "b") for i in range(5)]
    await store.upsert(space, rows)
    assert await store.delete(space, 'document_id == "a"') == 5
    assert await store.delete(space, 'document_id == "a"') == 0
    assert await store.count(space, scope().rows()) == 5


async def test_wrong_dimension_and_oversized_text_are_clear_errors(store: VectorStore) -> None:
    space = await store.ensure_space(DIMENSIONS)
    with pytest.raises(InvalidArgument, match="3 dimensions") as error:
        await store.upsert(space, [make_row(make_chunk("x"), vector=[1.0, 2.0, 3.0])])
    assert error.value.reason == "DIMENSION_MISMATCH"
    with pytest.raises(InvalidArgument, match="65535 bytes"):
        await store.upsert(space, [make_row(make_chunk("é" * 40_000))])


async def test_messages_are_found_only_by_their_user(store: VectorStore) -> None:
    space = await store.ensure_message_space(DIMENSIONS)
    rows = [
        MessageRow(
            MemoryMessage(
                message_id=f"m{user}{n}", conversation_id=f"k{n}", role=MessageRole.MESSAGE_ROLE_USER, text=f"hi {n}"
            ),
            "t", user, vector_of(f"hi {n}"),
        )
        for user in ("u", 'u" or id != "') for n in range(3)
    ]  # fmt: skip
    assert await store.upsert_messages(space, rows) == 6
    found = await store.search_messages(space, vector_of("hi 1"), "t", "u", 5)
    assert found[0].message_id == "mu1"
    assert {message.message_id for message in found} == {"mu0", "mu1", "mu2"}
    assert found[0].score == pytest.approx(1.0, abs=1e-5)
    assert all(0 <= message.score <= 1 for message in found)
    left = await store.search_messages(space, vector_of("hi 1"), "t", "u", 5, exclude_conversation_id="k1")
    assert {message.conversation_id for message in left} == {"k0", "k2"}
    assert await store.search_messages(space, vector_of("hi"), "t2", "u", 5) == []
    assert await store.delete(space, 'conversation_id == "k1"') == 2


async def test_a_space_never_written_to_is_empty(store: VectorStore) -> None:
    assert await store.query("chunks_l2_77", scope().rows(), 5) == []
    assert await store.search_dense("chunks_l2_77", [0.5] * 77, scope(), 5) == []
    assert await store.search_lexical("chunks_l2_77", "x", scope(), 5) == []
    assert await store.search_messages("messages_77", [0.5] * 77, "t", "u", 5) == []
    assert await store.filenames("chunks_l2_77", scope().rows(), 5) == {}
    assert await store.count("chunks_l2_77", scope().rows()) == 0
    assert await store.delete("chunks_l2_77", scope().rows()) == 0


async def test_health(store: VectorStore) -> None:
    await store.ensure_space(DIMENSIONS)
    health = await store.health()
    assert health["healthy"]
    assert health["engine"] == "embedded"
    assert f"chunks_l2_{DIMENSIONS}" in health["rows"]


async def test_absent_store_is_unavailable_soon() -> None:
    store = VectorStore("http://127.0.0.1:9")
    started = time.perf_counter()
    with pytest.raises(Unavailable) as error:
        await store.count("chunks_8", 'id != ""', timeout=1.0)
    assert error.value.reason == "STORE_UNAVAILABLE"
    assert time.perf_counter() - started < 8
    await store.close()


async def test_crash_is_survived_at_the_same_address_without_loss(tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path)
    address = await engine.start()
    store = VectorStore(address)
    try:
        space = await store.ensure_space(DIMENSIONS)
        await store.upsert(space, [make_row(make_chunk(f"alpha {i}", ordinal=i)) for i in range(100)])
        pid = engine.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(240):
            while True:
                try:
                    count = await store.count(space, scope().rows(), timeout=5.0)
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
        assert count == 100
        assert engine.uri == address
        assert engine.restarts >= 1
        assert len(await store.search_lexical(space, "alpha", scope(), 5)) == 5
    finally:
        await store.close()
        await engine.stop()
    assert engine.pid is None


async def test_a_restart_that_finds_no_memory_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork, forks = asyncio.create_subprocess_exec, 0

    async def full_at_first(*command: Any, **more: Any) -> asyncio.subprocess.Process:
        nonlocal forks
        forks += 1
        if forks == 2:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        return await fork(*command, **more)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", full_at_first)
    engine = EmbeddedEngine(tmp_path)
    await engine.start()
    try:
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        async with asyncio.timeout(120):
            while True:
                await asyncio.sleep(0.05)
                if engine.restarts == 2 and engine.pid is not None:
                    break
    finally:
        await engine.stop()
    monkeypatch.undo()
    await engine.start()  # the folder is free again
    await engine.stop()


async def test_one_folder_takes_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnote_store.engine._LOCK_WAIT", 0.3)
    first, second = EmbeddedEngine(tmp_path), EmbeddedEngine(tmp_path)
    await first.start()
    try:
        with pytest.raises(FailedPrecondition, match="another process"):
            await second.start()
    finally:
        await first.stop()
    await second.start()
    await second.stop()


_HOST = """
import asyncio, pathlib, sys
from footnote_store import tls
from footnote_store.engine import EmbeddedEngine

async def main():
    engine = EmbeddedEngine(pathlib.Path(sys.argv[1]))
    await engine.start()
    print(engine.pid, flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux only")
async def test_engine_dies_with_its_killed_parent_and_the_folder_is_free(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(  # noqa: ASYNC220 - must be killed, not awaited
        [sys.executable, "-c", _HOST, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as host:
        assert host.stdout is not None
        pid = int(await asyncio.to_thread(host.stdout.readline))
        host.kill()
        host.wait()
    engine = EmbeddedEngine(tmp_path)
    await engine.start()  # waits for the lock that the orphan held
    try:
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    finally:
        await engine.stop()
