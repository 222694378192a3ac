"""The two ways to the collections of the public API: by gRPC, and by the paths of the RAG wrapper over HTTP."""

from typing import Any, Protocol

import httpx2
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    GetCollectionRequest,
    ListCollectionsRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.documents_pb2 import QueryChunksRequest
from footnote.edge.v1.vectors_pb2 import AddVectorsRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.filter_pb2 import Filter
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.json_format import MessageToDict, ParseDict

STATUS = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND"}


class Refused(Exception):
    """A request was refused; `code` is gRPC's name for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Door(Protocol):
    """What can be done with a collection of vectors that the caller made."""

    async def create(self, name: str, metadata: dict[str, Any], dimensions: int) -> None: ...

    async def metadata(self, name: str) -> dict[str, Any]: ...

    async def all_metadata(self) -> dict[str, dict[str, Any]]: ...

    async def set_metadata(self, name: str, metadata: dict[str, Any]) -> None: ...

    async def add(self, name: str, documents: list[dict[str, Any]]) -> int: ...

    async def query(self, name: str, where: str = "", limit: int | None = None, offset: int = 0) -> dict[str, Any]:
        """Return `documents` (id, text, metadata), `count` and `total`."""
        ...


class GrpcDoor:
    """By the stub; a refusal comes as the kit's error."""

    def __init__(self, stub: EdgeStub) -> None:
        self._stub: Any = stub

    async def create(self, name: str, metadata: dict[str, Any], dimensions: int) -> None:
        collection = ParseDict({"name": name, "metadata": metadata}, Collection())
        collection.settings.embedding.dimensions = dimensions
        await self._stub.CreateCollection(CreateCollectionRequest(collection=collection))

    async def metadata(self, name: str) -> dict[str, Any]:
        found = await self._stub.GetCollection(GetCollectionRequest(collection=name))
        return MessageToDict(found.collection.metadata)

    async def all_metadata(self) -> dict[str, dict[str, Any]]:
        page = await self._stub.ListCollections(ListCollectionsRequest(page_size=1000))
        return {one.name: MessageToDict(one.metadata) for one in page.collections}

    async def set_metadata(self, name: str, metadata: dict[str, Any]) -> None:
        change = ParseDict({"metadata": metadata}, Collection())
        mask = FieldMask(paths=["metadata"])
        await self._stub.UpdateCollection(UpdateCollectionRequest(collection=name, resource=change, update_mask=mask))

    async def add(self, name: str, documents: list[dict[str, Any]]) -> int:
        rows = [
            {"vector" if key == "embedding" else key: value for key, value in document.items()}
            for document in documents
        ]
        request = ParseDict({"collection": name, "rows": rows}, AddVectorsRequest())
        try:
            return int((await self._stub.AddVectors(request, timeout=60)).count)
        except FootnoteError as error:
            raise Refused(error.code, error.message) from None

    async def query(self, name: str, where: str = "", limit: int | None = None, offset: int = 0) -> dict[str, Any]:
        request = QueryChunksRequest(
            collection=name, filter=Filter(json=where) if where else None, page_size=limit or 0, offset=offset
        )
        try:
            found = await self._stub.QueryChunks(request)
        except FootnoteError as error:
            raise Refused(error.code, error.message) from None
        documents = [
            {"id": one.document_id, "text": one.text, "metadata": MessageToDict(one.metadata)} for one in found.chunks
        ]
        return {"documents": documents, "count": len(documents), "total": found.total_size}


class HttpDoor:
    """By the wrapper's paths; a refusal comes as a status with problem details."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def create(self, name: str, metadata: dict[str, Any], dimensions: int) -> None:
        await self._json("POST", "/collections", json={"name": name, "metadata": metadata})

    async def metadata(self, name: str) -> dict[str, Any]:
        return dict((await self._json("GET", f"/collections/{name}"))["metadata"])

    async def all_metadata(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one["metadata"] for one in (await self._json("GET", "/collections"))["collections"]}

    async def set_metadata(self, name: str, metadata: dict[str, Any]) -> None:
        changed = await self._json("PUT", f"/collections/{name}/metadata", json={"metadata": metadata})
        assert changed["success"]

    async def add(self, name: str, documents: list[dict[str, Any]]) -> int:
        added = await self._json("POST", f"/collections/{name}/documents", json={"documents": documents})
        assert added["success"]
        return int(added["count"])

    async def query(self, name: str, where: str = "", limit: int | None = None, offset: int = 0) -> dict[str, Any]:
        params: dict[str, Any] = {"offset": offset}
        params |= {"where": where} if where else {}
        params |= {} if limit is None else {"limit": limit}
        return await self._json("GET", f"/collections/{name}/documents", params=params)

    async def _json(self, verb: str, path: str, **more: Any) -> dict[str, Any]:
        answer = await self._http.request(verb, path, **more)
        if answer.status_code >= 400:
            raise Refused(STATUS.get(answer.status_code, str(answer.status_code)), answer.json()["detail"])
        found: dict[str, Any] = answer.json()
        return found
