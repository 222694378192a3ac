"""Every RPC of the audit log as a caller makes it: a request that succeeds, by gRPC and by HTTP alike."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest, UploadDocumentRequest, UploadMetadata
from footnote.edge.v1.keys_pb2 import CreateKeyRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_edge.http.transcoding.binding import Rule, rules
from footnote_kit.edge import METHODS, EdgeStub
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from support.doubles.stages import World

SECRET_TEXT = "nobody-may-read-this-in-the-log"
"""Occurs in every text of these requests: contents, file names, labels, metadata."""
STREAMS = ("UploadDocument", "UploadDocuments", "ReplaceDocument")
ABSENT = "0123456789abcdef"


class Things:
    """Creates a new resource for each RPC to act upon, with an administrator's key."""

    def __init__(self, stub: EdgeStub, world: World, metadata: Any) -> None:
        self._stub, self._world, self._metadata = stub, world, metadata
        self._number = 0

    async def request(self, name: str) -> dict[str, Any]:
        """Return a request of an RPC that succeeds, as JSON; of a stream its first message's metadata."""
        self._number += 1
        make: Callable[[], Awaitable[dict[str, Any]]] = getattr(self, f"_{name}")
        return await make()

    async def _CreateCollection(self) -> dict[str, Any]:
        settings = {"generation": {"provider": "builtin"}}
        named = {"name": f"new {self._number}", "description": SECRET_TEXT, "settings": settings}
        return {"collection": named}

    async def _collection(self) -> str:
        request = {"collection": {"name": f"made {self._number}"}}
        return str((await self._call("CreateCollection", request)).collection.id)

    async def _UpdateCollection(self) -> dict[str, Any]:
        resource = {"description": SECRET_TEXT, "metadata": {"note": SECRET_TEXT}}
        return {"collection": await self._collection(), "resource": resource, "update_mask": "description,metadata"}

    async def _DeleteCollection(self) -> dict[str, Any]:
        return {"collection": await self._collection()}

    async def _CreateEvaluationRun(self) -> dict[str, Any]:
        asked = {"id": SECRET_TEXT, "question": SECRET_TEXT, "grade": "EVALUATION_GRADE_RIGHT"}
        return {"collection": await self._collection(), "run": {"label": SECRET_TEXT, "questions": [asked]}}

    async def _DeleteEvaluationRun(self) -> dict[str, Any]:
        made = await self._call("CreateEvaluationRun", await self._CreateEvaluationRun())
        return {"run_id": made.run.id}

    async def _CreateSource(self) -> dict[str, Any]:
        settings = {"url": f"https://docs.example.invalid/{SECRET_TEXT}"}
        named = {"name": f"{SECRET_TEXT} {self._number}", "collection": "default", "kind": "web", "settings": settings}
        return {"source": {**named, "paused": True}}

    async def _source(self) -> str:
        return str((await self._call("CreateSource", await self._CreateSource())).source.id)

    async def _UpdateSource(self) -> dict[str, Any]:
        return {"source_id": await self._source(), "resource": {"name": SECRET_TEXT}, "update_mask": "name"}

    async def _DeleteSource(self) -> dict[str, Any]:
        return {"source_id": await self._source()}

    async def _SyncSource(self) -> dict[str, Any]:
        return {"source_id": await self._source()}

    async def _AddVectors(self) -> dict[str, Any]:
        row = {"id": "one", "text": SECRET_TEXT, "vector": [0.1, 0.2]}
        return {"collection": await self._collection(), "rows": [row]}

    async def _DeleteVectors(self) -> dict[str, Any]:
        return {"collection": await self._collection(), "ids": ["one"]}

    async def _UploadDocument(self) -> dict[str, Any]:
        return {"collection": "default", "filename": f"{SECRET_TEXT}-{self._number}.txt"}

    async def _UploadDocuments(self) -> dict[str, Any]:
        return await self._UploadDocument()

    async def _document(self, state: Any = DOCUMENT_STATE_INDEXED) -> str:
        parts = [
            UploadDocumentRequest(metadata=UploadMetadata(filename=f"{SECRET_TEXT}.txt")),
            UploadDocumentRequest(data=f"{SECRET_TEXT} {self._number}".encode()),
        ]
        made = await self._stub.UploadDocument(iter(parts), metadata=self._metadata)
        self._world.documents[made.document.id].state = state
        return str(made.document.id)

    async def _ReplaceDocument(self) -> dict[str, Any]:
        return {"document_id": await self._document(), "filename": f"{SECRET_TEXT}-b.txt"}

    async def _UpdateDocument(self) -> dict[str, Any]:
        return {"document_id": await self._document(), "resource": {"tags": [SECRET_TEXT]}}

    async def _DeleteDocument(self) -> dict[str, Any]:
        return {"document_id": await self._document()}

    async def _CancelDocument(self) -> dict[str, Any]:
        return {"document_id": await self._document(DOCUMENT_STATE_PROCESSING)}

    async def _DownloadDocument(self) -> dict[str, Any]:
        return {"document_id": await self._document()}

    async def _ReindexDocuments(self) -> dict[str, Any]:
        return {"document_ids": [await self._document()]}

    async def _CancelOperation(self) -> dict[str, Any]:
        request = ReindexDocumentsRequest(document_ids=[await self._document()])
        begun = await self._stub.ReindexDocuments(request, metadata=self._metadata)
        return {"operation_id": begun.operation.id}

    async def _DeleteConversation(self) -> dict[str, Any]:
        request = CreateConversationRequest(title=SECRET_TEXT)
        made = await self._stub.CreateConversation(request, metadata=self._metadata)
        return {"conversation_id": made.conversation.id}

    async def _ShareConversation(self) -> dict[str, Any]:
        return await self._DeleteConversation()

    async def _UnshareConversation(self) -> dict[str, Any]:
        return await self._DeleteConversation()

    async def _GetSharedConversation(self) -> dict[str, Any]:
        made = await self._DeleteConversation()
        return {"share_id": (await self._call("ShareConversation", made)).shared.share_id}

    async def _DeleteAnswer(self) -> dict[str, Any]:
        call = self._stub.Ask(AskRequest(question=f"What is {SECRET_TEXT}?"), metadata=self._metadata)
        events = [event async for event in call]
        return {"answer_id": events[-1].completed.answer.id}

    async def _CreateKey(self) -> dict[str, Any]:
        return {"label": SECRET_TEXT, "role": "ROLE_READER"}

    async def _RevokeKey(self) -> dict[str, Any]:
        request = CreateKeyRequest(label=SECRET_TEXT, role=ROLE_READER)
        return {"key_id": (await self._stub.CreateKey(request, metadata=self._metadata)).key.id}

    async def _CheckProvider(self) -> dict[str, Any]:
        return {"kind": "PROVIDER_KIND_EMBEDDING", "id": "builtin", "settings": {"note": SECRET_TEXT}}

    async def _UpdateTenantLimits(self) -> dict[str, Any]:
        return {"tenant_id": "acme", "resource": {"documents": 1000 + self._number}}

    async def _call(self, name: str, request: Mapping[str, Any]) -> Any:
        return await call_grpc(self._stub, name, request, self._metadata)


def absent(name: str) -> dict[str, Any]:
    """Return a request that names a missing resource, of an RPC that every role may call."""
    field = {"DownloadDocument": "document_id", "DeleteAnswer": "answer_id", "GetSharedConversation": "share_id"}
    field |= dict.fromkeys(("DeleteConversation", "ShareConversation", "UnshareConversation"), "conversation_id")
    return {field[name]: ABSENT}


async def call_grpc(stub: EdgeStub, name: str, request: Mapping[str, Any], metadata: Any) -> Any:
    """Call an RPC over gRPC and return its response, of a stream the first one."""
    method = next(method for method in METHODS if method.name == name)
    message = GetMessageClass(method.input_type)
    if method.client_streaming:
        parts = [ParseDict({"metadata": dict(request)}, message()), ParseDict({"data": "bmV3IGJ5dGVz"}, message())]
        return await getattr(stub, name)(iter(parts), metadata=metadata)
    given = dict(request)
    if isinstance(given.get("update_mask"), str):
        given["update_mask"] = given["update_mask"].replace("_", "")
    call = getattr(stub, name)(ParseDict(given, message()), metadata=metadata)
    if not method.server_streaming:
        return await call
    responses = [response async for response in call]
    return responses[0]


async def call_http(
    http: httpx2.AsyncClient, name: str, request: Mapping[str, Any], headers: Mapping[str, str]
) -> httpx2.Response:
    """Call an RPC over HTTP as its annotations say, files by their own paths."""
    given = dict(request)
    if name in STREAMS:
        if name == "UploadDocuments":
            files = {"file": (given.pop("filename"), b"other bytes")}
            return await http.post("/v1/documents:upload", data=given, files=files, headers=headers)
        identifier = given.pop("document_id", "")
        path = f"/v1/documents/{identifier}:replace" if identifier else "/v1/documents"
        typed = {**headers, "content-type": "text/plain"}
        return await http.post(path, params=given, content=b"other bytes", headers=typed)
    rule: Rule = next(rule for rule in rules() if rule.method.name == name)
    path = rule.template
    for variable in rule.variables:
        path = path.replace("{" + variable + "}", str(given.pop(variable)))
    body = given if rule.body == "*" else given.pop(rule.body) if rule.body else None
    query = {} if rule.body == "*" else given
    return await http.request(rule.verb, path, params=query, json=body, headers=headers)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - what changes has no event here
            await asyncio.sleep(0.02)
