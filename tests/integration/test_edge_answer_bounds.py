"""The longest answer that a tenant's roles may ask for: one rule of the operator, the same at every door."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from footnote.edge.v1.answers_pb2 import AskRequest, ReplayAnswerRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    EditMessageRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
)
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, GenerationSettings
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_edge.app import build
from footnote_edge.offline import keys as offline
from footnote_generation.app import build as build_generation
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import Served, serve_app
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from support.answer_parts import EVERY_PART
from support.doubles.model_chat import Finish, ModelServer, Say, serve_model
from support.doubles.stages import World, serve_doubles

pytestmark = [pytest.mark.full, pytest.mark.asyncio(loop_scope="module")]

POLICY = """
[limits]
max_tokens = 4000
[[rules]]
tenants = ["bank"]
roles = ["reader"]
limits = { max_tokens = 500 }
[[rules]]
tenants = ["bank"]
collections = ["dear*"]
limits = { max_tokens = 200 }
"""
BOUNDS = {"reader": 500, "writer": 4000, "admin": 4000, "stranger": 4000, "outsider": 4000}
WHO = {
    "reader": ("bank", ROLE_READER),
    "writer": ("bank", ROLE_WRITER),
    "admin": ("bank", ROLE_ADMIN),
    "stranger": ("school", ROLE_READER),
    "outsider": ("school", ROLE_ADMIN),
}
TITLE = 32
"""Tokens that a title may take."""
STREAMS = ("http stream", "openai stream")
DOORS = ("grpc", "http", "http stream", "openai", "openai stream", "regenerate", "edit")


class Bank:
    """The deployment and who calls it."""

    def __init__(self, served: Served, model: ModelServer, keys: dict[str, str]) -> None:
        self.stub = EdgeStub(served.channel)
        self.url = f"http://{served.runtime.announced['http']}"
        self.model = model
        self.keys = keys

    def head(self, who: str) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.keys[who]}"),)

    def asked_for(self) -> int:
        """Return the longest answer that the model was last asked for."""
        return next(one for one in reversed(self.answers()))

    def answers(self) -> list[int]:
        """Return the longest answer that the model was asked for, each time that it was not for a title."""
        return [most for one in self.model.seen if (most := int(one.body["max_tokens"])) != TITLE]

    async def ask(self, who: str, door: str, most: int | None, collection: str = "") -> str:
        """Ask by a door; return the refusal, "" for an answer."""
        generation = GenerationSettings(max_tokens=most) if most is not None else GenerationSettings()
        if door in ("grpc", "regenerate", "edit"):
            try:
                await self._grpc(who, door, generation, [collection] if collection else [])
            except InvalidArgument as error:
                return f"{error.reason} {error.violations[0].field}: {error.message}"
            return ""
        body: dict[str, Any]
        if door.startswith("http"):
            body = {"question": "tea ?", "collections": [collection] if collection else []}
            body |= {"generation": {"maxTokens": most}} if most is not None else {}
            path, accept = "/v1/ask", "text/event-stream" if door in STREAMS else "application/json"
        else:
            body = {"model": collection or "footnote", "messages": [{"role": "user", "content": "tea ?"}]}
            body |= {"stream": door in STREAMS} | ({"max_tokens": most} if most is not None else {})
            path, accept = "/v1/chat/completions", "*/*"
        async with httpx2.AsyncClient(base_url=self.url, headers=self.head(who), timeout=60) as http:
            answer = await http.post(path, json=body, headers={"accept": accept})
        # The model was asked: its words, or the not-found sentence, since it was given no source.
        if "Fine." in answer.text or "found no passage" in answer.text:
            return ""
        if door not in STREAMS:
            assert answer.status_code == 400, answer.text
        return answer.text

    async def _grpc(self, who: str, door: str, generation: GenerationSettings, collections: list[str]) -> None:
        head, stub = self.head(who), self.stub
        if door == "grpc":
            request = AskRequest(question="tea ?", collections=collections, generation=generation)
            async for _ in stub.Ask(request, metadata=head, timeout=60):
                pass
            return
        made = await stub.CreateConversation(CreateConversationRequest(collections=collections), metadata=head)
        conversation = made.conversation.id
        async for _ in stub.Ask(AskRequest(question="tea ?", conversation_id=conversation), metadata=head, timeout=60):
            pass
        kept = await stub.ListMessages(ListMessagesRequest(conversation_id=conversation), metadata=head)
        question = kept.messages[0].id
        if door == "regenerate":
            again = RegenerateMessageRequest(message_id=question, generation=generation)
            events = stub.RegenerateMessage(again, metadata=head, timeout=60)
        else:
            edited = EditMessageRequest(message_id=question, text="coffee ?", generation=generation)
            events = stub.EditMessage(edited, metadata=head, timeout=60)
        async for _ in events:
            pass


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def bank(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bank]:
    """Edge and generation under an operator's policy, with keys of each role."""
    tmp_path = tmp_path_factory.mktemp("bank")
    (tmp_path / "policy.toml").write_text(POLICY)
    database, keys = await offline(tmp_path / "data")
    made = {name: (await keys.create(name, tenant, name, role))[1] for name, (tenant, role) in WHO.items()}
    await database.close()
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with serve_model() as model:
            for name, value in {
                "FOOTNOTE_EDGE_AUTH": "keys",
                "FOOTNOTE_PROVIDER_POLICY_FILE": str(tmp_path / "policy.toml"),
                "FOOTNOTE_OPENAI_BASE_URL": model.url,
                "FOOTNOTE_OPENAI_API_KEY": "sk-test-key-of-no-value",
                "FOOTNOTE_GENERATION_PROVIDER": "openai",
                "FOOTNOTE_GENERATION_MODEL": "scripted",
            }.items():
                monkeypatch.setenv(name, value)
            model.script([Say(["Fine."]), Finish()])
            async with serve_doubles(World()) as doubles, serve_app(build_generation) as generation:
                addresses = {**doubles, "generation": generation.address}
                async with serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as served:
                    running = Bank(served, model, made)
                    settings = CollectionSettings(generation=GenerationSettings(max_tokens=3000))
                    for name, owner in (
                        ("dear", "admin"),
                        ("cheap", "admin"),
                        ("plain", "admin"),
                        ("plain", "outsider"),
                    ):
                        collection = Collection(name=name, settings=settings if name == "cheap" else None)
                        request = CreateCollectionRequest(collection=collection)
                        await running.stub.CreateCollection(request, metadata=running.head(owner))
                    yield running


def refused(told: str, bound: int) -> bool:
    """Return whether a refusal names the field, the bound, and the setting that raises it."""
    return all(word in told for word in ("generation.max_tokens", f"from 1 to {bound}", "operator", "provider policy"))


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("door", DOORS)
async def test_nobody_asks_for_more_than_the_operator_lets_them(bank: Bank, door: str, who: str) -> None:
    bound = BOUNDS[who]
    assert await bank.ask(who, door, bound, "plain") == ""
    assert bank.asked_for() == bound
    questions = len(bank.answers())
    told = await bank.ask(who, door, bound + 1, "plain")
    assert refused(told, bound), told
    # Regenerated; the first answer was asked for without settings.
    assert bank.answers()[questions:] in ([], [min(1024, bound)])


@pytest.mark.parametrize("who", ["reader", "admin"])
@pytest.mark.parametrize("door", DOORS)
async def test_a_rule_of_a_collection_counts_at_every_door(bank: Bank, door: str, who: str) -> None:
    assert await bank.ask(who, door, 200, "dear") == ""
    assert bank.asked_for() == 200
    told = await bank.ask(who, door, 201, "dear")
    assert refused(told, 200), told


@pytest.mark.parametrize("door", DOORS)
async def test_what_nobody_wished_for_is_within_the_bound(bank: Bank, door: str) -> None:
    assert await bank.ask("reader", door, None, "cheap") == ""
    assert bank.asked_for() == 500
    assert await bank.ask("writer", door, None, "cheap") == ""
    assert bank.asked_for() == 3000


@pytest.mark.parametrize(
    ("who", "collection", "bound"),
    [("reader", "cheap", 500), ("writer", "cheap", 3000), ("writer", "plain", 1024), ("writer", "dear", 200)],
)
async def test_a_program_that_cannot_wish_is_within_the_bound(
    bank: Bank, who: str, collection: str, bound: int
) -> None:
    async with (
        httpx2.AsyncClient(headers=bank.head(who), timeout=60) as http,
        Client(streamable_http_client(f"{bank.url}/mcp", http_client=http)) as client,
    ):
        result = await client.call_tool("ask", {"question": "tea ?", "collections": [collection]})
        assert not result.is_error, result
    assert bank.asked_for() == bound


async def test_a_search_of_everything_is_bound_by_each_collection(bank: Bank) -> None:
    # "dear" is visible to an administrator; a caller that names no collection searches it too.
    before = len(bank.answers())
    told = await bank.ask("admin", "grpc", 201)
    assert refused(told, 200), told
    assert len(bank.answers()) == before


async def test_what_counted_is_told_and_can_be_made_again(bank: Bank) -> None:
    head = bank.head("reader")
    request = AskRequest(question="tea ?", collections=["cheap"], include=EVERY_PART)
    events = [event async for event in bank.stub.Ask(request, metadata=head, timeout=60)]
    completed = events[-1].completed
    assert completed.manifest.generation.max_tokens == 500
    again = await bank.stub.ReplayAnswer(ReplayAnswerRequest(answer_id=completed.answer.id), metadata=head, timeout=60)
    assert bank.asked_for() == 500
    assert not [one for one in again.differences if "max" in json.dumps(one.then + one.now).lower()]
