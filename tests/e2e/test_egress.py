"""Where texts go, seen from outside: all services behind the real launcher, and a provider that notes what it is given.

The deployment answers, re-scores and checks with a remote provider by default; it embeds locally.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, GetConversationRequest, SearchMemoryRequest
from footnote.edge.v1.providers_pb2 import CheckProviderRequest
from footnote.types.v1.collection_pb2 import (
    SEARCH_STRATEGY_HYBRID,
    Collection,
    CollectionSettings,
    EmbeddingSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
    StringList,
)
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
    PROVIDER_KIND_STORE,
)
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_edge.offline import keys as offline
from footnote_kit.clients import open_channel
from footnote_kit.degradations import word
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, PermissionDenied
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.json_format import ParseDict
from support.deployment import Deployment
from support.doubles.remote_provider import RemoteProvider, remote_provider
from support.edge_client import EdgeClient, Keyed

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SECRET = "zebrafinch"
FREE_TEXT = b"The canteen opens at seven and serves porridge until nine."
KEPT_TEXT = f"The {SECRET} project pays a bonus of 4200 euros in March.".encode()
ASKED = f"Which bonus does the {SECRET} project pay?"
NOT_ALLOWED = "PROVIDER_NOT_ALLOWED"


class Caller(EdgeClient):
    """A client with a key."""

    def __init__(self, channel: Any, key: str) -> None:
        super().__init__(channel)
        self.key = key
        self.stub = Keyed(self.stub, key)  # type: ignore[assignment]


@dataclass
class World:
    """The deployment, its callers and what they have put into it."""

    running: Deployment
    outside: RemoteProvider
    reader: Caller
    writer: Caller
    admin: Caller

    def as_role(self, role: str) -> Caller:
        caller: Caller = getattr(self, role)
        return caller

    async def refused(self, call: Any, error: type[FootnoteError], *words: str) -> FootnoteError:
        """Expect a typed refusal, after which nothing at all has gone out."""
        before = len(self.outside.bodies)
        with pytest.raises(error) as caught:
            await call
        assert caught.value.reason == NOT_ALLOWED, caught.value
        assert all(word in caught.value.message for word in words), caught.value.message
        assert caught.value.metadata["kind"]
        assert len(self.outside.bodies) == before
        return caught.value


async def _keys(folder: Path) -> dict[str, str]:
    database, keys = await offline(folder)
    made = {}
    for name, role in {"reader": ROLE_READER, "writer": ROLE_WRITER, "admin": ROLE_ADMIN}.items():
        _, made[name] = await keys.create(name, "acme", name, role)
    await database.close()
    return made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """All services before a provider elsewhere that notes what it receives."""
    folder = tmp_path_factory.mktemp("egress")
    keys = await _keys(folder)
    async with remote_provider() as outside, AsyncExitStack() as stack:
        env = {
            "FOOTNOTE_EDGE_AUTH": "keys",
            "FOOTNOTE_GENERATION_PROVIDER": "openai",
            "FOOTNOTE_OPENAI_BASE_URL": outside.base_url,
            "FOOTNOTE_OPENAI_API_KEY": "sk-elsewhere-0123456789",
            "FOOTNOTE_OPENAI_MODEL": "away-1",
            "FOOTNOTE_OPENAI_EMBEDDING_MODEL": "away-embed",
            "FOOTNOTE_AUGMENTATION_RERANK_URL": f"{outside.base_url}/rerank",
            "FOOTNOTE_AUGMENTATION_RERANKER": "http",
            "FOOTNOTE_GENERATION_VERIFIER": "openai:away-embed",
        }
        running = Deployment(folder, env=env)
        stack.push_async_callback(asyncio.to_thread, running.stop)
        await asyncio.to_thread(running.start)
        channel = await stack.enter_async_context(open_channel(running.address(), peer="edge"))
        made = World(running, outside, **{name: Caller(channel, key) for name, key in keys.items()})
        await create(made.admin, "free")
        await create(made.admin, "kept", local_only=True)
        await create(made.admin, "tuned", generation=GenerationSettings(provider="openai", model="tuned-1"))
        for name, text in (("free", FREE_TEXT), ("kept", KEPT_TEXT), ("tuned", FREE_TEXT + b" Tuned.")):
            document = await made.admin.put(text, f"{name}.txt", name)
            assert document.state == DOCUMENT_STATE_INDEXED, document
        yield made


async def create(caller: Caller, name: str, **settings: Any) -> Collection:
    collection = Collection(name=name, settings=CollectionSettings(**settings))
    return (await caller.stub.CreateCollection(CreateCollectionRequest(collection=collection))).collection


BUILTIN = GenerationSettings(provider="builtin")
NO_RERANK = RerankSettings(provider="none")


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
@pytest.mark.parametrize(
    ("generation", "rerank", "collection", "chosen"),
    [
        ({}, {}, "free", False),
        ({"provider": "openai"}, {}, "free", False),
        ({"provider": "openai", "model": "away-1"}, {}, "free", False),
        ({"model": "dear-1"}, {}, "free", True),
        ({"provider": "openai", "model": "dear-1"}, {}, "free", True),
        ({"provider": "ollama"}, {}, "free", True),
        ({"provider": "builtin"}, {}, "free", False),
        ({"provider": "openai", "model": "tuned-1"}, {}, "tuned", False),
        ({"provider": "openai", "model": "tuned-1"}, {}, "free", True),
        ({"model": "dear-1"}, {}, "tuned", True),
        ({}, {"provider": "lexical"}, "free", False),
        ({}, {"provider": "mmr"}, "free", False),
        ({}, {"provider": "http"}, "free", False),
        ({}, {"provider": "http", "model": "dear-rerank"}, "free", True),
        ({}, {"provider": "cosine"}, "free", False),
        ({}, {"provider": "cosine", "settings": {"provider": "openai"}}, "free", True),
        ({}, {"provider": "onnx", "model": "/etc"}, "free", True),
    ],
)
async def test_who_may_choose_a_provider_in_a_question(
    world: World, role: str, generation: dict[str, Any], rerank: dict[str, Any], collection: str, chosen: bool
) -> None:
    caller = world.as_role(role)
    request = {
        "collections": [collection],
        "generation": GenerationSettings(**generation),
        "rerank": ParseDict(rerank, RerankSettings()),
    }
    before = len(world.outside.bodies)
    asked = caller.ask("When does the canteen open?", **request)
    if not chosen:
        assert (await asked)[-1].completed.answer.text
    elif role != "admin":
        with pytest.raises(PermissionDenied, match="administrator") as caught:
            await asked
        assert caught.value.reason == NOT_ALLOWED
        assert not world.outside.received("dear", since=before)
    else:
        with suppress(FootnoteError):  # no such model is there; but it is no question of who asks
            await asked


@pytest.mark.parametrize("door", ["http", "openai", "sse"])
async def test_the_other_doors_are_no_way_around(world: World, door: str) -> None:
    before = len(world.outside.bodies)
    base = f"http://{world.running.address('http')}"
    head = {"authorization": f"Bearer {world.reader.key}"}
    async with httpx2.AsyncClient(base_url=base, headers=head, timeout=60) as client:
        if door == "openai":
            body = {"model": "kept", "messages": [{"role": "user", "content": ASKED}]}
            answer = await client.post("/v1/chat/completions", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, NOT_ALLOWED.lower())
            body = {"model": "free", "messages": body["messages"], "max_tokens": 100_000}
            answer = await client.post("/v1/chat/completions", json=body)
            assert answer.status_code == 400
            assert "16384" in answer.json()["error"]["message"]
            return
        body = {"question": "When?", "collections": ["free"], "generation": {"provider": "openai", "model": "dear-1"}}
        if door == "sse":
            answer = await client.post("/v1/ask", json=body, headers={"accept": "text/event-stream"})
        else:
            answer = await client.post("/v1/ask", json=body, headers={"accept": "application/json"})
        assert NOT_ALLOWED in answer.text
    assert not world.outside.received("dear-1", SECRET, since=before)


async def test_a_collection_that_keeps_its_texts_gives_them_to_nobody(world: World) -> None:
    # The collection's own reranker is left out, which the answer says; who names it is refused.
    before = len(world.outside.bodies)
    without = await world.reader.answer(ASKED, collections=["kept"], generation=BUILTIN)
    assert "RERANKER_FAILED" in {word(one) for one in without.degradations}
    assert len(world.outside.bodies) == before
    error = await world.refused(
        world.reader.ask(ASKED, collections=["kept"], rerank=RerankSettings(provider="http"), generation=BUILTIN),
        FailedPrecondition, "'kept'", "rerank.provider=lexical",
    )  # fmt: skip
    assert error.metadata == {"kind": "reranker", "provider": "http", "model": ""}
    await world.refused(
        world.reader.ask(ASKED, collections=["kept"], rerank=NO_RERANK), FailedPrecondition, "generation.provider"
    )
    # Of several the strictest, also of all that one may see, and also for an administrator who names it.
    for names in (["free", "kept"], []):
        for caller in (world.reader, world.admin):
            away = GenerationSettings(provider="openai", model="away-1")
            await world.refused(
                caller.ask(ASKED, collections=names, rerank=NO_RERANK, generation=away), FailedPrecondition, "'kept'"
            )
    answered = await world.reader.answer(ASKED, collections=["kept"], rerank=NO_RERANK, generation=BUILTIN)
    assert "4200" in answered.answer.text
    assert answered.manifest.local_only
    # The verifier is elsewhere: the rules judge alone, and the answer says so.
    assert "VERIFIER_UNAVAILABLE" in {word(one) for one in answered.degradations}
    assert world.outside.received(SECRET, "4200") == []
    # The same deployment gives the texts of others away as before, the verifier included.
    await world.reader.answer("When does the canteen open?", collections=["free"])
    assert {"chat/completions", "rerank", "embeddings"} <= set(world.outside.received("canteen"))


async def test_nothing_of_a_conversation_over_it_leaves_either(world: World) -> None:
    reader = world.reader
    made = await reader.stub.CreateConversation(CreateConversationRequest(collections=["kept"]))
    talk = made.conversation.id
    await reader.answer(ASKED, conversation_id=talk, rerank=NO_RERANK, generation=BUILTIN)
    async with asyncio.timeout(240):
        while True:  # the title is made and the messages are remembered behind the scenes
            found = (await reader.stub.GetConversation(GetConversationRequest(conversation_id=talk))).conversation
            recalled = await reader.stub.SearchMemory(SearchMemoryRequest(query=f"{SECRET} bonus"))
            if found.title and recalled.context:
                break
            await asyncio.sleep(0.1)
    assert found.local_only
    # Its history binds what is asked in it about other collections,
    await world.refused(
        reader.ask("And when does the canteen open?", conversation_id=talk, collections=["free"], rerank=NO_RERANK),
        FailedPrecondition,
        "this conversation",
    )
    # and memory of it is left out of other answers, which say so.
    other = await reader.stub.CreateConversation(CreateConversationRequest(collections=["free"]))
    answered = await reader.answer(
        f"What is the {SECRET} bonus of the canteen?".replace(SECRET, "project"),
        conversation_id=other.conversation.id,
        use_memory=True,
    )
    assert "MEMORY_KEPT_HERE" in {word(one) for one in answered.degradations}
    assert world.outside.received(SECRET, "4200") == []


async def test_embedding_elsewhere_and_keeping_texts_exclude_each_other(world: World) -> None:
    away = EmbeddingSettings(provider="openai", model="away-embed", dimensions=64)
    with pytest.raises(FailedPrecondition, match=r"embedding\.provider=builtin") as caught:
        await create(world.admin, "both", embedding=away, local_only=True)
    assert caught.value.reason == NOT_ALLOWED
    made = await create(world.admin, "away", embedding=away)
    assert (await world.admin.put(b"Penguins march south in April.", "a.txt", "away")).state == DOCUMENT_STATE_INDEXED
    assert world.outside.received("Penguins") == ["embeddings"]
    change = Collection(id=made.id, settings=CollectionSettings(local_only=True))
    mask = FieldMask(paths=["settings.local_only"])
    with pytest.raises(FailedPrecondition) as caught:
        await world.admin.stub.UpdateCollection(
            UpdateCollectionRequest(collection=made.id, resource=change, update_mask=mask)
        )
    assert caught.value.reason == NOT_ALLOWED
    # A search over both would embed the question elsewhere: it is refused, and each alone is not.
    both = SearchRequest(query=f"{SECRET} penguins", collections=["away", "kept"])
    both.settings.strategy = SEARCH_STRATEGY_HYBRID
    await world.refused(world.reader.stub.Search(both), FailedPrecondition, "'kept'", "embedding provider")
    for name in ("away", "kept"):
        alone = SearchRequest(query="penguins", collections=[name])
        assert (await world.reader.stub.Search(alone)).strategy
    assert world.outside.received(SECRET) == []
    await world.admin.stub.DeleteCollection(DeleteCollectionRequest(collection="away"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"prompt": PromptSettings(system_prompt="Be kind. " * 1_000)}, "prompt.system_prompt .* 8000"),
        ({"prompt": PromptSettings(token_budget=100_000)}, "prompt.token_budget must be from 100 to 32000"),
        ({"generation": GenerationSettings(max_tokens=100_000)}, "generation.max_tokens must be from 1 to 16384"),
        ({"generation": GenerationSettings(stop=StringList(values=["x"] * 17))}, "generation.stop"),
        ({"generation": GenerationSettings(temperature=3)}, "generation.temperature must be between 0 and 2"),
        ({"generation": GenerationSettings(model="m" * 400)}, "generation.model"),
        ({"rerank": RerankSettings(top=5000)}, "rerank.top must be between 0 and 1000"),
    ],
)
async def test_what_is_asked_of_a_model_has_bounds(world: World, more: dict[str, Any], words: str) -> None:
    before = len(world.outside.bodies)
    for caller in (world.reader, world.admin):
        with pytest.raises(InvalidArgument, match=words):
            await caller.ask("When does the canteen open?", collections=["free"], **more)
    assert len(world.outside.bodies) == before
    with pytest.raises(InvalidArgument, match=words.split(" ")[0].replace("prompt.", "prompt.")):
        await create(world.admin, "endless", **more)


async def test_no_caller_names_a_path_a_hub_or_an_address(world: World) -> None:
    for model in ("/etc", "../..", "/proc/self/environ"):
        with pytest.raises(FailedPrecondition, match="FOOTNOTE_ONNX_MODELS_DIR") as caught:
            await create(world.admin, "local", embedding=EmbeddingSettings(provider="onnx", model=model))
        assert caught.value.reason == "PROVIDER_UNCONFIGURED"
    for call in (
        create(world.admin, "local", embedding=EmbeddingSettings(provider="onnx", model="org/model")),
        world.admin.ask("When?", collections=["free"], rerank=RerankSettings(provider="onnx", model="org/model")),
    ):
        with pytest.raises(PermissionDenied, match="downloads are off"):
            await call
    for kind, provider in (
        (PROVIDER_KIND_EMBEDDING, "openai"), (PROVIDER_KIND_MODEL, "openai"), (PROVIDER_KIND_RERANKER, "http"),
    ):  # fmt: skip
        for name, value in (("base_url", f"{world.outside.base_url}/stolen"), ("api_key_env", "OPENAI_API_KEY")):
            request = CheckProviderRequest(kind=kind, id=provider)
            request.settings.update({name: value})
            with pytest.raises(InvalidArgument, match=f"{name} is set for the deployment"):
                await world.admin.stub.CheckProvider(request)
    assert not [path for path, _ in world.outside.bodies if "stolen" in path]


async def test_health_of_the_store_tells_of_ones_own_collections_only(world: World) -> None:
    database, keys = await offline(world.running.folder)
    _, stranger = await keys.create("stranger", "rival", "eve", ROLE_ADMIN)
    await database.close()
    request = CheckProviderRequest(kind=PROVIDER_KIND_STORE, id="milvus")
    own = (await world.admin.stub.CheckProvider(request)).health.details
    assert own["collections"] >= 3
    assert own["documents"] >= 3
    async with open_channel(world.running.address(), peer="edge") as channel:
        theirs = (await Caller(channel, stranger).stub.CheckProvider(request)).health
    assert theirs.healthy
    assert {key: theirs.details[key] for key in ("collections", "documents", "chunks", "bytes")} == {
        "collections": 0, "documents": 0, "chunks": 0, "bytes": 0,
    }  # fmt: skip
    assert "rows" not in dict(theirs.details)
    with pytest.raises(PermissionDenied):
        await world.reader.stub.CheckProvider(request)


POLICY = """
[[rules]]
tenants = ["quiet"]
local_only = true
[[rules]]
tenants = ["bank"]
roles = ["reader"]
allow = { model = ["openai:away-*"], reranker = ["lexical", "http"] }
limits = { max_tokens = 50, system_prompt = 20 }
[[rules]]
tenants = ["free"]
choose = { model = ["openai:dear-*"] }
"""


async def test_the_operators_file_rules_by_tenant_and_role(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    data = tmp_path / "data"
    database, keys = await offline(data)
    made = {}
    for tenant in ("quiet", "bank", "free", "other"):
        for name, role in (("reader", ROLE_READER), ("admin", ROLE_ADMIN)):
            _, made[tenant, name] = await keys.create(name, tenant, name, role)
    await database.close()
    async with remote_provider() as outside:
        env = {
            "FOOTNOTE_EDGE_AUTH": "keys",
            "FOOTNOTE_PROVIDER_POLICY_FILE": str(tmp_path / "policy.toml"),
            "FOOTNOTE_GENERATION_PROVIDER": "openai",
            "FOOTNOTE_OPENAI_BASE_URL": outside.base_url,
            "FOOTNOTE_OPENAI_API_KEY": "sk-elsewhere-0123456789",
            "FOOTNOTE_OPENAI_MODEL": "away-1",
        }
        running = Deployment(data, env=env)
        try:
            await asyncio.to_thread(running.start)
            async with open_channel(running.address(), peer="edge") as channel:

                async def ask(tenant: str, role: str, **more: Any) -> str:
                    try:
                        await Caller(channel, made[tenant, role]).ask("When does the canteen open?", **more)
                    except FootnoteError as error:
                        return f"{type(error).__name__} {error.reason}"
                    return "answered"

                dear, away2 = (GenerationSettings(provider="openai", model=name) for name in ("dear-1", "away-2"))
                denied = f"PermissionDenied {NOT_ALLOWED}"
                assert {
                    "quiet": await ask("quiet", "admin"),
                    "quiet, here": await ask("quiet", "reader", generation=BUILTIN),
                    "bank": await ask("bank", "reader"),
                    "bank, not allowed": await ask("bank", "reader", generation=BUILTIN),
                    "bank, admin": await ask("bank", "admin", generation=dear),
                    "bank, allowed but not to choose": await ask("bank", "reader", generation=away2),
                    "bank, long": await ask("bank", "reader", generation=GenerationSettings(max_tokens=51)),
                    "bank, prompt": await ask("bank", "reader", prompt=PromptSettings(system_prompt="x" * 21)),
                    "free, chosen": await ask("free", "reader", generation=dear),
                    "free, not to choose": await ask("free", "reader", generation=away2),
                    "other": await ask("other", "reader", generation=dear),
                } == {
                    "quiet": f"FailedPrecondition {NOT_ALLOWED}",
                    "quiet, here": "answered",
                    "bank": "answered",
                    "bank, not allowed": denied,
                    "bank, admin": "answered",
                    "bank, allowed but not to choose": denied,
                    "bank, long": "InvalidArgument INVALID_FIELD",
                    "bank, prompt": "InvalidArgument INVALID_FIELD",
                    "free, chosen": "answered",
                    "free, not to choose": denied,
                    "other": denied,
                }
                # Defaults are within the limits of the role as well.
                lengths = [body["max_tokens"] for path, body in outside.bodies if path == "chat/completions"]
                assert lengths[0] == 50
                assert max(lengths) == 1024
        finally:
            await asyncio.to_thread(running.stop)
