"""How fast many small files become searchable, and what each process spends on one.

Real stages with the built-in embedder, the embedded engine and SQLite, as `serve all` runs them. FOOTNOTE_BENCH_SMALL
are files of 1 kB, uploaded one by one or 64 in a call. The time runs from the first byte sent until a listing shows
every file as searchable.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest, UploadDocumentsRequest, UploadMetadata
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

FILES = int(os.environ.get("FOOTNOTE_BENCH_SMALL", "500"))
AT_ONCE, WARM = 8, 20
SENTENCE = "The press of hall {number} is oiled every {days} days; its manual number {number} lies below it. "


def note(number: int) -> bytes:
    """Return a file of about 1 kB that no other equals."""
    lines = [SENTENCE.format(number=number * 100 + line, days=number % 89 + line) for line in range(10)]
    return "".join(lines).encode()


def spent(running: Deployment) -> dict[str, float]:
    """Return seconds of processor time by process."""
    first = psutil.Process(running.processes["all"].pid)
    found: dict[str, float] = {}
    for one in (first, *first.children(recursive=True)):
        with suppress(psutil.Error):
            times = one.cpu_times()
            name = " ".join(one.cmdline()[-2:])[-40:] or one.name()
            found[f"{one.pid} {name}"] = times.user + times.system
    return found


async def searchable(client: EdgeClient) -> int:
    request = ListDocumentsRequest(page_size=1, states=[DOCUMENT_STATE_INDEXED])
    return int((await client.stub.ListDocuments(request, timeout=60)).total_size)


async def many(client: EdgeClient, numbers: Sequence[int]) -> None:
    """Upload files by one call."""
    messages = [
        UploadDocumentsRequest(
            metadata=UploadMetadata(collection="default", filename=f"note {number}.txt"), data=note(number)
        )
        for number in numbers
    ]
    answer = await client.stub.UploadDocuments(iter(messages), timeout=60)
    assert all(one.HasField("stored") for one in answer.files)


async def take_in(client: EdgeClient, first: int, count: int, at_once: int = 1) -> tuple[float, float]:
    """Upload files, so many in a call; return the seconds until all were accepted, and until all were searchable."""
    turns, before, began = asyncio.Semaphore(AT_ONCE), await searchable(client), time.perf_counter()

    async def some(start: int) -> Any:
        async with turns:
            if at_once > 1:
                return await many(client, range(start, min(start + at_once, first + count)))
            return await client.upload(note(start), f"note {start}.txt")

    await asyncio.gather(*(some(start) for start in range(first, first + count, at_once)))
    accepted = time.perf_counter() - began
    for _ in range(10_000):
        if await searchable(client) == before + count:
            break
        await asyncio.sleep(0.1)
    return accepted, time.perf_counter() - began


@pytest.mark.parametrize("at_once", [1, 64])
def test_small_files(tmp_path: Path, at_once: int) -> None:
    async def measured(running: Deployment) -> None:
        async with edge_client(running.address()) as client:
            await take_in(client, 10_000_000, WARM)
            before = spent(running)
            accepted, all_of_them = await take_in(client, 0, FILES, at_once)
            after = spent(running)
            print(
                f"\n{FILES} files, {at_once} in a call: accepted {FILES / accepted:.1f}/s, "
                f"searchable {FILES / all_of_them:.1f}/s"
            )
            for name, seconds in sorted(after.items(), key=lambda item: -item[1]):
                used = (seconds - before.get(name, 0.0)) / FILES * 1000
                if used >= 0.05:
                    print(f"{used:7.2f} ms a file  {name}")
            print(f"{sum(after.values()) / FILES * 1000 - sum(before.values()) / FILES * 1000:7.2f} ms a file  all")
            for number in (0, FILES // 2, FILES - 1):
                query = f"manual number {number * 100}"
                found = await client.stub.Search(SearchRequest(query=query), timeout=60)
                assert any(f"note {number}.txt" in chunk.chunk.filename for chunk in found.chunks)

    with deployment(tmp_path) as running:
        asyncio.run(measured(running))
