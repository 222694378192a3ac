"""The service keeps running whatever a file, a worker, a client or the disk does."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote_ingestion.app import build
from footnote_ingestion.worker import process
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, Unavailable
from footnote_kit.testing import serve_app
from support.ingestion_client import Client
from support.processes import FORK_SERVER, family, running

pytestmark = pytest.mark.full

# Takes a worker seconds to read.
PARAGRAPHS = 200_000
SLOW = b"".join(b"Paragraph %d has a few words of its own.\n\n" % number for number in range(PARAGRAPHS))
SOME = b"".join(b"Paragraph %d has a few words of its own.\n\n" % number for number in range(PARAGRAPHS // 20))
SMALL = b"Just one paragraph."


@pytest.fixture(params=["60"])
async def client(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Client]:
    """A client of ingestion with one parser; at the end no process of it is left."""
    monkeypatch.setenv("FOOTNOTE_INGESTION_PARSE_SECONDS", request.param)
    monkeypatch.setenv("FOOTNOTE_INGESTION_WORKERS", "1")
    monkeypatch.setenv("FOOTNOTE_INGESTION_SWEEP_SECONDS", "0.1")
    before = family(FORK_SERVER)
    async with serve_app(build, data_dir=tmp_path) as served:
        yield Client(served)
    assert not family(FORK_SERVER) - before, "a worker was left behind"


async def until(condition: Callable[[], bool]) -> None:
    """Poll the state of the disk, for which there is no event."""
    async with asyncio.timeout(240):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def workers() -> dict[psutil.Process, float]:
    """The worker processes with the CPU time that each has used."""
    used = {}
    for fork_server in running(FORK_SERVER):
        with suppress(psutil.NoSuchProcess):  # some end while they are looked at
            for worker in fork_server.children():
                with suppress(psutil.NoSuchProcess):
                    used[worker] = worker.cpu_times().user
    return used


async def parse_and_signal(client: Client, document_id: str, number: signal.Signals, times: int | None = None) -> int:
    """Parse; send workers a signal as soon as blocks have come, and return how many came.

    With `times` the one that reads gets it, told by the time that it used, so often; else every one that there is, so
    that whoever takes its place gets it too.
    """
    blocks = 0
    before = workers()
    stream = client.stub.ParseDocument(pb.ParseDocumentRequest(scope=client.scope, document_id=document_id))
    signalled: set[int] = set()
    async for part in stream:
        blocks += len(part.blocks)
        if not part.blocks or len(signalled) == times:  # a look at all processes of the machine costs as much as a part
            continue
        now = workers()
        meant = sorted(now, key=lambda one: now[one] - before.get(one, 0), reverse=True)
        for one in meant[:1] if times is not None else meant:
            if one.pid not in signalled:
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(number)
                signalled.add(one.pid)
    return blocks


@pytest.mark.parametrize(
    ("client", "number", "reason"),
    [
        ("8", signal.SIGSTOP, "TIMEOUT"),
        ("60", signal.SIGSEGV, "PARSER_CRASHED"),
    ],
    indirect=["client"],
)
async def test_a_worker_that_hangs_or_dies(client: Client, number: signal.Signals, reason: str) -> None:
    document = (await client.upload(SLOW)).document
    with pytest.raises(FootnoteError) as caught:
        await parse_and_signal(client, document.id, number, times=2 if number == signal.SIGSTOP else None)
    assert caught.value.metadata["failure_reason"] == reason
    assert caught.value.metadata["hint"]
    other = (await client.upload(SMALL)).document
    assert len((await client.parse(other.id))[0]) == 1


async def test_a_good_file_whose_parser_is_killed_again_and_again_waits_longer_each_time(client: Client) -> None:
    document = (await client.upload(SOME)).document
    pauses = []
    for _ in range(5):
        with pytest.raises(Unavailable) as caught:
            await parse_and_signal(client, document.id, signal.SIGKILL)
        assert caught.value.metadata["waiting"] == "PARSER_KILLED"
        pauses.append(caught.value.retry_after or 0)
    assert pauses[0] >= 10
    assert all(later > earlier for earlier, later in pairwise(pauses))
    assert sum(pauses) < 3600
    with pytest.raises(FailedPrecondition) as given_up:
        await parse_and_signal(client, document.id, signal.SIGKILL)
    assert given_up.value.metadata["failure_reason"] == "PARSER_KILLED"
    assert "memory" in given_up.value.metadata["hint"]
    assert len((await client.parse(document.id))[0]) == PARAGRAPHS // 20


async def test_a_kill_of_the_process_that_workers_are_forked_from_is_not_the_fault_of_the_file(client: Client) -> None:
    document = (await client.upload(SOME)).document
    killed: set[int] = set()

    async def parse() -> None:
        request = pb.ParseDocumentRequest(scope=client.scope, document_id=document.id)
        async for part in client.stub.ParseDocument(request):
            for fork_server in running(FORK_SERVER) if part.blocks else ():
                fork_server.kill()
                killed.add(fork_server.pid)

    with pytest.raises(Unavailable) as caught:
        await parse()
    assert len(killed) > 1
    assert caught.value.metadata["waiting"] == "PARSER_KILLED"
    assert len((await client.parse(document.id))[0]) == PARAGRAPHS // 20


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_file_whose_worker_is_killed_once_is_read_to_its_end(client: Client, number: signal.Signals) -> None:
    document = (await client.upload(SLOW)).document
    assert await parse_and_signal(client, document.id, number, times=1) == PARAGRAPHS


@pytest.mark.parametrize("client", ["5"], indirect=True)
async def test_a_good_file_does_not_fail_because_others_use_the_processor(client: Client) -> None:
    """It takes longer by the clock than it may by the processor, and is read.

    It needs less than a second of it, so that it isn't put behind the others, as a long one is.
    """
    document = (await client.upload(SLOW[: len(SLOW) // 16])).document
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [await asyncio.create_subprocess_exec(*spin) for _ in range(6)]
    try:
        async with asyncio.timeout(240):
            blocks, _ = await client.parse(document.id)
        assert len(blocks) > PARAGRAPHS // 20
    finally:
        for one in busy:
            one.kill()
            await one.wait()


async def test_a_file_that_a_busy_machine_does_not_read_in_time_is_tried_again_later(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = (await client.upload(SLOW)).document
    with monkeypatch.context() as patched:
        patched.setattr(process, "_MOST_WALL", 1 / 60)  # a second by the clock, of a minute by the processor
        with pytest.raises(Unavailable, match="too busy") as caught:
            await client.parse(document.id)
    assert caught.value.metadata["waiting"] == "PARSER_KILLED"
    assert len((await client.parse(document.id))[0]) == PARAGRAPHS


async def test_a_file_that_takes_too_much_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_INGESTION_PARSE_MEMORY_BYTES", str(200 * 1024 * 1024))
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        document = (await client.upload(sparse_workbook(), "sparse.xlsx")).document
        with pytest.raises(InvalidArgument) as caught:
            await client.parse(document.id)
        assert caught.value.metadata["failure_reason"] in ("OUT_OF_MEMORY", "PARSER_CRASHED", "TOO_LARGE")
        other = (await client.upload(SMALL)).document
        assert len((await client.parse(other.id))[0]) == 1


def sparse_workbook() -> bytes:
    """A few hundred bytes that say: two cells, sixteen thousand columns and a million rows apart."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active["A1"] = "first"
    book.active["XFD1048576"] = "last"
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


async def test_a_zip_bomb_is_refused(client: Client) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/document.xml", bytes(300 * 1024 * 1024))
    assert len(buffer.getvalue()) < 1024 * 1024
    with pytest.raises(InvalidArgument) as caught:
        await client.upload(buffer.getvalue(), "bomb.docx")
    assert caught.value.reason == "FILE_TOO_LARGE"


async def test_a_client_that_goes_away_leaves_nothing(client: Client, tmp_path: Path) -> None:
    started = asyncio.Event()

    async def messages() -> AsyncIterator[pb.UploadDocumentRequest]:
        metadata = pb.UploadMetadata(collection_id="c", filename="a.txt")
        yield pb.UploadDocumentRequest(scope=client.scope, metadata=metadata)
        for _ in range(8):
            yield pb.UploadDocumentRequest(data=bytes(256 * 1024))
        started.set()
        await asyncio.Event().wait()

    async def upload() -> None:
        await client.stub.UploadDocument(messages())

    call = asyncio.create_task(upload())
    await started.wait()
    call.cancel()
    folder = tmp_path / "ingestion"
    await until(lambda: not any(path.is_file() for name in ("spool", "blobs") for path in (folder / name).rglob("*")))
    assert (await client.list()).total_size == 0


async def test_a_cancelled_reading_frees_its_worker(client: Client, tmp_path: Path) -> None:
    document = (await client.upload(SLOW)).document
    stream = client.stub.ParseDocument(pb.ParseDocumentRequest(scope=client.scope, document_id=document.id))
    async for part in stream:
        assert part.blocks
        break
    stream.cancel()
    other = (await client.upload(SMALL)).document
    assert len((await client.parse(other.id))[0]) == 1  # with the only worker there is
    await until(lambda: not any(path.is_file() for path in (tmp_path / "ingestion" / "spool").rglob("*")))


async def test_files_of_a_crash_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stored by a process that died before its row was written is deleted later."""
    from footnote_ingestion.documents import stored_files

    monkeypatch.setattr(stored_files, "GRACE_MICROS", 0)
    monkeypatch.setenv("FOOTNOTE_INGESTION_SWEEP_SECONDS", "3600")
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        document = (await client.upload(SMALL)).document
        blobs = tmp_path / "ingestion" / "blobs"
        (stored,) = [path for path in blobs.rglob("*") if path.is_file()]
        from footnote_ingestion.adapters.database import Database
        from footnote_ingestion.adapters.documents import DocumentTable

        database = await Database.open("", tmp_path / "ingestion")
        orphan = stored.with_name("orphan")
        orphan.write_bytes(b"left over")
        await DocumentTable(database).doom([str(orphan.relative_to(blobs))], 1)
        await database.close()
    monkeypatch.setenv("FOOTNOTE_INGESTION_SWEEP_SECONDS", "0.05")
    async with serve_app(build, data_dir=tmp_path) as served:
        await until(lambda: not orphan.exists())
        assert (await Client(served).download(document.id))[1] == SMALL


async def test_memory_is_given_back(client: Client) -> None:
    service = psutil.Process()
    text = SLOW[: len(SLOW) // 4]
    document = (await client.upload(text)).document
    await client.parse(document.id)
    before = service.memory_info().rss
    for number in range(3):
        other = (await client.upload(text + b"%d" % number)).document
        stream = client.stub.ParseDocument(pb.ParseDocumentRequest(scope=client.scope, document_id=other.id))
        async for _ in stream:
            pass
    assert service.memory_info().rss < before + 60 * 1024 * 1024


async def test_the_store_is_full(client: Client, tmp_path: Path) -> None:
    blobs = tmp_path / "ingestion" / "blobs"
    blobs.rmdir()
    blobs.write_bytes(b"")  # not a folder any more: nothing can be stored
    with pytest.raises(Unavailable):
        await client.upload(SMALL)
    blobs.unlink()
    blobs.mkdir()
    assert (await client.list()).total_size == 0
    assert not (await client.upload(SMALL)).duplicate
