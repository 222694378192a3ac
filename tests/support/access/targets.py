"""The things that are guarded: collections with documents, conversations, feedback and traces, full of canaries."""

import asyncio
import random
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
from footnote.edge.v1.answers_pb2 import (
    RATING_UP,
    AskRequest,
    CreateFeedbackRequest,
    ListFeedbackRequest,
    SearchRequest,
)
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, GetConversationRequest, ListMessagesRequest
from footnote.edge.v1.documents_pb2 import (
    DownloadDocumentRequest,
    DownloadDocumentResponse,
    ListDocumentsRequest,
    QueryChunksRequest,
    ReindexDocumentsRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.edge.v1.operations_pb2 import Operation
from footnote.edge.v1.sources_pb2 import CreateSourceRequest, ListSourceItemsRequest, ListSourcesRequest
from footnote.edge.v1.vectors_pb2 import AddVectorsRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.edge import EdgeStub
from google.protobuf.json_format import MessageToDict, ParseDict

from support.access.people import Cast, Grant, Person, Right, right_in, word
from support.operations import ended

Stub = Any
SETTLE_SECONDS = 60
MOST_ASKED = 5


@dataclass
class Target:
    """A collection with everything in it that the matrix tries to reach, and whose it is."""

    label: str
    owner: Person
    private: bool
    manager: Person
    """An administrator of its tenant, who sees all of it."""
    grants: Sequence[Grant] = ()
    names: dict[str, Any] = field(default_factory=dict)
    """What its things are called, by the names that `fields.FILLERS` uses."""
    content: set[str] = field(default_factory=set)
    """Canaries visible to its readers."""
    managed: set[str] = field(default_factory=set)
    """Canaries visible to those that may change its grants."""
    personal: set[str] = field(default_factory=set)
    """Canaries for its owner alone: conversation and messages."""
    feedback: set[str] = field(default_factory=set)
    """Canaries for its owner and the tenant's administrators."""
    sources: set[str] = field(default_factory=set)
    """Canaries visible to its writers."""
    secrets: set[str] = field(default_factory=set)
    """Canaries that no answer, file or log may hold."""
    text: bytes = b""
    spent: bool = False
    apart: bool = False
    """Whether its conversations ask its own collection alone."""

    def right(self, person: Person) -> Right:
        """Return what a person may do in it."""
        return right_in(person, self.owner.tenant, self.owner.user, self.private, self.grants)

    def is_owner(self, person: Person) -> bool:
        """Whether its conversation is this person's."""
        return bool(person.role) and (person.tenant, person.user) == (self.owner.tenant, self.owner.user)

    def administers(self, person: Person) -> bool:
        return person.role == "admin" and person.tenant == self.owner.tenant

    def hidden_from(self, person: Person) -> set[str]:
        """Return the canaries that must never reach a person."""
        hidden = set(self.secrets)
        if self.right(person) < Right.WRITE:
            hidden |= self.sources
        if self.right(person) < Right.READ:
            hidden |= self.content
        if self.right(person) < Right.MANAGE:
            hidden |= self.managed
        if not self.is_owner(person):
            hidden |= self.personal
            if not self.administers(person):
                hidden |= self.feedback
        return hidden

    def absent(self) -> dict[str, Any]:
        """Return names as this target's that nothing ever had; what is searched for stays the same."""
        kept = ("key", "dimensions", "grant", "page_token")
        return {name: value if name in kept else alike(value) for name, value in self.names.items()}


def alike(value: str) -> str:
    """Return another name of the same length and form, as good as surely nobody's."""
    kinds = {"0123456789": "0123456789abcdef", "abcdef": "0123456789abcdef"}
    if not re.fullmatch(r"[0-9a-f:-]+", value):
        kinds = {"0123456789": "0123456789", "abcdefghijklmnopqrstuvwxyz": "bcdfghjklmnpqrstvwxz"}
    made = []
    for letter in value:
        pool = next((pool for letters, pool in kinds.items() if letter in letters), letter)
        made.append(random.choice(pool))  # a matrix makes a million of these letters
    return "".join(made)


class Seeder:
    """Creates targets through the public API, each with its owner's key."""

    def __init__(self, stub: EdgeStub, cast: Cast, watched: Path | None = None) -> None:
        self.stub: Stub = stub
        self.cast = cast
        self.watched = watched
        """A folder that sources of the deployment may read; without it none has an item."""
        self.faults: list[str] = []
        """What the contracts allow but could not be done."""

    def key(self, person: Person) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.cast.keys[person]}"),)

    def maker(self, person: Person) -> tuple[tuple[str, str], ...]:
        """Return the key that makes a person's collections: its own, or one that it had before."""
        return (("authorization", f"Bearer {self.cast.makers.get(person, self.cast.keys[person])}"),)

    async def make(
        self, label: str, owner: Person, manager: Person, *, private: bool = True, grants: Sequence[Grant] = ()
    ) -> Target:
        """Make a collection with a document, a failed one, a reindexed one, a conversation, feedback and a trace."""
        target = Target(label, owner, private, manager, grants)
        await self.collection(target)
        await asyncio.gather(self._documents(target), self._failed(target))
        await self._vector(target)
        target.names["source_id"] = await self.source(target)
        if self.watched is not None:
            await self._followed(target, self.watched)
        await self._conversation(target)
        target.names["grant"] = Grant(Right.WRITE, user=owner.user).json()
        return target

    async def collection(self, target: Target) -> None:
        """Make the collection alone."""
        secret, name = word("aa"), word("name")
        collection = {
            "name": name,
            "description": f"About {secret}",
            "metadata": {"about": word("ab")},
            "visibility": "VISIBILITY_PRIVATE" if target.private else "VISIBILITY_SHARED",
        }
        request = ParseDict({"collection": collection}, CreateCollectionRequest())
        made = (await self.stub.CreateCollection(request, metadata=self.maker(target.owner))).collection
        target.names |= {"collection": name, "collection_id": made.id}
        target.names["dimensions"] = made.settings.embedding.dimensions
        target.content |= {made.id, name, secret, collection["metadata"]["about"]}
        if target.private:
            # A user who never calls, so that the list of grants has a canary too.
            phantom = Grant(Right.READ, user=word("phantom"))
            if await self._share(target, [*target.grants, phantom]):
                target.managed.add(phantom.user)

    async def _share(self, target: Target, grants: Sequence[Grant]) -> bool:
        resource = {"grants": [grant.json() for grant in grants]}
        change = {"collection": target.names["collection"], "resource": resource}
        request = ParseDict({**change, "update_mask": "grants"}, UpdateCollectionRequest())
        try:
            await self.stub.UpdateCollection(request, metadata=self.maker(target.owner))
        except grpc.aio.AioRpcError as error:
            self.faults.append(f"UpdateCollection with grants by the owner ({target.owner.role}): {error.details()}")
            return False
        return True

    async def _documents(self, target: Target) -> None:
        names = target.names
        names |= {"key": word("key"), "filename_part": word("file"), "tag": word("tag"), "shelf": word("shelf")}
        secret, more, whole = word("secret"), word("meta"), word("rest")
        table = f"| Key | Code word |\n| --- | --- |\n| {names['key']} | {secret} |\n"
        target.text = f"The code word of {names['key']} is {secret}.\n\n{table}".encode()
        head = {
            "filename": f"{names['filename_part']}-{whole}.md",
            "tags": [names["tag"]],
            "metadata": {"shelf": names["shelf"], "more": more},
        }
        document = await self.upload(target, target.text, head, self.maker(target.owner))
        again = ReindexDocumentsRequest(document_ids=[document.id])
        begun = (await self.stub.ReindexDocuments(again, metadata=self.maker(target.owner))).operation
        await ended(self.stub, begun, self.maker(target.owner))
        names["operation_id"] = begun.id
        target.feedback.add(begun.id)  # visible like feedback: to its author, and to administrators
        document = await self.settle(document.id, self.key(target.manager))
        assert document.state == DOCUMENT_STATE_INDEXED, document
        names["document_id"] = document.id
        names["chunk_id"] = f"{document.id}:{document.revision:06d}:0000000"
        target.content |= {document.id, document.sha256, secret, more, whole, names["tag"], names["shelf"]}
        target.content |= {names["filename_part"], names["key"]}

    async def _failed(self, target: Target) -> None:
        blank = b" " * secrets.randbelow(5000) + b"\n" * secrets.randbelow(5000) + b"\n"
        name = word("failed")
        document = await self.upload(target, blank, {"filename": f"{name}.txt"}, self.maker(target.owner))
        assert document.state == DOCUMENT_STATE_ERROR, document
        target.names["failed_id"] = document.id
        target.content |= {document.id, document.sha256, name}

    async def _vector(self, target: Target) -> None:
        """Add a row of own vectors besides the documents."""
        identity, secret = word("row"), word("brought")
        row = VectorRow(id=identity, text=f"Brought along: {secret}", vector=[0.5] * target.names["dimensions"])
        row.metadata["shelf"] = target.names["shelf"]
        request = AddVectorsRequest(collection=target.names["collection_id"], rows=[row])
        await self.stub.AddVectors(request, metadata=self.maker(target.owner))
        target.names["vector_id"] = identity
        target.content |= {identity, secret}

    async def _followed(self, target: Target, watched: Path) -> None:
        """Add a source of a folder, and wait for its document."""
        below, filename = word("below"), word("item")
        (watched / below).mkdir(parents=True)
        (watched / below / f"{filename}.txt").write_text(f"An item that holds {word('followed')}.\n")
        made = await self._source(target, "folder", {"path": str(watched / below)}, {}, paused=False)
        key = self.key(target.manager)
        await ended(self.stub, Operation(id=made.operation_id), key)
        found = await self.stub.ListSourceItems(ListSourceItemsRequest(source_id=made.id), metadata=key)
        target.names["source_id"] = made.id
        target.sources |= {made.name, below}
        target.content |= {filename, found.items[0].document_id}

    async def source(self, target: Target) -> str:
        """Add a paused source with a secret; return its id."""
        address, secret = word("address"), word("password")
        settings = {"url": f"https://git.invalid/{address}.git"}
        made = await self._source(target, "git", settings, {"password": secret}, paused=True)
        target.sources |= {made.name, address}
        target.secrets.add(secret)
        return str(made.id)

    async def _source(
        self, target: Target, kind: str, settings: dict[str, str], secrets: dict[str, str], *, paused: bool
    ) -> Any:
        source = {"name": word("source"), "collection": target.names["collection_id"], "kind": kind}
        more = {"settings": settings, "secrets": secrets, "paused": paused, "interval": "2000000s"}
        request = ParseDict({"source": {**source, **more}}, CreateSourceRequest())
        return (await self.stub.CreateSource(request, metadata=self.maker(target.owner))).source

    async def upload(self, target: Target, content: bytes, head: dict[str, Any], key: Any) -> Any:
        """Upload into a target and wait for the end."""
        about = ParseDict({**head, "collection": target.names["collection_id"]}, UploadMetadata())
        parts = [UploadDocumentRequest(metadata=about), UploadDocumentRequest(data=content)]
        document = (await self.stub.UploadDocument(iter(parts), metadata=key, timeout=30)).document
        return await self.settle(document.id, self.key(target.manager))

    async def settle(self, document_id: str, key: Any) -> Any:
        """Wait for a document's end and return it."""
        document = None
        watched = self.stub.WatchDocument(
            WatchDocumentRequest(document_id=document_id), metadata=key, timeout=SETTLE_SECONDS
        )
        async for event in watched:
            document = event.document
        return document

    async def _conversation(self, target: Target) -> None:
        key, secret, title, comment = self.key(target.owner), word("asked"), word("title"), word("comment")
        await self.conversation(target, title)
        question = f"What is the code word of {target.names['key']}? And {secret}?"
        asked = AskRequest(question=question, conversation_id=target.names["conversation_id"])
        done = await self._answer(asked, key)
        rated = CreateFeedbackRequest(answer_id=done.answer.id, rating=RATING_UP, comment=comment)
        feedback = (await self.stub.CreateFeedback(rated, metadata=key)).feedback
        target.names |= {
            "answer_id": done.answer.id, "question_id": done.question_id, "trace_id": done.trace_id
        }  # fmt: skip
        target.personal |= {title, secret}
        target.feedback |= {comment, feedback.id, done.answer.id, done.trace_id}

    async def _answer(self, asked: AskRequest, key: Any) -> Any:
        """Ask, again if told to: other operations of the matrix delete documents that an answer uses."""
        for left in reversed(range(MOST_ASKED)):
            try:
                async for event in self.stub.Ask(asked, metadata=key, timeout=30):
                    done = event.completed
                return done
            except grpc.aio.AioRpcError as error:
                if error.code() != grpc.StatusCode.NOT_FOUND or not left:
                    raise
        raise AssertionError("asked")

    async def conversation(self, target: Target, title: str) -> None:
        """Make a conversation alone, in place of the one that the target had."""
        asked = [target.names["collection_id"]] if target.apart else []
        request = CreateConversationRequest(title=title, collections=asked)
        made = (await self.stub.CreateConversation(request, metadata=self.key(target.owner))).conversation
        target.names["conversation_id"] = made.id
        target.personal.add(made.id)

    async def refresh_trace(self, target: Target) -> None:
        """Make a trace of the owner's, since only the last ones are kept."""
        found = await self.stub.Search(SearchRequest(query="code word"), metadata=self.key(target.owner))
        target.names["trace_id"] = found.trace_id
        target.feedback.add(found.trace_id)

    async def scratch(self, target: Target, kind: str) -> Target:
        """Return the target with a document, conversation or collection of its own to be used up."""
        own = replace(
            target, names=dict(target.names), content=set(target.content), personal=set(target.personal),
            managed=set(target.managed), feedback=set(target.feedback), sources=set(target.sources),
            secrets=set(target.secrets),
        )  # fmt: skip
        if kind == "collection":
            await self.collection(own)
        elif kind == "conversation":
            await self.conversation(own, word("title"))
        elif kind == "message":
            await self._conversation(own)
        elif kind == "source":
            own.names["source_id"] = await self.source(own)
        elif kind == "vector":
            await self._vector(own)
        elif kind == "document":
            text = f"The code word of {word('key')} is {word('scratch')}.\n".encode()
            head = {"filename": f"{word('scratch')}.txt"}
            own.text = text
            own.names["document_id"] = (await self.upload(target, text, head, self.maker(target.owner))).id
        return own

    async def state(self, target: Target) -> dict[str, Any]:
        """Return all that can be seen of a target: by an administrator, and of its conversation by its owner."""
        key, own = self.key(target.manager), self.key(target.owner)
        collection = GetCollectionRequest(collection=target.names["collection_id"])
        documents = ListDocumentsRequest(collection=target.names["collection_id"], page_size=1000)
        chunks = QueryChunksRequest(collection=target.names["collection_id"], page_size=1000)
        conversation = GetConversationRequest(conversation_id=target.names["conversation_id"])
        messages = ListMessagesRequest(conversation_id=target.names["conversation_id"])
        download = DownloadDocumentRequest(document_id=target.names["document_id"])
        found = await asyncio.gather(
            self._seen("collection", self.stub.GetCollection(collection, metadata=key)),
            self._seen("documents", self.stub.ListDocuments(documents, metadata=key)),
            self._seen("chunks", self.stub.QueryChunks(chunks, metadata=key)),
            self._seen("conversation", self.stub.GetConversation(conversation, metadata=own)),
            self._seen("messages", self.stub.ListMessages(messages, metadata=own)),
            self._seen("file", self._whole(download, key)),
        )
        listed = ListSourcesRequest(collection=target.names["collection_id"], page_size=1000)
        sources = (await self.stub.ListSources(listed, metadata=key)).sources
        kept = [[one.id, one.name, MessageToDict(one.settings), [*one.secret_names], one.paused] for one in sources]
        feedback = await self.stub.ListFeedback(ListFeedbackRequest(page_size=1000), metadata=key)
        mine = [MessageToDict(one) for one in feedback.feedback if one.answer_id == target.names["answer_id"]]
        return {**dict(found), "feedback": mine, "sources": sorted(kept)}

    async def _whole(self, request: Any, key: Any) -> Any:
        parts = [part async for part in self.stub.DownloadDocument(request, metadata=key)]
        return DownloadDocumentResponse(data=b"".join(part.data for part in parts))

    @staticmethod
    async def _seen(name: str, call: Any) -> tuple[str, Any]:
        try:
            return name, MessageToDict(await call)
        except grpc.aio.AioRpcError as error:
            return name, error.code().name


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Return where two states differ, in words."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = sorted({*before, *after})
        return [one for name in names for one in differences(before.get(name), after.get(name), f"{path}.{name}")]
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return [f"{path[1:]}: {len(before)} became {len(after)}"]
        pairs = enumerate(zip(before, after, strict=True))
        return [one for index, (old, new) in pairs for one in differences(old, new, f"{path}[{index}]")]
    return [] if before == after else [f"{path[1:]}: {str(before)[:80]!r} became {str(after)[:80]!r}"]
