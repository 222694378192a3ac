"""The embedded engine's file keeps nothing of deleted rows once it was rewritten, and loses nothing else."""

import asyncio
import time
from pathlib import Path

import pytest
from footnote_store.engine import EmbeddedEngine
from pymilvus import MilvusClient, MilvusException

pytestmark = [pytest.mark.full, pytest.mark.slow]
DELETED, KEPT = b"Quokkadeleted", b"Quokkakept"


def fill(uri: str) -> None:
    client = MilvusClient(uri=uri)
    client.create_collection("t", dimension=4, metric_type="COSINE", id_type="string", max_length=64, auto_id=False)
    for start in range(0, 2000, 200):
        rows = [
            {"id": f"d{n}", "vector": [1, 2, 3, n % 7], "text": f"Quokkadeleted {n} " + "x" * 300}
            for n in range(start, start + 200)
        ]
        client.insert("t", rows)
    client.insert("t", [{"id": f"k{n}", "vector": [1, 2, 3, 4], "text": f"Quokkakept {n}"} for n in range(50)])
    client.delete("t", filter='id like "d%"')
    assert count(uri) == 50
    client.close()


def count(uri: str) -> int:
    client = MilvusClient(uri=uri)
    client.load_collection("t")
    rows = client.query("t", filter='id >= ""', output_fields=["count(*)"], consistency_level="Strong")
    client.close()
    return int(rows[0]["count(*)"])


async def counted(uri: str, deadline: float) -> int:
    """Count as soon as the engine, which has only begun to start, takes calls."""
    while True:
        try:
            return await asyncio.to_thread(count, uri)
        except MilvusException:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)


def held(folder: Path) -> tuple[bool, bool]:
    data = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    return DELETED in data, KEPT in data


async def test_the_file_forgets_when_the_engine_ends(tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path)
    uri = await engine.start()
    await asyncio.to_thread(fill, uri)
    assert held(tmp_path) == (True, True)
    await engine.stop()
    assert held(tmp_path) == (False, True)
    uri = await engine.start()
    assert await asyncio.to_thread(count, uri) == 50
    await engine.stop()


async def test_the_file_forgets_when_the_engine_starts_after_a_kill(tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path)
    uri = await engine.start()
    await asyncio.to_thread(fill, uri)
    assert held(tmp_path) == (True, True)
    # As after a crash of the whole process: nothing was compacted.
    engine._database = tmp_path / "elsewhere"
    await engine.stop()
    assert held(tmp_path) == (True, True)
    again = EmbeddedEngine(tmp_path)
    uri = await again.start()
    assert held(tmp_path) == (False, True)
    assert await asyncio.to_thread(count, uri) == 50
    await again.stop()


async def test_the_file_forgets_on_a_schedule_while_the_engine_serves(tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path, compact_after=12.0)
    uri = await engine.start()
    await asyncio.to_thread(fill, uri)
    deadline = time.monotonic() + 60
    while held(tmp_path)[0]:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)
    while engine.pid is None:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    assert engine.uri == uri
    assert await counted(uri, deadline) == 50
    # Where nothing was written since, the engine stays.
    await asyncio.sleep(2)
    pid = engine.pid
    await asyncio.sleep(14)
    assert engine.pid == pid
    assert engine.restarts == 0
    await engine.stop()
