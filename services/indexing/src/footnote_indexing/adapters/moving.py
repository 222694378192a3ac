"""Keeps a document from being published into a generation that its collection has left, or is about to leave."""

from collections.abc import Collection

import sqlalchemy as sa
from footnote_kit.errors import Unavailable
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import collections, generations

_LIVE = ("CURRENT", "BUILDING")


async def check_unmoved(
    connection: AsyncConnection, collection_id: str, generation: int, written: Collection[int] | None
) -> None:
    """Raise Unavailable if a generation is no longer one of the collection's, or another is that is not `written` too.

    Whoever is sent back finds the right generations at the next attempt. None as `written` is for what cannot be in
    another generation. Until the transaction ends, the collection does not move.
    """
    mine = sa.select(collections.c.id).where(collections.c.id == collection_id)
    await connection.execute(mine.with_for_update(read=True))
    live = sa.select(generations.c.number).where(
        generations.c.collection_id == collection_id, generations.c.state.in_(_LIVE)
    )
    numbers = set((await connection.execute(live)).scalars())
    # Of a deleted collection there is none; that is found out otherwise.
    if numbers and (generation not in numbers or (written is not None and not numbers <= set(written))):
        raise Unavailable("The collection began to move to another model meanwhile; send it once more")
