"""Which access decisions are cached, for how long, and what is never guessed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from footnote.indexing.v1.indexing_service_pb2 import AuthorizeCollectionsResponse, CollectionAccess
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import ACCESS_READ, ACCESS_WRITE
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_WRITER, Role
from footnote_kit import authorizer as module
from footnote_kit.access import Access
from footnote_kit.authorizer import FRESH_SECONDS, KNOWN_SECONDS, AccessLookup, Authorizer
from footnote_kit.epochs import Epoch, EpochReader
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from support.doubles.epoch_calls import Answered


class Desk:
    """A double of indexing: its responses, the number of calls, and whether it answers."""

    def __init__(self) -> None:
        self.held: dict[str, Access] = {"a": Access.WRITE, "b": Access.READ}
        self.asked: list[tuple[str, ...]] = []
        self.down: FootnoteError | None = None
        self.now = 1000.0
        self.authorizer = Authorizer(self.ask, lambda: self.now)

    async def ask(self, scope: Scope, ids: Sequence[str]) -> Mapping[str, Access]:
        self.asked.append(tuple(ids))
        if self.down is not None:
            raise self.down
        return {one: held for one, held in self.held.items() if not ids or one in ids}


def scope(role: Role.ValueType = ROLE_WRITER, user: str = "u", *groups: str) -> Scope:
    return Scope(tenant_id="t", user_id=user, roles=[role], groups=groups)


async def test_an_answer_holds_for_a_moment_and_for_its_scope_only() -> None:
    desk = Desk()
    assert await desk.authorizer.access(scope(), "a") == Access.WRITE
    assert await desk.authorizer.access(scope(), "a") == Access.WRITE
    assert len(desk.asked) == 1
    for other in (scope(ROLE_READER), scope(user="v"), scope(ROLE_WRITER, "u", "g")):
        await desk.authorizer.access(other, "a")
    assert len(desk.asked) == 4
    del desk.held["a"]
    desk.now += FRESH_SECONDS
    assert await desk.authorizer.access(scope(), "a") == Access.NONE


async def test_a_refusal_is_not_remembered_and_a_change_here_counts_at_once() -> None:
    desk = Desk()
    assert await desk.authorizer.access(scope(), "new") == Access.NONE
    desk.held["new"] = Access.READ
    assert await desk.authorizer.access(scope(), "new") == Access.READ
    del desk.held["new"]
    desk.now += 0.001
    desk.authorizer.forget("t")
    assert await desk.authorizer.access(scope(), "new") == Access.NONE


async def test_many_who_want_to_know_the_same_ask_once_and_fail_each_alone() -> None:
    desk = Desk()
    held = asyncio.Event()
    ask = desk.ask

    async def slowly(scope: Scope, ids: Sequence[str]) -> Mapping[str, Access]:
        await held.wait()
        return await ask(scope, ids)

    authorizer = Authorizer(slowly, lambda: desk.now)
    wanted = [asyncio.create_task(authorizer.access(scope(), "a")) for _ in range(20)]
    await asyncio.sleep(0)
    wanted[0].cancel()
    held.set()
    assert await asyncio.gather(*wanted[1:]) == [Access.WRITE] * 19
    assert len(desk.asked) <= 19
    desk.now += FRESH_SECONDS
    desk.asked.clear()
    assert await asyncio.gather(*(authorizer.access(scope(), "a") for _ in range(20))) == [Access.WRITE] * 20
    assert len(desk.asked) == 1
    assert not authorizer._asking


async def test_several_are_asked_for_at_once_and_only_those_not_known() -> None:
    desk = Desk()
    await desk.authorizer.access(scope(), "a")
    held = await desk.authorizer.several(scope(), ["a", "b", "c", "b"])
    assert held == {"a": Access.WRITE, "b": Access.READ, "c": Access.NONE}
    assert desk.asked == [("a",), ("b", "c")]


@pytest.mark.parametrize("down", [Unavailable("gone"), DeadlineExceeded("slow")])
async def test_what_was_known_serves_for_minutes_while_indexing_is_silent(down: FootnoteError) -> None:
    desk = Desk()
    await desk.authorizer.access(scope(), "a")
    assert await desk.authorizer.visible(scope()) == {"a", "b"}
    desk.down = down
    desk.now += KNOWN_SECONDS - 1
    assert await desk.authorizer.access(scope(), "a") == Access.WRITE
    assert await desk.authorizer.visible(scope()) == {"a", "b"}
    with pytest.raises(Unavailable) as caught:
        await desk.authorizer.access(scope(), "b")
    assert caught.value.retry_after
    with pytest.raises(Unavailable):
        await desk.authorizer.access(scope(), "a", exact=True)
    with pytest.raises(Unavailable):
        await desk.authorizer.access(scope(user="v"), "a")
    desk.now += 2
    with pytest.raises(Unavailable):
        await desk.authorizer.access(scope(), "a")
    with pytest.raises(Unavailable):
        await desk.authorizer.visible(scope())
    desk.down = None
    assert await desk.authorizer.access(scope(), "a") == Access.WRITE


async def test_what_was_forgotten_is_not_known_any_more() -> None:
    desk = Desk()
    await desk.authorizer.access(scope(), "a")
    await desk.authorizer.visible(scope())
    desk.now += 0.001
    desk.authorizer.forget("t")
    desk.down = Unavailable("gone")
    with pytest.raises(Unavailable):
        await desk.authorizer.access(scope(), "a")
    with pytest.raises(Unavailable):
        await desk.authorizer.visible(scope())


async def test_a_silent_indexing_is_not_asked_at_every_step() -> None:
    desk = Desk()
    await desk.authorizer.access(scope(), "a")
    desk.now += FRESH_SECONDS
    desk.down = Unavailable("gone")
    for _ in range(5):
        assert await desk.authorizer.access(scope(), "a") == Access.WRITE
    assert len(desk.asked) == 2


async def test_of_administrators_and_services_everything_is_known() -> None:
    desk = Desk()
    for role in (ROLE_ADMIN, ROLE_SYSTEM):
        assert await desk.authorizer.access(scope(role), "anything", exact=True) == Access.MANAGE
        assert await desk.authorizer.visible(scope(role)) is None
    assert desk.asked == []
    assert not await desk.authorizer.exists(scope(ROLE_ADMIN), "anything")
    assert await desk.authorizer.exists(scope(ROLE_ADMIN), "a")
    assert await desk.authorizer.exists(scope(ROLE_SYSTEM), "anything")
    desk.down = Unavailable("gone")
    asked = len(desk.asked)
    for _ in range(2):
        assert await desk.authorizer.exists(scope(ROLE_ADMIN), "anything")
    assert len(desk.asked) == asked + 1
    assert desk.authorizer.silent
    desk.now += 2
    desk.down = None
    assert not await desk.authorizer.exists(scope(ROLE_ADMIN), "anything")


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("_MOST_KEPT", 10), ("_MOST_LISTS", 3), ("_MOST_LISTED", 5)):
        monkeypatch.setattr(module, name, most)
    desk = Desk()
    for number in range(50):
        await desk.authorizer.access(scope(user=f"u{number}"), "a")
        await desk.authorizer.visible(scope(user=f"u{number}"))
        desk.authorizer.forget(f"t{number}")
    assert len(desk.authorizer._cache) == len(desk.authorizer._forgotten) == 10
    assert len(desk.authorizer._lists) == 2
    assert desk.authorizer._lists.currsize == 4


class Stub:
    """A double of indexing with its epoch of collections."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.named: str | None = None
        self.writes = False
        self.asked = 0
        self.meanwhile: Callable[[], None] = lambda: None

    def AuthorizeCollections(self, request: Any, timeout: float) -> Answered[AuthorizeCollectionsResponse]:
        self.asked += 1
        response = AuthorizeCollectionsResponse(
            collections=[
                CollectionAccess(collection_id=one, access=ACCESS_WRITE if self.writes else ACCESS_READ)
                for one in request.collection_ids
            ]
        )
        answer = Answered(response, collections=self.epoch.name if self.named is None else self.named)
        self.meanwhile()
        return answer


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    """Indexing's double, with an epoch that a test turns."""
    return Stub(Epoch(tmp_path / "epoch"))


@pytest.fixture
def asking(stub: Stub, tmp_path: Path) -> AccessLookup:
    """The authorizer before that double."""
    return AccessLookup(stub, EpochReader(tmp_path / "epoch"))


async def test_in_an_epoch_of_collections_each_scope_and_collection_is_asked_about_once(
    stub: Stub, asking: AccessLookup
) -> None:
    for number, (who, one) in enumerate(
        [(scope(), "a"), (scope(), "b"), (scope(ROLE_READER), "a"), (scope(user="v"), "a")], 1
    ):
        for _ in range(3):
            assert await asking(who, [one]) == {one: Access.READ}
        assert stub.asked == number
    stub.writes = True
    stub.epoch.advance()
    assert await asking(scope(), ["a"]) == {"a": Access.WRITE}


async def test_a_right_that_is_withdrawn_is_gone_for_the_next_exact_look(stub: Stub, asking: AccessLookup) -> None:
    stub.writes = True
    authorizer = Authorizer(asking)
    assert await authorizer.access(scope(), "a", exact=True) == Access.WRITE
    assert await authorizer.access(scope(), "a", exact=True) == Access.WRITE
    assert stub.asked == 1
    stub.writes = False
    stub.epoch.advance()
    assert await authorizer.access(scope(), "a", exact=True) == Access.READ


@pytest.mark.parametrize("named", ["elsewhere", ""])
async def test_what_is_told_of_another_epoch_or_of_none_is_not_kept(
    stub: Stub, asking: AccessLookup, named: str
) -> None:
    stub.named = named
    await asking(scope(), ["a"])
    await asking(scope(), ["a"])
    assert stub.asked == 2


async def test_what_is_changed_while_indexing_answers_is_asked_for_again(stub: Stub, asking: AccessLookup) -> None:
    stub.meanwhile = stub.epoch.advance
    await asking(scope(), ["a"])
    await asking(scope(), ["a"])
    assert stub.asked == 2


async def test_only_so_much_of_what_was_told_is_kept(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 2)
    asking = AccessLookup(stub, EpochReader(tmp_path / "epoch"))
    for one in "abca":
        await asking(scope(), [one])
    assert stub.asked == 4
