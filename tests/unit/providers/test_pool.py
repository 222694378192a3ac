"""The pool: bounded, made once, closed when the last one lets go."""

from __future__ import annotations

import asyncio

import pytest
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers import registry
from footnote_providers.pool import Pool


class Thing:
    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


async def test_the_least_recently_used_are_closed_but_never_one_in_use() -> None:
    pool: Pool[Thing] = Pool(2)
    made: dict[int, Thing] = {}

    async def use(key: int) -> None:
        async with pool.lease(key, Thing) as thing:
            made[key] = thing

    async with pool.lease(0, Thing) as held:
        for key in range(1, 6):
            await use(key)
        assert not held.closed
        assert [key for key, thing in made.items() if not thing.closed] == [5]
        async with pool.lease(0, Thing) as same:
            assert same is held
    await use(6)
    await use(7)
    assert held.closed
    assert len(pool) == 2
    await pool.close()
    assert all(thing.closed for thing in made.values())


async def test_it_is_made_once_for_all_who_ask_and_again_after_a_failure() -> None:
    pool: Pool[Thing] = Pool(2)
    calls = 0

    def make() -> Thing:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("not yet")
        return Thing()

    async def use() -> Thing:
        async with pool.lease("k", make) as thing:
            await asyncio.sleep(0)
            return thing

    failed = await asyncio.gather(*(use() for _ in range(5)), return_exceptions=True)
    assert all(isinstance(one, ValueError) for one in failed)
    assert calls == 1
    things = await asyncio.gather(*(use() for _ in range(5)))
    assert len(set(map(id, things))) == 1
    assert calls == 2
    begun = asyncio.create_task(use())
    await asyncio.sleep(0)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    assert await use() is things[0]
    await pool.close()


async def test_callers_cannot_make_the_registry_grow() -> None:
    await registry.close_all()
    for dimensions in range(2, 200):
        async with registry.lease(EmbeddingSettings(provider="builtin", dimensions=dimensions)):
            pass
    pools = list(registry._pools.values())
    assert pools
    assert all(len(pool) <= 16 for pool in pools)
    await registry.close_all()
