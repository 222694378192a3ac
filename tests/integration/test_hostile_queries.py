"""Hostile statements over gRPC: each ends with a typed error, without effect, and the service keeps running; limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_ingestion.app import build
from footnote_kit.errors import FailedPrecondition, InvalidArgument
from footnote_kit.testing import Served, serve_app
from support.hostile_queries import HOSTILE
from support.ingestion_client import Client

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.full]

AT_ONCE = 2
OWN = "a;b\n" + "".join(f"x{row};{row}\n" for row in range(1, 2001))
LONGER = "WITH " + ", ".join(
    f"p{step} AS (SELECT CONCAT({', '.join(['a'] * 16)}) AS a FROM {f'p{step - 1}' if step else 't_abc_1'})"
    for step in range(6)
)
COSTLY = (
    "SELECT COUNT(*) FROM t_abc_1 x JOIN t_abc_1 y ON x.b <> y.b JOIN t_abc_1 z ON y.b <> z.b",
    "SELECT COUNT(*) FROM t_abc_1 x JOIN t_abc_2 y ON TRUE JOIN t_abc_1 z ON 1 = 1 JOIN t_abc_2 w ON x.b >= 0",
    f"{LONGER} SELECT MAX(LENGTH(a)) FROM p5",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """Ingestion that runs two queries at once, each for two seconds at most."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FOOTNOTE_INGESTION_TABLE_QUERIES", str(AT_ONCE))
        patched.setenv("FOOTNOTE_INGESTION_QUERY_SECONDS", "2")
        async with serve_app(build, data_dir=tmp_path_factory.mktemp("data")) as running:
            yield running


class Caller:
    """A tenant with two tables, and the name of another tenant's."""

    def __init__(self, client: Client, ids: list[str], names: dict[str, str]) -> None:
        self._client, self._ids, self._names = client, ids, names

    async def run(self, statement: str) -> list[list[object]]:
        for name, view in self._names.items():
            statement = statement.replace(name, view)
        request = pb.QueryTablesRequest(scope=self._client.scope, document_ids=self._ids, query=statement)
        return [list(row) for row in (await self._client.stub.QueryTables(request)).result.rows]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def caller(served: Served) -> Caller:
    """A caller with two tables, and another tenant with one."""

    async def put(client: Client, filename: str) -> tuple[str, str]:
        document = (await client.upload(OWN.encode(), filename)).document
        await client.parse(document.id)
        request = pb.DescribeTablesRequest(scope=client.scope, document_id=document.id)
        return document.id, (await client.stub.DescribeTables(request)).tables[0].view

    mine, theirs = (Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM])) for _ in range(2))
    (one, first), (two, second), (_, other) = (
        await put(mine, "one.csv"),
        await put(mine, "two.csv"),
        await put(theirs, "other.csv"),
    )
    return Caller(mine, [one, two], {"t_abc_1": first, "t_abc_2": second, "t_other_1": other})


def left(served: Served) -> set[str]:
    """Every file of the service, without those of its database and of processes that wait."""
    folder = Path(served.runtime.data_dir) / "ingestion"
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if "worker-" not in str(path) and ".sqlite" not in path.name}


def workers(served: Served) -> list[Path]:
    """The folders of the processes that read files and run queries."""
    return list((Path(served.runtime.data_dir) / "ingestion").rglob("worker-*"))


async def test_hostile_statements_read_nothing_and_leave_nothing(served: Served, caller: Caller) -> None:
    before = left(served)
    got_through = []
    for statement in dict.fromkeys(HOSTILE):
        try:
            got_through.append((statement, await caller.run(statement)))
        except InvalidArgument:
            continue
    assert not got_through
    assert left(served) == before
    assert await caller.run("SELECT COUNT(*), SUM(b) FROM t_abc_1") == [[2000.0, 2001000.0]]


@pytest.mark.parametrize("statement", COSTLY)
async def test_statements_that_take_too_much_end_typed(served: Served, caller: Caller, statement: str) -> None:
    before = left(served)
    with pytest.raises(FailedPrecondition) as caught:
        await caller.run(statement)
    assert caught.value.reason == "QUERY_TOO_COSTLY"
    assert left(served) == before
    assert await caller.run("SELECT COUNT(*) FROM t_abc_1") == [[2000.0]]


async def test_no_more_run_at_once_than_allowed_and_the_others_wait(served: Served, caller: Caller) -> None:
    statement = "SELECT COUNT(*) FROM t_abc_1 x JOIN t_abc_1 y ON x.b <> y.b"
    before, most = set(workers(served)), 0
    asked = asyncio.gather(*(caller.run(statement) for _ in range(3 * AT_ONCE)))
    while not asked.done():
        most = max(most, len(set(workers(served)) - before))
        await asyncio.wait([asked], timeout=0.02)
    assert await asked == [[[2000.0 * 1999]]] * (3 * AT_ONCE)
    assert most <= AT_ONCE
