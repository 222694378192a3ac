"""One cell: a call, what it must come to, and what is wrong with what it came to."""

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any

from footnote.edge.v1 import collections_pb2 as pb
from footnote.edge.v1.sources_pb2 import DeleteSourceRequest

from support.access.fields import Values, Variant
from support.access.judge import FAULTS, Verdict, as_if, changes, evident, expected, leaked
from support.access.operations import Planned
from support.access.people import Cast, Person, Right, word
from support.access.report import Finding, Report
from support.access.targets import Seeder, Target
from support.access.wire import Outcome, Wire

AT_ONCE = 8
ECHOES = frozenset({"ListAuditEvents", "audit.export"})
"""Show to a tenant's administrators what its people have named in their attempts."""


@dataclass
class World:
    """Everybody's things."""

    shared: Target
    private: Target
    """The owner's, shared with some."""
    unshared: Target
    """Another user's, not shared."""
    foreign: Target
    """Another tenant's, shared inside it."""
    own: dict[str, Target] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    """Every request of each tenant's users: names that they sent are in their own tenant's audit log."""

    def all(self) -> list[Target]:
        own = [one for one in self.own.values() if one is not self.private]
        return [self.shared, self.private, self.unshared, self.foreign, *own]

    def of(self, person: Person) -> list[Target]:
        """Return the targets of a person's cells."""
        mine = [self.own[person.name]] if person.name in self.own else []
        private = [self.unshared] if person.name == "owner" else [self.private]
        return [*mine, self.shared, *private, self.foreign]


@dataclass(frozen=True)
class Cell:
    """Who asks for what, in which way, of whose things; `target` is None where the request doesn't depend on it."""

    planned: Planned
    variant: Variant
    person: Person
    target: Target | None = None


class Cells:
    """Runs cells and writes down what is wrong."""

    def __init__(self, wire: Wire, cast: Cast, seeder: Seeder, report: Report, world: World) -> None:
        self.wire, self.cast, self.seeder, self.report, self.world = wire, cast, seeder, report, world
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run(self, cell: Cell) -> Outcome:
        """Run one cell; where the target is hidden, ask the same of things that never were."""
        subject = cell.target or self.world.shared
        wanted = expected(cell.planned, cell.variant, cell.person, subject)
        names, content = dict(subject.names), f"{word('new')} {word('new')}".encode()
        async with self._turns:
            outcome, request = await self._call(cell, names, content)
            self.report.cells[cell.person.name, cell.planned.operation.door] += 1
            self.report.verdicts[wanted.value] += 1
            if shown := leaked(outcome, self._not_to_show(cell), request):
                whose = sorted({self._whose(one) for one in shown})
                what = f"shows {', '.join(shown[:3])} ({len(shown)} canaries) of {', '.join(whose)}"
                self.find("read", cell, what)
            self._judge(cell, wanted, outcome, request)
            refused = wanted in (Verdict.DENIED, Verdict.FORBIDDEN) and not subject.right(cell.person)
            if cell.target is not None and (refused or wanted is Verdict.HIDDEN):
                await self._twin(cell, names, content, outcome)
            await self._undo(cell, outcome)
        return outcome

    def find(self, kind: str, cell: Cell, what: str) -> None:
        """Write down what is wrong with a cell."""
        target = cell.target.label if cell.target else ""
        operation, person = cell.planned.operation, cell.person.name
        self.report.findings.append(
            Finding(kind, operation.door, person, str(operation), cell.variant.label, target, what)
        )

    def hidden(self, person: Person) -> set[str]:
        """Return every canary that a person must not see."""
        hidden = {one for target in self.world.all() for one in target.hidden_from(person)}
        if person.role:
            hidden |= {self.cast.acme, self.cast.globex} - {person.tenant}
        return hidden - {person.user}

    def _not_to_show(self, cell: Cell) -> set[str]:
        """Return every canary that must not be in the answer to a cell."""
        hidden = self.hidden(cell.person)
        if cell.planned.operation.id not in ECHOES:
            return hidden
        said = self.world.said.get(cell.person.tenant, [])
        return {one for one in hidden if not any(one in text for text in said)}

    async def _call(self, cell: Cell, names: Values, content: bytes) -> tuple[Outcome, str]:
        """Call with these names of the target's; return the answer, and the request as text."""
        person, operation = cell.person, cell.planned.operation
        mine = {**self.world.own.get(person.name, self.world.shared).names, **_myself(person)}
        body = cell.variant.build(names, mine, content, _base64 if operation.method is not None else bytes)
        forged: dict[str, str] = {}
        if not person.role:  # what says who calls where keys are off must say nothing where they are on
            owner = (cell.target or self.world.shared).owner
            forged = {"x-footnote-tenant": owner.tenant, "x-footnote-user": owner.user}
        request = json.dumps([body, forged], default=str)
        self.world.said.setdefault(person.tenant, []).append(request.lower())
        outcome = await self.wire.call(operation, body, self.cast.keys.get(person, ""), forged)
        return outcome, request

    def _judge(self, cell: Cell, wanted: Verdict, outcome: Outcome, request: str) -> None:
        changing = changes(cell.planned, cell.variant)
        if outcome.code in FAULTS:
            self.find("fault", cell, str(outcome))
        elif wanted is Verdict.UNAUTHENTICATED and outcome.code not in ("UNAUTHENTICATED", "REFUSED"):
            kind = "read" if outcome.ok else "existence"
            self.find(kind, cell, f"answered without credentials: {outcome}")
        elif wanted is Verdict.DENIED and outcome.ok and (cell.variant.names_new or not changing):
            self.find("write", cell, "done, although the role doesn't allow it")
        elif wanted is Verdict.TAKEN and outcome.ok:
            self.find("availability", cell, "a second collection of a name that the caller sees")
        elif wanted is Verdict.FORBIDDEN and outcome.ok and not changing:
            self.find("read", cell, "answered, although the caller may not")
        elif wanted is Verdict.ALLOWED and not outcome.ok:
            self.find("availability", cell, f"refused: {outcome}")
        elif wanted is Verdict.ALLOWED:
            self._judge_answer(cell, outcome, request)

    def _judge_answer(self, cell: Cell, outcome: Outcome, request: str) -> None:
        """An allowed answer must show what was asked for: else an empty answer to everybody would pass."""
        rule, person = cell.planned.rule, cell.person
        failed = any(form == "failed" for _, form in cell.variant.picks)
        if not rule.shows or (failed and "Document" not in cell.planned.operation.id):
            return
        listed = [cell.target] if cell.target else self.world.of(person) if rule.lists else []
        for target in listed:
            canaries = _shown(rule.shows, target, person)
            if canaries and not evident(outcome, canaries, request):
                whole = Cell(cell.planned, cell.variant, person, target)
                self.find("availability", whole, "nothing of it is in the answer")

    async def _twin(self, cell: Cell, names: Values, content: bytes, outcome: Outcome) -> None:
        """Ask the same of things that never were: the answer must be the same word for word."""
        assert cell.target is not None
        for again in (True, True, False):
            absent = cell.target.absent()
            other, _ = await self._call(cell, absent, content)
            await self._undo(cell, other)
            here, there = as_if(outcome, names), as_if(other, absent)
            if here == there:
                return
            if again and not changes(cell.planned, cell.variant):  # a stage that was late once is no difference
                outcome, _ = await self._call(cell, names, content)
        if other.code not in FAULTS and outcome.code not in FAULTS:
            self.find("existence", cell, f"hidden: {json.dumps(here)[:260]}; absent: {json.dumps(there)[:260]}")

    async def _undo(self, cell: Cell, outcome: Outcome) -> None:
        """Delete the collection or the source that a cell made."""
        managers = [self.cast.people["seeder sam"], self.cast.people["seeder tom"]]
        manager = next((one for one in managers if one.tenant == cell.person.tenant), managers[0])
        if outcome.ok and cell.planned.operation.id == "CreateSource":
            made = DeleteSourceRequest(source_id=outcome.bodies[0]["source"]["id"])
            await self.seeder.stub.DeleteSource(made, metadata=self.seeder.key(manager))
        if not (outcome.ok and cell.planned.operation.id in ("CreateCollection", "wrapper.create")):
            return
        identity = next((body.get("collection", body).get("id") for body in outcome.bodies), None)
        if not identity:
            page = pb.ListCollectionsRequest(page_size=1000)
            listed = await self.seeder.stub.ListCollections(page, metadata=self.seeder.key(manager))
            known = {target.names["collection_id"] for target in self.world.all()}
            newest = max(listed.collections, key=lambda one: one.create_time.ToNanoseconds())
            assert newest.id not in known, "a collection was made, but nothing tells which"
            identity = newest.id
        request = pb.DeleteCollectionRequest(collection=identity)
        await self.seeder.stub.DeleteCollection(request, metadata=self.seeder.key(manager))

    def _whose(self, canary: str) -> str:
        for target in self.world.all():
            for kind in ("content", "managed", "personal", "feedback", "sources", "secrets"):
                if canary in getattr(target, kind):
                    whose = f"{target.owner.name}'s own" if target.label == "own" else target.label
                    return f"{whose} ({kind})"
        return "a tenant"


def _myself(person: Person) -> dict[str, Any]:
    return {"grant": {"user_id": person.user, "access": "ACCESS_WRITE"}}


def _shown(shows: str, target: Target, person: Person) -> set[str]:
    if shows == "content":
        return target.content if target.right(person) >= Right.READ else set()
    if shows == "sources":
        return target.sources if target.right(person) >= Right.WRITE else set()
    if shows == "personal":
        return target.personal if target.is_owner(person) else set()
    return target.feedback if target.is_owner(person) or target.administers(person) else set()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
