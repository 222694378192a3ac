"""One tenant puts many files in; another one's single files do not wait behind them.

`FOOTNOTE_FAIR_FILES` is how many; what it costs the other tenant on a quiet machine is for that to show.
"""

import asyncio
import os
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.documents_pb2 import UploadDocumentsRequest, UploadMetadata
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.edge import EdgeStub
from support import postgres
from support.deployment import deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(900)]

MANY = int(os.environ.get("FOOTNOTE_FAIR_FILES", "150"))
AT_ONCE = 48
LINES = 300
"""Of a file of many, 20 kB: what is cut and embedded, not only stored."""
SINGLE = 12
BEHIND = 0.25
"""Share of the many's time that one single file may take on a crowded machine; behind all of them it would take all."""


class OfTenant:
    """Calls on behalf of a tenant."""

    def __init__(self, stub: EdgeStub, tenant: str) -> None:
        self._stub = stub
        self._metadata = (("x-footnote-tenant", tenant),)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._stub, name)
        return lambda *given, **more: call(*given, metadata=self._metadata, **more)


def of_tenant(client: EdgeClient, tenant: str) -> EdgeClient:
    """Return a client that calls on behalf of a tenant."""
    made = EdgeClient.__new__(EdgeClient)
    made.stub = OfTenant(client.stub, tenant)  # type: ignore[assignment]
    return made


async def singles(client: EdgeClient, name: str, count: int) -> list[float]:
    """Put files in one after the other; return the seconds until each can be searched."""
    taken = []
    for number in range(count):
        began = time.monotonic()
        ended = await client.put(f"{name}: fact {number} is {number * 7}.".encode(), f"{name}-{number}.txt")
        assert ended.state == DOCUMENT_STATE_INDEXED
        taken.append(time.monotonic() - began)
    return taken


def text_of(number: int) -> bytes:
    lines = (f"File {number} says of item {line} that it costs {line * number} euros." for line in range(LINES))
    return "\n".join(lines).encode()


async def flood(client: EdgeClient) -> list[str]:
    """Upload many files; return the documents' ids."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> str:
        async with places:
            accepted = await client.upload(text_of(number), f"many-{number}.txt")
            return str(accepted.document.id)

    return await asyncio.gather(*(one(number) for number in range(MANY)))


async def flood_together(client: EdgeClient) -> list[str]:
    """Do the same 64 in a call, one call after the other."""
    ids: list[str] = []
    for start in range(0, MANY, 64):
        messages = [
            UploadDocumentsRequest(metadata=UploadMetadata(filename=f"many-{number}.txt"), data=text_of(number))
            for number in range(start, min(start + 64, MANY))
        ]
        answer = await client.stub.UploadDocuments(iter(messages), timeout=120)
        ids += [one.stored.document.id for one in answer.files]
    return ids


@pytest.fixture(params=["sqlite", "postgres"])
def env(request: pytest.FixtureRequest) -> dict[str, str]:
    """Variables of a deployment with its ledgers in SQLite or in PostgreSQL."""
    if request.param == "sqlite":
        return {}
    url = asyncio.run(postgres.new_database(request.getfixturevalue("postgres_url")))
    return {f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("INGESTION", "INDEXING", "EDGE")}


@pytest.mark.parametrize("flood", [flood, flood_together])
def test_a_tenants_many_files_do_not_hold_up_anothers_single_one(
    tmp_path: Path, flood: Any, env: dict[str, str]
) -> None:
    async def look(address: str) -> tuple[list[float], list[float], float]:
        async with edge_client(address) as first, edge_client(address) as second:
            many, single = of_tenant(first, "many"), of_tenant(second, "single")
            await many.put(b"Something to begin with.", "first.txt")
            alone = await singles(single, "alone", SINGLE)
            began = time.monotonic()
            uploading = asyncio.create_task(flood(many))
            beside = await singles(single, "beside", SINGLE)
            ids = await uploading
            for one in ids:
                assert (await many.settle(one, timeout=600)).state == DOCUMENT_STATE_INDEXED
            return alone, beside, time.monotonic() - began

    with deployment(tmp_path, env=env) as running:
        alone, beside, all_of_them = asyncio.run(look(running.address()))
    for name, taken in (("alone", alone), ("beside", beside)):
        print(f"| {name} | {statistics.median(taken):.2f} s | {max(taken):.2f} s |")
    print(f"| {MANY} files of another tenant, all searchable | {all_of_them:.1f} s | |")
    assert max(beside) < max(2.0, BEHIND * all_of_them)
