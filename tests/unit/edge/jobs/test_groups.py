"""Small documents are taken up together as soon as a place is free; what a group leaves gets a job of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_edge.jobs import groups as module
from footnote_edge.jobs.groups import Groups
from footnote_edge.jobs.processing import job_of
from footnote_kit.admission.fair_slots import FairSlots
from footnote_kit.errors import NotOffered, Unavailable


class Processor:
    """Notes each group, and ends it when the test says so."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.left: Callable[[list[Document]], list[Document]] = lambda documents: []
        self.ends = asyncio.Event()

    async def process(self, scope: Scope, documents: list[Document]) -> list[Document]:
        assert {document.tenant_id for document in documents} == {scope.tenant_id}
        self.groups.append([document.id for document in documents])
        await self.ends.wait()
        return self.left(documents)


def document(name: str, tenant: str = "acme", size: int = 1000, **more: Any) -> Document:
    given = {"document_type": "txt", "state": DOCUMENT_STATE_UPLOADED, "revision": 1, "owner_id": "ann"} | more
    return Document(id=name, tenant_id=tenant, collection_id="c", size_bytes=size, **given)


@asynccontextmanager
async def running(processor: Processor, places: int = 4) -> AsyncIterator[tuple[Groups, list[str]]]:
    alone: list[str] = []

    async def one(left: Document) -> None:
        alone.append(left.id)

    made = Groups(processor, FairSlots(places), one)  # type: ignore[arg-type]
    try:
        yield made, alone
    finally:
        await made.close()


async def settled(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to that")


async def test_all_that_waits_when_a_place_is_free_goes_together_in_order() -> None:
    processor = Processor()
    async with running(processor) as (groups, _):
        groups.add(document("first"), "")
        await settled(lambda: len(processor.groups) == 1)
        for number in range(100):
            groups.add(document(f"d{number}"), "")
        await settled(lambda: len(processor.groups) == 2)
        processor.ends.set()
        await settled(lambda: not groups.holds("d99:1"))
    assert processor.groups == [["first"], [f"d{n}" for n in range(64)], [f"d{n}" for n in range(64, 100)]]


async def test_a_group_is_bounded_by_its_bytes() -> None:
    processor = Processor()
    processor.ends.set()
    async with running(processor) as (groups, _):
        for number in range(6):
            groups.add(document(f"d{number}", size=module.MOST_BYTES // 2), "")
        await settled(lambda: not groups.holds("d5:1"))
    assert processor.groups == [["d0", "d1"], ["d2", "d3"], ["d4", "d5"]]


async def test_tenants_share_the_places_and_no_group_mixes_them() -> None:
    processor = Processor()
    async with running(processor, places=1) as (groups, _):
        for number in range(200):
            groups.add(document(f"d{number}"), "")
        await settled(lambda: len(processor.groups) == 1)
        groups.add(document("theirs", tenant="other"), "")
        await settled(lambda: len(processor.groups) == 2)  # the spare place, beside a tenant with a long line
        assert processor.groups[1] == ["theirs"]
        processor.ends.set()
        await settled(lambda: not groups.holds("d199:1"))


async def test_what_a_group_leaves_gets_a_job_of_its_own() -> None:
    processor = Processor()
    processor.ends.set()
    processor.left = lambda documents: [one for one in documents if one.id == "odd"]
    async with running(processor) as (groups, alone):
        groups.add(document("even"), "")
        groups.add(document("odd"), "")
        await settled(lambda: bool(alone))
        assert alone == ["odd"]
        assert not groups.holds("odd:1")


@pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("a defect"), NotOffered("unknown")])
async def test_a_group_that_breaks_off_goes_one_by_one(error: Exception) -> None:
    processor = Processor()

    def fail(documents: list[Document]) -> list[Document]:
        raise error

    processor.left = fail
    processor.ends.set()
    async with running(processor) as (groups, alone):
        groups.add(document("a"), "")
        groups.add(document("b"), "")
        await settled(lambda: len(alone) == 2)
        assert groups.takes(document("c")) is not isinstance(error, NotOffered)


async def test_what_waits_behind_broken_groups_is_not_forgotten() -> None:
    processor = Processor()

    def fail(documents: list[Document]) -> list[Document]:
        raise asyncio.CancelledError  # as a connection that breaks off may, although nothing cancelled the group

    async with running(processor) as (groups, _):
        for number in range(3 * module.MOST_DOCUMENTS):
            groups.add(document(f"d{number}"), "")
        await settled(lambda: len(processor.groups) == module.AT_ONCE)
        processor.left = fail
        processor.ends.set()
        await settled(lambda: not groups.holds(f"d{3 * module.MOST_DOCUMENTS - 1}:1"))
    assert sum(map(len, processor.groups)) == 3 * module.MOST_DOCUMENTS


async def test_a_document_is_taken_once() -> None:
    processor = Processor()
    async with running(processor) as (groups, _):
        one = document("a")
        groups.add(one, "")
        groups.add(one, "")
        assert groups.holds(job_of(one))
        assert groups.oldest() is not None
        processor.ends.set()
        await settled(lambda: not groups.holds(job_of(one)))
        assert groups.oldest() is None
    assert processor.groups == [["a"]]


async def test_large_slow_old_and_too_many_documents_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Processor()) as (groups, _):
        assert groups.takes(document("a"))
        assert not groups.takes(document("a", size=65_537))
        assert not groups.takes(document("a", document_type="pdf"))
        assert not groups.takes(document("a", revision=2))
        assert not groups.takes(document("a", state=DOCUMENT_STATE_PROCESSING))
        monkeypatch.setattr(module, "MOST_WAITING", 2)
        groups.add(document("a"), "")
        groups.add(document("b"), "")
        assert not groups.takes(document("c"))
