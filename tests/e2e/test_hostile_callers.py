"""While others are hostile a good caller's searches stay quick: each attack alone, and all eight at once.

The bar is 95 % of searches under 100 ms. Since machines are shared, a run passes too when the 95th of a hundred is
under three times what it was just before the attack, and one that is merely too slow is tried a second time.
`FOOTNOTE_HOSTILE_OUT` names a file for the figures as JSON.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.edge import EdgeStub
from support.access.people import Person, make_keys
from support.deployment import Deployment
from support.hostile import ATTACKS, bearer

# It measures. On two cores with nothing else on them, rounds of 15 s with all eight: p95 of a good caller 73 ms in a
# server that has met each of them before; 94 to 111 in one that has just started, whose processes begin meanwhile.
pytestmark = [pytest.mark.timeout(420), pytest.mark.bench]

GOOD, EVIL = "good-tenant", "evil-tenant"
PAUSE = 0.12
"""Seconds between the good caller's searches: some eight a second."""
BAR_MS, TIMES, GROWTH_MB = 100.0, 3.0, 300.0
ALONE_SECONDS, ATTACK_SECONDS, ALL_SECONDS = 4.0, 7.0, 15.0
SEARCH_SECONDS, RECOVERY_SECONDS = 10.0, 6.0
QUERY = "How long is the warranty of the laser?"
LEAST = {
    "searches": ("asked", 3), "documents": ("uploaded", 1), "bodies": ("mebibytes", 4), "slow": ("bytes", 100),
    "resets": ("reset", 500), "watches": ("opened", 600), "nested": ("posted", 3), "halfopen": ("connections", 100),
}  # fmt: skip
"""What an attack must have delivered to count as one."""


class Server:
    """A deployment with a good and a hostile tenant, and another in its place when an attack has silenced it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.figures: list[dict[str, Any]] = []
        self._begin()

    def _begin(self) -> None:
        # In a folder of its own: a hostile document is a job that a restarted deployment takes up again.
        folder = self.folder / f"{len(self.figures)}"
        folder.mkdir()
        self.running = Deployment(folder, env={"FOOTNOTE_EDGE_AUTH": "keys"})
        self.running.start()
        people = [
            Person("good", GOOD, "gina", "admin"), Person("evil", EVIL, "eve", "admin"),
            Person("evil writer", EVIL, "ed", "writer"), Person("evil reader", EVIL, "rob", "reader"),
        ]  # fmt: skip
        keys = make_keys(folder, people)
        self.good, self.evil, self.writer, self.reader = keys
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        async with grpc.aio.insecure_channel(self.running.address()) as channel:
            stub: Any = EdgeStub(channel)
            for key, name in ((self.good, "papers"), (self.evil, "target")):
                request = CreateCollectionRequest(collection=Collection(name=name))
                await stub.CreateCollection(request, metadata=bearer(key), timeout=60)
                for number in range(5):
                    text = f"The laser of type {number} has a warranty of {number + 12} months."
                    head = UploadMetadata(collection=name, filename=f"{number}.txt")
                    parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text.encode())]
                    made = await stub.UploadDocument(iter(parts), metadata=bearer(key), timeout=60)
                    watch = WatchDocumentRequest(document_id=made.document.id)
                    async for _ in stub.WatchDocument(watch, metadata=bearer(key), timeout=60):
                        pass

    def ready(self) -> None:
        """Make sure that it answers, with another deployment if need be."""
        if not asyncio.run(self._answers()):
            self.running.kill()
            self._begin()

    async def _answers(self) -> bool:
        deadline = time.monotonic() + RECOVERY_SECONDS
        async with grpc.aio.insecure_channel(self.running.address()) as channel:
            while time.monotonic() < deadline:
                took, errors = await search(self, EdgeStub(channel), 0.5)
                if not errors and max(took) < 1000:
                    return True
        return False

    def attack(self, name: str, seconds: float) -> subprocess.Popen[str]:
        """Start one hostile caller."""
        orders = {
            "grpc": self.running.address(), "http": self.running.address("http"), "reader": self.reader,
            "writer": self.writer, "collection": "target", "seconds": seconds,
        }  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            [sys.executable, "-m", "support.hostile", name, json.dumps(orders)],
            stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def memory_mb(self) -> float:
        """Return the memory of the processes that serve."""
        return self.running.memory_bytes() / 2**20


async def search(
    server: Server, stub: Any, seconds: float, memory: list[float] | None = None
) -> tuple[list[float], list[str]]:
    """Search now and then as a good caller does; return milliseconds of each search, and what went wrong."""
    took: list[float] = []
    errors: list[str] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.perf_counter()
        try:
            request = SearchRequest(query=QUERY)
            found = await stub.Search(request, metadata=bearer(server.good), timeout=SEARCH_SECONDS)
            if not found.chunks:
                errors.append("nothing found")
        except grpc.aio.AioRpcError as error:
            errors.append(f"{error.code().name}: {error.details()}")
        took.append((time.perf_counter() - start) * 1000)
        if memory is not None:
            memory.append(server.memory_mb())
        await asyncio.sleep(PAUSE)
    return took, errors


def p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for the whole module; its figures are written at the end."""
    server = Server(tmp_path_factory.mktemp("hostile"))
    try:
        yield server
    finally:
        server.running.kill()
        if out := os.environ.get("FOOTNOTE_HOSTILE_OUT"):
            Path(out).write_text(json.dumps(server.figures, indent=1))


@pytest.fixture
def server(started: Server) -> Server:
    """The server, ready again after an earlier attack."""
    started.ready()
    return started


async def under(server: Server, names: list[str], seconds: float) -> dict[str, Any]:
    """Measure searches alone and then under these attacks, on one connection; return the figures."""
    before = server.memory_mb()
    memory = [before]
    # The connection is there before the attack: a limit per address cannot distinguish callers here.
    async with grpc.aio.insecure_channel(server.running.address()) as channel:
        stub = EdgeStub(channel)
        await search(server, stub, 0.5)
        alone, wrong = await search(server, stub, ALONE_SECONDS)
        assert not wrong, wrong
        attackers = {name: server.attack(name, seconds) for name in names}
        try:
            for attacker in attackers.values():
                assert attacker.stdout is not None
                assert await asyncio.to_thread(attacker.stdout.readline) == "ready\n"
            took, errors = await search(server, stub, seconds - 1, memory)
            said = {
                name: (await asyncio.to_thread(attacker.communicate, timeout=30))[0]
                for name, attacker in attackers.items()
            }
        finally:
            for attacker in attackers.values():
                if attacker.poll() is None:
                    attacker.send_signal(signal.SIGKILL)
                    attacker.wait()
    figures = {
        "attacks": names, "alone_p95_ms": round(p95(alone), 1), "under_p95_ms": round(p95(took), 1),
        "under_worst_ms": round(max(took), 1), "bar_ms": round(max(BAR_MS, TIMES * p95(alone)), 1),
        "searches": len(took), "errors": len(errors), "first_errors": errors[:3],
        "memory_growth_mb": round(max(memory) - before, 1), "load": os.getloadavg()[0],
        "delivered": {name: json.loads(text or "{}") for name, text in said.items()},
    }  # fmt: skip
    server.figures.append(figures)
    print(json.dumps(figures))
    return figures


def judge(figures: dict[str, Any]) -> None:
    assert figures["errors"] == 0, figures
    assert figures["under_p95_ms"] < figures["bar_ms"], figures
    assert figures["memory_growth_mb"] < GROWTH_MB, figures
    for name, delivered in figures["delivered"].items():
        what, least = LEAST[name]
        assert delivered.get(what, 0) >= least, f"{name} was no attack: {delivered}"


def attempt(server: Server, names: list[str], seconds: float) -> None:
    """Judge an attack; when it was only slow try once more, since what else runs on a machine is slow too."""
    figures = asyncio.run(under(server, names, seconds))
    if not figures["errors"] and figures["under_p95_ms"] >= figures["bar_ms"]:
        server.ready()
        figures = asyncio.run(under(server, names, seconds))
    judge(figures)


@pytest.mark.parametrize("name", ATTACKS)
def test_one_hostile_caller_does_not_slow_a_good_one(server: Server, name: str) -> None:
    attempt(server, [name], ATTACK_SECONDS)


@pytest.mark.slow
def test_eight_hostile_callers_do_not_slow_a_good_one(server: Server) -> None:
    attempt(server, list(ATTACKS), ALL_SECONDS)
