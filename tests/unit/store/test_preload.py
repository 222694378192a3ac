"""A service is ready when the store has loaded what searches use, again after the store was away."""

import asyncio
from typing import Any

import pytest
from footnote_kit.errors import InvalidArgument, Unavailable
from footnote_store.preload import Preload


class Engine:
    """A store's readiness as the embedded engine behaves: healthy at once, each space loaded at its first use."""

    def __init__(self) -> None:
        self.is_there = True
        self.may_load = asyncio.Event()
        self.loaded: list[str] = []
        self.broken = ""
        """A space that cannot be loaded."""

    async def health(self, timeout: float = 3.0) -> dict[str, Any]:
        if not self.is_there:
            raise Unavailable("the vector store is not reached")
        return {"healthy": True}

    async def ensure_space(self, dimensions: int, variant: int = 0, timeout: float = 30.0) -> str:
        return f"chunks_1_{dimensions}"

    async def ids(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> list[str]:
        await self.may_load.wait()
        if not self.is_there:
            raise Unavailable("the vector store is not reached")
        if space == self.broken:
            raise InvalidArgument("holds vectors of other dimensions", reason="DIMENSION_MISMATCH")
        self.loaded.append(space)
        return []


async def spaces() -> set[tuple[int, int]]:
    return {(384, 0), (8, 0)}


@pytest.fixture
def engine() -> Engine:
    """The double of the engine that loads collections."""
    return Engine()


@pytest.fixture
def loading(engine: Engine) -> Preload:
    """What waits until that engine has loaded."""
    return Preload(engine, spaces)  # type: ignore[arg-type]


async def test_ready_waits_until_every_space_is_loaded(engine: Engine, loading: Preload) -> None:
    assert await loading.reason() == "the vector store loads its rows (0 of 2 spaces are loaded)"
    assert await loading.reason() == "the vector store loads its rows (0 of 2 spaces are loaded)"
    engine.may_load.set()
    assert await loading.reason() is None
    assert engine.loaded == ["chunks_1_8", "chunks_1_384"]
    assert await loading.reason() is None
    assert len(engine.loaded) == 2, "once is enough"


async def test_a_store_that_was_away_loads_again(engine: Engine, loading: Preload) -> None:
    engine.may_load.set()
    assert await loading.reason() is None
    engine.is_there = False
    assert await loading.reason() == "the vector store is not reached"
    engine.is_there = True
    assert await loading.reason() is None
    assert len(engine.loaded) == 4


async def test_a_store_that_goes_while_it_loads_is_asked_again(engine: Engine, loading: Preload) -> None:
    assert await loading.reason() is not None
    engine.is_there = False
    assert await loading.reason() == "the vector store is not reached"
    engine.is_there = True
    engine.may_load.set()
    assert await loading.reason() is None


async def test_a_space_that_cannot_be_loaded_keeps_no_other_waiting(engine: Engine, loading: Preload) -> None:
    engine.may_load.set()
    engine.broken = "chunks_1_8"
    assert await loading.reason() is None
    assert engine.loaded == ["chunks_1_384"]


async def test_an_error_of_ours_is_raised_and_tried_again(engine: Engine) -> None:
    engine.may_load.set()
    answers = [ValueError("a bug"), None]

    async def listed() -> set[tuple[int, int]]:
        if (error := answers.pop(0)) is not None:
            raise error
        return await spaces()

    loading = Preload(engine, listed)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a bug"):
        await loading.reason()
    assert await loading.reason() is None


async def test_a_close_ends_what_loads(loading: Preload) -> None:
    assert await loading.reason() is not None
    await loading.close()
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
