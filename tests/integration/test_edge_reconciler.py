"""Documents without a job are taken up when edge starts, whatever clock their times come from."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dbos import DBOS
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_UPLOADED
from footnote_edge import composition
from footnote_edge.app import build
from footnote_edge.documents import reconcile
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.postponing import Postponements
from footnote_kit import transient_errors
from footnote_kit.backoff import Backoff
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Unavailable
from footnote_kit.testing import serve_app
from support import postgres
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient


@pytest.mark.parametrize("ledger", ["sqlite", "postgresql"])
async def test_a_document_whose_provider_is_away_is_tried_again_after_its_oldest_jobs_were_swept(
    request: pytest.FixtureRequest, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: str
) -> None:
    if ledger == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
        monkeypatch.setenv("FOOTNOTE_EDGE_JOBS_DATABASE_URL", url)
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.3")
    monkeypatch.setattr(composition, "Postponements", lambda: Postponements(Backoff(0.1, 0.1), held_seconds=0))
    away = Unavailable("away", reason="PROVIDER_FAILED", metadata={transient_errors.WAITING: transient_errors.PROVIDER})
    world.failures["IndexDocument"] = away
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        client = EdgeClient(served.channel)
        document_id = (await client.upload(b"a" * 100_000, "a.txt")).document.id
        await world.until(lambda: len(world.requests("IndexDocument")) > 4)
        kept = await DBOS.list_workflows_async(workflow_id_prefix=document_id, load_input=False, load_output=False)
        assert [one.workflow_id for one in kept] == [f"{document_id}:1"]  # an outage must not fill the ledger
        await DBOS.delete_workflows_async([f"{document_id}:1"])
        tries = len(world.requests("IndexDocument"))
        await world.until(lambda: len(world.requests("IndexDocument")) > tries + 3)


async def test_a_document_that_is_put_off_counts_as_the_oldest_job(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, found = Jobs.launch, []

    async def launched(self: Jobs) -> None:
        found.append(self)
        await launch(self)

    monkeypatch.setattr(Jobs, "launch", launched)
    monkeypatch.setattr(composition, "Postponements", lambda: Postponements(Backoff(3600, 3600), held_seconds=0))
    away = Unavailable("away", reason="PROVIDER_FAILED", metadata={transient_errors.WAITING: transient_errors.PROVIDER})
    world.failures["IndexDocument"] = away
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        began = datetime.now(UTC)
        document_id = (await EdgeClient(served.channel).upload(b"a" * 100_000, "a.txt")).document.id
        [jobs] = found
        await world.until(lambda: len(world.requests("IndexDocument")) > 0)
        async with asyncio.timeout(240):
            while await jobs.active([f"{document_id}:1"]):  # noqa: ASYNC110 - only the ledger knows
                await asyncio.sleep(0.01)
        oldest = await jobs.oldest()
        assert oldest is not None
        assert began <= oldest <= datetime.now(UTC)


async def test_documents_in_the_queue_are_known_by_one_look_for_each_page(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.2")
    monkeypatch.setattr(reconcile, "SETTLED_SECONDS", 0.0)
    monkeypatch.setattr(reconcile, "PAGE", 2)
    looks, listings = 0, 0
    look, listing = DBOS.get_workflow_status_async, Jobs.active

    async def looked(name: str) -> object:
        nonlocal looks
        looks += 1
        return await look(name)

    async def listed(self: Jobs, jobs: Sequence[str]) -> set[str]:
        nonlocal listings
        listings += 1
        found = await listing(self, jobs)
        assert len(found) == len(jobs) <= 2  # of a queue of 6
        return found

    world.gates["ParseDocument"] = asyncio.Event()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        client = EdgeClient(served.channel)
        for number in range(6):
            await client.upload(b"a" * 100_000, f"{number}.txt")
        monkeypatch.setattr(DBOS, "get_workflow_status_async", looked)
        monkeypatch.setattr(Jobs, "active", listed)
        await world.until(lambda: listings > 3)
        assert looks == 0
        world.gates["ParseDocument"].set()


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(hours=1), timedelta(days=400)])
async def test_a_document_without_a_job_is_taken_up_although_the_clock_was_set_back(
    world: World, tmp_path: Path, ahead: timedelta
) -> None:
    world.gates["ParseDocument"] = asyncio.Event()
    async with serve_doubles(world) as addresses:
        async with serve_app(build, addresses=addresses, data_dir=tmp_path / "lost") as served:
            parts = [UploadDocumentRequest(metadata=UploadMetadata(filename="a.txt")), UploadDocumentRequest(data=b"a")]
            document_id = (await EdgeStub(served.channel).UploadDocument(iter(parts))).document.id
            await world.until(lambda: bool(world.requests("ParseDocument")))
        world.gates.clear()
        document = world.documents[document_id]
        document.state = DOCUMENT_STATE_UPLOADED
        document.update_time.FromDatetime(datetime.now(UTC) + ahead)
        async with serve_app(build, addresses=addresses, data_dir=tmp_path / "fresh"):
            await world.until(lambda: world.documents[document_id].state == DOCUMENT_STATE_INDEXED)
