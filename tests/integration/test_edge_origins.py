"""What an answer was made of is unshared or deleted: nothing of it reaches a reader, memory, a replay or a provider.

A matrix of how a text got into an answer, of what happens to it, and of where it could be seen afterwards.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import (
    RATING_UP,
    AskRequest,
    CreateFeedbackRequest,
    GetAnswerManifestRequest,
    GetAnswerRequest,
    ReplayAnswerRequest,
)
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    GetConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
    SearchMemoryRequest,
)
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.edge.v1.vectors_pb2 import DeleteVectorsRequest
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, ChatMessage, MemoryMessage
from footnote.types.v1.collection_pb2 import ACCESS_READ, VISIBILITY_PRIVATE, Collection, Grant
from footnote_edge.app import build
from footnote_edge.asking import answer_access
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import DeadlineExceeded, FootnoteError, NotFound
from footnote_kit.testing import Served, serve_app
from google.protobuf.field_mask_pb2 import FieldMask
from support.doubles.stages import World, serve_doubles
from support.operations import ended

pytestmark = pytest.mark.full

MADE = ("cited", "uncited", "interrupted", "derived", "rewritten", "regenerated", "withheld", "given back")
HAPPENED = ("unshared", "document deleted", "collection deleted")
UNTOLD = ("row deletion cut", "row expired", "document expired")
"""What happens without a word to edge, which finds it by a comparison."""
TO_MODELS = ("PlanQuery", "Retrieve", "SearchMemory", "RewriteQuestion", "BuildPrompt", "Generate", "GenerateTitle")


class Person:
    """A caller of one tenant, by headers."""

    def __init__(self, served: Served, user: str, role: str) -> None:
        self.stub = EdgeStub(served.channel)
        self.headers = {"x-footnote-tenant": "t", "x-footnote-user": user, "x-footnote-role": role}

    async def call(self, name: str, request: Any) -> Any:
        made = getattr(self.stub, name)(request, metadata=tuple(self.headers.items()), timeout=30)
        return [event async for event in made] if hasattr(made, "__aiter__") else await made


class Case:
    """One way in which a text got into an answer, in a private collection that the reader was let into."""

    def __init__(self, served: Served, world: World, made: str, happened: str, number: int) -> None:
        self.served, self.world = served, world
        self.made, self.happened = made, happened
        self.owner, self.reader = Person(served, "ann", "admin"), Person(served, "rita", "reader")
        self.name, self.mark = f"c{number}", f"moonbrew{number}"
        self.topic = f"tea{number}"
        self.ids: list[str] = []
        self.history: list[ChatMessage] = []

    async def prepare(self) -> None:
        """Upload the document, and create the text."""
        grants = [Grant(user_id="rita", access=ACCESS_READ)]
        collection = Collection(name=self.name, visibility=VISIBILITY_PRIVATE, grants=grants)
        if self.happened in ("unshared", "collection deleted"):
            collection.settings.prompt.system_prompt = f"Speak as {self.mark}."
        made = await self.owner.call("CreateCollection", CreateCollectionRequest(collection=collection))
        text = f"{self.topic} tells {self.mark}."
        if self.happened.startswith("row"):
            self.document = f"docs/{self.topic}#1"
            row = Chunk(document_id=self.document, text=text, filename=self.document, revision=1, tenant_id="t")
            row.id, row.collection_id, row.collection = f"{self.document}:0", made.collection.id, self.name
            self.world.chunks[self.document] = [row]
        else:
            head = UploadMetadata(collection=self.name, filename="a.txt")
            parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text.encode())]
            self.document = (await self.owner.call("UploadDocument", iter(parts))).document.id
            await self.owner.call("WatchDocument", WatchDocumentRequest(document_id=self.document))
        made = await self.reader.call("CreateConversation", CreateConversationRequest(collections=[self.name]))
        self.talk = made.conversation.id
        await getattr(self, f"_{self.made.replace(' ', '_')}")()
        messages = await self.reader.call("ListMessages", ListMessagesRequest(conversation_id=self.talk))
        self.messages = list(messages.messages)
        self.ids += [one.id for one in self.messages if one.role == MESSAGE_ROLE_ASSISTANT]
        assert self.mark in str(self.stored()), "the text was never there"
        await self.world.until(lambda: any(one.conversation_id == self.talk for one in self.world.messages))

    async def ask(self, question: str, **more: Any) -> str:
        events = await self.reader.call("Ask", AskRequest(question=question, **more))
        self.ids.append(events[-1].completed.answer.id)
        return str(events[-1].completed.answer.text)

    async def _cited(self) -> None:
        await self.ask(f"{self.topic} ?", conversation_id=self.talk)

    async def _uncited(self) -> None:
        self.world.says = f"I read that {self.mark} it is."
        await self._cited()

    async def _interrupted(self) -> None:
        self.world.says, self.world.breaks_after = f"I read {self.mark} and then more of it.", 4
        with pytest.raises(FootnoteError):
            await self._cited()

    async def _derived(self) -> None:
        await self._cited()
        self.world.says = f"As I said: {self.mark}."
        await self.ask("hello again", conversation_id=self.talk)

    async def _rewritten(self) -> None:
        await self._cited()
        self.world.says, self.world.rewritten = "Nothing about it.", f"what does {self.mark} say ?"
        await self.ask("and what of that ?", conversation_id=self.talk)

    async def _regenerated(self) -> None:
        """The topic is of the last answer, while the newest is another one for the first question."""
        await self.ask("hello", conversation_id=self.talk)
        first = await self.reader.call("ListMessages", ListMessagesRequest(conversation_id=self.talk))
        await self._rewritten()
        self.world.says, self.world.rewritten = "Hello again.", ""
        await self.reader.call("RegenerateMessage", RegenerateMessageRequest(message_id=first.messages[-1].id))

    async def _withheld(self) -> None:
        """A model repeats an earlier answer where nothing was found."""
        await self._cited()
        self.world.says, self.world.withholds = "Nothing about it.", f"As I said: {self.mark}."
        await self.ask("hello again", conversation_id=self.talk)
        self.world.withholds = ""

    async def _given_back(self) -> None:
        """An answer outside conversations, whose client gives it back as history."""
        said = await self.ask(f"{self.topic} ?", collections=[self.name])
        self.history = [ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text=said)]
        self.world.says = f"As you said: {self.mark}."
        await self.ask("hello again", history=self.history)
        self.world.says = "Nothing about it."
        await self.ask("hello", conversation_id=self.talk)

    async def happen(self) -> None:
        """Unshare or delete."""
        self.world.says = self.world.rewritten = ""
        self.world.breaks_after = 0
        if self.happened == "unshared":
            resource, mask = Collection(name=self.name), FieldMask(paths=["grants"])
            change = UpdateCollectionRequest(collection=self.name, resource=resource, update_mask=mask)
            await self.owner.call("UpdateCollection", change)
        elif self.happened == "document deleted":
            await self.owner.call("DeleteDocument", DeleteDocumentRequest(document_id=self.document))
        elif self.happened == "row deleted":
            await self._delete_row()
        elif self.happened == "row deletion cut":
            self.world.fails_after["DeleteVectors"] = DeadlineExceeded("It takes too long")
            with pytest.raises(DeadlineExceeded):
                await self._delete_row()
        elif self.happened.endswith("expired"):
            self.world.chunks.pop(self.document)
            self.world.documents.pop(self.document, None)
        else:
            gone = await self.owner.call("DeleteCollection", DeleteCollectionRequest(collection=self.name))
            await ended(self.owner.stub, gone.operation, tuple(self.owner.headers.items()))

    async def _delete_row(self) -> None:
        await self.owner.call("DeleteVectors", DeleteVectorsRequest(collection=self.name, ids=[self.document]))

    async def seen(self) -> list[str]:
        """Return where the text is still seen."""
        places: dict[str, Callable[[], Awaitable[Any]]] = {
            "GetAnswer": lambda: self._of_answers("GetAnswer", GetAnswerRequest),
            "GetAnswerManifest": lambda: self._of_answers("GetAnswerManifest", GetAnswerManifestRequest),
            "ListMessages": self._listed,
            "conversation": self._conversation,
            "SearchMemory": self._memory,
            "ReplayAnswer": lambda: self._of_answers("ReplayAnswer", ReplayAnswerRequest),
            "export": self._export,
            "next prompt": self._next_prompt,
            "history of a client": self._client,
        }
        if self.happened != "unshared":
            places["database"] = self._database
        found = []
        for place, look in places.items():
            if self.mark in str(await look()):
                found.append(place)
        return found

    async def _of_answers(self, name: str, request: Any) -> list[Any]:
        found: list[Any] = []
        for one in self.ids:
            try:
                found.append(await self.reader.call(name, request(answer_id=one)))
            except FootnoteError as error:
                found.append(error.message)
        return found

    async def _listed(self) -> Any:
        request = ListMessagesRequest(conversation_id=self.talk, include_superseded=True)
        return await self.reader.call("ListMessages", request)

    async def _conversation(self) -> Any:
        one = await self.reader.call("GetConversation", GetConversationRequest(conversation_id=self.talk))
        every = await self.reader.call("ListConversations", ListConversationsRequest())
        found = await self.reader.call("ListConversations", ListConversationsRequest(query=self.mark))
        return one, every, [self.mark for one in found.conversations]

    async def _memory(self) -> Any:
        self.world.recalled = [
            MemoryMessage(message_id=one.id, conversation_id=self.talk, role=one.role, text=one.text)
            for one in self.messages
        ]
        found = await self.reader.call("SearchMemory", SearchMemoryRequest(query=self.topic))
        self.world.recalled = []
        return found

    async def _export(self) -> str:
        for one in self.ids:
            try:
                await self.reader.call("CreateFeedback", CreateFeedbackRequest(answer_id=one, rating=RATING_UP))
            except NotFound:
                continue
        base = f"http://{self.served.runtime.announced['http']}"
        async with httpx2.AsyncClient(base_url=base, headers=self.reader.headers) as web:
            return (await web.get("/v1/feedback.jsonl")).text

    async def _next_prompt(self) -> Any:
        before = len(self.world.calls)
        for question in ("hello again", "and what of that ?"):
            try:
                await self.reader.call("Ask", AskRequest(question=question, conversation_id=self.talk))
            except FootnoteError:
                continue
        return [request for name, request in self.world.calls[before:] if name in TO_MODELS]

    async def _client(self) -> Any:
        before = len(self.world.calls)
        await self.reader.call("Ask", AskRequest(question="hello again", history=self.history))
        return [request for name, request in self.world.calls[before:] if name in TO_MODELS]

    async def _database(self) -> Any:
        return self.stored()

    def stored(self) -> list[Any]:
        """Return what the database holds, row by row."""
        database = sqlite3.connect(self.served.runtime.data_dir / "edge" / "edge.db", timeout=60)
        rows = []
        for table in ("messages", "conversations"):
            rows += database.execute(f"SELECT * FROM {table}").fetchall()
        database.close()
        return rows


@pytest.fixture
async def running() -> AsyncIterator[tuple[Served, World]]:
    """Edge, and what the doubles behind it do."""
    world = World()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield served, world


async def test_nothing_outlives_what_it_was_made_of(running: tuple[Served, World]) -> None:
    left, places = [], 0
    for number, (made, happened) in enumerate(product(MADE, HAPPENED)):
        case = Case(*running, made, happened, number)
        await case.prepare()
        await case.happen()
        seen = await case.seen()
        places += 9 + (happened != "unshared")
        left += [f"{made}, {happened}: {place}" for place in seen]
    if left:
        pytest.fail(f"{len(left)} of {places} places:\n" + "\n".join(left), pytrace=False)


@pytest.mark.parametrize("happened", UNTOLD)
async def test_what_goes_without_a_word_is_found(monkeypatch: pytest.MonkeyPatch, happened: str) -> None:
    if happened != "row deletion cut":
        monkeypatch.setenv("FOOTNOTE_EDGE_COMPARE_SECONDS", "0.2")
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.2")
    world = World()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        stays = Case(served, world, "cited", happened, 2)
        await stays.prepare()
        case = Case(served, world, "derived", happened, 1)
        await case.prepare()
        await case.happen()
        async with asyncio.timeout(60):
            while case.mark in str(case.stored()):  # noqa: ASYNC110 - only the database knows
                await asyncio.sleep(0.05)
        assert await case.seen() == []
        assert stays.mark in str(stays.stored())


@pytest.mark.parametrize("happened", [*HAPPENED, "row deleted"])
@pytest.mark.parametrize("looked_after", [True, False])
async def test_an_answer_ends_when_what_it_is_made_of_goes(
    running: tuple[Served, World], monkeypatch: pytest.MonkeyPatch, happened: str, looked_after: bool
) -> None:
    """It ends while the model still speaks; an answer that nothing looks after is refused when it is to be kept."""
    served, world = running
    if not looked_after:
        monkeypatch.setattr(answer_access, "CHECK_SECONDS", 3600)
    case = Case(served, world, "cited", happened, 1)
    await case.prepare()
    stored, before = len(case.stored()), len(world.requests("Generate"))
    world.gates["Generate"] = gate = asyncio.Event()
    asking = asyncio.create_task(case.ask(f"{case.topic} ?", conversation_id=case.talk))
    alone = asyncio.create_task(case.ask(f"{case.topic} ?", collections=[case.name]))
    await world.until(lambda: len(world.requests("Generate")) >= before + 2)
    await case.happen()
    if not looked_after:
        gate.set()
    for one in (asking, alone):
        with pytest.raises(NotFound) as caught:
            await asyncio.wait_for(one, 30)
        assert caught.value.reason in ("COLLECTION_NOT_FOUND", "DOCUMENT_NOT_FOUND")
    gate.set()
    if happened != "unshared":
        assert case.mark not in str(case.stored())
    assert len(case.stored()) == stored + 1, "the question alone is kept"
    assert await case.seen() == []
