"""Small documents are taken up together as soon as a place is free; what a group leaves gets a job of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_edge.jobs import groups as module
from footnote_edge.jobs.claims import Claims
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
async def running(
    processor: Processor, places: int = 4, claims: Claims | None = None
) -> AsyncIterator[tuple[Groups, list[str]]]:
    alone: list[str] = []

    async def one(left: Document) -> None:
        alone.append(left.id)

    made = Groups(processor, FairSlots(places), one, claims)  # type: ignore[arg-type]
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
        await groups.add([document("first")], "")
        await settled(lambda: len(processor.groups) == 1)
        await groups.add([document(f"d{number}") for number in range(100)], "")
        await settled(lambda: len(processor.groups) == 2)
        processor.ends.set()
        await settled(lambda: not groups.holds("d99:1"))
    assert processor.groups == [["first"], [f"d{n}" for n in range(64)], [f"d{n}" for n in range(64, 100)]]


async def test_a_group_is_bounded_by_its_bytes() -> None:
    processor = Processor()
    processor.ends.set()
    async with running(processor) as (groups, _):
        await groups.add([document(f"d{number}", size=module.MOST_BYTES // 2) for number in range(6)], "")
        await settled(lambda: not groups.holds("d5:1"))
    assert processor.groups == [["d0", "d1"], ["d2", "d3"], ["d4", "d5"]]


async def test_tenants_share_the_places_and_no_group_mixes_them() -> None:
    processor = Processor()
    async with running(processor, places=1) as (groups, _):
        for number in range(200):
            await groups.add([document(f"d{number}")], "")
        await settled(lambda: len(processor.groups) == 1)
        await groups.add([document("theirs", tenant="other")], "")
        await settled(lambda: len(processor.groups) == 2)  # the spare place, beside a tenant with a long line
        assert processor.groups[1] == ["theirs"]
        processor.ends.set()
        await settled(lambda: not groups.holds("d199:1"))


async def test_what_a_group_leaves_gets_a_job_of_its_own() -> None:
    processor = Processor()
    processor.ends.set()
    processor.left = lambda documents: [one for one in documents if one.id == "odd"]
    async with running(processor) as (groups, alone):
        await groups.add([document("even")], "")
        await groups.add([document("odd")], "")
        await settled(lambda: not groups.holds("odd:1"))
        assert alone == ["odd"]


@pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("a defect"), NotOffered("unknown")])
async def test_a_group_that_breaks_off_goes_one_by_one(error: Exception) -> None:
    processor = Processor()

    def fail(documents: list[Document]) -> list[Document]:
        raise error

    processor.left = fail
    processor.ends.set()
    async with running(processor) as (groups, alone):
        await groups.add([document("a")], "")
        await groups.add([document("b")], "")
        await settled(lambda: len(alone) == 2)
        assert groups.takes(document("c")) is not isinstance(error, NotOffered)


async def test_what_waits_behind_broken_groups_is_not_forgotten() -> None:
    processor = Processor()

    def fail(documents: list[Document]) -> list[Document]:
        raise asyncio.CancelledError  # as a connection that breaks off may, although nothing cancelled the group

    async with running(processor) as (groups, _):
        for number in range(3 * module.MOST_DOCUMENTS):
            await groups.add([document(f"d{number}")], "")
        await settled(lambda: len(processor.groups) == module.AT_ONCE)
        processor.left = fail
        processor.ends.set()
        await settled(lambda: not groups.holds(f"d{3 * module.MOST_DOCUMENTS - 1}:1"))
    assert sum(map(len, processor.groups)) == 3 * module.MOST_DOCUMENTS


async def test_a_document_is_taken_once() -> None:
    processor = Processor()
    async with running(processor) as (groups, _):
        one = document("a")
        await groups.add([one], "")
        await groups.add([one], "")
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
        await groups.add([document("a")], "")
        await groups.add([document("b")], "")
        assert not groups.takes(document("c"))


class Shared(Claims):
    """Claims of a replica whose table is in memory; `others` are documents that other replicas have."""

    def __init__(self) -> None:
        super().__init__()
        self.mine: set[str] = set()
        self.others: set[str] = set()
        self.answers = asyncio.Event()
        self.answers.set()

    async def take(self, document_ids: Collection[str]) -> set[str]:
        await self.answers.wait()
        taken = set(document_ids) - self.others
        self.mine |= taken
        return taken

    async def kept(self, document_ids: Collection[str]) -> set[str]:
        return set(document_ids) & self.mine

    async def release(self, document_ids: Collection[str]) -> None:
        self.mine -= set(document_ids)


async def test_what_another_replica_has_is_not_taken() -> None:
    processor, claims = Processor(), Shared()
    claims.others = {"theirs"}
    async with running(processor, claims=claims) as (groups, alone):
        await groups.add([document("theirs"), document("mine")], "")
        assert not groups.holds("theirs:1")
        await settled(lambda: processor.groups == [["mine"]])
        processor.ends.set()
        await settled(lambda: not groups.holds("mine:1"))
    assert (alone, claims.mine) == ([], set())


async def test_what_was_lost_to_another_replica_is_not_processed() -> None:
    processor, claims = Processor(), Shared()
    async with running(processor, places=1, claims=claims) as (groups, alone):
        await groups.add([document("first")], "")
        await settled(lambda: processor.groups == [["first"]])
        await groups.add([document("lost"), document("kept"), document("gone", owner_id="bob")], "")
        claims.mine -= {"lost", "gone"}  # its lease has expired
        processor.ends.set()
        await settled(lambda: not any(map(groups.holds, ("lost:1", "kept:1", "gone:1"))))
    assert processor.groups == [["first"], ["kept"]]
    assert (alone, claims.mine) == ([], set())


async def test_a_claim_ends_when_its_document_has_a_job_of_its_own() -> None:
    processor, claims = Processor(), Shared()
    claimed: list[bool] = []

    def leave(documents: list[Document]) -> list[Document]:
        claimed.append("a" in claims.mine)
        return documents

    processor.left = leave
    processor.ends.set()
    async with running(processor, claims=claims) as (groups, alone):
        await groups.add([document("a")], "")
        await settled(lambda: not groups.holds("a:1"))
        assert (claimed, alone, claims.mine) == ([True], ["a"], set())


async def test_claims_outlast_an_end_amid_a_group_and_a_failure_does_not() -> None:
    processor, claims = Processor(), Shared()
    async with running(processor, claims=claims) as (groups, _):
        await groups.add([document("a"), document("b")], "")
        await settled(lambda: bool(processor.groups))
    assert claims.mine == {"a", "b"}  # they end with the lease: nobody has processed the documents
    claims = Shared()

    def fail(documents: list[Document]) -> list[Document]:
        raise asyncio.CancelledError

    processor.left = fail
    processor.ends.set()
    async with running(processor, claims=claims) as (groups, _):
        await groups.add([document("a")], "")
        await settled(lambda: not groups.holds("a:1"))
        assert claims.mine == set()


async def test_a_caller_that_vanishes_amid_its_claim_leaves_a_queued_document() -> None:
    processor, claims = Processor(), Shared()
    claims.answers.clear()
    async with running(processor, claims=claims) as (groups, _):
        adding = asyncio.create_task(groups.add([document("a")], ""))
        await asyncio.sleep(0)
        adding.cancel()
        with suppress(asyncio.CancelledError):
            await adding
        claims.answers.set()
        await settled(lambda: processor.groups == [["a"]])


async def test_a_claim_that_fails_queues_nothing() -> None:
    class Failing(Shared):
        async def take(self, document_ids: Collection[str]) -> set[str]:
            raise Unavailable("away")

    processor = Processor()
    async with running(processor, claims=Failing()) as (groups, _):
        with pytest.raises(Unavailable):
            await groups.add([document("a")], "")
        assert not groups.holds("a:1")
        assert groups.oldest() is None
    assert processor.groups == []
