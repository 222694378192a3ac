"""A client of Milvus: the calls that the store makes, in messages of Milvus's own contract.

pymilvus's client loads pandas, requests and others, 45 MB in each process. It also does per value what `requests` does
per column.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

import grpc
from footnote_kit.backoff import Backoff
from google.protobuf.message import Message

from footnote_store.milvus_protocol.common_pb2 import ConsistencyLevel, ErrorCode, IndexState, Status
from footnote_store.milvus_protocol.milvus_pb2 import (
    AllocTimestampRequest,
    CreateCollectionRequest,
    CreateIndexRequest,
    DescribeCollectionRequest,
    DescribeIndexRequest,
    GetCollectionStatisticsRequest,
    GetLoadingProgressRequest,
    GetVersionRequest,
    LoadCollectionRequest,
    ShowCollectionsRequest,
)
from footnote_store.milvus_protocol.milvus_pb2_grpc import MilvusServiceStub
from footnote_store.milvus_protocol.schema_pb2 import CollectionSchema
from footnote_store.tls import Address

_LIMITED, _NO_COLLECTION, _NO_INDEX = 8, 100, 700  # of Status.code
_WAITING = ("Search", "Query")
_AGAIN = (
    grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.ABORTED,
)  # fmt: skip
_POLL_SECONDS = 0.1
_BACKOFF = Backoff(0.01, 3.0)


class MilvusError(Exception):
    """Milvus refused a call: `message` is its reason, `missing` whether the collection or index does not exist."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.reason)
        self.message: str = status.reason or f"code {status.code or status.error_code}"
        self.missing = (
            status.code in (_NO_COLLECTION, _NO_INDEX)
            or status.error_code in (ErrorCode.CollectionNotExists, ErrorCode.IndexNotExist)
            or "can't find collection" in status.reason
        )


class Milvus:
    """A connection. Each method takes `timeout` in seconds, and raises MilvusError or grpc.RpcError."""

    def __init__(self, address: Address, token: str = "") -> None:
        self._channel = address.channel()
        self._stub = MilvusServiceStub(self._channel)
        self._metadata = [("dbname", address.database)]
        if said := token or address.token:
            self._metadata.append(("authorization", base64.b64encode(said.encode()).decode()))

    async def close(self) -> None:
        """Close the connection, and with it calls in flight."""
        await self._channel.close()

    async def version(self, timeout: float) -> str:
        """Return the server's version; UNIMPLEMENTED by the embedded engine."""
        response = await self._stub.GetVersion(GetVersionRequest(), timeout=timeout, metadata=self._metadata)
        return str(response.version)

    async def call(self, method: str, request: Message, timeout: float, *, once: bool = False) -> Any:
        """Return the response to a request.

        It is sent again, until the caller's time limit, while Milvus limits its rate; and one time when the connection
        breaks or the server fails, unless `once` is set. Searches and queries wait for a connection: an engine may be
        restarting. Inserts and upserts into a store that is away fail at once.
        """
        attempt, broken = 0, False
        while True:
            attempt += 1
            try:
                response = await getattr(self._stub, method)(
                    request, timeout=timeout, metadata=self._metadata, wait_for_ready=method in _WAITING
                )
            except grpc.RpcError as error:
                if once or broken or error.code() not in _AGAIN:
                    raise
                broken = True
            else:
                status = response if isinstance(response, Status) else response.status
                if not status.code and not status.error_code:
                    return response
                if status.code != _LIMITED and status.error_code != ErrorCode.RateLimit:
                    raise MilvusError(status)
            await asyncio.sleep(_BACKOFF.pause(attempt))

    async def collections(self, timeout: float) -> list[str]:
        """Return the names of all collections."""
        return sorted((await self.call("ShowCollections", ShowCollectionsRequest(), timeout)).collection_names)

    async def row_count(self, name: str, timeout: float) -> int:
        """Return the number of rows in a collection; rows written a moment ago may be missing."""
        request = GetCollectionStatisticsRequest(collection_name=name)
        stats = (await self.call("GetCollectionStatistics", request, timeout)).stats
        return next(int(stat.value) for stat in stats if stat.key == "row_count")

    async def schema(self, name: str, timeout: float) -> CollectionSchema | None:
        """Return the schema of a collection, or None where there is none."""
        try:
            request = DescribeCollectionRequest(collection_name=name)
            return (await self.call("DescribeCollection", request, timeout)).schema
        except MilvusError as error:
            if error.missing:
                return None
            raise

    async def create(self, schema: CollectionSchema, timeout: float) -> None:
        """Create a collection whose searches see every acknowledged write."""
        request = CreateCollectionRequest(
            collection_name=schema.name, schema=schema.SerializeToString(), consistency_level=ConsistencyLevel.Strong
        )
        await self.call("CreateCollection", request, timeout)

    async def indexed(self, name: str, timeout: float) -> set[str]:
        """Return the columns of a collection that have an index."""
        try:
            response = await self.call("DescribeIndex", DescribeIndexRequest(collection_name=name), timeout)
        except MilvusError as error:
            if error.missing:
                return set()
            raise
        return {index.field_name for index in response.index_descriptions}

    async def index(self, name: str, field: str, parameters: Mapping[str, str], timeout: float) -> None:
        """Create the index of a column, and wait until it is built."""
        request = CreateIndexRequest(collection_name=name, field_name=field)
        for key, value in parameters.items():
            request.extra_params.add(key=key, value=value)
        await self.call("CreateIndex", request, timeout)
        now = (await self.call("AllocTimestamp", AllocTimestampRequest(), timeout)).timestamp
        built = DescribeIndexRequest(collection_name=name, timestamp=now)
        while True:
            indexes = (await self.call("DescribeIndex", built, timeout)).index_descriptions
            made = next((one for one in indexes if one.field_name == field), None)
            if made is not None and made.state == IndexState.Finished:
                return
            if made is not None and made.state == IndexState.Failed:
                raise MilvusError(Status(code=1, reason=made.index_state_fail_reason))
            await asyncio.sleep(_POLL_SECONDS)

    async def load(self, name: str, timeout: float) -> None:
        """Load a collection, which searches need, and wait until it is."""
        await self.call("LoadCollection", LoadCollectionRequest(collection_name=name), timeout)
        loading = GetLoadingProgressRequest(collection_name=name)
        while True:
            if (await self.call("GetLoadingProgress", loading, timeout)).progress >= 100:
                return
            await asyncio.sleep(_POLL_SECONDS)
