"""PostgreSQL that is down or frozen, for each service: starts wait for it, and calls end with a typed error."""

import asyncio
from collections.abc import Iterator

import grpc
import pytest
from footnote_kit.edge import METHODS
from support import postgres
from support.deployment import Deployment
from support.frozen_rpcs import Ended, Everything
from support.postgres import PostgresServer

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not())),
]

STAGES = ("ingestion", "indexing", "edge")
AWAY = 8.0
"""Seconds; a service asks its database within three of its start."""
IN_TIME = 29.0
WORDS = {"UNAVAILABLE", "RESOURCE_EXHAUSTED"}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that can be frozen and killed."""
    with postgres.postgres_server() as running:
        yield running


@pytest.fixture(scope="module")
def running(server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Services in processes of their own, on that PostgreSQL."""
    database = asyncio.run(postgres.new_database(server.url))
    env = {f"FOOTNOTE_{stage.upper()}_DATABASE_URL": database for stage in STAGES}
    env["FOOTNOTE_EDGE_SOURCE_KEY"] = "A" * 43 + "="
    started = Deployment(tmp_path_factory.mktemp("away"), separate=True, env=env)
    try:
        started.start()
        yield started
    finally:
        server.thaw()
        started.stop()


@pytest.mark.parametrize("stage", STAGES)
async def test_a_service_that_starts_waits_for_its_database(
    running: Deployment, server: PostgresServer, stage: str
) -> None:
    running.kill(stage)
    server.stop()
    try:
        running.spawn(stage)
        await asyncio.sleep(AWAY)
    finally:
        server.start()
    process = running.processes[stage]
    assert process.poll() is None, running.log(stage)[-2000:]
    await asyncio.to_thread(running.wait)


async def test_each_rpc_ends_in_words_while_the_database_stands_still_and_works_again(
    running: Deployment, server: PostgresServer
) -> None:
    async with grpc.aio.insecure_channel(running.address()) as channel:
        everything = Everything(channel)
        await everything.well()
        usual = await everything.call()
        await everything.well()
        server.freeze()
        try:
            table = await everything.call()
        finally:
            server.thaw()
        for name, ended in table.items():
            print(f"| {name} | {ended} |", flush=True)
        await everything.well()
        after = await everything.call()
    assert set(table) == {method.name for method in METHODS}
    assert {name: one.code for name, one in after.items()} == {name: one.code for name, one in usual.items()}
    wrong = {name: str(one) for name, one in table.items() if not in_words(one, usual[name])}
    assert not wrong, wrong


def in_words(ended: Ended, usual: Ended) -> bool:
    """Return whether a call ended in time, as usual or with a retryable error."""
    return ended.seconds <= IN_TIME and (
        ended.code in ("OK", usual.code) or (ended.code in WORDS and bool(ended.reason))
    )
