"""What a search and a memory search do when the store or the embedding provider is stopped, hangs, or comes back."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.answer_pb2 import MemoryMessage, MessageRole, PipelineStage
from footnote.types.v1.collection_pb2 import EmbeddingSettings, RetrievalSettings, SearchStrategy
from footnote_kit.degradations import word
from footnote_kit.errors import InvalidArgument, Unavailable
from footnote_kit.testing import SCOPE
from footnote_providers.builtin import BuiltinEmbeddings
from footnote_providers.registry import check, make
from footnote_store.engine import EmbeddedEngine
from footnote_store.rows import MessageRow, Row
from footnote_text.lexical import lexical_text
from support.chunks import make_chunk, vector_of
from support.frozen import freeze, thaw
from support.library import Library, open_library

pytestmark = pytest.mark.full

QUERY = "How many weeks is parental leave?"
TEXT = "Parental leave lasts sixteen weeks."
HYBRID = RetrievalSettings(strategy=SearchStrategy.SEARCH_STRATEGY_HYBRID)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[EmbeddedEngine]:
    """A vector engine that a test can freeze and stop."""
    engine = EmbeddedEngine(tmp_path / "store")
    await engine.start()
    yield engine
    if engine.pid is not None:
        thaw(engine.pid)
    await engine.stop()


@pytest.fixture
def heard() -> Iterator[list[structlog.typing.EventDict]]:
    """All log events, also those below the level of the tests."""
    before = structlog.get_config()
    capture = structlog.testing.LogCapture()
    structlog.configure(processors=[capture], wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    yield capture.entries
    structlog.configure(**before)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retrieval gives each step three seconds and opens its breakers soon."""
    for name, value in {
        "DENSE_TIMEOUT": "3", "LEXICAL_TIMEOUT": "3", "EMBED_TIMEOUT": "3", "MEMORY_TIMEOUT": "3",
        "READ_TIMEOUT": "3", "BREAKER_FAILURES": "3", "BREAKER_OPEN": "6",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"FOOTNOTE_RETRIEVAL_{name}", value)


@asynccontextmanager
async def a_library(engine: EmbeddedEngine, embedding: EmbeddingSettings | None = None) -> AsyncIterator[Library]:
    async with open_library(engine.uri, settled=False) as library:
        if embedding is None:
            shelf = await library.add_collection("c")
            await library.add(shelf, [make_chunk(TEXT)])
        else:
            shelf = await library.add_collection("c")
            shelf.collection.settings.embedding.CopyFrom(embedding)
            row = Row(make_chunk(TEXT, collection_id="t-c"), shelf.key, vector_of(TEXT, 384), lexical_text(TEXT, "en"))
            await library.store.upsert(shelf.space, [row])
            shelf.collection.chunk_count = 1
        yield library


async def retrieve(library: Library) -> pb.RetrieveResponse:
    response: pb.RetrieveResponse = await library.stub.Retrieve(
        pb.RetrieveRequest(scope=SCOPE, query=QUERY, settings=HYBRID)
    )
    return response


def reasons(response: Any) -> list[tuple[str, str]]:
    assert all(found.stage == PipelineStage.PIPELINE_STAGE_RETRIEVAL for found in response.degradations)
    return [(word(found), found.effect) for found in response.degradations]


EMBEDDING_DOWN = [("EMBEDDING_UNAVAILABLE", "Full text search only.")]
STORE_DOWN = [("STORE_UNAVAILABLE", "No documents could be searched.")]
# Each channel has its own breaker, so the one that is tried again first comes back a moment before the other.
COMING_BACK = [
    STORE_DOWN,
    [("LEXICAL_UNAVAILABLE", "Vector search only.")],
    [("DENSE_UNAVAILABLE", "Full text search only.")],
]


async def test_embedding_provider_down_leaves_full_text(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("FOOTNOTE_OPENAI_ATTEMPTS", "1")
    async with a_library(engine, EmbeddingSettings(provider="openai", model="m", dimensions=384)) as library:
        found = await retrieve(library)
        assert [scored.chunk.text for scored in found.chunks] == [TEXT]
        assert reasons(found) == EMBEDDING_DOWN
        assert found.degradations[0].detail


@pytest.mark.parametrize("made", [RuntimeError("x"), None, [float("nan")] * 384, [[0.0] * 384], [0.5] * 3])
async def test_embedding_provider_that_breaks_its_promise_leaves_full_text(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    async def broken(self: BuiltinEmbeddings, text: str) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    async with a_library(engine, EmbeddingSettings(provider="builtin", dimensions=384)) as library:
        monkeypatch.setattr(BuiltinEmbeddings, "embed_query", broken)
        found = await retrieve(library)
        assert [scored.chunk.text for scored in found.chunks] == [TEXT]
        assert reasons(found) == EMBEDDING_DOWN


def broken(*_: object) -> Any:
    """Take the place of any method of a provider."""
    raise RuntimeError("x")


@pytest.mark.parametrize("name", ["recommended_dense_weight", "dense_weight_for", "cosines", "dimensions", "NaN"])
async def test_embedding_provider_that_cannot_say_how_it_weighs_leaves_full_text(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with a_library(engine, EmbeddingSettings(provider="builtin", dimensions=384)) as library:
        if name == "NaN":
            monkeypatch.setattr(BuiltinEmbeddings, "dense_weight_for", lambda *_: float("nan"), raising=False)
        else:
            monkeypatch.setattr(
                BuiltinEmbeddings, name, broken if name == "dense_weight_for" else property(broken), raising=False
            )
        found = await retrieve(library)
        assert [scored.chunk.text for scored in found.chunks] == [TEXT]
        assert reasons(found) == EMBEDDING_DOWN


async def test_embedding_provider_that_hangs_is_not_waited_for(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "k")
    async with server, a_library(engine, EmbeddingSettings(provider="openai", model="n", dimensions=384)) as library:
        for _ in range(3):
            started = time.perf_counter()
            found = await retrieve(library)
            assert [scored.chunk.text for scored in found.chunks] == [TEXT]
            assert reasons(found) == EMBEDDING_DOWN
            assert time.perf_counter() - started < 15  # the call itself has thirty seconds
        # After three failures in a row the breaker answers for it.
        assert "calls to it are paused" in (await retrieve(library)).degradations[0].detail


async def test_store_down_gives_nothing_with_the_reason_and_comes_back(engine: EmbeddedEngine) -> None:
    async with a_library(engine) as library:
        assert not reasons(await retrieve(library))
        assert engine.pid is not None
        freeze(engine.pid)
        found = await retrieve(library)
        assert not found.chunks
        assert reasons(found) == STORE_DOWN
        with pytest.raises(Unavailable) as error:
            await library.stub.QueryChunks(pb.QueryChunksRequest(scope=SCOPE, collection="c"))
        assert error.value.reason == "STORE_UNAVAILABLE"
        os.kill(engine.pid, signal.SIGKILL)  # the supervisor starts it again
        async with asyncio.timeout(240):
            while reasons(found := await retrieve(library)):
                assert reasons(found) in COMING_BACK
                await asyncio.sleep(0.05)
        assert [scored.chunk.text for scored in found.chunks] == [TEXT]


async def test_breaker_answers_at_once_while_the_store_hangs(engine: EmbeddedEngine) -> None:
    async with a_library(engine) as library:
        await retrieve(library)
        assert engine.pid is not None
        freeze(engine.pid)
        took = []
        for _ in range(4):
            started = time.perf_counter()
            assert reasons(await retrieve(library)) == STORE_DOWN
            took.append(time.perf_counter() - started)
        assert took[3] < 1.5 < 3 <= min(took[:3]) + 0.1  # the fourth does not wait for the store at all
        thaw(engine.pid)


# -- memory: the rows of B's table ----------------------------------------------------------------------------------


async def remember(library: Library, texts: list[str]) -> None:
    provider = make(check(EmbeddingSettings()))
    space = await library.store.ensure_message_space(provider.dimensions)
    vectors = await provider.embed_documents(texts)
    rows = [
        MessageRow(
            MemoryMessage(
                message_id=f"m{i}", conversation_id=f"k{i}", text=text,
                role=MessageRole.MESSAGE_ROLE_USER if i % 2 == 0 else MessageRole.MESSAGE_ROLE_ASSISTANT,
            ),
            "t", "u", vector,
        )
        for i, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]  # fmt: skip
    await library.store.upsert_messages(space, rows)


async def recall(library: Library, query: str = "parental leave weeks", **more: Any) -> pb.SearchMemoryResponse:
    response: pb.SearchMemoryResponse = await library.stub.SearchMemory(
        pb.SearchMemoryRequest(scope=SCOPE, query=query, **more)
    )
    return response


async def test_no_messages_yet_is_an_empty_context(engine: EmbeddedEngine) -> None:
    async with a_library(engine) as library:
        found = await recall(library)
        assert (found.context, list(found.source_messages), found.enabled) == ("", [], True)
        assert not found.degradations


async def test_messages_are_formatted_best_first_within_the_budget(engine: EmbeddedEngine) -> None:
    async with a_library(engine) as library:
        await remember(library, ["parental leave in weeks?", "Parental leave lasts sixteen weeks.", "b" * 900])
        found = await recall(library, max_tokens=100)
        assert found.context.splitlines() == [
            f"[{'user' if m.role == MessageRole.MESSAGE_ROLE_USER else 'assistant'}] {m.text}"
            for m in found.source_messages
        ]
        assert found.context.splitlines()[0] == "[user] parental leave in weeks?"
        assert len(found.source_messages) == 2
        assert len(found.context) <= 400
        scores = [message.score for message in found.source_messages]
        assert scores == sorted(scores, reverse=True)
        assert len((await recall(library, max_messages=1)).source_messages) == 1
        left = await recall(library, exclude_conversation_id="k0")
        assert "k0" not in {message.conversation_id for message in left.source_messages}


async def test_memory_switched_off(engine: EmbeddedEngine) -> None:
    async with a_library(engine) as library:
        await remember(library, ["parental leave in weeks?"])
        found = await recall(library, enabled=False)
        assert (found.context, list(found.source_messages), found.enabled) == ("", [], False)
        assert not found.degradations


async def test_memory_never_fails(engine: EmbeddedEngine, heard: list[structlog.typing.EventDict]) -> None:
    async with a_library(engine) as library:
        await remember(library, ["parental leave in weeks?"])
        assert engine.pid is not None
        freeze(engine.pid)  # a vector search that does not answer, or a store that is away
        found = await recall(library)
        assert (found.context, list(found.source_messages), found.enabled) == ("", [], False)
        assert reasons(found) == [("MEMORY_UNAVAILABLE", "Answered without memory of past conversations.")]
        entry = next(entry for entry in heard if entry.get("outcome") == "failed")
        assert entry["log_level"] == "error"
        assert entry["error"]
        assert not entry["rag_enabled"]
        assert json.dumps(entry, default=str).find("parental") < 0  # no message text in the log


async def test_memory_without_embeddings(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_library(engine) as library:
        await remember(library, ["parental leave in weeks?"])
        assert (await recall(library)).context
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("FOOTNOTE_OPENAI_ATTEMPTS", "1")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "memory-model")
    async with open_library(engine.uri, settled=False) as library:
        found = await recall(library)
        assert (found.context, list(found.source_messages), found.enabled) == ("", [], False)
        assert reasons(found)[0][0] == "MEMORY_UNAVAILABLE"


@pytest.mark.parametrize(
    ("field", "value"), [("max_messages", 0), ("max_messages", 11), ("max_tokens", 99), ("max_tokens", 4001)]
)
async def test_memory_options_have_ranges(engine: EmbeddedEngine, field: str, value: int) -> None:
    async with a_library(engine) as library:
        with pytest.raises(InvalidArgument, match=field):
            await recall(library, **{field: value})


async def test_memory_log_carries_the_agreed_fields(
    engine: EmbeddedEngine, heard: list[structlog.typing.EventDict]
) -> None:
    async with a_library(engine) as library:
        await remember(library, ["parental leave in weeks?"])
        await recall(library)
        await recall(library, enabled=False)
        assert not [entry for entry in heard if entry["event"].startswith("rag_")]  # those are of the asker
        events = {entry["outcome"]: entry for entry in heard if entry["event"] == "memory_searched"}
        assert set(events) == {"built", "disabled"}
        fields = {
            "user_id", "conversation_id", "message_length", "similar_messages_found", "context_length",
            "context_tokens", "rag_enabled", "execution_time_ms",
        }  # fmt: skip
        assert all(fields <= entry.keys() for entry in events.values())
        assert events["built"]["similar_messages_found"] == 1
