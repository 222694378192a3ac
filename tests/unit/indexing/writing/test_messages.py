"""Messages for memory are in the store once each, whatever the engine made of an attempt that was given up."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_indexing.writing.messages import Messages
from footnote_kit.errors import Unavailable
from footnote_store.rows import MessageRow
from support.memory_store import MemoryStore

SCOPE = Scope(tenant_id="t", user_id="u")


class Engine:
    """A store that writes rows of the same id twice when two writes meet, for a given number of times."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.doubling = 0
        self.at_work = 0

    async def ensure_message_space(self, dimensions: int) -> str:
        return "messages_4"

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow]) -> int:
        ids = [row.message.message_id for row in rows]
        self.at_work += 1
        twice = self.at_work > 1 or self.doubling > 0
        self.doubling -= self.doubling > 0
        await asyncio.sleep(0.01)
        self.at_work -= 1
        self.rows = [one for one in self.rows if twice or one not in ids] + ids + (ids if twice else [])
        return len(ids)

    async def count(self, space: str, expr: str) -> int:
        return sum(f':{one}"' in expr for one in self.rows)

    async def delete(self, space: str, expr: str) -> int:
        before = len(self.rows)
        self.rows = [one for one in self.rows if f':{one}"' not in expr]
        return before - len(self.rows)


class Vectors:
    """Vectorizers of which every text has the same vector."""

    def __init__(self) -> None:
        self.settings = EmbeddingSettings(dimensions=4)

    async def default(self) -> "Vectors":
        return self

    def keys(self, audience: object, texts: Sequence[str]) -> Sequence[str]:
        return texts

    async def embed(self, keys: Sequence[str], texts: Sequence[str], known: Any) -> Any:
        dimensions = self.settings.dimensions

        class Embedded:
            vectors = np.ones((len(texts), dimensions), np.float32)

        return Embedded


class Permitted:
    """Lets everything."""

    def check_embedding(self, *_: object) -> None:
        return None


def messages(count: int) -> list[MemoryMessage]:
    return [MemoryMessage(message_id=f"m{one}", conversation_id="c", text=f"Said {one}") for one in range(count)]


@pytest.mark.parametrize("doubling", [0, 1, 2])
async def test_rows_that_the_engine_doubled_are_written_again(doubling: int) -> None:
    engine = Engine()
    engine.doubling = doubling
    memory = Messages(engine, Vectors(), Permitted())  # type: ignore[arg-type]
    count, embedder = await memory.remember(SCOPE, messages(5))
    assert (count, len(embedder)) == (5, 16)
    assert sorted(engine.rows) == [f"m{one}" for one in range(5)]


async def test_two_calls_at_once_and_an_id_given_twice_are_one_row_each() -> None:
    engine = Engine()
    memory = Messages(engine, Vectors(), Permitted())  # type: ignore[arg-type]
    twice = [*messages(3), *messages(3)]
    await asyncio.gather(*(memory.remember(SCOPE, twice) for _ in range(4)))
    assert sorted(engine.rows) == ["m0", "m1", "m2"]


async def test_messages_stored_before_the_embedder_changed_are_forgotten_too() -> None:
    store, vectors = MemoryStore(), Vectors()
    memory = Messages(store, vectors, Permitted())  # type: ignore[arg-type]
    await memory.remember(SCOPE, messages(2))
    vectors.settings.dimensions = 3
    await memory.remember(SCOPE, [*messages(3)[2:], MemoryMessage(message_id="m9", conversation_id="d", text="Kept")])
    assert await memory.forget(SCOPE, "c", ["m0"]) == 1
    assert await memory.forget(SCOPE, "c") == 2
    left = {space: [row["id"].rpartition(":")[2] for row in rows.values()] for space, rows in store.spaces.items()}
    assert left == {"messages_4": [], "messages_3": ["m9"]}


async def test_what_doubles_again_and_again_is_no_success() -> None:
    engine = Engine()
    engine.doubling = 100
    memory = Messages(engine, Vectors(), Permitted())  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        await memory.remember(SCOPE, messages(2))
    assert engine.rows == []
