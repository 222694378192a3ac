"""The run: every operation, by everybody, on everything, at every door."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
from footnote.edge.v1 import documents_pb2 as pb
from footnote.edge.v1.operations_pb2 import Operation
from footnote.edge.v1.sources_pb2 import DeleteSourceRequest
from footnote_kit.edge import EdgeStub

from support.access.cells import AT_ONCE, Cell, Cells, World
from support.access.fields import Variant
from support.access.judge import Verdict, changes, expected
from support.access.operations import Plan, Planned, discover
from support.access.people import Cast, make_keys
from support.access.report import Finding, Report
from support.access.targets import Seeder, Target, differences
from support.access.wire import Outcome, Wire
from support.operations import ended

# So that a caller replaces and deletes what it has uploaded.
ORDER = {
    "UploadDocument": 0,
    "UploadDocuments": 0,
    "DeleteDocument": 2,
    "DeleteConversation": 2,
    "DeleteCollection": 2,
    "wrapper.delete": 2,
}
UPLOADS = ("UploadDocument", "UploadDocuments")
HARMLESS = ("description", "metadata")
"""Ways to change a collection that leave it as usable as it was."""
WATCHED = "watched"
"""Below the folder of a run: what its sources read."""
COSTLY = {"Ask", "Search", "ask", "search", "openai.completions"}
SEEDED_AT_ONCE = 3


class Matrix:
    """One run on one deployment."""

    def __init__(self, wire: Wire, cast: Cast, folder: Path) -> None:
        self.wire, self.cast, self.folder = wire, cast, folder
        self.seeder = Seeder(EdgeStub(wire.channel), cast, folder / WATCHED)
        self.report = Report(skipped=[f"{name}: keys know no groups" for name in cast.skipped])
        self.world: World
        self.plan: Plan
        self.cells: Cells

    async def prepare(self) -> None:
        """Find all operations and make everybody's things."""
        with self.timed("seed"):
            self.plan = await discover(self.wire, self.cast.keys[self.cast.people["seeder sam"]])
            self.report.unknown = self.plan.unknown
            await self._makers()
            self.world = await self._world()
            self.cells = Cells(self.wire, self.cast, self.seeder, self.report, self.world)
            for target in self.world.all():  # pages of an administrator's list, to be tried by others
                request = pb.ListDocumentsRequest(page_size=1)
                page = await self.seeder.stub.ListDocuments(request, metadata=self.seeder.key(target.manager))
                target.names["page_token"] = page.next_page_token
            self.report.findings += [_setup_fault(what) for what in sorted(set(self.seeder.faults))]

    async def run(self) -> None:
        """Run all cells."""
        with self.timed("traces"):  # first, since only the last ones are kept
            await self._reads(lambda planned, variant: "trace" in variant.kinds)
        with self.timed("reads"):
            await self._reads(
                lambda planned, variant: (
                    not ("trace" in variant.kinds or changes(planned, variant) or planned.rule.makes)
                )
            )
        with self.timed("forbidden changes"):
            await together((self._attack(target) for target in self.world.all()), AT_ONCE)
        with self.timed("own things"):  # late, since what they name is shown afterwards to those who named it
            await self._reads(lambda planned, variant: planned.rule.makes)
        with self.timed("allowed changes"):
            await together((self._work(target) for target in self.world.all()), AT_ONCE)

    async def _makers(self) -> None:
        """Give those a second key who can't make a collection with their own."""
        people = [one for one in self.cast.people.values() if one.role]
        readers = [one for one in people if one.role == "reader"]
        writers = [one for one in people if one.role == "writer"]
        self.cast.makers |= dict(zip(readers, make_keys(self.folder, readers, role="writer"), strict=True))
        try:
            await self.seeder.collection(Target("trial", writers[0], True, writers[0]))
        except grpc.aio.AioRpcError as error:
            what = f"a writer may not make a private collection: {error.details()}"
            self.report.findings.append(_setup_fault(what))
            needy = readers + writers
            self.cast.makers |= dict(zip(needy, make_keys(self.folder, needy, role="admin"), strict=True))

    async def _world(self) -> World:
        people, make = self.cast.people, self.seeder.make
        sam, nina, tom = people["seeder sam"], people["seeder nina"], people["seeder tom"]
        actors = [one for one in self.cast.actors() if one.role and one.name != "owner"]
        made = await together(
            [
                make("shared", sam, sam, private=False),
                make("private", people["owner"], sam, grants=self.cast.grants()),
                make("another's private", nina, sam),
                make("another tenant's", tom, tom, private=False),
                *(make("own", one, tom if one.tenant == tom.tenant else sam) for one in actors),
            ],
            SEEDED_AT_ONCE,
        )
        own = {one.name: target for one, target in zip(actors, made[4:], strict=True)}
        world = World(*made[:4], own={**own, "owner": made[1]})
        world.unshared.managed.add(nina.user)
        world.foreign.content |= {tom.user, tom.tenant}
        return world

    # Reads: no order, no consequences.

    async def _reads(self, chosen: Callable[[Planned, Variant], bool]) -> None:
        cells = []
        for person in self.cast.actors():
            for planned, variant in self._ways():
                if not chosen(planned, variant) or _repeats(planned, variant):
                    continue
                if variant.mixed and person.name not in self.world.own:
                    continue
                targets: list[Target | None] = [*self.world.of(person)] if variant.depends else [None]
                cells += [
                    self._read(Cell(planned, variant, person, target))
                    for target in targets
                    if not (variant.mixed and target is self.world.own[person.name])
                ]
        await together(cells, AT_ONCE)

    async def _read(self, cell: Cell) -> None:
        if cell.target is not None and "trace" in cell.variant.kinds:
            await self.seeder.refresh_trace(cell.target)
        await self.cells.run(cell)

    def _ways(self) -> Iterator[tuple[Planned, Variant]]:
        for planned in self.plan.operations:
            for variant in planned.variants:
                yield planned, variant

    # Changes that must not happen: in turn for each target, so that what changed it is known.

    async def _attack(self, target: Target) -> None:
        before = await self.seeder.state(target)
        for person in self.cast.actors():
            if target not in self.world.of(person):
                continue
            last: Cell | None = None
            for planned, variant in self._changing():
                wanted = expected(planned, variant, person, target)
                if wanted in (Verdict.ALLOWED, Verdict.OPEN):
                    continue
                last = Cell(planned, variant, person, target)
                outcome = await self.cells.run(last)
                if outcome.ok and not variant.names_new:
                    before = await self._accepted(last, target, before)
            now = await self.seeder.state(target)
            if last is not None and (found := differences(before, now)):
                self.cells.find("write", last, f"changed by this or by one before it: {'; '.join(found[:4])}")
                before = await self._repair(target)

    async def _accepted(self, cell: Cell, target: Target, before: Any) -> Any:
        """What must not be done was not refused; return the state to go on from."""
        now = await self.seeder.state(target)
        found = differences(before, now)
        what = "; ".join(found[:3]) if found else "accepted, although nothing of it changed at once"
        self.cells.find("write", cell, what)
        return await self._repair(target) if found else now

    async def _repair(self, target: Target) -> Any:
        """Put new things in the place of damaged ones, under new names; return their state."""
        fresh = await self.seeder.make(
            target.label, target.owner, target.manager, private=target.private, grants=target.grants
        )
        for kind in ("content", "managed", "personal", "feedback", "sources", "secrets"):
            getattr(target, kind).update(getattr(fresh, kind))
        target.names, target.text = {**fresh.names, "page_token": target.names["page_token"]}, fresh.text
        return await self.seeder.state(target)

    # Changes that must be possible: on things of their own.

    async def _work(self, target: Target) -> None:
        ways = sorted(self._changing(), key=lambda pair: ORDER.get(pair[0].operation.id, 1))
        for person in self.cast.actors():
            if target not in self.world.of(person):
                continue
            first = target is self.world.of(person)[0]
            uploaded: dict[str, list[str]] = {}
            for planned, variant in ways:
                wanted = expected(planned, variant, person, target)
                may = wanted in (Verdict.ALLOWED, Verdict.OPEN) and (variant.depends or first)
                if may and not _spare(planned, variant):
                    mine = uploaded.setdefault(planned.operation.door, [])
                    await self._allowed(Cell(planned, variant, person, target), target, mine)
            for document in [one for documents in uploaded.values() for one in documents]:
                request = pb.DeleteDocumentRequest(document_id=document)
                await self.seeder.stub.DeleteDocument(request, metadata=self.seeder.key(target.manager))

    async def _allowed(self, cell: Cell, target: Target, uploaded: list[str]) -> None:
        """Do what is allowed: to what the caller has uploaded before, or to something made to be used up."""
        operation, variant, subject = cell.planned.operation, cell.variant, target
        spent, manager = cell.planned.rule.spends, self.seeder.key(target.manager)
        if spent == "document" and "document" in variant.kinds and uploaded:
            subject = replace(target, names={**target.names, "document_id": uploaded[-1]})
        elif spent == "vector" or (
            spent in variant.kinds and not (operation.id == "UpdateCollection" and variant.mode in HARMLESS)
        ):
            subject = await self.seeder.scratch(target, spent)
        cell = replace(cell, target=subject)
        outcome = await self.cells.run(cell)
        if outcome.ok and operation.id in (*UPLOADS, "ReplaceDocument", "ReindexDocuments"):
            await self._ended(outcome, cell)
            for document in _documents(outcome):
                await self.seeder.settle(document, manager)
                uploaded += [document] if operation.id in UPLOADS else []
        elif spent == "source" and "source" in variant.kinds:
            gone = DeleteSourceRequest(source_id=subject.names["source_id"], allow_missing=True)
            await self.seeder.stub.DeleteSource(gone, metadata=manager)
        elif outcome.ok and operation.id == "SyncSource":
            await self._ended(outcome, cell)
        elif outcome.ok and operation.id == "DeleteDocument":
            del uploaded[-1:]
            request = pb.QueryChunksRequest(collection=subject.names["collection_id"], page_size=1000)
            found = await self.seeder.stub.QueryChunks(request, metadata=manager)
            if any(one.document_id == subject.names["document_id"] for one in found.chunks):
                self.cells.find("availability", cell, "deleted, but its text is still found")

    async def _ended(self, outcome: Outcome, cell: Cell) -> None:
        """Wait for an operation that a call has begun."""
        begun = outcome.bodies[0].get("operation") if outcome.bodies else None
        if begun:
            await ended(self.seeder.stub, Operation(id=begun["id"]), self.seeder.key(cell.person))

    def _changing(self) -> Iterator[tuple[Planned, Variant]]:
        return ((planned, variant) for planned, variant in self._ways() if _once(planned, variant))

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Write down how long a part of the run took."""
        start = time.monotonic()
        yield
        self.report.seconds[name] = round(time.monotonic() - start, 1)


def _once(planned: Planned, variant: Variant) -> bool:
    return changes(planned, variant) and not variant.mixed


def _repeats(planned: Planned, variant: Variant) -> bool:
    """Whether a costly call is made in as many ways by gRPC's Search or QueryChunks already."""
    costly = planned.operation.id in COSTLY or "filter" in variant.kinds
    first = planned.operation.door == "gRPC" and planned.operation.id != "Ask"
    return costly and not first and not variant.plain


def _spare(planned: Planned, variant: Variant) -> bool:
    """Whether an allowed change is left out: by another name it would cost as much again."""
    again = not variant.plain and (planned.operation.door != "gRPC" or planned.operation.id == "ReindexDocuments")
    return again or any(form == "failed" for _, form in variant.picks)


def _documents(outcome: Outcome) -> list[str]:
    found: list[str] = []
    for body in outcome.bodies:
        stored = [one.get("stored", {}).get("document") for one in body.get("files", ())]
        found += [one["id"] for one in [body.get("document"), *body.get("documents", ()), *stored] if one]
    return found


def _setup_fault(what: str) -> Finding:
    return Finding("availability", "gRPC", "", "while everybody's things were made", "", "", what)


async def together(work: Iterable[Awaitable[Any]], at_once: int) -> list[Any]:
    """Run all of these with limited concurrency, and return their results."""
    turns = asyncio.Semaphore(at_once)

    async def one(step: Awaitable[Any]) -> Any:
        async with turns:
            return await step

    return list(await asyncio.gather(*(one(step) for step in work)))
