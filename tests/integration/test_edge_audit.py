"""The audit log over the public API: every RPC that is in it, by gRPC and by HTTP, done and refused."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1 import audit_pb2 as pb
from footnote.edge.v1.documents_pb2 import GetDocumentRequest
from footnote.edge.v1.keys_pb2 import RevokeKeyRequest
from footnote.edge.v1.system_pb2 import AUTHENTICATION_KEY
from footnote.types.v1.errors_pb2 import ERROR_REASON_CREDENTIALS_INVALID
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_edge.adapters.audit import AuditTable
from footnote_edge.app import build
from footnote_edge.audit import attempts, coverage
from footnote_edge.gateway.guard import PUBLIC, ROLES
from footnote_edge.gateway.limits import RateLimits
from footnote_edge.offline import audit as offline_log
from footnote_edge.offline import keys as offline
from footnote_kit.edge import METHODS, EdgeStub
from footnote_kit.errors import (
    FootnoteError,
    InvalidArgument,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from footnote_kit.testing import Served, serve_app
from google.rpc.code_pb2 import Code
from support.audited import ABSENT, SECRET_TEXT, Things, absent, call_grpc, call_http, until
from support.doubles.stages import World, serve_doubles

PEOPLE = {
    "admin": ("acme", ROLE_ADMIN),
    "writer": ("acme", ROLE_WRITER),
    "reader": ("acme", ROLE_READER),
    "rival": ("rival", ROLE_ADMIN),
    "operator": ("ops", ROLE_ADMIN),
}
DOORS = {"grpc": pb.AUDIT_DOOR_GRPC, "http": pb.AUDIT_DOOR_HTTP}
BY_OPERATOR = {"UpdateTenantLimits"}


class Place:
    """A served edge with keys of an administrator, a writer and a reader of acme, a rival's and an operator's."""

    def __init__(self, served: Served, keys: dict[str, str], world: World) -> None:
        self.stub = EdgeStub(served.channel)
        self.keys, self.world, self.served = keys, world, served
        self.things = Things(self.stub, world, self.as_("admin"))
        self.url = f"http://{served.runtime.announced['http']}"

    def as_(self, who: str) -> Any:
        return (("authorization", f"Bearer {self.keys[who]}"),)

    def headers(self, who: str) -> dict[str, str]:
        return dict(self.as_(who))

    def key_id(self, who: str) -> str:
        return self.keys[who].split("_")[1]

    async def events(self, who: str = "admin", **filters: Any) -> list[pb.AuditEvent]:
        request = pb.ListAuditEventsRequest(**filters)
        return list((await self.stub.ListAuditEvents(request, metadata=self.as_(who))).events)

    async def call(self, door: str, name: str, request: Any, who: str) -> str:
        """Call an RPC and return its status as gRPC names it."""
        if door == "grpc":
            try:
                await call_grpc(self.stub, name, request, self.as_(who))
            except FootnoteError as error:
                return error.code
            return "OK"
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            answer = await call_http(http, name, request, self.headers(who))
        names = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
        return "OK" if answer.is_success else names.get(answer.status_code, answer.text)


async def make_keys(folder: Path) -> dict[str, str]:
    database, keys = await offline(folder)
    made = {name: (await keys.create(name, tenant, name, role))[1] for name, (tenant, role) in PEOPLE.items()}
    await database.close()
    return {**made, "stranger": "fn_0000000000000000_wrong"}


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Place]:
    keys, world = await make_keys(folder), World()
    world.gates["ParseDocument"] = asyncio.Event()  # documents and operations stay under way, to be cancelled
    async with serve_doubles(world) as stages, serve_app(build, addresses=stages, data_dir=folder) as served:
        yield Place(served, keys, world)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Edge with keys and an operator's tenant, and what is sent to it."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    monkeypatch.setenv("FOOTNOTE_EDGE_OPERATOR_TENANT", "ops")
    async with serving(tmp_path) as running:
        yield running


def test_every_rpc_is_declared_audited_or_not() -> None:
    names = {method.name for method in METHODS}
    declared = [*coverage.AUDITED, *coverage.NOT_AUDITED]
    assert sorted(declared) == sorted(set(declared)), "declared twice"
    assert names == set(declared), "declare it in footnote_edge/audit/coverage.py"
    assert all(coverage.NOT_AUDITED.values()), "a reason is missing"


def test_what_changes_something_for_writers_or_administrators_is_audited() -> None:
    reads = {"ListKeys", "ListUserUsage", "GetActivity", "ListAuditEvents", "GetTenantLimits", "ListTenantLimits"}
    reads |= {"GetSource", "ListSources", "ListSourceItems", "WatchSource"}
    needed = {name for name, least in ROLES.items() if least > ROLE_READER} - reads
    assert needed <= set(coverage.AUDITED)
    assert not set(coverage.AUDITED) & PUBLIC


def refusal(name: str) -> tuple[str, str, Any]:
    """Return the caller that is refused an RPC, the status, and the request; None if all would succeed."""
    if ROLES[name] > ROLE_READER:
        return "reader", "PERMISSION_DENIED", None
    return "reader", "NOT_FOUND", absent(name)


@pytest.mark.parametrize("door", ["grpc", pytest.param("http", marks=pytest.mark.full)])
async def test_each_audited_rpc_is_in_the_log_when_it_is_done_and_when_it_is_refused(
    place: Place, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "SINGLE", 100)  # else the last of so many refusals would be counted together
    wrong: list[str] = []
    for name, declared in coverage.AUDITED.items():
        who = "operator" if name in BY_OPERATOR else "admin"
        request = await place.things.request(name)
        ended = await place.call(door, name, request, who)
        events = await place.events(action=name)
        if ended != "OK" or not events:
            wrong.append(f"{name}: {ended}, {len(events)} events")
            continue
        event = events[0]
        assert (event.outcome, event.code, event.reason) == (pb.AUDIT_OUTCOME_SUCCEEDED, 0, 0), event
        assert (event.door, event.address) == (DOORS[door], "127.0.0.1"), event
        assert (event.key_id, event.authentication) == (place.key_id(who), AUTHENTICATION_KEY), event
        assert (event.tenant_id, event.user_id) == ("acme", "ops/operator" if who == "operator" else "admin"), event
        assert event.resource.startswith(f"{declared.kind}/"), event
        assert len(event.resource) > len(declared.kind) + 1, event
        assert len(event.trace_id) == 32, event
        assert event.request_id, event
        assert event.count == 1
        assert bool(event.changed_fields) == bool(declared.changes), event

        refused, status, other = refusal(name)
        ended = await place.call(door, name, other or request, refused)
        event = (await place.events(action=name))[0]
        if ended != status or Code.Name(event.code) != status:
            wrong.append(f"{name} refused: {ended}, {event}")
        assert event.outcome == (pb.AUDIT_OUTCOME_REFUSED if other is None else pb.AUDIT_OUTCOME_FAILED), event
        assert (event.user_id, event.key_id) == (refused, place.key_id(refused)), event
        assert (event.door, event.address) == (DOORS[door], "127.0.0.1"), event
        if other is not None:
            assert event.resource == f"{declared.kind}/{ABSENT}"

        ended = await place.call(door, name, other or request, "stranger")
        assert ended == "UNAUTHENTICATED"
    assert not wrong, wrong
    everything = await place.events("operator", tenant_id="-", page_size=1000)
    assert SECRET_TEXT not in str(everything)
    assert all(secret.split("_", 2)[2] not in str(everything) for secret in place.keys.values())
    assert {event.tenant_id for event in await place.events("rival", page_size=1000)} == {"rival"}
    strangers = [event for event in everything if Code.Name(event.code) == "UNAUTHENTICATED"]
    assert {event.tenant_id for event in strangers} == {""}
    assert {event.door for event in strangers} == {DOORS[door]}


async def test_a_reader_and_another_tenant_see_nothing(place: Place) -> None:
    await place.call("grpc", "DeleteDocument", await place.things.request("DeleteDocument"), "admin")
    assert await place.events()
    for who in ("reader", "writer"):
        with pytest.raises(PermissionDenied):
            await place.events(who)
    assert [event.action for event in await place.events("rival")] == ["CreateKey"], "its own key, made offline"
    for named in ("acme", "ops", "absent", "-"):
        with pytest.raises(PermissionDenied) as caught:
            await place.events("rival", tenant_id=named)
        assert caught.value.reason == "OPERATOR_ONLY"
    assert {event.tenant_id for event in await place.events("rival")} == {"rival"}, "its own refused attempts"
    assert {"acme"} == {event.tenant_id for event in await place.events("operator", tenant_id="acme")}
    everyone = {event.tenant_id for event in await place.events("operator", tenant_id="-")}
    assert {"acme", "rival"} <= everyone


async def test_filters_narrow_and_pages_lose_and_repeat_nothing(place: Place) -> None:
    for _ in range(5):
        await place.call("grpc", "DeleteDocument", await place.things.request("DeleteDocument"), "admin")
    every = await place.events(page_size=1000)
    seen: list[pb.AuditEvent] = []
    request = pb.ListAuditEventsRequest(page_size=3)
    while True:
        page = await place.stub.ListAuditEvents(request, metadata=place.as_("admin"))
        assert 0 < len(page.events) <= 3
        seen += page.events
        # What comes meanwhile is newer than what is shown: it moves nothing.
        await place.call("grpc", "DeleteDocument", {"document_id": ABSENT}, "admin")
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert [event.id for event in seen] == [event.id for event in every]
    request.action = "DeleteDocument"
    request.page_token = (await place.stub.ListAuditEvents(
        pb.ListAuditEventsRequest(page_size=1), metadata=place.as_("admin"))).next_page_token  # fmt: skip
    with pytest.raises(InvalidArgument):
        await place.stub.ListAuditEvents(request, metadata=place.as_("admin"))

    done = [event for event in every if event.action == "DeleteDocument"]
    assert [event.id for event in await place.events(action="DeleteDocument", outcome=pb.AUDIT_OUTCOME_SUCCEEDED)] == [
        event.id for event in done
    ]
    (one,) = await place.events(action="DeleteDocument", resource=done[0].resource)
    assert one == done[0]
    assert {event.action for event in await place.events(resource="documents/")} == {"UploadDocument", "DeleteDocument"}
    assert await place.events(resource="documents/%") == []
    assert len(await place.events(key_id=place.key_id("admin"), page_size=1000)) >= len(every)
    assert await place.events(user_id="writer") == []
    middle = done[2]
    since = await place.events(action="DeleteDocument", start_time=middle.create_time, page_size=1000)
    assert middle in since
    assert done[-1] in [*since, *await place.events(end_time=middle.create_time, page_size=1000)]
    assert middle not in await place.events(end_time=middle.create_time, page_size=1000)


async def test_refused_attempts_of_rpcs_that_are_not_in_the_log_are(place: Place) -> None:
    metadata = (("authorization", "Bearer fn_0000000000000000_wrong"),)
    with pytest.raises(Unauthenticated):
        await place.stub.GetDocument(GetDocumentRequest(document_id="x"), metadata=metadata)
    with pytest.raises(PermissionDenied):
        await place.events("reader")
    (denied,) = await place.events(action="ListAuditEvents")
    assert (denied.user_id, Code.Name(denied.code), denied.outcome) == (
        "reader",
        "PERMISSION_DENIED",
        pb.AUDIT_OUTCOME_REFUSED,
    )
    (unknown,) = await place.events("operator", tenant_id="-", action="GetDocument")
    assert (unknown.tenant_id, unknown.user_id, unknown.key_id) == ("", "", "")
    assert unknown.reason == ERROR_REASON_CREDENTIALS_INVALID


@pytest.mark.parametrize("door", DOORS)
async def test_a_key_that_has_ended_or_a_wrong_secret_is_in_the_log_of_its_tenant(place: Place, door: str) -> None:
    place.keys["guessed"] = f"fn_{place.key_id('writer')}_guessed"
    assert await place.call(door, "DeleteDocument", {"document_id": ABSENT}, "guessed") == "UNAUTHENTICATED"
    request = RevokeKeyRequest(key_id=place.key_id("writer"))
    await place.stub.RevokeKey(request, metadata=place.as_("admin"))
    assert await place.call(door, "DeleteDocument", {"document_id": ABSENT}, "writer") == "UNAUTHENTICATED"
    found = await place.events(action="DeleteDocument")
    assert [(event.key_id, event.user_id, Code.Name(event.code)) for event in found] == [
        (place.key_id("writer"), "", "UNAUTHENTICATED")
    ] * 2


async def test_nobody_names_its_own_address(place: Place) -> None:
    lies = (("x-footnote-way", "0 2 6.6.6.6"), ("x-forwarded-for", "6.6.6.6"))
    with pytest.raises(Unauthenticated):
        await place.stub.GetDocument(GetDocumentRequest(document_id="x"), metadata=lies)
    async with httpx2.AsyncClient(base_url=place.url) as http:
        assert (await http.get("/v1/documents/x", headers=dict(lies))).status_code == 401
    found = await place.events("operator", tenant_id="-", action="GetDocument")
    assert [(event.door, event.address) for event in found] == [
        (pb.AUDIT_DOOR_HTTP, "127.0.0.1"),
        (pb.AUDIT_DOOR_GRPC, "127.0.0.1"),
    ]


async def test_an_address_is_that_of_the_connection(place: Place) -> None:
    transport = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
    async with httpx2.AsyncClient(base_url=place.url, transport=transport) as http:
        await http.delete(f"/v1/documents/{ABSENT}", headers=place.headers("admin"))
    (event,) = await place.events(action="DeleteDocument")
    assert event.address == "127.0.0.2"


async def test_a_key_pasted_for_an_id_is_not_in_the_log(place: Place) -> None:
    for name, field in (("RevokeKey", "key_id"), ("DeleteDocument", "document_id"), ("DeleteCollection", "collection")):
        await place.call("grpc", name, {field: place.keys["writer"]}, "admin")
        (event,) = await place.events(action=name)
        assert event.resource == "", event


async def test_events_outlive_the_collection(place: Place) -> None:
    request = await place.things.request("DeleteCollection")
    before = await place.events(resource=f"collections/{request['collection']}")
    await place.call("grpc", "DeleteCollection", request, "admin")
    await place.world.until(lambda: bool(place.world.requests("DeleteCollection")))
    after = await place.events(resource=f"collections/{request['collection']}")
    assert [event.action for event in before] == ["CreateCollection"]
    assert [event.action for event in after] == ["DeleteCollection", "CreateCollection"]


async def test_shares_settings_and_providers_are_named_without_their_values(place: Place) -> None:
    private = {"collection": {"name": "plans", "visibility": "VISIBILITY_PRIVATE"}}
    made = await call_grpc(place.stub, "CreateCollection", private, place.as_("admin"))
    change = {
        "grants": [{"user_id": "writer", "access": "ACCESS_READ"}],
        "settings": {"generation": {"provider": "builtin", "model": "some-model"}},
    }
    await call_grpc(
        place.stub, "UpdateCollection", {"collection": made.collection.id, "resource": change}, place.as_("admin")
    )
    (event,) = await place.events(action="UpdateCollection")
    assert set(event.changed_fields) == {"grants", "settings.generation.model", "settings.generation.provider"}
    assert list(event.providers) == ["settings.generation.provider=builtin"]


async def test_json_lines_hold_what_the_list_does(place: Place) -> None:
    for _ in range(3):
        await place.call("grpc", "DeleteDocument", await place.things.request("DeleteDocument"), "admin")
    listed = await place.events(action="DeleteDocument", page_size=1000)
    async with httpx2.AsyncClient(base_url=place.url) as http:
        query = {"action": "DeleteDocument", "page_size": "1"}
        answer = await http.get("/v1/audit/events.jsonl", params=query, headers=place.headers("admin"))
        refused = await http.get("/v1/audit/events.jsonl", headers=place.headers("writer"))
    assert answer.headers["content-type"].startswith("application/jsonl")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["id"] for line in lines] == [event.id for event in listed]
    assert lines[0]["outcome"] == "AUDIT_OUTCOME_SUCCEEDED"
    assert refused.status_code == 403


async def test_json_lines_go_on_when_a_page_is_over_the_rate(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        await place.call("grpc", "DeleteDocument", await place.things.request("DeleteDocument"), "admin")
    pages, enter = 0, RateLimits.enter

    def refuse(self: RateLimits, tenant: str, method: str) -> None:
        nonlocal pages
        pages += method == "ListAuditEvents"
        if method == "ListAuditEvents" and pages in (2, 3):
            raise ResourceExhausted("too many", reason="RATE_LIMITED", retry_after=0.1)
        enter(self, tenant, method)

    monkeypatch.setattr(RateLimits, "enter", refuse)
    async with httpx2.AsyncClient(base_url=place.url, timeout=30) as http:
        query = {"action": "DeleteDocument", "page_size": "1"}
        answer = await http.get("/v1/audit/events.jsonl", params=query, headers=place.headers("admin"))
    assert len(answer.text.splitlines()) == 3
    assert pages >= 5


async def test_while_the_log_cannot_be_written_nothing_audited_is_done(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [await place.things.request("DeleteDocument") for _ in range(4)]
    append = AuditTable.append

    async def away(self: AuditTable, events: Any) -> None:
        raise ConnectionError("the database is away")

    monkeypatch.setattr(AuditTable, "append", away)
    assert await place.call("grpc", "DeleteDocument", requests[0], "admin") == "OK", "it was done, and says so"
    begun = len(place.world.requests("BeginDeletion"))
    with pytest.raises(Unavailable) as caught:
        await call_grpc(place.stub, "DeleteDocument", requests[1], place.as_("admin"))
    assert caught.value.reason == "AUDIT_UNAVAILABLE"
    async with httpx2.AsyncClient(base_url=place.url) as http:
        answer = await call_http(http, "DownloadDocument", requests[2], place.headers("admin"))
        assert (answer.status_code, answer.json()["reason"]) == (503, "AUDIT_UNAVAILABLE")
        assert answer.headers["retry-after"]
        assert (await http.get("/v1/documents", headers=place.headers("admin"))).status_code == 200, (
            "what reads goes on"
        )
    assert len(place.world.requests("BeginDeletion")) == begun, "refused before anything was done"
    monkeypatch.setattr(AuditTable, "append", append)

    async def works() -> bool:
        return await place.call("grpc", "DeleteDocument", requests[3], "admin") == "OK"

    await until(works)
    done = await place.events(action="DeleteDocument", outcome=pb.AUDIT_OUTCOME_SUCCEEDED)
    wanted = [f"documents/{requests[number]['document_id']}" for number in (3, 0)]
    assert [event.resource for event in done] == wanted, "the one that was under way is not lost"


async def test_a_flood_of_refused_attempts_is_a_few_events_and_their_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    refused = 60
    async with serving(tmp_path) as place:
        for number in range(refused):
            await place.call("http" if number % 2 else "grpc", "DeleteDocument", {"document_id": ABSENT}, "stranger")
    database, log = await offline_log(tmp_path)
    found = (await log.read(pb.ListAuditEventsRequest(action="DeleteDocument"))).events
    await database.close()
    counted = [event for event in found if event.count > 1]
    assert len(counted) == 2, "by interface"
    assert all(event.HasField("last_time") and event.address == "127.0.0.1" for event in counted)
    assert sum(event.count for event in found) == refused
    assert len(found) == attempts.SINGLE + 2


@pytest.mark.parametrize(
    ("path", "door"),
    [
        ("/v1/chat/completions", pb.AUDIT_DOOR_OPENAI),
        ("/mcp", pb.AUDIT_DOOR_MCP),
        ("/collections", pb.AUDIT_DOOR_HTTP),
        ("/v1/conversations", pb.AUDIT_DOOR_HTTP),
    ],
)
async def test_each_interface_is_named_where_a_caller_is_unknown(place: Place, path: str, door: int) -> None:
    async with httpx2.AsyncClient(base_url=place.url) as http:
        headers = {**place.headers("stranger"), "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}
        assert (await http.post(path, json={}, headers=headers)).status_code == 401
    (event,) = await place.events("operator", tenant_id="-", outcome=pb.AUDIT_OUTCOME_REFUSED)
    assert (event.door, event.address, event.trace_id) == (door, "127.0.0.1", "ab" * 16)
    assert event.action == ("CreateConversation" if path == "/v1/conversations" else "Authenticate")
    assert event.request_id


async def test_a_call_that_its_caller_breaks_off_is_in_the_log(place: Place) -> None:
    request = await place.things.request("DeleteDocument")
    place.world.gates["BeginDeletion"] = asyncio.Event()
    call = asyncio.ensure_future(call_grpc(place.stub, "DeleteDocument", request, place.as_("admin")))
    await place.world.until(lambda: bool(place.world.requests("BeginDeletion")))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)

    async def logged() -> bool:
        return bool(await place.events(action="DeleteDocument"))

    await until(logged)
    (event,) = await place.events(action="DeleteDocument")
    assert (event.outcome, event.code) == (pb.AUDIT_OUTCOME_FAILED, Code.CANCELLED)
    assert event.resource == f"documents/{request['document_id']}"
    place.world.gates.pop("BeginDeletion").set()
