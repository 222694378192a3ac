"""The RAG wrapper API: `/collections` and below, with its status codes and messages."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    GetCollectionRequest,
    ListCollectionsRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.documents_pb2 import QueryChunksRequest
from footnote.edge.v1.operations_pb2 import (
    OPERATION_STATE_CANCELLED,
    OPERATION_STATE_FAILED,
    Operation,
    WatchOperationRequest,
)
from footnote.edge.v1.vectors_pb2 import AddVectorsRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.filter_pb2 import Filter
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.errors import Aborted, InvalidArgument
from footnote_kit.printable import whole_numbers
from footnote_kit.status import from_proto
from google.protobuf import json_format
from google.protobuf.field_mask_pb2 import FieldMask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.http.transcoding.binding import fill
from footnote_edge.http.transcoding.json_body import Inexact
from footnote_edge.http.transcoding.transcoder import read_json

PAGE = 1000
DEFAULT_LIMIT, MAX_LIMIT = 100, 1000


class Wrapper:
    """Handlers of the wrapper's paths; each calls the public API with the caller's credentials."""

    def __init__(self, calls: GrpcCalls) -> None:
        self._calls = calls

    def routes(self) -> list[Route]:
        """Return the routes."""
        one = "/collections/{name}"
        return [
            Route("/collections", self.create, methods=["POST"], name="wrapper.create"),
            Route("/collections", self.list_all, methods=["GET"], name="wrapper.list"),
            Route(one, self.get, methods=["GET"], name="wrapper.get"),
            Route(one, self.delete, methods=["DELETE"], name="wrapper.delete"),
            Route(f"{one}/metadata", self.set_metadata, methods=["PUT"], name="wrapper.metadata"),
            Route(f"{one}/documents", self.add, methods=["POST"], name="wrapper.add"),
            Route(f"{one}/documents", self.query, methods=["GET"], name="wrapper.query"),
        ]

    async def create(self, request: Request) -> Response:
        """Create a collection; top-level embedding fields are kept as metadata."""
        made = await self._calls.unary("CreateCollection", await read_json(request, _creation), request)
        return JSONResponse(_collection(made.collection), 201)

    async def list_all(self, request: Request) -> Response:
        """List all collections with their metadata."""
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            asked = ListCollectionsRequest(page_size=PAGE, page_token=token)
            page = await self._calls.unary("ListCollections", asked, request)
            found += [_collection(collection) for collection in page.collections]
            token = page.next_page_token
            if not token:
                return JSONResponse({"collections": found, "count": len(found)})

    async def get(self, request: Request) -> Response:
        """Return one collection with its metadata."""
        return JSONResponse(_collection(await self._get(request)))

    async def delete(self, request: Request) -> Response:
        """Delete a collection; the response comes after the deletion is complete."""
        name = request.path_params["name"]
        begun = await self._calls.unary("DeleteCollection", DeleteCollectionRequest(collection=name), request)
        gone = await self._ended(begun.operation, request)
        if gone.state == OPERATION_STATE_CANCELLED:
            raise Aborted(f"The deletion of '{name}' was cancelled.")
        if gone.state == OPERATION_STATE_FAILED:
            raise from_proto(gone.error)
        return JSONResponse({"success": True, "name": name, "chunks_deleted": gone.delete_collection.chunks_deleted})

    async def _ended(self, operation: Operation, request: Request) -> Operation:
        """Return an operation after its end."""
        asked = WatchOperationRequest(operation_id=operation.id)
        while not operation.HasField("end_time"):
            async with aclosing(self._calls.stream("WatchOperation", asked, request)) as moves:
                async for move in moves:
                    operation = move.operation
        return operation

    async def set_metadata(self, request: Request) -> Response:
        """Replace a collection's metadata with `metadata` of the body, or with the body itself."""
        asked = await read_json(request, lambda body: _change(request.path_params["name"], body))
        changed = await self._calls.unary("UpdateCollection", asked, request)
        return JSONResponse({"success": True, **_collection(changed.collection)})

    async def add(self, request: Request) -> Response:
        """Add documents with the caller's own embeddings."""
        asked = await read_json(request, lambda body: addition(request.path_params["name"], body))
        added = await self._calls.unary("AddVectors", asked, request)
        return JSONResponse({"success": True, "count": added.count, "ids": list(added.ids)})

    async def query(self, request: Request) -> Response:
        """Return documents by their metadata."""
        limit, offset = _number(request, "limit", DEFAULT_LIMIT), _number(request, "offset", 0)
        where = request.query_params.get("where", "")
        asked = QueryChunksRequest(
            collection=request.path_params["name"],
            filter=Filter(json=where) if where else None,
            page_size=min(limit, MAX_LIMIT),
            offset=offset,
        )
        documents: list[dict[str, Any]] = []
        while True:
            found = await self._calls.unary("QueryChunks", asked, request)
            documents += [_chunk(chunk) for chunk in found.chunks]
            # A page may end early because of its size in bytes; this path has no page tokens, so it reads on.
            asked.page_token = found.next_page_token
            if len(documents) >= min(limit, MAX_LIMIT) or not asked.page_token:
                break
        documents = documents[: min(limit, MAX_LIMIT)]
        return JSONResponse({"documents": documents, "count": len(documents), "total": found.total_size})

    async def _get(self, request: Request) -> Collection:
        asked = GetCollectionRequest(collection=request.path_params["name"])
        found: Collection = (await self._calls.unary("GetCollection", asked, request)).collection
        return found


def _creation(body: Any) -> CreateCollectionRequest:
    body = _object(body)
    if not isinstance(body.get("name"), str) or not body["name"]:
        raise InvalidArgument.field("name", "must be given")
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InvalidArgument.field("metadata", "must be an object")
    metadata = dict(metadata)
    for key in ("embedding_provider", "embedding_model"):
        if body.get(key) is None:
            continue
        if not isinstance(body[key], str):
            raise InvalidArgument.field(key, "must be a string")
        metadata[key] = body[key]
    return CreateCollectionRequest(collection=fill({"name": body["name"], "metadata": metadata}, Collection()))


def _change(name: str, body: Any) -> UpdateCollectionRequest:
    body = _object(body)
    metadata = body["metadata"] if set(body) == {"metadata"} else body
    if not isinstance(metadata, dict):
        raise InvalidArgument.field("metadata", "must be an object")
    change = fill({"metadata": metadata}, Collection())
    return UpdateCollectionRequest(collection=name, resource=change, update_mask=FieldMask(paths=["metadata"]))


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise InvalidArgument("The body must be a JSON object")
    return body


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < 2**31:
        raise InvalidArgument.field(name, "must be a whole number, not negative")
    return number


def _collection(collection: Collection) -> dict[str, Any]:
    return {
        "id": collection.id,
        "name": collection.name,
        "metadata": whole_numbers(json_format.MessageToDict(collection.metadata)),
        "count": collection.chunk_count,
    }


def _chunk(chunk: Chunk) -> dict[str, Any]:
    metadata = whole_numbers(json_format.MessageToDict(chunk.metadata))
    if chunk.source_type == "vectors":
        # A document that was added with its embedding keeps the caller's id, and has no metadata but the caller's.
        return {"id": chunk.document_id, "text": chunk.text, "metadata": metadata}
    return {"id": chunk.id, "text": chunk.text, "metadata": {**_filtered_by(chunk), **metadata}}


def _filtered_by(chunk: Chunk) -> dict[str, Any]:
    """Return what a file's chunk has besides its uploader's metadata, by the names that `where` knows it by."""
    headings = list(chunk.locator.heading_path)
    fields = {
        "document_id": chunk.document_id, "filename": chunk.filename, "title": chunk.title,
        "document_type": chunk.document_type, "language": chunk.language, "source_type": chunk.source_type,
        "heading": headings[-1] if headings else "", "heading_path": " › ".join(headings),
        "page": chunk.locator.page.page, "slide": chunk.locator.slide.slide, "sheet": chunk.locator.sheet.sheet,
        "tags": list(chunk.tags),
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value}


def addition(collection: str, body: Any) -> AddVectorsRequest:
    """Return the request in a body; raises InvalidArgument."""
    documents = body.get("documents") if isinstance(body, dict) else None
    if not isinstance(documents, list) or not documents:
        raise InvalidArgument("Documents array is required", violations=[("documents", "must not be empty")])
    if not all(isinstance(document, dict) for document in documents):
        raise InvalidArgument("Each document must be an object with text, metadata and embedding")
    if any(document.get("embedding") is None for document in documents):
        raise InvalidArgument(
            "All documents must include pre-computed embeddings", violations=[("documents.embedding", "is required")]
        )
    rows = [_row(index, document) for index, document in enumerate(documents)]
    return AddVectorsRequest(collection=collection, rows=rows)


def _row(index: int, document: dict[str, Any]) -> VectorRow:
    known = {key: document[key] for key in ("id", "text", "metadata") if document.get(key) is not None}
    row = fill(known, VectorRow())
    row.vector.extend(_numbers(index, document["embedding"]))
    return row


def _numbers(index: int, embedding: Any) -> Sequence[float]:
    if not isinstance(embedding, list) or not embedding:
        raise _format(index, f"got {_kind(embedding)}")
    wrong = [value for value in embedding if type(value) not in (int, float)]
    if wrong:
        raise _format(index, f"it holds {_kind(wrong[0])}")
    try:
        return [float(value) for value in embedding]
    except OverflowError:
        raise _format(index, "it holds a number that is too large") from None


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    names = {
        bool: "a boolean", int: "a number", Inexact: "a whole number beyond 2^53", float: "a number", str: "a string",
        dict: "an object",
    }  # fmt: skip
    return names.get(type(value), "null")


def _format(index: int, problem: str) -> InvalidArgument:
    return InvalidArgument(
        f"Invalid embedding format in document {index}: must be an array of numbers, but {problem}",
        violations=[(f"documents[{index}].embedding", "must be an array of numbers")],
    )
