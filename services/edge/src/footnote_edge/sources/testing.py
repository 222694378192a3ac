"""The conformance suite of kinds of sources: what the engine relies on, for kinds of every package.

Write an `Origin` that makes, changes and deletes items where your kind reads them, and run every check:

    @pytest.mark.parametrize("check", SUITE, ids=lambda check: check.__name__)
    async def test_my_kind(check, my_origin):
        await check(my_origin)
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from footnote_edge.sources.ports import (
    LONGEST_ID,
    Connection,
    Item,
    ItemFailed,
    Known,
    Opening,
    Page,
    SourceKind,
    SourceRefused,
    SourceUnavailable,
)


class Origin(Protocol):
    """The items of a kind under test. Names are the test's own: the kind may use others."""

    kind: SourceKind

    def opening(self) -> Opening:
        """Return the inputs of a connection."""

    async def put(self, name: str, text: str) -> None:
        """Create an item with this text, or change its text."""

    async def remove(self, name: str) -> None:
        """Delete an item."""

    async def vanish(self) -> None:
        """Make the whole source unavailable: it must not appear empty."""


class Memory:
    """Stores listings, as the engine does."""

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}

    async def __call__(self, item_ids: Sequence[str]) -> Mapping[str, Known]:
        """Return the stored state of items."""
        return {item_id: self.known[item_id] for item_id in item_ids if item_id in self.known}


async def listing(connection: Connection, memory: Memory, cursor: str = "") -> list[Page]:
    """Return all pages of a listing, and store them."""
    pages: list[Page] = []
    stream: Any = connection.list(cursor, memory)
    async with aclosing(stream) as found:
        async for page in found:
            pages.append(page)
            memory.known |= {item.id: Known(item.version, dict(item.memo)) for item in page.items}
    return pages


async def listed(origin: Origin, memory: Memory | None = None) -> dict[str, Item]:
    """Return the items that a new connection lists, and their bodies, fetched if not listed."""
    connection = origin.kind.open(origin.opening())
    try:
        pages = await listing(connection, memory or Memory())
        assert not any(page.partial for page in pages), "a whole listing must not say that it is partial"
        return {item.id: item for page in pages for item in page.items}
    finally:
        await connection.close()


async def content(connection: Connection, item: Item) -> bytes:
    """Return an item's bytes."""
    stream: Any = connection.fetch(item)
    async with aclosing(stream) as parts:
        return b"".join([part async for part in parts])


async def lists_every_item_once(origin: Origin) -> None:
    """Check that every item is listed once, with an id, a version, a name and storable JSON."""
    for number in range(3):
        await origin.put(f"item{number}", f"The text of item number {number}.")
    connection = origin.kind.open(origin.opening())
    try:
        items = [item for page in await listing(connection, Memory()) for item in page.items]
    finally:
        await connection.close()
    assert len(items) == 3
    assert len({item.id for item in items}) == 3
    for item in items:
        assert 0 < len(item.id) <= LONGEST_ID
        assert item.name
        assert len(item.address) <= LONGEST_ID


async def fetches_what_it_lists(origin: Origin) -> None:
    """Check that an item's bytes are its own, and the same when fetched again."""
    await origin.put("one", "The first text.")
    await origin.put("two", "The second text.")
    connection = origin.kind.open(origin.opening())
    try:
        items = [item for page in await listing(connection, Memory()) for item in page.items]
        found = [item.body if item.body is not None else await content(connection, item) for item in items]
        again = [await content(connection, item) for item in items]
    finally:
        await connection.close()
    assert sorted(text in body for body in found for text in (b"The first text.", b"The second text.")) == [
        False, False, True, True,
    ]  # fmt: skip
    assert [b"text." in body for body in again] == [True, True]


async def tells_change_by_the_version(origin: Origin) -> None:
    """Check that a version stays while the item does, even in a listing with a memory, and else changes."""
    await origin.put("changing", "As it was at first.")
    await origin.put("staying", "As it always is.")
    memory = Memory()
    first = await listed(origin, memory)
    second = await listed(origin, memory)
    assert {id: item.version for id, item in first.items()} == {id: item.version for id, item in second.items()}
    assert {id: dict(item.memo) for id, item in first.items()} == {id: dict(item.memo) for id, item in second.items()}
    assert {id: item.address for id, item in first.items()} == {id: item.address for id, item in second.items()}
    await origin.put("changing", "As it is now, which is longer.")
    third = await listed(origin, memory)
    if set(third) != set(first):  # mails, for example, cannot change: another one takes its place
        assert (len(set(first) - set(third)), len(set(third) - set(first))) == (1, 1)
        return
    assert len([id for id, item in third.items() if item.version != first[id].version]) == 1


async def lists_no_more_what_was_deleted(origin: Origin) -> None:
    """Check that a deleted item is neither listed nor fetched as if it existed."""
    await origin.put("gone", "This one goes.")
    await origin.put("kept", "This one stays.")
    memory = Memory()
    before = await listed(origin, memory)
    await origin.remove("gone")
    after = await listed(origin, memory)
    assert len(before) == 2
    assert len(after) == 1
    (gone,) = set(before) - set(after)
    connection = origin.kind.open(origin.opening())
    try:
        body = await content(connection, before[gone])
    except (ItemFailed, SourceUnavailable):
        return
    finally:
        await connection.close()
    assert b"This one goes." in body, "it may be kept in a cache, but nothing else must come for it"


async def goes_on_from_a_cursor(origin: Origin) -> None:
    """Check that a listing from any page's cursor contains everything after that page."""
    for number in range(5):
        await origin.put(f"item{number}", f"The text of item number {number}.")
    connection = origin.kind.open(origin.opening())
    try:
        pages = await listing(connection, Memory())
        for index, page in enumerate(pages):
            rest = {item.id for later in pages[index + 1 :] for item in later.items}
            again = await listing(connection, Memory(), page.cursor)
            assert rest <= {item.id for one in again for item in one.items}
    finally:
        await connection.close()


async def does_not_seem_empty_when_it_is_away(origin: Origin) -> None:
    """Check that an unavailable source raises, or declares its listing partial."""
    await origin.put("there", "A text.")
    memory = Memory()
    await listed(origin, memory)
    await origin.vanish()
    connection = origin.kind.open(origin.opening())
    try:
        pages = await listing(connection, memory)
    except (SourceUnavailable, SourceRefused):
        return
    finally:
        await connection.close()
    assert any(page.partial or page.keeps_others for page in pages)


Check = Callable[[Origin], Awaitable[None]]

SUITE: tuple[Check, ...] = (
    lists_every_item_once,
    fetches_what_it_lists,
    tells_change_by_the_version,
    lists_no_more_what_was_deleted,
    goes_on_from_a_cursor,
    does_not_seem_empty_when_it_is_away,
)
"""All checks; each needs an origin without items."""
