"""The client asks Milvus as pymilvus does, with its database and credentials, and repeats what may be repeated."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from footnote_store import tls
from footnote_store.milvus import Milvus, MilvusError
from footnote_store.requests import query_request
from footnote_store.rows import chunk_schema, message_schema
from footnote_store.store import index_parameters
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass
from pymilvus import AsyncMilvusClient, DataType, Function, FunctionType, MilvusClient
from pymilvus.client.prepare import Prepare
from pymilvus.grpc_gen import common_pb2, milvus_pb2, schema_pb2

METHODS = milvus_pb2.DESCRIPTOR.services_by_name["MilvusService"].methods_by_name
ANSWERS: dict[str, Any] = {
    "GetCollectionStatistics": milvus_pb2.GetCollectionStatisticsResponse(
        stats=[common_pb2.KeyValuePair(key="row_count", value="7")]
    ),
    "DescribeIndex": milvus_pb2.DescribeIndexResponse(
        index_descriptions=[milvus_pb2.IndexDescription(field_name="dense", state=common_pb2.IndexState.Finished)]
    ),
    "GetLoadingProgress": milvus_pb2.GetLoadingProgressResponse(progress=100),
    "AllocTimestamp": milvus_pb2.AllocTimestampResponse(timestamp=11),
    "DescribeCollection": milvus_pb2.DescribeCollectionResponse(schema=schema_pb2.CollectionSchema(name="there")),
}
TIMEOUT = 5.0


class Server(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Records calls; `refusals` are statuses, and codes that break a call, to give before the answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.refusals: Iterator[Any] = iter(())
        self.uri = ""

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        self.headers = dict(details.invocation_metadata)

        async def answer(request: bytes, context: Any) -> bytes:
            self.asked.append((name, GetMessageClass(METHODS[name].input_type).FromString(request)))
            made = GetMessageClass(METHODS[name].output_type)()
            refusal = next(self.refusals, None)
            if isinstance(refusal, grpc.StatusCode):
                await context.abort(refusal, "")
            if refusal is not None:
                (made if isinstance(made, common_pb2.Status) else made.status).CopyFrom(refusal)
            return bytes((ANSWERS.get(name, made) if refusal is None else made).SerializeToString())

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server that records requests and answers as Milvus does."""
    recorded, running = Server(), grpc.aio.server()
    running.add_generic_rpc_handlers((recorded,))
    recorded.uri = f"http://user:secret@127.0.0.1:{running.add_insecure_port('127.0.0.1:0')}/files"
    await running.start()
    yield recorded
    await running.stop(None)


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Milvus]:
    """The store's client of that server."""
    made = Milvus(tls.address(server.uri))
    yield made
    await made.close()


def plain(message: Any) -> Any:
    """A request without the order of its parameters, and with its schema in words."""
    if isinstance(message, milvus_pb2.CreateCollectionRequest):
        return [plain(schema_pb2.CollectionSchema.FromString(message.schema)), message.consistency_level]
    return _unordered(MessageToDict(message))


def _unordered(found: Any) -> Any:
    if isinstance(found, list):
        parameters = [one for one in found if isinstance(one, dict) and set(one) == {"key", "value"}]
        return {one["key"]: one["value"] for one in parameters} if parameters else [_unordered(one) for one in found]
    return {key: _unordered(value) for key, value in found.items()} if isinstance(found, dict) else found


async def test_it_asks_for_the_same_as_pymilvus(server: Server, client: Milvus) -> None:
    await client.collections(TIMEOUT)
    assert await client.row_count("there", TIMEOUT) == 7
    assert (await client.schema("there", TIMEOUT)).name == "there"
    assert await client.indexed("there", TIMEOUT) == {"dense"}
    await client.index("there", "dense", index_parameters("dense", embedded=False), TIMEOUT)
    await client.load("there", TIMEOUT)
    ours, headers = [(name, plain(request)) for name, request in server.asked], server.headers
    server.asked.clear()
    theirs = AsyncMilvusClient(server.uri, dedicated=True)
    await theirs._connect()
    server.asked.clear()
    await theirs.list_collections()
    await theirs.get_collection_stats("there")
    await theirs.has_collection("there")
    await theirs.list_indexes("there")
    index = MilvusClient.prepare_index_params()
    index.add_index("dense", index_type="AUTOINDEX", metric_type="IP")
    await theirs.create_index("there", index)
    await theirs.load_collection("there")
    assert ours == [(name, plain(request)) for name, request in server.asked]
    assert {key: server.headers[key] for key in ("dbname", "authorization")} == {
        key: headers[key] for key in ("dbname", "authorization")
    }
    assert headers["dbname"] == "files"
    await theirs.close()


@pytest.mark.parametrize("partition", [True, False])
async def test_a_collection_is_made_as_by_pymilvus(server: Server, client: Milvus, partition: bool) -> None:
    await client.create(message_schema("messages", 8, partition_by_tenant=partition), TIMEOUT)
    await client.create(chunk_schema("chunks", 8, partition_by_tenant=partition), TIMEOUT)
    (_, messages), (_, chunks) = server.asked
    for request, lexical in ((messages, False), (chunks, True)):
        ours = schema_pb2.CollectionSchema.FromString(request.schema)
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        for field in ours.fields:
            parameters = {one.key: int(one.value) for one in field.type_params if one.value.isdecimal()}
            if field.name == "lexical_text":
                parameters |= {"enable_analyzer": True, "analyzer_params": {"tokenizer": "whitespace"}}  # type: ignore[dict-item]
            schema.add_field(
                field.name, DataType(field.data_type), is_primary=field.name == "id",
                is_partition_key=partition and field.name == "tenant_id", **parameters,
            )  # fmt: skip
        if lexical:
            words = {"input_field_names": ["lexical_text"], "output_field_names": ["sparse"]}
            schema.add_function(Function(name="bm25", function_type=FunctionType.BM25, **words))
        theirs = Prepare.create_collection_request(ours.name, schema, consistency_level="Strong")
        assert plain(request) == plain(theirs)


def test_rows_are_read_as_by_pymilvus() -> None:
    for limit, window in ((5, {"limit": 5, "offset": 2}), (None, {})):
        theirs = Prepare.query_request("chunks", 'id != ""', ["id"], None, **window)
        assert plain(query_request("chunks", 'id != ""', limit, ["id"], 2)) == plain(theirs)


async def test_a_limited_rate_and_a_broken_connection_are_tried_again(server: Server, client: Milvus) -> None:
    limited = common_pb2.Status(code=8, error_code=common_pb2.RateLimit, reason="too many")
    server.refusals = iter([limited, grpc.StatusCode.UNAVAILABLE, limited])
    assert await client.row_count("there", TIMEOUT) == 7
    assert len(server.asked) == 4


async def test_a_connection_that_breaks_twice_fails_the_call(server: Server, client: Milvus) -> None:
    server.refusals = iter([grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE])
    with pytest.raises(grpc.RpcError):
        await client.row_count("there", TIMEOUT)


async def test_a_server_that_is_away_fails_a_call_at_once() -> None:
    away = Milvus(tls.address("http://127.0.0.1:9"))
    began = time.monotonic()
    for method, once in (("ShowCollections", False), ("Insert", True)):
        with pytest.raises(grpc.RpcError) as caught:
            await away.call(method, milvus_pb2.ShowCollectionsRequest(), 60.0, once=once)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert time.monotonic() - began < 30
    await away.close()


async def test_a_search_waits_for_an_engine_that_restarts() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waiting = Milvus(tls.address(f"http://127.0.0.1:{port}"))
    searched = asyncio.create_task(waiting.call("Query", milvus_pb2.QueryRequest(), TIMEOUT))
    await asyncio.sleep(0.3)
    recorded, running = Server(), grpc.aio.server()
    running.add_generic_rpc_handlers((recorded,))
    running.add_insecure_port(f"127.0.0.1:{port}")
    await running.start()
    await searched
    await waiting.close()
    await running.stop(None)


async def test_what_may_not_be_repeated_is_not(server: Server, client: Milvus) -> None:
    server.refusals = iter([grpc.StatusCode.UNAVAILABLE])
    with pytest.raises(grpc.RpcError):
        await client.call("Insert", milvus_pb2.InsertRequest(), TIMEOUT, once=True)
    assert len(server.asked) == 1


async def test_what_is_missing_is_told_from_other_refusals(server: Server, client: Milvus) -> None:
    server.refusals = iter(
        [common_pb2.Status(code=100), common_pb2.Status(code=700), common_pb2.Status(code=5, reason="not now")]
    )
    assert await client.schema("gone", TIMEOUT) is None
    assert await client.indexed("gone", TIMEOUT) == set()
    with pytest.raises(MilvusError, match="not now"):
        await client.schema("there", TIMEOUT)
