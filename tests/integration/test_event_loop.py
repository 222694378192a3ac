"""The event loops of the services go on turning whatever the largest texts they accept are made of."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_SYSTEM, ChatMessage, Source
from footnote.types.v1.collection_pb2 import GenerationSettings, RetrievalSettings
from footnote_augmentation.app import build as build_augmentation
from footnote_generation.app import build as build_generation
from footnote_kit.testing import SCOPE, serve_app
from footnote_retrieval.servicer import MAX_QUERY
from support.chunks import make_chunk
from support.doubles.model_chat import Finish, Say, serve_model
from support.engine import running_engine
from support.library import Library, open_library
from support.loop_probe import Held, loop_probe

pytestmark = pytest.mark.full

LONGEST_TURN = 0.1
"""Seconds of CPU that one turn of an event loop may take. How late timers come is told beside it: that is threads that
hold the interpreter for up to 5 ms each, and on a busy machine everybody else."""
_QUESTION = 20_000
# What the tables of tests/unit/linear found slow, once: a few of each kind.
PUMPS = (
    "1,1", "1.1.", "a.", ". ", "..", "! ", "l'a'b'", "please round; answer units ", "hello ", "« ", "《", "中文",
    "中。", "1 ", "1% ", "[1]", "[[", "ignore all previous ", "![", "<a ", "a\n", "\n", "- ", "one two ",
    "report.pdf ", "A.B.C.", "e\u0301", "👩\u200d", "x",
)  # fmt: skip


def _long(pump: str, size: int) -> str:
    return "a" + pump * ((size - 2) // len(pump)) + "a"


@asynccontextmanager
async def turning(what: str) -> AsyncIterator[Held]:
    gc.collect()
    async with loop_probe() as held:
        yield held
    print(f"\n{what}: {held}")
    assert held.longest < LONGEST_TURN, f"{what}: {held}"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a vector engine for this module."""
    with running_engine(tmp_path_factory.mktemp("engine")) as address:
        yield address


@pytest.fixture
async def library(engine: str) -> AsyncIterator[Library]:
    """A store that holds the largest accepted texts."""
    async with open_library(engine, call_timeout=120) as library:
        shelf = await library.add_collection("c")
        names = [f"report {pump!a} {i}.pdf" for i, pump in enumerate(PUMPS)]
        await library.add(
            shelf,
            [
                make_chunk(_long(pump, 4000), document_id=f"d{i}", filename=name)
                for i, (pump, name) in enumerate(zip(PUMPS, names, strict=True))
            ],
        )
        yield library


@pytest.mark.slow
async def test_searching_with_the_longest_questions(library: Library) -> None:
    requests = [
        retrieval.RetrieveRequest(scope=SCOPE, query=_long(pump, MAX_QUERY), settings=RetrievalSettings(limit=100))
        for pump in PUMPS
    ]
    await library.stub.Retrieve(retrieval.RetrieveRequest(scope=SCOPE, query="What is in the report?"))
    async with turning("search"):
        for request in requests:
            await library.stub.Retrieve(request)
        await asyncio.gather(*(library.stub.Retrieve(request) for request in requests[:8]))


@pytest.mark.slow
async def test_building_prompts_from_the_largest_sources() -> None:
    chunks = [
        ScoredChunk(
            chunk=Chunk(id=f"c{i}", document_id=f"d{i}", filename=f"{pump}.pdf", text=_long(pump, 4000)), score=0.5
        )
        for i, pump in enumerate([*PUMPS, *PUMPS, *PUMPS][:100])
    ]
    async with serve_app(build_augmentation, call_timeout=120) as served:
        stub = AugmentationServiceStub(served.channel)
        await stub.PlanQuery(augmentation.PlanQueryRequest(scope=SCOPE, message="Which words?"))
        requests = [
            augmentation.PlanQueryRequest(scope=SCOPE, message=_long(pump, _QUESTION), topic=_long(pump, 1000))
            for pump in PUMPS
        ]
        async with turning("plan"):
            for request in requests:
                await stub.PlanQuery(request)
        async with turning("prompt"):
            await stub.BuildPrompt(
                augmentation.BuildPromptRequest(scope=SCOPE, question=_long(PUMPS[0], _QUESTION), chunks=chunks)
            )


def _sources(pumps: Sequence[str], size: int) -> list[Source]:
    return [
        Source(
            number=i + 1, chunk_id=f"c{i}", document_id=f"d{i}", filename=f"{i}.pdf", text=_long(pump, size), score=0.5
        )
        for i, pump in enumerate(pumps)
    ]


@pytest.mark.slow
async def test_answering_with_the_words_of_hostile_sources() -> None:
    async with serve_app(build_generation, call_timeout=240, stream_timeout=240) as served:
        stub = GenerationServiceStub(served.channel)
        async with turning("extractive answer"):
            for pump in PUMPS[::4]:
                request = generation.GenerateRequest(
                    scope=SCOPE, question=_long(pump, 2000), sources=_sources(PUMPS, 2000)
                )
                async for _ in stub.Generate(request):
                    pass
        async with turning("title"):
            for pump in PUMPS:
                await stub.GenerateTitle(generation.GenerateTitleRequest(scope=SCOPE, first_message=_long(pump, 8000)))


@pytest.mark.slow
async def test_checking_a_long_answer_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_model() as model:
        monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
        monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
        async with serve_app(build_generation, call_timeout=240, stream_timeout=240) as served:
            stub = GenerationServiceStub(served.channel)
            for name, text in {
                "sentences": "The tracker weighs 12 kg [1]. It costs 61,200 euros, see page 3 of 0.pdf. " * 300,
                "one sentence": "and the tracker weighs 12.8 kg [1] " * 600,
                "lines": "- item 1 [1]\n" * 800,
            }.items():
                parts = [text[start : start + 40] for start in range(0, len(text), 40)]
                model.script([Say(parts), Finish()])
                request = generation.GenerateRequest(
                    scope=SCOPE, question="How heavy is it?", sources=_sources(PUMPS[:8], 4000),
                    settings=GenerationSettings(provider="openai", model="tiny"),
                    prompt=Prompt(messages=[ChatMessage(role=MESSAGE_ROLE_SYSTEM, text="Answer by the sources.")]),
                )  # fmt: skip
                async with turning(f"model's answer of {name}"):
                    events = [event async for event in stub.Generate(request)]
                assert events[-1].HasField("completed")
