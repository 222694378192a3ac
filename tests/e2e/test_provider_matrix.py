"""Who lets a provider elsewhere have texts: every collection whose texts it would be given, at every door.

A tenant for each way in which its two collections, staff's and the public one, allow a provider. What counts is what
the provider was given, besides what the caller was told.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, SearchMemoryRequest
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER
from footnote_edge.offline import keys as offline
from footnote_kit.clients import open_channel
from footnote_kit.errors import FootnoteError
from google.protobuf.json_format import MessageToDict, ParseDict
from support.answer_parts import EVERY_PART
from support.deployment import Deployment
from support.doubles.remote_provider import RemoteProvider, remote_provider
from support.edge_client import EdgeClient, Keyed

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

NOT_ALLOWED = "PROVIDER_NOT_ALLOWED"
MARKS = {"staff": "zebrafinch", "public": "porridge"}
"""Words that stand in the documents of a collection and in no question."""
TEXTS = {
    "staff": f"The project pays a bonus of 4200 euros in March, says the {MARKS['staff']} paper.",
    "public": f"The canteen of the project pays for {MARKS['public']} until nine.",
}
ASKED = "Which bonus does the project pay?"
ASKED_OF_STAFF, OF_QUESTION = "Which bonus does the project pay in heronweek?", "heronweek"
"""A question about staff's documents, and its own word: it has no sources, and is as much about them as its answer."""
HERE: dict[str, Any] = {
    "generation": {"provider": "builtin", "model": "", "second_opinion": False},
    "rerank": {"provider": "none", "model": ""},
}
ELSEWHERE: dict[str, dict[str, Any]] = {
    "model": {"generation": {"provider": "openai", "model": "away-1", "second_opinion": False}},
    "verifier": {"generation": {"provider": "openai", "model": "away-1", "second_opinion": True}},
    "reranker": {"rerank": {"provider": "http"}},
    "embedder": {"rerank": {"provider": "cosine", "model": "away-embed", "settings": {"provider": "openai"}}},
}
"""Settings by which a collection allows, or a question names, a provider on another machine."""
BOTH, STAFF, PUBLIC, NEITHER, KEPT = "both", "staff", "public", "neither", "staff keeps its texts, public"
WAYS = ("explicit", "none", "document_ids", "history", "memory")


@dataclass(frozen=True, slots=True)
class Cell:
    """One question: which collections allow what, how its texts come together, and at which door it is asked."""

    kind: str
    allowing: str
    way: str
    door: str
    named: bool

    @property
    def tenant(self) -> str:
        """The tenant whose collections are set so."""
        return f"{self.kind}-{self.allowing}".replace(" ", "-").replace(",", "")

    def allows(self, collection: str) -> bool:
        """Whether a collection lets the provider have its texts."""
        return self.allowing == BOTH or collection in self.allowing.removeprefix("staff keeps its texts, ")

    @property
    def asks(self) -> set[str]:
        """The collections that are asked, by themselves or through the conversation."""
        return {"public"} if self.way in ("history", "memory") else {"staff", "public"}

    @property
    def refused(self) -> bool:
        """Whether the question must be refused: memory is left out instead."""
        needs = self.asks | ({"staff"} if self.way == "history" else set())
        # What several collections do not say alike is the deployment's choice, which runs here.
        # A reranker that no caller names is left out where it may not be given the texts.
        of_answer = self.kind in ("model", "verifier")
        chosen = self.named or (of_answer and all(map(self.allows, self.asks)))
        return chosen and not all(map(self.allows, needs))


def cells() -> Iterator[Cell]:
    """Every cell that its door can ask."""
    for kind, allowing, way in product(ELSEWHERE, (BOTH, STAFF, PUBLIC, NEITHER, KEPT), WAYS):
        for door in ("grpc", "http", "sse"):
            yield from (Cell(kind, allowing, way, door, named) for named in (True, False))
        if way in ("none", "history"):
            yield Cell(kind, allowing, way, "openai", named=False)
        if way in ("none", "explicit"):
            yield Cell(kind, allowing, way, "mcp", named=False)


class Place:
    """The deployment, the provider elsewhere, and what the tenants have put into it."""

    def __init__(
        self, outside: RemoteProvider, channel: Any, web: httpx2.AsyncClient, keys: dict[tuple[str, str], str]
    ) -> None:
        self.outside, self.keys = outside, keys
        # One for all cells: each client of HTTP reads all certificates when it is made.
        self.channel, self.web = channel, web
        self.documents: dict[tuple[str, str], str] = {}
        self.said: dict[str, str] = {}
        self.prepared: set[str] = set()

    def client(self, tenant: str, role: str) -> EdgeClient:
        """Return a client with the key of a tenant's reader or administrator."""
        client = EdgeClient(self.channel)
        client.stub = Keyed(client.stub, self.keys[tenant, role])  # type: ignore[assignment]
        return client

    async def prepare(self, cell: Cell) -> None:
        """Make a tenant's collections, a document in each, and a conversation about staff's."""
        if cell.tenant in self.prepared:
            return
        self.prepared.add(cell.tenant)
        admin, reader = self.client(cell.tenant, "admin"), self.client(cell.tenant, "reader")
        for name, text in TEXTS.items():
            settings = ParseDict(ELSEWHERE[cell.kind] if cell.allows(name) else HERE, CollectionSettings())
            settings.local_only = cell.allowing == KEPT and name == "staff"
            collection = Collection(name=name, settings=settings)
            await admin.stub.CreateCollection(CreateCollectionRequest(collection=collection))
            document = await admin.put(text.encode(), f"{name}.txt", name)
            assert document.state == DOCUMENT_STATE_INDEXED, document
            self.documents[cell.tenant, name] = document.id
        first = await self.about_staff(reader)
        assert MARKS["staff"] in first.answer.text, first.answer
        self.said[cell.tenant] = first.answer.text
        async with asyncio.timeout(240):
            while True:  # remembered behind the scenes
                if MARKS["staff"] in (await reader.stub.SearchMemory(SearchMemoryRequest(query=ASKED))).context:
                    break
                await asyncio.sleep(0.25)  # a job of its own, begun within a second

    async def about_staff(self, reader: EdgeClient) -> AskCompleted:
        """Begin a conversation by a question about staff's documents, answered on this machine."""
        made = await reader.stub.CreateConversation(CreateConversationRequest(collections=["staff"]))
        here = ParseDict(HERE, AskRequest())
        return await reader.answer(
            ASKED_OF_STAFF,
            conversation_id=made.conversation.id,
            use_memory=False,
            generation=here.generation,
            rerank=here.rerank,
        )

    async def run(self, cell: Cell) -> str:
        """Ask a cell's question; return "answered" or the reason of the refusal."""
        request = AskRequest(question=ASKED, include=EVERY_PART)
        if cell.named:
            request.MergeFrom(ParseDict(ELSEWHERE[cell.kind], AskRequest()))
        if cell.way in ("history", "memory"):
            request.collections.append("public")
        if cell.way == "explicit":
            request.collections.extend(["staff", "public"])
        if cell.way == "document_ids":
            request.document_ids.append(self.documents[cell.tenant, "staff"])
        reader = self.client(cell.tenant, "reader")
        if cell.way == "history" and cell.door != "openai":
            # In a conversation of its own: what one cell says must not be another's history.
            request.conversation_id, request.use_memory = (await self.about_staff(reader)).conversation_id, False
        if cell.way == "memory":
            made = await reader.stub.CreateConversation(CreateConversationRequest(collections=["public"]))
            request.conversation_id, request.use_memory = made.conversation.id, True
        ask = getattr(self, f"_{cell.door}")
        return str(await ask(cell, request))

    async def _grpc(self, cell: Cell, request: AskRequest) -> str:
        try:
            events = [one async for one in self.client(cell.tenant, "reader").stub.Ask(request, timeout=60)]
        except FootnoteError as error:
            return error.reason
        return "answered" if events[-1].completed.answer.text else "nothing"

    async def _http(self, cell: Cell, request: AskRequest, accept: str = "application/json") -> str:
        body = MessageToDict(request, preserving_proto_field_name=True)
        answer = await self.web.post("/v1/ask", json=body, headers=self._head(cell, accept=accept))
        return NOT_ALLOWED if NOT_ALLOWED in answer.text else "answered" if answer.status_code == 200 else answer.text

    async def _sse(self, cell: Cell, request: AskRequest) -> str:
        return await self._http(cell, request, "text/event-stream")

    async def _openai(self, cell: Cell, request: AskRequest) -> str:
        spoken = [{"role": "user", "content": ASKED}]
        if cell.way == "history":
            spoken += [{"role": "assistant", "content": self.said[cell.tenant]}, *spoken]
        model = "public" if cell.way == "history" else "footnote"
        asked = {"model": model, "messages": spoken}
        answer = await self.web.post("/v1/chat/completions", json=asked, headers=self._head(cell))
        if answer.status_code == 200:
            return "answered"
        return str(answer.json()["error"]["code"]).upper()

    async def _mcp(self, cell: Cell, request: AskRequest) -> str:
        arguments = {"question": ASKED, "collections": list(request.collections)}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": arguments}}
        head = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
        answer = await self.web.post("/mcp", json=call, headers=self._head(cell, **head))
        if NOT_ALLOWED in answer.text or "administrator" in answer.text:
            return NOT_ALLOWED
        return "answered" if '"isError":false' in answer.text.replace(" ", "") else answer.text

    def _head(self, cell: Cell, **more: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.keys[cell.tenant, 'reader']}", **more}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A deployment before a provider elsewhere, with a reader and an administrator in each tenant."""
    folder: Path = tmp_path_factory.mktemp("providers")
    database, keys = await offline(folder)
    made = {}
    for tenant in sorted({cell.tenant for cell in cells()}):
        for name, role in (("reader", ROLE_READER), ("admin", ROLE_ADMIN)):
            _, made[tenant, name] = await keys.create(name, tenant, name, role)
    await database.close()
    async with remote_provider() as outside, AsyncExitStack() as stack:
        env = {
            "FOOTNOTE_EDGE_AUTH": "keys",
            "FOOTNOTE_OPENAI_BASE_URL": outside.base_url,
            "FOOTNOTE_OPENAI_API_KEY": "sk-elsewhere-0123456789",
            "FOOTNOTE_OPENAI_MODEL": "away-2",
            "FOOTNOTE_OPENAI_EMBEDDING_MODEL": "away-embed",
            "FOOTNOTE_AUGMENTATION_RERANK_URL": f"{outside.base_url}/rerank",
        }
        running = Deployment(folder, env=env)
        stack.push_async_callback(asyncio.to_thread, running.stop)
        await asyncio.to_thread(running.start)
        channel = await stack.enter_async_context(open_channel(running.address(), peer="edge"))
        web = httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60)
        yield Place(outside, channel, await stack.enter_async_context(web), made)


async def judged(place: Place, chosen: list[Cell]) -> tuple[dict[Cell, str], int]:
    """Ask every cell; return what is wrong of which, and after how many the provider had been given something."""
    wrong: dict[Cell, str] = {}
    given = 0
    for cell in chosen:
        await place.prepare(cell)
        before = len(place.outside.bodies)
        told = await place.run(cell)
        given += len(place.outside.bodies) > before
        marks = [*MARKS.items(), ("staff", OF_QUESTION)]
        leaked = [name for name, mark in marks if place.outside.received(mark, since=before)]
        problems = [f"{name}'s text was sent" for name in leaked if not cell.allows(name)]
        expected = NOT_ALLOWED if cell.refused else "answered"
        if told != expected:
            problems.append(f"{told}, not {expected}")
        if problems:
            wrong[cell] = "; ".join(problems)
    return wrong, given


def checked(wrong: dict[Cell, str], asked: int, given: int) -> None:
    """Fail with what is wrong, or where the provider was never given anything, which would show nothing."""
    if wrong:
        sent = sum("sent" in one for one in wrong.values())
        told = "\n".join(f"{cell}: {problem}" for cell, problem in wrong.items())
        pytest.fail(f"{len(wrong)} of {asked} cells, texts sent in {sent}:\n{told}", pytrace=False)
    assert given, "the provider was never given anything: the matrix shows nothing"


@pytest.mark.parametrize("door", ["grpc", "http", "sse", "openai", "mcp"])
async def test_a_provider_gets_the_texts_of_collections_that_all_allow_it(place: Place, door: str) -> None:
    chosen = [cell for cell in cells() if cell.door == door]
    wrong, given = await judged(place, chosen)
    checked(wrong, len(chosen), given)
