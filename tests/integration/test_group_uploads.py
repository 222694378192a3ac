"""Uploads of many files at ingestion: one transaction, one worker, and what is refused is refused alone."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as ing
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as groups
from footnote.internal.ingestion.v1alpha1.group_service_pb2_grpc import GroupServiceStub
from footnote.stages.v1.scope_pb2 import Scope
from footnote_ingestion.adapters.additions import Additions
from footnote_ingestion.app import build
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import PARSER_CRASHED, ParseError
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Box, Workers
from footnote_ingestion.worker.pool import Pool
from footnote_kit.errors import FootnoteError, InvalidArgument, Unavailable
from footnote_kit.status import from_proto
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

Outcome = ing.UploadDocumentResponse | FootnoteError


@pytest.fixture
async def ingestion() -> AsyncIterator[Client]:
    """A client of ingestion."""
    async with serve_app(build) as served:
        yield Client(served)


def file(data: bytes, filename: str = "note.txt", **metadata: Any) -> groups.WholeFile:
    metadata = {"collection_id": "c", "filename": filename} | metadata
    return groups.WholeFile(metadata=ing.UploadMetadata(**metadata), data=data)


async def upload(client: Client, *files: groups.WholeFile, scope: Scope | None = None) -> list[Outcome]:
    request = groups.UploadDocumentsRequest(scope=scope or client.scope, files=files)
    answer = await GroupServiceStub(client.channel).UploadDocuments(request, timeout=60)
    return [one.stored if one.HasField("stored") else from_proto(one.error) for one in answer.files]


def reasons(outcomes: list[Outcome]) -> list[str]:
    return [one.reason if isinstance(one, FootnoteError) else "" for one in outcomes]


async def test_each_file_is_stored_as_by_a_call_of_its_own(ingestion: Client) -> None:
    texts = [f"Note {number} of the group.".encode() for number in range(5)]
    outcomes = await upload(ingestion, *(file(text, f"{n}.md", tags=[f"t{n}"]) for n, text in enumerate(texts)))
    for number, outcome in enumerate(outcomes):
        assert isinstance(outcome, ing.UploadDocumentResponse)
        assert not outcome.duplicate
        document, data = await ingestion.download(outcome.document.id)
        assert data == texts[number]
        assert document == outcome.document
        alone = (await ingestion.upload(texts[number], f"{number}.md", "other", tags=[f"t{number}"])).document
        for field in ("id", "collection_id", "create_time", "update_time"):
            for one in (alone, document):
                one.ClearField(field)
        assert document == alone
    assert (await ingestion.list(collection_ids=["c"])).total_size == len(texts)


async def test_what_is_refused_is_refused_alone_and_leaves_nothing(ingestion: Client) -> None:
    outcomes = await upload(
        ingestion,
        file(b"The first one is fine."),
        file(b""),
        file(b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 4, "program"),
        file(b"Its bytes are others.", sha256="0" * 64),
        file(b"Its name is none.", filename=".."),
        file(b"%PDF-1.7 and then nothing of it", "broken.pdf"),
        file(b"The last one is fine."),
    )
    assert reasons(outcomes) == [
        "", "FILE_EMPTY", "FILE_UNSUPPORTED", "TRANSFER_CORRUPT", "INVALID_FIELD", "FILE_CORRUPT", "",
    ]  # fmt: skip
    assert (await ingestion.list(collection_ids=["c"])).total_size == 2
    blobs = [one for one in (Path(ingestion.data_dir) / "ingestion" / "blobs").rglob("*") if one.is_file()]
    assert len(blobs) == 2


async def test_the_same_bytes_are_stored_once_and_labels_come_together(ingestion: Client) -> None:
    before = (await ingestion.upload(b"Known before.", tags=["old"])).document
    known, first, second, allowed, other = await upload(
        ingestion,
        file(b"Known before.", "again.txt", tags=["new"]),
        file(b"Twice in the call.", tags=["a"]),
        file(b"Twice in the call.", "b.txt", tags=["b"]),
        file(b"Twice in the call.", "c.txt", allow_duplicate=True),
        file(b"Another one."),
    )
    assert isinstance(known, ing.UploadDocumentResponse)
    assert (known.document.id, known.duplicate, known.merged) == (before.id, True, True)
    assert list(known.document.tags) == ["old", "new"]
    assert isinstance(first, ing.UploadDocumentResponse)
    assert isinstance(second, ing.UploadDocumentResponse)
    assert (second.document.id, second.duplicate, second.merged) == (first.document.id, True, True)
    assert list((await ingestion.get(first.document.id)).tags) == ["a", "b"]
    assert isinstance(allowed, ing.UploadDocumentResponse)
    assert not allowed.duplicate
    assert allowed.document.id != first.document.id
    assert isinstance(other, ing.UploadDocumentResponse)
    assert (await ingestion.list(collection_ids=["c"])).total_size == 4


async def test_a_repeated_request_gets_its_first_answers(ingestion: Client) -> None:
    files = [file(f"Note {n}.".encode(), request_id=f"r{n}") for n in range(3)]
    first = await upload(ingestion, *files[:2])
    again = await upload(ingestion, *files)
    assert [one.document.id for one in again[:2] if isinstance(one, ing.UploadDocumentResponse)] == [
        one.document.id for one in first if isinstance(one, ing.UploadDocumentResponse)
    ]
    other = await upload(ingestion, file(b"Other bytes.", request_id="r0"), file(b"New.", request_id="r9"))
    assert reasons(other) == ["REQUEST_ID_REUSED", ""]
    assert (await ingestion.list(collection_ids=["c"])).total_size == 4
    with pytest.raises(InvalidArgument):
        await upload(ingestion, file(b"One.", request_id="same"), file(b"Two.", request_id="same"))
    with pytest.raises(InvalidArgument):
        await upload(ingestion, file(b"One."), file(b"Two.", collection_id="d"))


async def test_a_group_takes_no_more_than_a_quota_leaves(ingestion: Client) -> None:
    files = [file(f"Note number {n}.".encode(), max_documents=3) for n in range(5)]
    outcomes = await upload(ingestion, *files)
    assert [isinstance(one, FootnoteError) for one in outcomes] == [False, False, False, True, True]
    assert {one.metadata["quota"] for one in outcomes if isinstance(one, FootnoteError)} == {"collection_documents"}
    size = sum(len(one.data) for one in files[:3])
    more = [file(b"More bytes " + bytes([65 + n]), max_tenant_bytes=size + 25) for n in range(3)]
    assert [isinstance(one, FootnoteError) for one in await upload(ingestion, *more)] == [False, False, True]
    assert (await ingestion.list(collection_ids=["c"])).total_size == 5


async def test_room_goes_to_files_that_are_stored(ingestion: Client) -> None:
    """Neither an unreadable file nor the same bytes again take the room of another file."""
    broken, good = file(b"%PDF-1.7 and then nothing of it", "broken.pdf"), file(b"The only one.")
    for files, expected in (([broken, good], ["FILE_CORRUPT", ""]), ([good, good], ["", ""])):
        collection = f"c{expected[0]}"
        for one in files:
            one.metadata.MergeFrom(ing.UploadMetadata(collection_id=collection, max_documents=1))
        outcomes = await upload(ingestion, *files)
        assert reasons(outcomes) == expected
        assert (await ingestion.list(collection_ids=[collection])).total_size == 1
    assert [isinstance(one, FootnoteError) or one.duplicate for one in outcomes] == [False, True]


async def test_duplicates_are_locked_in_the_order_of_their_ids(
    ingestion: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [file(f"Note {n}.".encode()) for n in range(4)]
    stored = await upload(ingestion, *files)
    by_id = sorted((one.document.id, n) for n, one in enumerate(stored) if isinstance(one, ing.UploadDocumentResponse))
    locked: list[str] = []
    merge = Additions._merge

    async def noted(self: Additions, connection: Any, tenant_id: str, document_id: str, one: Any) -> Any:
        locked.append(document_id)
        return await merge(self, connection, tenant_id, document_id, one)

    monkeypatch.setattr(Additions, "_merge", noted)
    again = await upload(ingestion, *(files[n] for _, n in reversed(by_id)))
    ids = [document_id for document_id, _ in by_id]
    assert [one.document.id for one in again if isinstance(one, ing.UploadDocumentResponse)] == ids[::-1]
    assert locked == ids


async def test_a_file_whose_duplicate_is_deleted_meanwhile_is_sent_again(ingestion: Client) -> None:
    first = (await ingestion.upload(b"The same bytes.", collection="c")).document
    precheck = Additions.precheck

    async def then_deleted(self: Additions, *given: Any) -> Any:
        found = await precheck(self, *given)
        await ingestion.delete(first.id)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Additions, "precheck", then_deleted)
        [refused] = await upload(ingestion, file(b"The same bytes."))
    assert isinstance(refused, Unavailable)
    assert refused.retry_after
    [stored] = await upload(ingestion, file(b"The same bytes."))
    assert isinstance(stored, ing.UploadDocumentResponse)
    assert not stored.duplicate


async def test_mails_are_parsed_alone(ingestion: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is packed in a mail may be a thousand times larger, and a group's blocks are in memory at once."""
    mail = b"From: a@example.org\nTo: b@example.org\nSubject: News\nMIME-Version: 1.0\n\nThe text of a mail.\n"
    stored = await upload(ingestion, file(mail, "a.eml"), file(b"A note."))
    documents = [one.document for one in stored if isinstance(one, ing.UploadDocumentResponse)]
    assert [one.document_type for one in documents] == ["eml", "txt"]
    together: list[str] = []
    run_many = Pool.run_many

    def noted(self: Pool, jobs: Any, tenant: str, user: str = "") -> Any:
        together.extend(job.document_type for job in jobs)
        return run_many(self, jobs, tenant, user)

    monkeypatch.setattr(Pool, "run_many", noted)
    request = groups.ParseDocumentsRequest(scope=ingestion.scope, document_ids=[one.id for one in documents])
    answers = [answer async for answer in GroupServiceStub(ingestion.channel).ParseDocuments(request, timeout=60)]
    assert {part.index for answer in answers for part in answer.parts if part.found.HasField("metadata")} == {0, 1}
    assert together == ["txt"]


async def test_a_group_is_parsed_by_one_worker_and_what_cannot_be_fails_alone(ingestion: Client) -> None:
    texts = {"a.md": b"# Head\n\nBelow it.", "b.csv": b"name,price\nsaw,12\n", "c.html": b"<p>Text of a page.</p>"}
    texts |= {"d.html": b"<html><body><script>no text</script></body></html>", "e.txt": b"The last."}
    stored = await upload(ingestion, *(file(data, name) for name, data in texts.items()))
    ids = [one.document.id for one in stored if isinstance(one, ing.UploadDocumentResponse)]
    assert len(ids) == len(texts)
    request = groups.ParseDocumentsRequest(scope=ingestion.scope, document_ids=[*ids[:3], "missing", *ids[3:]])
    parts: list[list[groups.ParsedPart]] = [[] for _ in request.document_ids]
    async for answer in GroupServiceStub(ingestion.channel).ParseDocuments(request, timeout=60):
        for part in answer.parts:
            parts[part.index].append(part)
    ends = ["" if one[-1].found.HasField("metadata") else from_proto(one[-1].error).reason for one in parts]
    assert ends == ["", "", "", "DOCUMENT_NOT_FOUND", "FILE_UNSUPPORTED", ""]
    for document_id, found in zip(request.document_ids, parts, strict=True):
        if not found[-1].HasField("error"):
            blocks, metadata = await ingestion.parse(document_id)
            assert [block for one in found for block in one.found.blocks] == blocks
            assert found[-1].found.metadata == metadata


async def test_parsing_a_group_does_not_stop_at_a_deleted_file(ingestion: Client) -> None:
    stored = await upload(ingestion, *(file(f"Note {n}.".encode()) for n in range(3)))
    ids = [one.document.id for one in stored if isinstance(one, ing.UploadDocumentResponse)]
    for blob in (Path(ingestion.data_dir) / "ingestion" / "blobs").rglob("*"):
        if blob.is_file() and blob.read_bytes() == b"Note 1.":
            blob.unlink()
    request = groups.ParseDocumentsRequest(scope=ingestion.scope, document_ids=ids)
    parts = [
        part
        async for answer in GroupServiceStub(ingestion.channel).ParseDocuments(request, timeout=60)
        for part in answer.parts
    ]
    ended = {part.index: from_proto(part.error).reason if part.HasField("error") else "" for part in parts}
    assert ended == {0: "", 1: "DOCUMENT_NOT_FOUND", 2: ""}


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[Pool]:
    """A pool of one worker."""
    (tmp_path / "scratch").mkdir()
    starter = Starter()
    made = Pool(1, 60.0, Workers(2**29, tmp_path / "scratch"), starter, 100, 100)
    yield made
    await made.close()
    await starter.close()


def jobs_in(folder: Path, count: int, more: str = "") -> list[wire.Job]:
    jobs = []
    for number in range(count):
        path = folder / f"{number}.txt"
        path.write_text(f"Text {number} of several.{more}")
        jobs.append(wire.Job("parse", str(path), "txt", path.name, Limits()))
    return jobs


async def test_a_worker_that_dies_amid_a_group_costs_no_file(tmp_path: Path, pool: Pool) -> None:
    """Killed by the system at each moment in turn: the file that was being read is read again, then the rest."""
    jobs = jobs_in(tmp_path, 6)
    whole = [end async for end in pool.run_many(jobs, "acme")]
    assert [isinstance(end, list) for end in whole] == [True] * 6
    for moment in range(6):
        ends: list[Any] = []
        async for end in pool.run_many(jobs, "acme"):
            if len(ends) == moment:
                for pid in pool.pids():
                    os.kill(pid, signal.SIGKILL)
            ends.append(end)
        assert ends == whole


@dataclass(frozen=True)
class Unreadable(Limits):
    """Limits that no worker understands: it ends."""

    odd: int = 1


async def test_a_file_that_ends_every_worker_fails_alone(tmp_path: Path, pool: Pool) -> None:
    jobs = jobs_in(tmp_path, 5)
    jobs[2] = replace(jobs[2], limits=Unreadable())
    async with asyncio.timeout(240):
        ends = [end async for end in pool.run_many(jobs, "acme")]
    assert [end.reason if isinstance(end, ParseError) else "" for end in ends] == ["", "", PARSER_CRASHED, "", ""]


async def test_a_file_that_is_gone_fails_alone(tmp_path: Path, pool: Pool) -> None:
    jobs = jobs_in(tmp_path, 4)
    jobs.insert(2, replace(jobs[0], path=str(tmp_path / "gone.txt")))
    ends = [end async for end in pool.run_many(jobs, "acme")]
    assert [isinstance(end, ParseError) for end in ends] == [False, False, True, False, False]


async def test_long_names_and_long_answers_do_not_wait_for_each_other(tmp_path: Path, pool: Pool) -> None:
    long = "A line of a long text. " * 500
    jobs = [replace(one, filename="\U0001d6fc" * 255) for one in jobs_in(tmp_path, 64, long)]
    async with asyncio.timeout(240):
        ends = [end async for end in pool.run_many(jobs, "acme")]
    assert [isinstance(end, list) for end in ends] == [True] * 64


async def test_a_group_that_is_cancelled_early_leaves_no_file(
    tmp_path: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled while its third file is made readable for the worker."""
    third, go = asyncio.Event(), asyncio.Event()
    put, count = Box.put, 0

    async def held(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            third.set()
            await go.wait()
        return await put(*given)

    monkeypatch.setattr(Box, "put", held)

    async def read() -> None:
        async for _ in pool.run_many(jobs_in(tmp_path, 5), "acme"):
            pass

    task = asyncio.create_task(read())
    await third.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list((tmp_path / "scratch").glob("*/in/*"))
