"""Every HTTP response has the security headers, and health tells anonymous callers only whether it is up."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.keys_pb2 import CreateKeyRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_edge.app import build
from footnote_edge.http.console import pages
from footnote_edge.http.openapi.document import document
from footnote_edge.http.serving.connections import MAX_HEAD_BYTES
from footnote_edge.http.transcoding.binding import rules
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Unauthenticated
from footnote_kit.testing import Served, serve_app
from grpc_health.v1 import health_pb2, health_pb2_grpc
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

NOSNIFF, FRAME, REFERRER = "x-content-type-options", "x-frame-options", "referrer-policy"
WANTED = {NOSNIFF: "nosniff", FRAME: "DENY", REFERRER: "no-referrer"}


def operations() -> list[tuple[str, str]]:
    """Return every route that is published, and those that are not: the console's files and what no route has."""
    published = [(verb.upper(), path) for path, verbs in document("0")["paths"].items() for verb in verbs]
    transcoded = [(rule.verb, rule.documented_path) for rule in rules()]
    plain = [*pages.paths(), "/docs", "/openapi.json", "/v1/health", "/nowhere"]
    found = {*published, *transcoded, *(("GET", path) for path in plain), ("POST", "/mcp"), ("GET", "/mcp")}
    return sorted({*found, *(("PATCH", path) for path in plain), *(("OPTIONS", path) for _, path in found)})


OPERATIONS = operations()


@pytest.fixture
async def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Served, str]]:
    """An edge that knows its callers by keys, and an administrator's."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    monkeypatch.setenv("FOOTNOTE_EDGE_FIRST_KEY_FILE", str(tmp_path / "first.key"))
    monkeypatch.setenv("FOOTNOTE_EDGE_CORS_ORIGINS", "https://friend.example")
    async with (
        serve_doubles(World()) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path) as served,
    ):
        yield served, (tmp_path / "first.key").read_text().strip()


async def heads(served: Served, *requests: dict[str, Any]) -> list[tuple[Any, int, httpx2.Headers]]:
    """Return what each request is answered, without the bodies of those that go on."""
    found = []
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=30) as http:
        for request in requests:
            async with http.stream(**request) as answer:
                found.append((request, answer.status_code, answer.headers))
    return found


def missing(answers: list[tuple[Any, int, httpx2.Headers]]) -> list[Any]:
    """Return the answers that lack one of the headers, or have it twice."""
    lacking = []
    for request, status, headers in answers:
        given = {name: headers.get_list(name) for name in WANTED}
        policy = headers.get_list("content-security-policy")
        if given != {name: [value] for name, value in WANTED.items()} or len(policy) != 1:
            lacking.append((request, status, given, policy))
        elif "frame-ancestors 'none'" not in policy[0] or "unsafe" in policy[0]:
            lacking.append((request, status, policy))
    return lacking


async def test_every_route_with_and_without_a_key(guarded: tuple[Served, str]) -> None:
    served, key = guarded
    known = {"authorization": f"Bearer {key}"}
    friend, stranger = {**known, "origin": "https://friend.example"}, {"origin": "https://evil.example"}
    requests = [
        {"method": verb, "url": path.replace("{", "").replace("}", ""), "headers": headers, **body}
        for number, (verb, path) in enumerate(OPERATIONS)
        for headers in (known, ({}, friend, stranger)[number % 3])
        for body in ([{"json": {"question": "x", "query": "x"}}] if verb in ("POST", "PUT", "PATCH") else [{}])
    ]
    answers = await heads(served, *requests)
    assert missing(answers) == []
    seen = {status for _, status, _ in answers}
    assert {200, 400, 401, 403, 404, 405} <= seen
    kinds = {headers.get("content-type", "").partition(";")[0] for _, _, headers in answers}
    assert {"text/event-stream", "application/json", "application/problem+json", "text/html", "text/css"} <= kinds


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: a\r\n\r\n",
        b"POST /v1/ask HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 2 * MAX_HEAD_BYTES + b"\r\n\r\n",
    ],
    ids=lambda sent: str(sent[:24]),
)
async def test_what_no_application_sees_is_answered_with_them_too(guarded: tuple[Served, str], sent: bytes) -> None:
    host, _, port = guarded[0].runtime.announced["http"].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    async with asyncio.timeout(240):
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    writer.close()
    for name, value in WANTED.items():
        assert answer.count(f"{name}: {value.lower()}\r\n") == 1


async def test_the_page_of_the_api_is_shown_as_it_was(guarded: tuple[Served, str]) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{guarded[0].runtime.announced['http']}") as http:
        page = await http.get("/docs")
    assert "<style>" in page.text
    assert "style-src 'sha256-" in page.headers["content-security-policy"]


async def test_a_stranger_learns_whether_it_is_up_and_no_more(guarded: tuple[Served, str]) -> None:
    served, key = guarded
    stub: Any = EdgeStub(served.channel)
    known = (("authorization", f"Bearer {key}"),)
    assert str(await stub.GetHealth(GetHealthRequest())) == "healthy: true\n"
    whole = await stub.GetHealth(GetHealthRequest(), metadata=known)
    assert whole.components
    assert whole.version
    reader = await stub.CreateKey(
        CreateKeyRequest(label="of a reader", user_id="rob", role=ROLE_READER), metadata=known
    )
    assert (await stub.GetHealth(GetHealthRequest(), metadata=(("x-api-key", reader.secret),))).components
    with pytest.raises(Unauthenticated):
        await stub.GetHealth(GetHealthRequest(), metadata=(("authorization", "Bearer fn_x_y"),))
    checks = health_pb2_grpc.HealthStub(served.channel)
    answer = await checks.Check(health_pb2.HealthCheckRequest())
    assert {field.name for field, _ in answer.ListFields()} <= {"status"}
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=30) as http:
        assert (await http.get("/v1/health")).json() == {
            "healthy": True, "components": [], "version": "",
        }  # fmt: skip
        assert (await http.get("/v1/health", headers={"x-api-key": key})).json()["components"]
        assert (await http.get("/v1/health", headers={"authorization": "Bearer fn_x_y"})).status_code == 401


async def test_without_authentication_health_tells_all(tmp_path: Path) -> None:
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses) as served:
        stub: Any = EdgeStub(served.channel)
        assert (await stub.GetHealth(GetHealthRequest())).components
