"""Prevents publishing a document into a generation that its collection has left, or is about to leave."""

from collections.abc import Collection

import sqlalchemy as sa
from footnote_kit.errors import Unavailable
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import collections, generations

_LIVE = ("CURRENT", "BUILDING")


async def check_unmoved(
    connection: AsyncConnection, collection_id: str, generation: int, written: Collection[int] | None
) -> None:
    """Raise Unavailable if a generation is no longer the collection's, or if a needed one is missing from `written`.

    The next attempt finds the right generations. `written` is None for rows that cannot be in another generation. The
    collection does not move until the transaction ends.
    """
    mine = sa.select(collections.c.id).where(collections.c.id == collection_id)
    await connection.execute(mine.with_for_update(read=True))
    live = sa.select(generations.c.number).where(
        generations.c.collection_id == collection_id, generations.c.state.in_(_LIVE)
    )
    numbers = set((await connection.execute(live)).scalars())
    # A deleted collection has none; other checks detect the deletion.
    if numbers and (generation not in numbers or (written is not None and not numbers <= set(written))):
        raise Unavailable("The collection began to move to another model meanwhile; send it once more")
