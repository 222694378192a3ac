"""Every setting of the table at every level, and its effect, at the stages that read it: real services over loopback.

For each setting there is one other value and the circumstances in which it matters. Given by the request, the
collection or the deployment it must change what the stage does, each time in the same way; and a nearer level must win
over a farther one. The table is walked, so that a setting that nobody declares here, or that no stage reads, fails.
"""

import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as aug
from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.generation.v1 import generation_service_pb2 as gen
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.retrieval.v1 import retrieval_service_pb2 as ret
from footnote.stages.v1 import prompt_pb2
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import bounds_pb2
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.chunk_pb2 import ChunkLevel
from footnote_augmentation.app import build as build_augmentation
from footnote_generation.app import build as build_generation
from footnote_indexing.app import build as build_indexing
from footnote_kit.collection_settings import GROUPS, SETTINGS, Setting, overlay, put, resolve
from footnote_kit.deployment_settings import field_of
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.testing import SCOPE, serve_app
from footnote_store.store import VectorStore
from google.protobuf.message import Message
from support.blocks import article
from support.chunks import make_chunk
from support.doubles.model_chat import Finish, ModelServer, Say, serve_model
from support.indexing import Client
from support.library import open_library

pytestmark = pytest.mark.full

Outcome = Any


@dataclass(frozen=True)
class Case:
    """Another value of a setting than the built-in one, as the table writes it, and its circumstances."""

    other: Any
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    variable: str = ""
    """The value as a variable where it is written otherwise."""


CASES: dict[str, Case] = {
    "chunking.strategy": Case(col.CHUNKING_STRATEGY_FIXED_WINDOW, variable="fixed_window"),
    "chunking.unit": Case(col.SIZE_UNIT_TOKENS, {"chunking.size": 200}, variable="tokens"),
    "chunking.size": Case(150),
    "chunking.overlap_percent": Case(
        0, {"chunking.strategy": col.CHUNKING_STRATEGY_FIXED_WINDOW, "chunking.size": 200}
    ),
    "chunking.parent_child": Case(True),
    "chunking.parent_size": Case(600, {"chunking.parent_child": True}),
    "chunking.child_size": Case(150, {"chunking.parent_child": True}),
    "chunking.breakpoint_percentile": Case(20, {"chunking.strategy": col.CHUNKING_STRATEGY_SEMANTIC}),
    "chunking.contextual_header": Case(False),
    "retrieval.strategy": Case(col.SEARCH_STRATEGY_FULLTEXT, variable="fulltext"),
    "retrieval.limit": Case(1),
    "retrieval.dense_weight": Case(0.9),
    "retrieval.fusion": Case(col.FUSION_METHOD_RRF, variable="rrf"),
    "retrieval.min_score": Case(0.6),
    "retrieval.neighbors": Case(1),
    "retrieval.resolve_parents": Case(True),
    "retrieval.recency_weight": Case(0.5),
    "retrieval.recency_half_life": Case(86400, {"retrieval.recency_weight": 0.5}, variable="1"),
    "rerank.provider": Case("lexical"),
    "rerank.model": Case("no-such-model", {"rerank.provider": "cosine"}),
    "rerank.top": Case(1, {"rerank.provider": "lexical"}),
    "rerank.settings": Case({"weight": 1}, {"rerank.provider": "lexical"}, variable='{"weight": 1}'),
    "prompt.system_prompt": Case("Answer in rhymes."),
    "prompt.locale": Case("fr"),
    "prompt.token_budget": Case(110),
    "prompt.history_messages": Case(2),
    "prompt.history_characters": Case(30),
    "generation.provider": Case("builtin"),
    "generation.model": Case("another-model"),
    "generation.temperature": Case(0.0),
    "generation.max_tokens": Case(77),
    "generation.seed": Case(0),
    "generation.strict": Case(True),
    "generation.second_opinion": Case(False),
    "generation.stop": Case(["END"], variable='["END"]'),
    "generation.top_p": Case(0.25),
    "generation.frequency_penalty": Case(-0.5),
    "generation.presence_penalty": Case(0.5),
}
ELSEWHERE = {
    # Decided when a collection is made and stored: tests/integration/test_indexing.py.
    "embedding.provider", "embedding.model", "embedding.dimensions", "embedding.settings",
    # Of another package: tests/e2e/test_other_packages.py.
    "chunking.chunker",
    # No model provider has any: what is given is refused.
    "generation.settings",
    # Below, each in its own way.
    "ttl", "max_documents", "local_only",
    # Of the reading of files: tests/e2e/test_ocr_pictures.py.
    "ocr_pictures",
}  # fmt: skip


def test_every_setting_of_the_table_is_walked() -> None:
    assert {one.path for one in SETTINGS} == CASES.keys() | ELSEWHERE
    assert not CASES.keys() & ELSEWHERE


def given(values: Mapping[str, Any]) -> col.CollectionSettings:
    """Return settings with these values, and nothing else."""
    settings = col.CollectionSettings()
    for path, value in values.items():
        group, _, name = path.rpartition(".")
        put(getattr(settings, group) if group else settings, name, value)
    return settings


def environment(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that set these values for a deployment."""
    by_path = {one.path: one for one in SETTINGS}
    found = {}
    for path, value in values.items():
        field_ = field_of(path)
        text = CASES[path].variable if path in CASES and CASES[path].other == value else ""
        if not text and field_.enum_type is not None:
            prefix = field_.enum_type.values_by_number[0].name.removesuffix("UNSPECIFIED")
            text = field_.enum_type.values_by_number[value].name.removeprefix(prefix)
        found[by_path[path].variable] = text or str(value)
    return found


@asynccontextmanager
async def environ(values: Mapping[str, str]) -> AsyncIterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


Run = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], Awaitable[tuple[Outcome, Message]]]
"""What a stage does, and the settings that it says counted, with these values of request, collection, deployment."""


async def walk(setting: Setting, run: Run) -> None:
    """See one setting work at every level that it has, and every nearer one win."""
    case = CASES[setting.path]
    there, other = dict(case.circumstances), {setting.path: case.other}
    plain, counted = await run(there, {}, {}) if setting.by_request else await run({}, there, {})
    assert getattr(counted, setting.name) == getattr(_group(setting, resolve(given({}), given(there))), setting.name)

    def value_of(settings: Message) -> Any:
        return getattr(settings, setting.name)

    expected = value_of(_group(setting, given(other)))
    levels: list[tuple[str, tuple[Mapping[str, Any], ...]]] = [
        ("collection", ({}, {**there, **other}, {})),
        ("deployment", ({}, {}, {**there, **other})),
    ]
    if setting.by_request:
        levels.append(("request", ({**there, **other}, {}, {})))
    for level, values in levels:
        done, counted = await run(*values)
        assert value_of(counted) == expected, f"given by the {level} it does not count"
        assert done != plain, f"given by the {level}, it has no effect"
    # A nearer level takes back what a farther one says, by zero, false and empty as well.
    back = {setting.path: setting.built_in}
    if setting.built_in is None:
        return
    done, _ = await run({}, {**there, **back}, {**there, **other})
    assert done == plain, "the collection does not win over the deployment"
    if setting.by_request:
        done, _ = await run({**there, **back}, {**there, **other}, {})
        assert done == plain, "the request does not win over the collection"


def _group(setting: Setting, settings: col.CollectionSettings) -> Any:
    return getattr(settings, setting.group)


def of_group(*groups: str) -> Any:
    return pytest.mark.parametrize(
        "setting", [one for one in SETTINGS if one.group in groups and one.path in CASES], ids=lambda one: one.path
    )


# Augmentation and generation are given what edge makes of request and collection, by the same function.
def merged(request: Mapping[str, Any], collection: Mapping[str, Any], group: str) -> Any:
    return overlay(getattr(given(request), group), getattr(given(collection), group))


PASSAGES = [
    "The crane in hall two lifts nine tonnes and is inspected each spring by the works council.",
    "Bread is baked at night. " * 12,
    "Who lifts heavy loads with the crane signs the list of the safety officer before the shift begins.",
    "A crane is a bird as well, with long legs, that visits the wetlands in autumn.",
]


@of_group("prompt", "rerank")
async def test_settings_of_augmentation(setting: Setting) -> None:
    chunks = [
        ScoredChunk(chunk=Chunk(id=f"d{n}:000001:0000000", document_id=f"d{n}", filename="a.md", text=text), score=s)
        for n, (text, s) in enumerate(zip(PASSAGES, (0.4, 0.9, 0.8, 0.7), strict=True))
    ]
    roles = (ans.MESSAGE_ROLE_USER, ans.MESSAGE_ROLE_ASSISTANT)
    history = [ans.ChatMessage(role=roles[n % 2], text=f"Message {n} of those before.") for n in range(7)]

    async def run(request: Any, collection: Any, deployed: Any) -> tuple[Outcome, Message]:
        async with environ(environment(deployed)), serve_app(build_augmentation) as served:
            wanted = aug.BuildPromptRequest(
                scope=SCOPE,
                question="What does the crane lift?",
                chunks=chunks,
                history=history,
                prompt=merged(request, collection, "prompt"),
                rerank=merged(request, collection, "rerank"),
                bounds=TextBounds(),
            )
            stub = AugmentationServiceStub(served.channel)
            resolve_request = aug.ResolveSettingsRequest(
                scope=SCOPE, prompt=wanted.prompt, rerank=wanted.rerank, bounds=TextBounds()
            )
            try:
                built = await stub.BuildPrompt(wanted)
            except FootnoteError as error:
                counted = resolve(given({**deployed}).rerank, wanted.rerank)
                return str(error), counted
            resolved = await stub.ResolveSettings(resolve_request)
            assert (resolved.prompt, resolved.rerank) == (built.prompt_settings, built.rerank_settings)
            messages = [_without_delimiters(one.text) for one in built.prompt.messages]
            outcome = (messages, [(one.chunk_id, one.score) for one in built.sources], built.token_plan.budget)
            return outcome, built.prompt_settings if setting.group == "prompt" else built.rerank_settings

    await walk(setting, run)


def _without_delimiters(text: str) -> str:
    return re.sub(r"[0-9a-f]{8,}", "#", text)


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    """A scripted chat model that says the same three statements."""
    async with serve_model() as server:
        words = ["Interns receive 99 days of leave [1]. ", "Employees receive 25 days [1]. ", "Holidays are liked [1]."]
        server.script([Say(words), Finish()])
        yield server


@of_group("generation")
async def test_settings_of_generation(setting: Setting, model: ModelServer) -> None:
    source = ans.Source(number=1, chunk_id="c", document_id="d", filename="a.md", text="Employees receive 25 days.")
    prompt = prompt_pb2.Prompt(messages=[ans.ChatMessage(role=ans.MESSAGE_ROLE_USER, text="How many days of leave?")])
    # A deployment with a model of its own, so that the built-in one is another.
    own = {"FOOTNOTE_OPENAI_BASE_URL": model.url, "FOOTNOTE_OPENAI_API_KEY": "sk-test-key-of-no-value"}
    own["FOOTNOTE_GENERATION_PROVIDER"] = "openai"

    async def run(request: Any, collection: Any, deployed: Any) -> tuple[Outcome, Message]:
        async with environ({**own, **environment(deployed)}), serve_app(build_generation) as served:
            wanted = gen.GenerateRequest(
                scope=SCOPE,
                question="How many days of leave?",
                sources=[source],
                prompt=prompt,
                locale="en",
                settings=merged(request, collection, "generation"),
                bounds=TextBounds(),
            )
            seen = len(model.seen)
            events = [event async for event in GenerationServiceStub(served.channel).Generate(wanted)]
            done = events[-1].completed
            bodies = [{k: v for k, v in one.body.items() if k != "messages"} for one in model.seen[seen:]]
            return (bodies, done.answer.text, done.answer.provider), done.settings

    if setting.path == "generation.provider":
        await _walk_provider(run)
        return
    await walk(setting, run)


async def _walk_provider(run: Run) -> None:
    """What is built in counts only where the deployment has no model, as here it has."""
    plain, counted = await run({}, {}, {})
    assert counted.provider == plain[2] == "openai"  # type: ignore[attr-defined]
    for level in range(3):
        values: list[Mapping[str, Any]] = [{}, {}, {}]
        values[level] = {"generation.provider": "builtin"}
        done, counted = await run(*values)
        assert counted.provider == done[2] == "builtin"  # type: ignore[attr-defined]
    done, _ = await run({"generation.provider": ""}, {"generation.provider": "builtin"}, {})
    assert done == plain, "the request does not win over the collection"


NOW = int(time.time())


@of_group("retrieval")
async def test_settings_of_retrieval(setting: Setting, uri: str) -> None:
    texts = [
        "The crane in hall two lifts nine tonnes.",
        "Loads are lifted slowly, says the handbook of the works.",
        "A crane is a bird with long legs.",
        "Tonnes of bread are baked each night for the canteen.",
    ]

    async def run(request: Any, collection: Any, deployed: Any) -> tuple[Outcome, Message]:
        async with environ(environment(deployed)), open_library(uri) as library:
            shelf = await library.add_collection("hall")
            shelf.collection.settings.MergeFrom(given(collection))
            parent = make_chunk(
                "All of hall two: " + " ".join(texts), ordinal=9, level=ChunkLevel.CHUNK_LEVEL_PARENT, created=NOW
            )
            children = [
                make_chunk(
                    text,
                    ordinal=n,
                    created=NOW - n * 40 * 86400,
                    level=ChunkLevel.CHUNK_LEVEL_CHILD,
                    parent_id=parent.id,
                )
                for n, text in enumerate(texts)
            ]  # fmt: skip
            await library.add(shelf, [*children, parent])
            found = await library.stub.Retrieve(
                ret.RetrieveRequest(
                    scope=SCOPE,
                    query="How many tonnes does the crane lift?",
                    collections=["hall"],
                    settings=given(request).retrieval,
                )
            )
            outcome = [
                (one.chunk.id, one.chunk.text, round(one.score, 3), [near.text for near in one.neighbors])
                for one in found.chunks
            ]
            return (found.strategy, outcome), found.settings

    await walk(setting, run)


@of_group("chunking")
async def test_settings_of_chunking(setting: Setting, uri: str) -> None:
    number = iter(range(100))

    async def run(request: Any, collection: Any, deployed: Any) -> tuple[Outcome, Message]:
        async with (
            environ(environment(deployed)),
            serve_app(build_indexing, vector_store_uri=uri) as served,
        ):
            client = Client(served.channel)
            made = await client.create(f"walk {next(number)}", chunking=given(collection).chunking)
            await client.index(made.id, f"{made.id}-document", article(sections=3, paragraphs=4))
            shown = await client.get(made.id)
            (one,) = (await client.locate(made.id)).collections
            store = VectorStore(uri)
            try:
                rows = await store.read(one.space, f'collection_key == "{one.collection_key}"', 1000)
            finally:
                await store.close()
            outcome = sorted((row.text, row.lexical_text) for row in rows)
            assert outcome
            return outcome, shown.effective_settings.chunking

    await walk(setting, run)


async def test_a_time_to_live_of_the_deployment_counts_for_collections_that_exist(uri: str) -> None:
    async with environ({"FOOTNOTE_TTL_DAYS": "2"}), serve_app(build_indexing, vector_store_uri=uri) as served:
        client = Client(served.channel)
        made = await client.create("mortal")
        assert not made.settings.HasField("ttl")
        assert (await client.get(made.id)).effective_settings.ttl.seconds == 2 * 86400


GROUPS_OF = [(name, kind) for name, kind in GROUPS.items() if name != "embedding"]


@pytest.mark.parametrize("group", [name for name, _ in GROUPS_OF])
async def test_settings_are_stored_as_they_are_given(uri: str, group: str) -> None:
    async with serve_app(build_indexing, vector_store_uri=uri) as served:
        client = Client(served.channel)
        made = await client.create(f"as given {group}", **{group: getattr(given(_some(group)), group)})
        stored = (await client.get(made.id)).settings
        assert getattr(stored, group) == getattr(given(_some(group)), group)
        stored.ClearField("embedding")
        assert stored == given(_some(group))


def _some(group: str) -> dict[str, Any]:
    first = next(one for one in SETTINGS if one.group == group and one.built_in is not None)
    return {first.path: first.built_in}


RANGES = [one for one in SETTINGS if field_of(one.path).cpp_type in (1, 5) and one.group != "embedding"]


@pytest.mark.parametrize("setting", RANGES, ids=lambda one: one.path)
async def test_values_out_of_range_are_refused_with_their_path(setting: Setting, uri: str) -> None:
    bounds = field_of(setting.path).GetOptions().Extensions[bounds_pb2.bounds]
    async with serve_app(build_indexing, vector_store_uri=uri) as served:
        for wrong in (bounds.min - 1, bounds.max + 1):
            settings = given({setting.path: type(given({}).max_documents)(wrong)})
            with pytest.raises(InvalidArgument) as refused:
                await Client(served.channel).create("wrong", **{
                    field.name: value for field, value in settings.ListFields()
                })  # fmt: skip
            assert refused.value.violations[0].field == f"collection.settings.{setting.path}"
