"""Tokens, numbers and headers that no client of ours would send: refused as invalid everywhere, a fault nowhere."""

import base64
import itertools
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import grpc
import httpx2
import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListConversationsRequest
from footnote_edge.http.transcoding.binding import rules
from footnote_kit.edge import METHODS, EdgeStub
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from support.deployment import Deployment, deployment

pytestmark = pytest.mark.full

PAGED = [
    method
    for method in METHODS
    if {"page_token", "page_size", "limit", "offset"} & set(method.input_type.fields_by_name)
]


def encoded(text: str | bytes) -> str:
    return base64.urlsafe_b64encode(text.encode() if isinstance(text, str) else text).decode()


TOKENS = [
    "x", "0", "-1", "\x00", "é", "🦆", "%", "%00", "====", "A", "AAAA", "\n", "1" * 5000, "a" * 100_000,
    *map(encoded, ("0", "-1", "1e9", "NaN", "inf", "9" * 18, "9" * 19, "9" * 30, "9" * 4000, "9" * 6000, " 1 ", "1_0")),
    *map(encoded, ("", "\x00", "١٢", "[]", "{}", "null", "|", "a|b", "2026-01-01T00:00:00|x", "9999-99-99|x")),
    *map(encoded, ("\x00|\x00", "1969-01-01T00:00:00+00:00|\x00", json.dumps(["x", 1]), json.dumps({"a": 2**70}))),
    *map(encoded, (b"\xff\xfe", b"\x80" * 9)),
]  # fmt: skip
INTEGERS = [0, 1, -1, 1000, 1001, 2**31 - 1, -(2**31)]
NUMBERS = ["-1", "NaN", "1e400", "1e3", "٣", "9" * 30, "9" * 5000, "0x10", "1_0", " 1", "", "null", "%00", "1;2"]
REFUSED = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment with three collections and three conversations."""
    with deployment(tmp_path_factory.mktemp("hostile")) as running:
        with grpc.insecure_channel(running.address()) as channel:
            stub = EdgeStub(channel)
            for name in ("a", "b", "default"):
                stub.CreateCollection(CreateCollectionRequest(collection={"name": name}))
                stub.CreateConversation(CreateConversationRequest(title=name))
        yield running


def code(call: Any, request: Any, **more: Any) -> grpc.StatusCode:
    try:
        answer = call(request, timeout=30, **more)
        if hasattr(answer, "__next__"):
            list(answer)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def variants(method: Any) -> Iterator[Any]:
    """Yield requests with one field that is hostile and the others such that it is come to."""
    message = GetMessageClass(method.input_type)
    usual = {"collection": "default", "query": "tea", "conversation_id": "x"}
    known = {name: text for name, text in usual.items() if name in method.input_type.fields_by_name}
    for field in method.input_type.fields:
        if field.name == "page_token":
            sizes = [{}, {"page_size": 1}] if "page_size" in method.input_type.fields_by_name else [{}]
            for token, size in itertools.product(TOKENS, sizes):
                yield message(**known, **size, page_token=token)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_INT32 and not field.is_repeated:
            for number in INTEGERS:
                yield message(**known, **{field.name: number})
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING and not field.is_repeated:
            for text in ("\x00", "é\u202e", "%", "a" * 300_000):
                yield message(**{**known, field.name: text})


@pytest.mark.parametrize("method", PAGED, ids=lambda method: method.name)
def test_hostile_pages_over_grpc(running: Deployment, method: Any) -> None:
    with grpc.insecure_channel(running.address()) as channel:
        call = getattr(EdgeStub(channel), method.name)
        for request in variants(method):
            found = code(call, request)
            assert found in REFUSED or _keys_off(method, found == grpc.StatusCode.FAILED_PRECONDITION), str(request)[
                :300
            ]


@pytest.mark.parametrize(
    "rule", [rule for rule in rules() if rule.method in PAGED], ids=lambda rule: f"{rule.verb} {rule.template}"
)
def test_hostile_pages_over_http(running: Deployment, rule: Any) -> None:
    path = rule.path
    for variable in rule.variables:
        path = path.replace("{" + variable + "}", "default")
    numeric = [one.name for one in rule.method.input_type.fields if one.cpp_type == FieldDescriptor.CPPTYPE_INT32]
    with httpx2.Client(base_url=f"http://{running.address('http')}", timeout=60) as http:
        for name, values in [("page_token", TOKENS), *((name, NUMBERS) for name in numeric)]:
            if name not in rule.method.input_type.fields_by_name:
                continue
            for value in values:
                if rule.verb == "GET":
                    answer = http.get(f"{path}?{name}={quote(value[:4000])}")
                else:
                    answer = http.request(rule.verb, path, json={"query": "tea", name: value})
                off = _keys_off(rule.method, answer.status_code == 409)
                assert off or answer.status_code in (200, 400, 404), (name, value[:80], answer.text)


def _keys_off(method: Any, refused: bool) -> bool:
    """Where callers are not known by keys, a page of keys that could be asked for is refused all the same."""
    return method.name == "ListKeys" and refused


@pytest.mark.parametrize(
    "path",
    ["/collections/default/documents?limit=%s", "/collections/default/documents?offset=%s", "/v1/feedback.jsonl?x=%s"],
)
def test_hostile_numbers_of_the_wrapper(running: Deployment, path: str) -> None:
    with httpx2.Client(base_url=f"http://{running.address('http')}", timeout=60) as http:
        for value in [*NUMBERS, "2147483647", "9223372036854775807"]:
            assert http.get(path % quote(value)).status_code in (200, 400), value


def test_hostile_headers_over_grpc(running: Deployment) -> None:
    request = ListConversationsRequest()
    fine = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED}
    with grpc.insecure_channel(running.address()) as channel:
        call = EdgeStub(channel).ListConversations
        for name in ("authorization", "x-footnote-tenant", "x-footnote-user", "x-request-id", "traceparent", "x-any"):
            for text in ("", " ", "~" * 5000, "00-0-0-0", "a,b", "-1", "../..", "Bearer", "Bearer fn_", "fn__"):
                assert code(call, request, metadata=((name, text),)) in fine, (name, text[:40])
            twice = ((name, "one"), (name, "two"))
            assert code(call, request, metadata=twice) in fine
        assert code(call, request, metadata=(("x-footnote-user-bin", b"\xff\x00"),)) in fine
        long = code(call, request, metadata=(("x-any", "a" * 100_000),))
        assert long is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_hostile_requests_over_http(running: Deployment) -> None:
    heads = [
        b"GET /v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\nx-footnote-user: \xc3\xa9\r\n\r\n",
        b"GET /v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer \xff\r\n\r\n",
        b"GET /v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\nx-footnote-tenant: a\tb\r\n\r\n",
        *(
            b"GET /v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\nx-footnote-timeout: " + text + b"\r\n\r\n"
            for text in (b"NaN", b"-1", b"inf", b"1e-400", b"\xd9\xa3", b"", b"1e5", b"9" * 400)
        ),
        b"GET /v1/conversations/%zz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /v1/conversations/%00 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /v1/conversations/%ff%fe HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /v1/conversations?page_token=%ff HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /v1/conversations?%=%&=&&page_size=%31%3 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET http://127.0.0.1/v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET * HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /v1/conversations HTTP/1.0\r\n\r\n",
        b"GET /v1/conversations HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST /v1/ask HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/ask HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ]
    host, _, port = running.address("http").rpartition(":")
    for sent in heads:
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(sent)
            status = connection.recv(65536).split(b" ", 2)[1]
        assert 200 <= int(status) < 500, (sent, status)
    assert '"rpc_failed"' not in running.log()
    assert '"http_failed"' not in running.log()
