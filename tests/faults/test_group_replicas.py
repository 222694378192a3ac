"""Groups of small documents at two replicas of edge on PostgreSQL: one is killed or stands still, or loses documents.

Each document is processed by the replica that has it, and by another once that one is gone; what is cancelled or
deleted meanwhile stays so.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from footnote.edge.v1.documents_pb2 import (
    CancelDocumentRequest,
    DeleteDocumentRequest,
    GetDocumentRequest,
    QueryChunksRequest,
    UploadDocumentsRequest,
    UploadMetadata,
)
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.jobs.leases import LEASE_SECONDS
from footnote_kit.clients import check_health, open_channel
from footnote_kit.errors import NotFound
from footnote_kit.settings import STAGES
from support import base_environment, postgres
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client
from support.frozen import freeze, thaw

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(900),
]

START_SECONDS = 300.0
CALL = 64
CALLS = 3
"""Two groups of one collection are in progress, the others wait."""
TAKEN_OVER = 30.0
COLLECTION = "default"


class Ledgers:
    """What the services' databases hold."""

    def __init__(self, connection: Any, locking: Any) -> None:
        self._connection = connection
        self._locking = locking

    @asynccontextmanager
    async def held_up(self) -> AsyncIterator[None]:
        """Let indexing begin with no document in the block: groups are in progress as long as that lasts."""
        async with self._locking.transaction():
            await self._locking.execute("LOCK TABLE indexing_revisions IN EXCLUSIVE MODE")
            yield

    async def claims(self) -> Counter[str]:
        """Return how many documents each replica has in its groups."""
        rows = await self._connection.fetch("SELECT replica FROM edge.group_claims")
        return Counter(str(row[0]) for row in rows)

    async def jobs(self, ids: Collection[str]) -> int:
        """Return how many of documents have a job of their own, ended or not."""
        query = "SELECT count(*) FROM dbos.workflow_status WHERE split_part(workflow_uuid, ':', 1) = ANY($1::text[])"
        return int(await self._connection.fetchval(query, list(ids)))


class Replica:
    """A second edge in a process of its own, beside a deployment whose edge is the other replica."""

    def __init__(self, folder: Path, whole: Deployment, env: Mapping[str, str]) -> None:
        folder.mkdir(mode=0o700)
        self._log = folder / "log"
        self._port, http = _free_ports(2)
        services = {f"FOOTNOTE_{stage.upper()}_ADDRESS": whole.address(stage) for stage in STAGES if stage != "edge"}
        own = {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "FOOTNOTE_LOG_FORMAT": "json",
            "FOOTNOTE_SERVICE_TOKEN": whole.token,
            "FOOTNOTE_EDGE_HTTP_PORT": str(http),
            "FOOTNOTE_EDGE_EXECUTOR_ID": "first",
        }
        command = [sys.executable, "-m", "footnote_cli.main", "serve", "edge", "--data-dir", str(folder)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self._port)], stdout=subprocess.DEVNULL, stderr=log,
                env={**base_environment.inherited(), **services, **env, **own},
            )  # fmt: skip
        self.pid = self._process.pid

    @property
    def address(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self._port}"

    async def ready(self) -> None:
        """Wait until it serves."""
        async with asyncio.timeout(START_SECONDS), open_channel(self.address, peer="edge") as channel:
            while await check_health(channel, "edge") is not None:
                assert self._process.poll() is None, self.log()[-3000:]
                await asyncio.sleep(0.1)

    def kill(self) -> None:
        """End it as a lost machine does."""
        self._process.kill()
        self._process.wait()

    def log(self) -> str:
        """Return what it has logged."""
        return self._log.read_text(errors="replace")


@dataclass(frozen=True)
class Two:
    """Two replicas of edge: the first, which is struck, and that of a deployment, which is not."""

    whole: Deployment
    first: Replica
    ledgers: Ledgers


@pytest.fixture
async def two(tmp_path: Path, postgres_url: str) -> AsyncIterator[Two]:
    """Both replicas, which know of each other for longer than a lease."""
    url = await postgres.new_database(postgres_url)
    env = {f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("INGESTION", "INDEXING", "EDGE")}
    env |= {"FOOTNOTE_EDGE_RECONCILE_SECONDS": "2"}
    (tmp_path / "whole").mkdir(mode=0o700)
    whole = Deployment(tmp_path / "whole", env={**env, "FOOTNOTE_EDGE_EXECUTOR_ID": "second"}, patience=START_SECONDS)
    connections = [await asyncpg.connect(url) for _ in range(2)]
    first: Replica | None = None
    try:
        await asyncio.to_thread(whole.start)
        first = Replica(tmp_path / "first", whole, env)
        await first.ready()
        async with edge_client(first.address) as client:
            await client.put(b"It is there before.", "before.txt")
        await asyncio.sleep(LEASE_SECONDS)
        yield Two(whole, first, Ledgers(*connections))
    finally:
        if first is not None:
            first.kill()
        for one in connections:
            one.terminate()
        await asyncio.to_thread(whole.stop)


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


async def upload(client: EdgeClient, name: str, calls: int = CALLS) -> list[str]:
    ids: list[str] = []
    for call in range(calls):
        texts = [f"Fact {number} of {name} is {number * 7}." for number in range(call * CALL, (call + 1) * CALL)]
        messages = [
            UploadDocumentsRequest(metadata=UploadMetadata(filename=f"{name}-{text}.txt"), data=text.encode())
            for text in texts
        ]
        answer = await client.stub.UploadDocuments(iter(messages), timeout=60)
        ids += [one.stored.document.id for one in answer.files]
    assert len(set(ids)) == calls * CALL
    return ids


async def until(condition: Callable[[], Any], seconds: float) -> float:
    """Wait until a condition holds; return how long that took."""
    began = time.monotonic()
    while not await condition():
        assert time.monotonic() - began < seconds, f"not within {seconds} s"
        await asyncio.sleep(0.2)
    return time.monotonic() - began


async def states(client: EdgeClient, ids: Collection[str]) -> Counter[str]:
    found = {
        one.id: doc.DocumentState.Name(one.state).removeprefix("DOCUMENT_STATE_") for one in await client.documents()
    }
    return Counter(found.get(one, "DELETED") for one in ids)


async def chunks(client: EdgeClient, document_id: str) -> list[str]:
    request = QueryChunksRequest(collection=COLLECTION, filter={"json": f'{{"document_id": "{document_id}"}}'})
    return [one.id for one in (await client.stub.QueryChunks(request, timeout=60)).chunks]


async def check_whole(client: EdgeClient, ids: Collection[str]) -> None:
    """Check that documents are indexed with one chunk each."""
    assert await states(client, ids) == {"INDEXED": len(ids)}
    for one in ids:
        assert len(await chunks(client, one)) == 1


async def in_hand(client: EdgeClient, ids: Collection[str]) -> None:
    """Wait until groups are in progress, and see that others wait."""

    async def begun() -> bool:
        return (await states(client, ids))["PROCESSING"] >= CALL

    await until(begun, 20)
    assert (await states(client, ids))["UPLOADED"] >= CALL


async def gone(two: Two) -> bool:
    """Return whether the first replica has lost all its claims."""
    return not (await two.ledgers.claims())["first"]


async def test_a_replica_keeps_its_groups_while_it_lives_and_another_takes_them_when_it_is_killed(two: Two) -> None:
    async with edge_client(two.whole.address()) as second:
        async with two.ledgers.held_up():
            async with edge_client(two.first.address) as first:
                ids = await upload(first, "killed")
                await in_hand(first, ids)
            assert await two.ledgers.claims() == {"first": len(ids)}
            await asyncio.sleep(14)  # the other's reconciler looks at what has not changed for 10 s, every 2 s
            assert await two.ledgers.claims() == {"first": len(ids)}
            assert await two.ledgers.jobs(ids) == 0
            two.first.kill()

        async def indexed() -> bool:
            return (await states(second, ids))["INDEXED"] == len(ids)

        seconds = await until(partial(gone, two), TAKEN_OVER)
        done = await until(indexed, 240)
        print(f"{len(ids)} documents of a killed replica: taken up after {seconds:.1f} s, indexed {done:.1f} s later")
        await check_whole(second, ids)
        assert "documents_taken_over" in two.whole.log()
        assert "group_processed" in two.whole.log()

        async def released() -> bool:
            return not await two.ledgers.claims()

        await until(released, 10)


async def test_a_replica_that_stood_still_for_longer_than_its_lease_changes_nothing(two: Two) -> None:
    async with edge_client(two.whole.address()) as second:
        async with two.ledgers.held_up():
            async with edge_client(two.first.address) as first:
                ids = await upload(first, "frozen")
                await in_hand(first, ids)
            freeze(two.first.pid)

        async def indexed() -> bool:
            return (await states(second, ids))["INDEXED"] == len(ids)

        try:
            await until(partial(gone, two), TAKEN_OVER)
            await until(indexed, 240)
            before = {one.id: one.etag for one in await second.documents()}
        finally:
            thaw(two.first.pid)
        await asyncio.sleep(10)  # it goes on with its groups, and finds that they are another's
        assert "documents_left_to_others" in two.first.log()
        await check_whole(second, ids)
        assert {one.id: one.etag for one in await second.documents()} == before
        async with edge_client(two.first.address) as first:  # it works as before
            again = await upload(first, "again", 1)
            for one in again:
                assert (await first.settle(one)).state == doc.DOCUMENT_STATE_INDEXED

        async def released() -> bool:
            return not await two.ledgers.claims()

        await until(released, 20)


async def test_documents_that_are_cancelled_or_deleted_amid_a_group_stay_so(two: Two) -> None:
    async with edge_client(two.whole.address()) as second:
        async with two.ledgers.held_up():
            async with edge_client(two.first.address) as first:
                ids = await upload(first, "unwanted")
                await in_hand(first, ids)
                found = {one.id: one.state for one in await first.documents()}
            freeze(two.first.pid)  # shorter than its lease
        waiting = [one for one in ids if found[one] == doc.DOCUMENT_STATE_UPLOADED]
        begun = [one for one in ids if found[one] == doc.DOCUMENT_STATE_PROCESSING]
        try:
            deleted = [*waiting[:3], *waiting[-3:], *begun[:2]]
            cancelled = [*waiting[3:6], *waiting[-6:-3]]
            for one in deleted:
                await second.stub.DeleteDocument(DeleteDocumentRequest(document_id=one), timeout=30)
            for one in cancelled:
                await second.stub.CancelDocument(CancelDocumentRequest(document_id=one), timeout=30)
        finally:
            thaw(two.first.pid)

        async def released() -> bool:
            return not await two.ledgers.claims()

        await until(released, 60)
        rest = [one for one in ids if one not in deleted and one not in cancelled]

        async def indexed() -> bool:
            return (await states(second, rest))["INDEXED"] == len(rest)

        await until(indexed, 60)
        await check_whole(second, rest)
        for one in deleted:
            with pytest.raises(NotFound):
                await second.stub.GetDocument(GetDocumentRequest(document_id=one))
            assert await chunks(second, one) == []
        for one in cancelled:
            document = (await second.stub.GetDocument(GetDocumentRequest(document_id=one))).document
            assert document.failure.reason == doc.FAILURE_REASON_CANCELLED
            assert await chunks(second, one) == []
        assert "claims_ended" not in two.whole.log()
