"""Write-ahead logs damaged after a kill: the start says what would be lost, and own vectors come back once accepted."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListConversationsRequest
from footnote.types.v1.vector_pb2 import VectorRow
from support import own_vectors
from support.deployment import Deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]
PATIENCE = 60.0
CALLS = 8


def flip(log: Path) -> None:
    """Change a bit three quarters into the frames of the log's present round; older ones lie behind them."""
    content = bytearray(log.read_bytes())
    frames = range(32, len(content), 24 + 4096)
    ours = [start for start in frames if content[start + 8 : start + 16] == content[16:24]]
    content[ours[len(ours) * 3 // 4] + 1000] ^= 0x10
    log.write_bytes(content)


async def add_rows(running: Deployment) -> str:
    async with edge_client(running.address()) as edge:
        name = await own_vectors.create(edge, dimensions=2)
        for call in range(CALLS):
            rows = [VectorRow(id=f"r{call}-{n}", text=f"Row {call} {n}", vector=[1.0, n + 1.0]) for n in range(5)]
            await own_vectors.add(edge, name, rows)
        return name


async def listed(running: Deployment, name: str) -> int:
    async with edge_client(running.address()) as edge:
        return sum(len(page) for page in await own_vectors.pages(edge, name))


async def all_listed(running: Deployment, name: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await listed(running, name) == 5 * CALLS:
                return
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("killed", [False, True])
def test_a_damaged_log_is_said_and_own_vectors_are_listed_again(tmp_path: Path, killed: bool) -> None:
    running = Deployment(tmp_path)
    running.start()
    try:
        name = asyncio.run(add_rows(running))
        running.kill()
        flip(tmp_path / "indexing" / "indexing.db-wal")
        doctor = [sys.executable, "-m", "footnote_cli.main", "admin", "doctor", "--data-dir", str(tmp_path)]
        backup = [*doctor[:-3], "backup", str(tmp_path / "backup"), "--data-dir", str(tmp_path)]
        for command in (doctor, backup):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode != 0
            assert "write-ahead log of the indexing database" in " ".join((done.stdout + done.stderr).split())
        for _ in range(2):
            running.spawn("all")
            assert running.processes.pop("all").wait(PATIENCE) != 0
        said = running.log("all")
        assert "Traceback" not in said
        assert (
            f"The write-ahead log of the indexing database {tmp_path / 'indexing' / 'indexing.db'} is damaged" in said
        )
        assert "start with --accept indexing to go on without them" in said
        often = {"FOOTNOTE_INDEXING_RECOVERY_INTERVAL": "0.5"}
        running = Deployment(tmp_path, env={"FOOTNOTE_ACCEPT": "indexing", **often})
        if killed:  # what was accepted lasts until it is settled, also without the flag
            before = len(running.log("all"))
            running.spawn()
            while "damaged_log_accepted" not in running.log("all")[before:]:
                assert running.processes["all"].poll() is None
            running.kill()
            running = Deployment(tmp_path, env=often)
        running.start()
        asyncio.run(all_listed(running, name))
        assert "own_rows_listed_again" in running.log("all")
    finally:
        running.stop()
    running = Deployment(tmp_path)
    running.start()
    try:
        assert asyncio.run(listed(running, name)) == 5 * CALLS
    finally:
        running.stop()


async def converse(running: Deployment) -> list[str]:
    async with edge_client(running.address()) as edge:
        created = [await edge.stub.CreateConversation(CreateConversationRequest(title=f"Talk {n}")) for n in range(12)]
        return [one.conversation.id for one in created]


async def left(running: Deployment) -> set[str]:
    async with edge_client(running.address()) as edge:
        listed = await edge.stub.ListConversations(ListConversationsRequest(page_size=100))
        return {one.id for one in listed.conversations}


def test_conversations_that_a_damaged_log_lost_are_named(tmp_path: Path) -> None:
    running = Deployment(tmp_path)
    running.start()
    try:
        made = asyncio.run(converse(running))
        running.kill()
        flip(tmp_path / "edge" / "edge.db-wal")
        running.spawn("all")
        assert running.processes.pop("all").wait(PATIENCE) != 0
        said = running.log("all")
        with running.accepting("edge"):
            running.start()
        lost = set(made) - asyncio.run(left(running))
        assert lost
        assert "Talk 1" not in said
        for one in lost:
            assert one in said.partition("Still legible of what they changed: conversations ")[2]
            assert one in running.log("all").partition("damaged_log_accepted")[0]
    finally:
        running.stop()
