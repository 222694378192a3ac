"""The engine against a model: incomplete listings, failing items, moves, and runs that lose their source."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1 import operations_pb2 as ops
from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_edge import composition
from footnote_edge.adapters import source_items
from footnote_edge.app import build
from footnote_edge.jobs import changes
from footnote_edge.sources import engine, transfer
from footnote_edge.sources.documents import DocumentStore
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    NoSettings,
    Opening,
    Page,
    Permissions,
    Remember,
    SourceKind,
    SourceRefused,
    SourceUnavailable,
)
from footnote_edge.sources.stored import key_of
from footnote_kit.backoff import Backoff
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, NotFound, Unavailable
from footnote_kit.testing import serve_app
from support import edge_sources as kept
from support.doubles.stages import World, serve_doubles
from support.sqlite_file import change


@dataclass
class Origin:
    """What a scripted source has, and how it misbehaves."""

    items: dict[str, str] = field(default_factory=dict)
    breaks_after: int | None = None
    """Items after which a listing fails."""
    partial: str = ""
    broken: set[str] = field(default_factory=set)
    """Items that fail to be fetched."""
    skips: dict[str, ItemFailed] = field(default_factory=dict)
    """Why a listing could not read an item."""
    unversioned: bool = False
    error: Exception | None = None
    fetched: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None
    duplicates: bool = False
    permissions: dict[str, Permissions] = field(default_factory=dict)


class Scripted:
    def __init__(self, origin: Origin) -> None:
        self.origin = origin

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        origin = self.origin
        if origin.error is not None:
            raise origin.error
        names = [name for name in sorted(origin.items) if name > cursor]
        for number, name in enumerate(names):
            if origin.breaks_after is not None and number >= origin.breaks_after:
                raise SourceUnavailable("The line broke.")
            text = origin.items[name]
            readers = origin.permissions.get(name)
            version = "" if origin.unversioned else str(hash(text))
            item = Item(
                name, version, f"{name.replace('/', '-')}.txt", size=len(text), permissions=readers,
                skip=origin.skips.get(name),
            )  # fmt: skip
            yield Page([item, item] if origin.duplicates else [item], cursor=name)
        yield Page(partial=origin.partial)

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        self.origin.fetched.append(item.id)
        if self.origin.gate is not None:
            await self.origin.gate.wait()
        if item.id in self.origin.broken:
            raise ItemFailed("REFUSED", "Broken")
        if item.id not in self.origin.items:
            raise ItemGone
        yield self.origin.items[item.id].encode()

    async def close(self) -> None:
        pass


@pytest.fixture
def origin() -> Origin:
    """A scripted origin of items."""
    return Origin()


@pytest.fixture
async def world() -> World:
    """What the doubles of the stages behind edge do and remember."""
    return World()


@pytest.fixture
async def edge(
    origin: Origin, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EdgeStub]:
    """A stub of edge that knows the scripted kind of source alone."""

    def opened(opening: Opening) -> Any:
        return Scripted(origin)

    monkeypatch.setattr(composition, "BUILT_IN", (SourceKind("scripted", "Scripted", NoSettings, opened),))
    monkeypatch.setattr(transfer, "RETRIES", Backoff(0.01, 0.01))
    for name, value in {"WATCH_POLL": "0.1", "RETRY_CEILING": "0.2", "SOURCE_LOOK": "600", "RECONCILE": "1"}.items():
        monkeypatch.setenv(f"FOOTNOTE_EDGE_{name}_SECONDS", value)
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        stub = EdgeStub(running.channel)
        await kept.collection(stub)
        yield stub


async def begin(edge: EdgeStub) -> pb.Source:
    return await kept.settled(edge, await kept.create(edge, "scripted", {}))


def holds(world: World) -> dict[str, str]:
    return {name: data.decode() for name, data in kept.contents(world).items()}


async def test_a_listing_that_breaks_off_deletes_nothing(edge: EdgeStub, origin: Origin, world: World) -> None:
    origin.items = {name: f"text {name}" for name in "abcdef"}
    source = await begin(edge)
    origin.items["b"] = "changed"
    origin.items["g"] = "new"
    del origin.items["f"]
    origin.breaks_after = 3
    done = await kept.sync(edge, source)
    assert (done.state, done.error.message) == (ops.OPERATION_STATE_FAILED, "The line broke.")
    now = await kept.get(edge, source)
    assert now.state == pb.SOURCE_STATE_PARTIAL
    assert holds(world) == {name: f"text {name}" for name in "abcdef"}  # an away source is left alone
    origin.breaks_after = None
    await kept.sync(edge, source)
    assert holds(world) == origin.items


async def test_a_partial_listing_brings_what_it_shows_and_deletes_nothing(
    edge: EdgeStub, origin: Origin, world: World
) -> None:
    origin.items = {"a": "one", "b": "two"}
    source = await begin(edge)
    origin.items, origin.partial = {"a": "one, changed"}, "Not all was shown."
    await kept.sync(edge, source)
    now = await kept.get(edge, source)
    assert (now.state, now.error.message) == (pb.SOURCE_STATE_PARTIAL, "Not all was shown.")
    assert holds(world) == {"a": "one, changed", "b": "two"}


@pytest.mark.parametrize(
    "error", [SourceUnavailable("Gone fishing"), SourceRefused("Who are you"), RuntimeError("secret")]
)
async def test_a_source_that_fails_keeps_what_it_had(
    edge: EdgeStub, origin: Origin, world: World, error: Exception
) -> None:
    origin.items = {"a": "one"}
    source = await begin(edge)
    origin.error = error
    done = await kept.sync(edge, source)
    assert done.state == ops.OPERATION_STATE_FAILED
    assert "secret" not in done.error.message
    assert (await kept.get(edge, source)).state == pb.SOURCE_STATE_AWAY
    assert holds(world) == {"a": "one"}


async def test_items_that_are_listed_twice_are_one(edge: EdgeStub, origin: Origin, world: World) -> None:
    origin.items, origin.duplicates = {"a": "one", "b": "one"}, True
    source = await begin(edge)
    assert source.items == 2
    assert holds(world) == {"a": "one", "b": "one"}
    documents = {item.document_id for item in (await kept.items(edge, source)).values()}
    assert len(documents) == 2  # the same bytes, but each its own


async def test_permissions_that_change_are_noted_without_fetching_the_item(edge: EdgeStub, origin: Origin) -> None:
    origin.items = {"a": "one", "b": "two"}
    origin.permissions = {"a": Permissions("ann", ("sales",))}
    source = await begin(edge)
    items = await kept.items(edge, source)
    assert [(one.owner, list(one.groups)) for one in items.values()] == [("ann", ["sales"]), ("", [])]
    origin.fetched.clear()
    origin.permissions = {"b": Permissions("bob", ("law", "sales"))}
    await kept.sync(edge, source)
    items = await kept.items(edge, source)
    assert [(one.owner, list(one.groups)) for one in items.values()] == [("", []), ("bob", ["law", "sales"])]
    assert origin.fetched == []


@pytest.mark.parametrize("permanent", [False, True])
async def test_an_item_that_a_listing_could_not_read_is_fetched_once_it_can(
    edge: EdgeStub, origin: Origin, permanent: bool
) -> None:
    origin.items = {"a": "one"}
    source = await begin(edge)
    origin.skips = {"a": ItemFailed("AWAY", "down", permanent=permanent)}
    await kept.sync(edge, source)
    item = (await kept.items(edge, source))["a"]
    assert item.state == (pb.SOURCE_ITEM_STATE_SKIPPED if permanent else pb.SOURCE_ITEM_STATE_FAILED)
    assert item.HasField("retry_time") is not permanent
    origin.skips = {}
    await kept.sync(edge, source)
    assert (await kept.items(edge, source))["a"].state == pb.SOURCE_ITEM_STATE_IN_STEP


async def test_an_item_that_no_listing_can_read_is_retried_ever_later(
    edge: EdgeStub, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_items, "RETRIES", Backoff(0.01, 0.01))
    origin.items, origin.unversioned, origin.broken = {"a": "one"}, True, {"a"}
    origin.skips = {"a": ItemFailed("REFUSED", "no")}
    source = await begin(edge)
    for _ in range(3):
        await asyncio.sleep(0.03)
        await kept.sync(edge, source)
    assert (await kept.items(edge, source))["a"].attempts >= 3


async def test_writers_may_follow_the_run_of_a_source_that_another_began(edge: EdgeStub, origin: Origin) -> None:
    def caller(user: str, role: str = "writer", tenant: str = "default") -> dict[str, Any]:
        return {"metadata": (("x-footnote-user", user), ("x-footnote-role", role), ("x-footnote-tenant", tenant))}

    source = await kept.settled(edge, await kept.create(edge, "scripted", {}, call=caller("ann")))
    origin.items, origin.gate = {"a": "one"}, asyncio.Event()
    begun = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id), **caller("ann"))).operation
    same = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id), **caller("bob"))).operation
    assert same.id == begun.id
    request = ops.GetOperationRequest(operation_id=same.id)
    assert (await edge.GetOperation(request, **caller("bob"))).operation.owner_id == "ann"
    for other in (caller("bob", "reader"), caller("bob", tenant="other")):
        with pytest.raises(NotFound):
            await edge.GetOperation(request, **other)
    origin.gate.set()
    last = ops.Operation()
    async for update in edge.WatchOperation(ops.WatchOperationRequest(operation_id=same.id), **caller("bob")):
        last = update.operation
    assert last.state == ops.OPERATION_STATE_SUCCEEDED


async def test_a_call_that_repeats_another_ends_no_run_whose_documents_are_in_progress(
    edge: EdgeStub, origin: Origin, world: World
) -> None:
    source = await begin(edge)
    world.gates["ParseDocument"] = gate = asyncio.Event()
    origin.items = {"a": "one"}
    first = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation
    await world.until(lambda: b"one" in world.blobs.values())
    assert (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation.id == first.id
    looks = len(world.requests("ListDocumentChanges"))
    await world.until(lambda: len(world.requests("ListDocumentChanges")) > looks + 3)
    assert not (await edge.GetOperation(ops.GetOperationRequest(operation_id=first.id))).operation.HasField("end_time")
    gate.set()
    assert (await kept.ended(edge, first.id)).state == ops.OPERATION_STATE_SUCCEEDED


@pytest.mark.parametrize("due", ["by its interval", "by a call"])
async def test_a_document_that_waits_holds_up_no_later_run_of_its_source(
    edge: EdgeStub, origin: Origin, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, due: str
) -> None:
    monkeypatch.setattr(engine, "FOLLOWED_SECONDS", 0.0)
    origin.items = {"a": "one", "b": "two"}
    source = await begin(edge)
    world.gates["ParseDocument"] = gate = asyncio.Event()
    origin.items = {"b": "two", "c": "three"}
    request = pb.SyncSourceRequest(source_id=source.id)
    first = (await edge.SyncSource(request)).operation
    await world.until(lambda: b"three" in world.blobs.values())
    looks = len(world.requests("ListDocumentChanges"))
    await world.until(lambda: len(world.requests("ListDocumentChanges")) > looks + 2)
    assert not (await edge.GetOperation(ops.GetOperationRequest(operation_id=first.id))).operation.HasField("end_time")
    origin.items = {"c": "three"}
    if due == "by a call":
        assert (await edge.SyncSource(request)).operation.id == first.id
    else:
        database = tmp_path / "data" / "edge" / "edge.db"
        await change(database, "UPDATE sources SET next_time = '2026-01-01 00:00:00'")
    assert (await kept.ended(edge, first.id)).state == ops.OPERATION_STATE_SUCCEEDED
    assert (await kept.get(edge, source)).in_step_time == source.in_step_time
    second = (await edge.SyncSource(request)).operation
    await world.until(lambda: len(world.documents) == 1)
    gate.set()
    assert (await kept.ended(edge, second.id)).state == ops.OPERATION_STATE_SUCCEEDED
    # Where the call met a run that had listed already, that one ends, and the run that follows it is in step.
    async with asyncio.timeout(240):
        while (await kept.get(edge, source)).in_step_time.ToDatetime() <= source.in_step_time.ToDatetime():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert holds(world) == origin.items


async def test_a_killed_runs_bytes_are_not_taken_for_a_newer_version(
    edge: EdgeStub, origin: Origin, world: World, tmp_path: Path
) -> None:
    origin.items = {"a": "one"}
    source = await begin(edge)
    folder = tmp_path / "data" / "edge" / "sources" / source.id / "spool"
    folder.mkdir(parents=True, exist_ok=True)
    await transfer.Spool(folder, 100).keep(key_of("a"), b"between")
    origin.items = {"a": "two"}
    await kept.sync(edge, source)
    assert holds(world) == {"a": "two"}


async def test_moves_are_told_from_copies(edge: EdgeStub, origin: Origin, world: World) -> None:
    origin.items = {"a": "same", "b": "same", "c": "other"}
    source = await begin(edge)
    before = await kept.items(edge, source)
    origin.items = {"b": "same", "x": "same", "y": "same", "z": "other"}
    await kept.sync(edge, source)
    after = await kept.items(edge, source)
    assert holds(world) == origin.items
    assert after["z"].document_id == before["c"].document_id
    assert after["b"].document_id == before["b"].document_id
    assert before["a"].document_id in (after["x"].document_id, after["y"].document_id)
    assert len({item.document_id for item in after.values()}) == 4


async def test_a_moved_item_has_its_new_name_where_it_is_searched(edge: EdgeStub, origin: Origin, world: World) -> None:
    """Its footnotes, the list and the heading above its chunks showed the old one for good."""
    origin.items = {"old": "same", "folder/kept": "other"}
    source = await begin(edge)
    before = await kept.items(edge, source)
    origin.items = {"new": "same", "folder/kept": "other"}
    origin.fetched.clear()
    await kept.sync(edge, source)
    after = await kept.items(edge, source)
    assert after["new"].document_id == before["old"].document_id
    document = world.documents[after["new"].document_id]
    assert (document.filename, document.indexed_revision) == ("new.txt", 2)
    assert origin.fetched == ["new"]
    await kept.sync(edge, source)
    assert origin.fetched == ["new"]


async def test_a_source_that_leaves_many_items_unanswered_is_left_alone(
    edge: EdgeStub, origin: Origin, world: World
) -> None:
    origin.items = {f"{number:03}": f"text {number}" for number in range(60)}

    async def away(self: Scripted, item: Item) -> AsyncIterator[bytes]:
        self.origin.fetched.append(item.id)
        raise SourceUnavailable("Nobody answers.")
        yield b""

    original = Scripted.fetch
    Scripted.fetch = away  # type: ignore[method-assign]
    try:
        source = await begin(edge)
        assert len(origin.fetched) < 20
        assert source.items_pending > 40
    finally:
        Scripted.fetch = original  # type: ignore[method-assign]
    await kept.sync(edge, source)
    assert holds(world) == origin.items


async def test_a_run_that_was_superseded_writes_nothing(
    edge: EdgeStub, origin: Origin, world: World, tmp_path: Path
) -> None:
    """Another replica takes the source while this one waits for an item: this one stops where it is."""
    gate = asyncio.Event()
    origin.items, origin.gate = {"a": "one"}, gate
    source = await kept.create(edge, "scripted", {})
    async with asyncio.timeout(240):
        while not origin.fetched:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await change(tmp_path / "data" / "edge" / "edge.db", "UPDATE sources SET run_token = 'of another replica'")
    origin.gate = asyncio.Event()  # a repetition of the operation, which begins soon, gets no further
    gate.set()
    await asyncio.sleep(0.5)
    item = (await kept.items(edge, source))["a"]
    assert item.state == pb.SOURCE_ITEM_STATE_PENDING
    assert (await kept.get(edge, source)).operation_id  # the other one ends it


async def test_an_upload_whose_response_was_lost_leaves_no_document_behind(
    edge: EdgeStub, origin: Origin, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each upload arrives, but the run never learns of it, as after a kill; then the items change, vanish and move."""
    put = DocumentStore.put
    lost = True

    async def lossy(self: DocumentStore, *arguments: Any) -> Any:
        done = await put(self, *arguments)
        if lost:
            raise RuntimeError("The response was lost.")
        return done

    monkeypatch.setattr(DocumentStore, "put", lossy)
    origin.items = {name: f"text {name}" for name in ("changed", "deleted", "moved", "same")}
    source = await begin(edge)
    assert {item.document_id for item in (await kept.items(edge, source)).values()} == {""}
    documents = {data.decode(): document_id for document_id, data in world.blobs.items()}
    assert len(documents) == 4
    lost = False
    origin.items = {"changed": "another text", "elsewhere": "text moved", "same": "text same"}
    await kept.sync(edge, source)
    await asyncio.sleep(0.03)
    await kept.sync(edge, source)
    assert holds(world) == origin.items
    assert len(world.documents) == 3
    items = await kept.items(edge, source)
    assert items["elsewhere"].document_id == documents["text moved"]
    assert items["changed"].document_id == documents["text changed"]
    assert items["same"].document_id == documents["text same"]


@pytest.mark.parametrize("error", [Unavailable("The response was lost."), RuntimeError("As after a kill.")])
@pytest.mark.parametrize("items", [{"a": "one, changed"}, {"b": "one"}])
async def test_a_replacement_whose_response_was_lost_is_followed_to_its_end(
    edge: EdgeStub,
    origin: Origin,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    items: dict[str, str],
    error: Exception,
) -> None:
    """Its repetition is answered that nothing changed; the source must still learn that it was not indexed."""
    put, losses = DocumentStore.put, []

    async def lossy(self: DocumentStore, *arguments: Any) -> Any:
        done = await put(self, *arguments)
        if not losses:
            losses.append(done)
            raise error
        return done

    origin.items = {"a": "one"}
    source = await begin(edge)
    monkeypatch.setattr(DocumentStore, "put", lossy)
    world.failures["ParseDocument"] = InvalidArgument("It cannot be read.", reason="FILE_CORRUPT")
    origin.items = items
    for _ in range(2):
        await kept.sync(edge, source)
        await asyncio.sleep(0.03)
    [item] = (await kept.items(edge, source)).values()
    assert losses
    assert (item.state, item.reason) == (pb.SOURCE_ITEM_STATE_FAILED, pb.SOURCE_ITEM_REASON_NOT_INDEXED)


@pytest.mark.parametrize("lost", ["document", "revision"])
async def test_a_run_ends_although_ingestion_lost_what_it_transferred_and_the_next_one_repeats_it(
    edge: EdgeStub, origin: Origin, world: World, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """As an accepted loss of its newest commits leaves it: no change names a document that is as before, or gone."""
    monkeypatch.setattr(changes, "AGAIN_SECONDS", 0.5)
    origin.items = {"a": "one", "b": "two"}
    if lost == "revision":
        source = await begin(edge)
        for one in world.documents.values():
            one.update_time.FromSeconds(1_700_000_000)
        origin.items["a"] = "one, changed"
    before = {key: (one.SerializeToString(), world.blobs[key]) for key, one in world.documents.items()}
    world.gates["ParseDocument"] = gate = asyncio.Event()
    if lost == "revision":
        running = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation.id
    else:
        source = await kept.create(edge, "scripted", {})
        running = source.operation_id or (await kept.get(edge, source)).operation_id
    transferred = {text.encode() for text in origin.items.values()}
    await world.until(lambda: transferred <= set(world.blobs.values()))
    looks = len(world.requests("ListDocumentChanges"))
    await world.until(lambda: len(world.requests("ListDocumentChanges")) > looks + 2)
    (away,) = [key for key, data in world.blobs.items() if data.decode() == origin.items["a"]]
    del world.documents[away], world.blobs[away]
    if lost == "revision":
        world.documents[away] = Document.FromString(before[away][0])
        world.blobs[away] = before[away][1]
    gate.set()
    done = await kept.ended(edge, running)
    assert (done.state, done.failed) == (ops.OPERATION_STATE_SUCCEEDED, 1)
    item = (await kept.items(edge, source))["a"]
    assert (item.state, item.reason) == (pb.SOURCE_ITEM_STATE_FAILED, pb.SOURCE_ITEM_REASON_NOT_INDEXED)
    assert "lost" in item.message
    again = await kept.sync(edge, source)
    assert (again.state, again.failed) == (ops.OPERATION_STATE_SUCCEEDED, 0)
    assert holds(world) == origin.items
    assert len(world.documents) == 2


async def test_an_item_is_in_step_once_its_failed_document_was_reindexed(
    edge: EdgeStub, origin: Origin, world: World
) -> None:
    """As after a setting was changed, such as OCR; without it the item counted as failed until its bytes changed."""
    origin.items = {"a": "locked", "b": "locked too"}
    source = await begin(edge)
    item = (await kept.items(edge, source))["a"]
    assert (item.state, item.reason) == (pb.SOURCE_ITEM_STATE_FAILED, pb.SOURCE_ITEM_REASON_NOT_INDEXED)
    assert (await kept.get(edge, source)).items_failed == 2
    world.blobs[item.document_id] = b"open"  # the double refuses to parse what is locked
    again = ReindexDocumentsRequest(document_ids=[item.document_id])
    await edge.ReindexDocuments(again)
    await world.until(lambda: world.documents[item.document_id].state == DOCUMENT_STATE_INDEXED)
    await kept.sync(edge, source)
    found = await kept.items(edge, source)
    assert (found["a"].state, found["a"].reason, found["a"].message) == (pb.SOURCE_ITEM_STATE_IN_STEP, 0, "")
    assert found["b"].state == pb.SOURCE_ITEM_STATE_FAILED
    assert (await kept.get(edge, source)).items_failed == 1


@pytest.mark.parametrize(
    ("seed", "rounds"), [(1, 3), *(pytest.param(seed, 15, marks=pytest.mark.full) for seed in (2, 3, 4))]
)
async def test_a_model_of_what_should_be_there(
    edge: EdgeStub, origin: Origin, world: World, seed: int, rounds: int
) -> None:
    """Changes, moves, deletions and faults at random: after each whole run the documents are what the source has."""
    chance = random.Random(seed)
    source = await begin(edge)
    texts = 0
    for _ in range(rounds):
        for _ in range(chance.randrange(6)):
            names = sorted(origin.items)
            what = chance.choice(["new", "new", "change", "delete", "move", "copy"])
            texts += 1
            if what == "new" or not names:
                origin.items[f"n{texts}"] = f"text {texts}"
            elif what == "change":
                origin.items[chance.choice(names)] = f"text {texts}"
            elif what == "delete":
                del origin.items[chance.choice(names)]
            elif what == "move":
                origin.items[f"m{texts}"] = origin.items.pop(chance.choice(names))
            else:
                origin.items[f"c{texts}"] = origin.items[chance.choice(names)]
        before = holds(world)
        origin.broken = {name for name in origin.items if chance.random() < 0.05}
        fault = chance.choice(["", "", "breaks", "partial", "error"])
        origin.breaks_after = chance.randrange(4) if fault == "breaks" else None
        origin.partial = "Half" if fault == "partial" else ""
        origin.error = SourceUnavailable("Away") if fault == "error" else None
        await kept.sync(edge, source)
        if fault:
            assert set(before) - set(origin.items) <= set(holds(world))  # nothing is deleted
        origin.breaks_after, origin.partial, origin.error, origin.broken = None, "", None, set()
        await asyncio.sleep(0.03)
        await kept.sync(edge, source)
        assert holds(world) == origin.items
    found = await kept.items(edge, source)
    assert {item.state for item in found.values()} <= {pb.SOURCE_ITEM_STATE_IN_STEP}
    assert len(world.documents) == len(origin.items)
