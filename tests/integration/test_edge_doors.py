"""What the doors cost before anybody has shown a key, and what they refuse: over loopback, with raw sockets."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import WatchDocumentsRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER
from footnote_edge.app import build
from footnote_edge.gateway.guard import PUBLIC
from footnote_edge.http.openapi.document import document
from footnote_edge.offline import keys as offline
from footnote_kit.edge import METHODS, PATHS, EdgeStub
from footnote_kit.errors import ResourceExhausted, Unauthenticated
from footnote_kit.testing import Served, serve_app
from google.protobuf.message_factory import GetMessageClass
from support.conditions import until
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

JSON = {"content-type": "application/json"}
OPEN = {"/v1/health", "/openapi.json", "/docs"}


@asynccontextmanager
async def edge(folder: Path, monkeypatch: pytest.MonkeyPatch, world: World | None = None, **settings: Any) -> Any:
    for name, value in settings.items():
        monkeypatch.setenv(f"FOOTNOTE_EDGE_{name.upper()}", str(value))
    async with (
        serve_doubles(world or World()) as addresses,
        serve_app(build, addresses=addresses, data_dir=folder) as served,
    ):
        yield served


async def key(folder: Path, role: Any = ROLE_ADMIN) -> str:
    database, keys = await offline(folder)
    _, text = await keys.create("test", "acme", "ann", role)
    await database.close()
    return text


@pytest.fixture
async def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Edge with keys, whose doors wait one second for a head and for a body."""
    async with edge(tmp_path, monkeypatch, auth="keys", head_seconds=1, body_seconds=1) as served:
        yield served


@pytest.fixture
async def keyless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Edge without keys, whose doors serve one host name and wait one second."""
    async with edge(tmp_path, monkeypatch, head_seconds=1, body_seconds=1, allowed_hosts="Footnote.test") as served:
        yield served


def http_of(served: Served) -> tuple[str, int]:
    host, _, port = served.runtime.announced["http"].rpartition(":")
    return host, int(port)


async def raw(served: Served, *parts: bytes, pause: float = 0.0, limit: float = 30) -> bytes:
    """Send bytes with pauses between them and return all that comes back until the other side hangs up or resets."""
    reader, writer = await asyncio.open_connection(*http_of(served))
    received = bytearray()

    async def receive() -> None:
        with contextlib.suppress(ConnectionError):  # bytes before a reset are still an answer
            while part := await reader.read(65536):
                received.extend(part)

    try:
        async with asyncio.timeout(limit):
            answer = asyncio.create_task(receive())
            with contextlib.suppress(ConnectionError):
                for part in parts:
                    if answer.done():
                        break
                    writer.write(part)
                    await asyncio.sleep(pause)
            await answer
    finally:
        writer.close()
    return bytes(received)


def head(path: str = "/v1/ask", *more: str, host: str = "127.0.0.1") -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"host: {host}", "content-type: application/json", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


async def first_line(served: Served, sent: bytes) -> bytes:
    """Send bytes and return the status line, whatever more the server waits for."""
    reader, writer = await asyncio.open_connection(*http_of(served))
    try:
        writer.write(sent)
        async with asyncio.timeout(240):
            return await reader.readline()
    finally:
        writer.close()


# Key first


def operations() -> list[tuple[str, str]]:
    paths = {path.replace("{", "").replace("}", ""): verbs for path, verbs in document("0")["paths"].items()}
    return [(verb.upper(), path) for path, verbs in paths.items() for verb in verbs] + [("POST", "/mcp"), ("GET", "/x")]


async def test_every_path_decides_by_its_headers_alone(guarded: Served) -> None:
    for verb, path in operations():
        if path in OPEN:
            continue
        # A body is declared but not sent: a server that waits for it does not answer.
        sent = f"{verb} {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"
        assert b" 401 " in await first_line(guarded, sent.encode()), (verb, path)


async def test_every_rpc_decides_by_its_headers_alone(guarded: Served) -> None:
    for method in METHODS:
        if method.name in PUBLIC:
            continue
        request = GetMessageClass(method.input_type)

        async def silence() -> AsyncIterator[Any]:
            await asyncio.Event().wait()
            yield  # pragma: no cover

        # As a stream that never says anything, whatever kind the method is: the server must not wait for a message.
        call = guarded.channel.stream_unary(
            PATHS[method.name],
            request_serializer=request.SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )(silence(), timeout=20)
        with pytest.raises(Unauthenticated):
            await call


async def test_what_an_unknown_caller_sends_is_not_parsed(guarded: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    nested = b'{"documents":[' + b"[]," * 1_000_000 + b"[]]}"
    async with httpx2.AsyncClient(base_url=f"http://{guarded.runtime.announced['http']}", timeout=60) as http:
        began = time.process_time()
        assert (await http.post("/collections/x/documents", content=nested, headers=JSON)).status_code == 401
        assert time.process_time() - began < 0.5
    messages = AskRequest()
    for _ in range(200_000):
        messages.history.add()
    for method in ("Ask", "AddVectors"):
        seen: list[bytes] = []
        monkeypatch.setattr(AskRequest, "FromString", seen.append, raising=False)
        call: Any = guarded.channel.stream_unary(
            PATHS[method],
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=lambda _: None,
        )
        with pytest.raises(Unauthenticated):
            await call(iter([messages]), timeout=20)
        assert not seen


async def test_a_refused_caller_may_use_its_connection_again(guarded: Served) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{guarded.runtime.announced['http']}", timeout=30) as http:
        for size in (10, 10_000, 500_000):
            for _ in range(3):
                assert (await http.post("/v1/ask", content=b"x" * size, headers=JSON)).status_code == 401


async def test_pipelined_requests_are_answered_one_by_one(guarded: Served) -> None:
    one = b"GET /docs HTTP/1.1\r\nhost: a\r\n\r\n"
    post = head("/v1/ask", "content-length: 5") + b"12345"
    last = b"GET /docs HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    answer = await raw(guarded, one + post + one + last)
    assert answer.count(b"HTTP/1.1 200 ") == 3
    assert answer.count(b"HTTP/1.1 401 ") == 1


# Sizes, depths, numbers


async def post(served: Served, path: str, content: bytes) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=60) as http:
        return await http.post(path, content=content, headers=JSON)


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/search", "/collections", "/v1/chat/completions", "/mcp"])
async def test_json_has_at_most_a_mebibyte(keyless: Served, path: str) -> None:
    refused = await post(keyless, path, b'{"question":"' + b"a" * 1024 * 1024 + b'"}')
    assert refused.status_code == 413
    assert "1048576 bytes" in refused.text
    chunked = head(path, "transfer-encoding: chunked")
    answer = await raw(keyless, chunked, *[b"10000\r\n" + b" " * 65536 + b"\r\n"] * 20)
    assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]


async def test_vectors_may_be_longer(keyless: Served) -> None:
    assert (await post(keyless, "/v1/collections", b'{"name": "kb"}')).status_code == 200
    forms = {"/collections/kb/documents": ("documents", "embedding"), "/v1/collections/kb/vectors": ("rows", "vector")}
    for path, (listed, name) in forms.items():
        rows = [{"id": str(n), "text": "x", name: [0.123456789] * 1536} for n in range(200)]
        content = json.dumps({listed: rows}).encode()
        assert len(content) > 2 * 1024 * 1024
        added = await post(keyless, path, content)
        assert added.status_code == 200, added.text
        assert int(added.json()["count"]) == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[" * 70 + b"]" * 70, "nested"),
        (b'{"history":[' + b"{}," * 60_000 + b"{}]}", "values"),
        (b'{"a":[' + b"1," * 70_000 + b"1]}", "numbers"),
        (b'{"question":NaN}', "valid JSON"),
        (b'{"question":"\\ud800"}', "valid JSON"),
        ('{"question":"x"}'.encode("utf-16"), "valid JSON"),
        (b'{"question":' + b"9" * 5000 + b"}", "no number beyond"),
    ],
)
async def test_json_that_costs_more_than_it_says_is_refused(keyless: Served, body: bytes, said: str) -> None:
    for path in ("/v1/ask", "/collections", "/v1/chat/completions"):
        refused = await post(keyless, path, body)
        assert refused.status_code == 400, (path, refused.text)
        assert said in refused.text


# Time


@pytest.mark.parametrize(
    "parts",
    [
        [b"POST /v1/ask HTTP/1.1\r\n"] + [b"a: b\r\n"] * 50,
        [b"P"],
        [head("/v1/ask", "content-length: 1000")] + [b" "] * 50,
        [head("/v1/documents?filename=a.txt", "content-length: 1000")] + [b" "] * 50,
        [head("/mcp", "content-length: 1000", "accept: application/json, text/event-stream")] + [b" "] * 50,
        [head("/v1/ask", "transfer-encoding: chunked")] + [b"1\r\n \r\n"] * 50,
    ],
    ids=["head", "first byte", "json", "file", "mcp", "chunks"],
)
async def test_a_slow_request_is_ended_and_told_so(keyless: Served, parts: list[bytes]) -> None:
    began = time.monotonic()
    answer = await raw(keyless, *parts, pause=0.1)
    assert answer.startswith(b"HTTP/1.1 408 "), answer[:300]
    assert b"REQUEST_TOO_SLOW" in answer
    assert time.monotonic() - began < 15


async def test_a_connection_on_which_nothing_is_said_is_closed(keyless: Served) -> None:
    assert await raw(keyless, limit=15) == b""


async def test_a_caller_who_does_not_read_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with edge(tmp_path, monkeypatch, write_seconds=0.5) as served:
        async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=60) as http:
            made = await http.post("/v1/documents", params={"filename": "a.txt"}, content=b"x" * 10_000_000)
        reader, writer = await asyncio.open_connection(*http_of(served), limit=1024)
        path = f"/v1/documents/{made.json()['document']['id']}:download"
        writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        await reader.readline()
        await asyncio.sleep(3)
        received = 0
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(65536):
                received += len(part)
        assert received < 10_000_000
        writer.close()


# How many


async def test_connections_are_counted_by_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with edge(tmp_path, monkeypatch, http_connections_per_peer=3, head_seconds=60) as served:
        held = [await asyncio.open_connection(*http_of(served)) for _ in range(3)]
        await asyncio.sleep(0.2)
        answer = await raw(served, b"")
        assert answer.startswith(b"HTTP/1.1 503 "), answer
        held.pop()[1].close()
        await asyncio.sleep(0.2)
        assert b" 200 " in await first_line(served, b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        for _, writer in held:
            writer.close()


@pytest.mark.parametrize(
    "lines", [b"a: b\r\n" * 150, b"a: " + b"b" * 40_000 + b"\r\n", b"a: b\n" * 50_000], ids=["many", "long", "huge"]
)
async def test_headers_have_a_size(keyless: Served, lines: bytes) -> None:
    answer = await raw(keyless, b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n" + lines + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 431 "), answer[:100]


async def test_watches_are_counted_by_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with edge(tmp_path, monkeypatch, watches_per_user=2) as served:
        stub = EdgeStub(served.channel)
        await stub.CreateCollection(CreateCollectionRequest(collection={"name": "kb"}))

        def watch(user: str) -> Any:
            metadata = (("x-footnote-user", user),)
            return stub.WatchDocuments(WatchDocumentsRequest(collection="kb"), metadata=metadata, timeout=60)

        async def open_one() -> Any:
            call = watch("ann")
            assert (await call.read()).HasField("snapshot_done")
            return call

        held = [await open_one() for _ in range(2)]
        with pytest.raises(ResourceExhausted, match="2 open watches") as caught:
            await watch("ann").read()
        assert (caught.value.reason, caught.value.metadata["quota"]) == ("QUOTA_EXCEEDED", "watches_per_user")
        assert caught.value.metadata["limit"] == "2"
        other = watch("bob")
        assert (await other.read()).HasField("snapshot_done")
        held.pop().cancel()

        async def opened() -> bool:  # edge counts a watch until it learns that its caller has gone
            with contextlib.suppress(ResourceExhausted):
                held.append(await open_one())
            return len(held) == 2

        await until(opened)
        for call in held:
            call.cancel()
        other.cancel()


async def test_health_costs_the_stages_nothing_more_however_often_it_is_asked(guarded: Served) -> None:
    looks = 0

    def counted(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def look(*arguments: Any) -> Any:
            nonlocal looks
            looks += 1
            return await call(*arguments)

        return look

    guarded.runtime.check = counted(guarded.runtime.check)  # type: ignore[method-assign]
    world_calls = looks
    stub = EdgeStub(guarded.channel)
    began = time.monotonic()
    answers = await asyncio.gather(*(stub.GetHealth(GetHealthRequest()) for _ in range(300)))
    assert not any(answer.components for answer in answers)  # whose callers are not known
    assert looks - world_calls <= 6 * (2 + time.monotonic() - began)


# Other pages, other names


EVIL = "https://evil.example"
CASES = [
    ({}, 200),
    ({"host": "localhost"}, 200),
    ({"host": "LOCALHOST:7180"}, 200),
    ({"host": "[::1]:7180"}, 200),
    ({"host": "127.8.8.8"}, 200),
    ({"host": "footnote.test:7180"}, 200),
    ({"host": "evil.example"}, 403),
    ({"host": "127.0.0.1.evil.example"}, 403),
    ({"host": "127.0.0.1@evil.example"}, 403),
    ({"host": "[::1"}, 403),
    ({"host": "127.0.0.1:x"}, 403),
    ({"host": "0.0.0.0"}, 403),
    ({"host": "localhost", "origin": "http://localhost"}, 200),
    ({"host": "localhost", "origin": "http://localhost:3000"}, 403),
    ({"origin": EVIL}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://[::1"}, 403),
    ({"sec-fetch-site": "same-origin"}, 200),
    ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 403),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
]


@pytest.mark.parametrize(("headers", "status"), CASES)
async def test_without_keys_pages_and_names_of_others_are_kept_out(
    keyless: Served, headers: dict[str, str], status: int
) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{keyless.runtime.announced['http']}", timeout=30) as http:
        assert (await http.get("/v1/collections", headers=headers)).status_code == status


async def test_every_path_keeps_them_out(keyless: Served) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{keyless.runtime.announced['http']}", timeout=30) as http:
        for verb, path in operations():
            for headers in ({"host": "evil.example"}, {"origin": EVIL}, {"sec-fetch-site": "cross-site"}):
                answer = await http.request(verb, path, headers={**headers, **JSON}, content=b"{}")
                assert answer.status_code == 403, (verb, path, headers)


async def test_a_listed_origin_may_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "https://console.example"
    async with edge(tmp_path, monkeypatch, cors_origins=page) as served:
        headers = {"origin": page, "sec-fetch-site": "cross-site"}
        async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=30) as http:
            answer = await http.get("/v1/collections", headers=headers)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == page
            asked = {**headers, "access-control-request-method": "POST"}
            assert (await http.options("/v1/ask", headers=asked)).status_code == 200


async def test_a_page_may_read_that_it_lacks_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "https://console.example"
    async with edge(tmp_path, monkeypatch, cors_origins=page, auth="keys") as served, httpx2.AsyncClient() as http:
        url = f"http://{served.runtime.announced['http']}/v1/collections"
        answer = await http.get(url, headers={"origin": page}, timeout=30)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, page)


# The first key


async def test_the_first_key_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secrets" / "first-admin.key"
    async with edge(tmp_path, monkeypatch, auth="keys", first_key_file=file) as served:
        text = file.read_text().strip()
        assert file.stat().st_mode & 0o777 == 0o600
        stub = EdgeStub(served.channel)
        made = CreateCollectionRequest(collection={"name": "kb"})
        await stub.CreateCollection(made, metadata=(("authorization", f"Bearer {text}"),))
    file.unlink()
    async with edge(tmp_path, monkeypatch, auth="keys", first_key_file=file):
        assert not file.exists()
    assert list(file.parent.iterdir()) == []


async def test_no_first_key_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "first.key"
    await key(tmp_path, ROLE_READER)
    async with edge(tmp_path, monkeypatch, auth="keys", first_key_file=file):
        assert not file.exists()
