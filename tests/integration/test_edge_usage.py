"""Who calls, what it keeps and has used, and what the deployment is: over gRPC, HTTP and the command line."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1 import system_pb2 as pb
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_cli.main import app as command
from footnote_edge.adapters.usage import UsageTable
from footnote_edge.app import build
from footnote_edge.gateway import metering
from footnote_edge.gateway.guard import PUBLIC
from footnote_edge.gateway.ports import Spent
from footnote_edge.offline import keys as offline
from footnote_kit.edge import METHODS, SERVICES, EdgeStub
from footnote_kit.errors import InvalidArgument, PermissionDenied, Unauthenticated
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles
from typer.testing import CliRunner, Result

pytestmark = pytest.mark.full

PEOPLE = {
    "chief": ("acme", ROLE_ADMIN), "ann": ("acme", ROLE_WRITER), "ben": ("acme", ROLE_WRITER),
    "eve": ("acme", ROLE_READER), "rival": ("other", ROLE_ADMIN),
}  # fmt: skip
SETTINGS = {
    "FOOTNOTE_EDGE_AUTH": "keys",
    "FOOTNOTE_EDGE_MAX_DOCUMENTS_PER_TENANT": "8",
    "FOOTNOTE_EDGE_MAX_TOKENS_PER_DAY": "1000000",
    "FOOTNOTE_EDGE_REQUESTS_PER_MINUTE": "60000",
}


class Place:
    """A served edge, and its people's keys."""

    def __init__(self, served: Any, keys: dict[str, str]) -> None:
        self.stub = EdgeStub(served.channel)
        self.address = served.address
        self.http = f"http://{served.runtime.announced['http']}"
        self.keys = keys

    def as_(self, who: str) -> Any:
        return (("authorization", f"Bearer {self.keys[who]}"),)

    async def usage(self, who: str) -> pb.GetUsageResponse:
        answer: pb.GetUsageResponse = await self.stub.GetUsage(pb.GetUsageRequest(), metadata=self.as_(who))
        return answer

    async def users(self, who: str = "chief", **fields: Any) -> pb.ListUserUsageResponse:
        request = pb.ListUserUsageRequest(**fields)
        answer: pb.ListUserUsageResponse = await self.stub.ListUserUsage(request, metadata=self.as_(who))
        return answer

    async def upload(self, who: str, text: bytes) -> None:
        head = UploadMetadata(collection="default", filename=f"{text.decode()}.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text)]
        done = await self.stub.UploadDocument(iter(parts), metadata=self.as_(who))
        watch = WatchDocumentRequest(document_id=done.document.id)
        async for _ in self.stub.WatchDocument(watch, metadata=self.as_(who), timeout=30):
            pass

    async def search(self, who: str) -> None:
        await self.stub.Search(SearchRequest(query="tea ?"), metadata=self.as_(who), timeout=30)


@pytest.fixture(params=[(), ("ingestion",)], ids=["own", "foreign"])
async def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    """Keep what is counted by our own ingestion, and by one that does nothing but what is promised."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    database, keys = await offline(tmp_path)
    made = {}
    for name, (tenant, role) in PEOPLE.items():
        groups = ["lab"] if name == "ann" else []
        _, made[name] = await keys.create(f"{name}'s", tenant, name, role, timedelta(days=1), groups)
    await database.close()
    doubles = serve_doubles(World(), foreign=request.param)
    async with doubles as stages, serve_app(build, addresses=stages, data_dir=tmp_path) as served:
        yield Place(served, made)


async def test_a_key_says_who_it_is(place: Place) -> None:
    for name, (tenant, role) in PEOPLE.items():
        me = await place.stub.WhoAmI(pb.WhoAmIRequest(), metadata=place.as_(name))
        assert (me.tenant_id, me.user_id, me.role, me.key_label) == (tenant, name, role, f"{name}'s")
        assert me.authentication == pb.AUTHENTICATION_KEY
        assert me.key_id == place.keys[name].split("_")[1]
        assert 0 < (me.expire_time.ToDatetime(UTC) - datetime.now(UTC)).total_seconds() <= 86_400
        assert list(me.groups) == (["lab"] if name == "ann" else [])
        assert (me.limits.documents, me.limits.tokens_per_day) == (8, 1_000_000)
        assert not me.limits.HasField("bytes")
        assert place.keys[name].split("_", 2)[2] not in str(me)


async def test_without_keys_one_is_who_one_says(tmp_path: Path) -> None:
    async with serve_doubles(World()) as stages, serve_app(build, addresses=stages, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        said = (("x-footnote-tenant", "t"), ("x-footnote-user", "u"), ("x-footnote-role", "reader"))
        me = await stub.WhoAmI(pb.WhoAmIRequest(), metadata=said)
        assert (me.tenant_id, me.user_id, me.role) == ("t", "u", ROLE_READER)
        assert me.authentication == pb.AUTHENTICATION_NONE
        assert me.key_id == ""
        assert not me.HasField("expire_time")
        about = await stub.GetSystemInfo(pb.GetSystemInfoRequest())
        assert list(about.authentication) == [pb.AUTHENTICATION_NONE]


async def test_use_is_counted_by_user_and_the_tenants_is_for_its_administrators(place: Place) -> None:
    before = await place.usage("eve")
    for who, text in (("ann", b"one"), ("ann", b"three"), ("ben", b"seven77"), ("rival", b"theirs")):
        await place.upload(who, text)
    await place.search("ben")
    await place.search("rival")
    after = await place.usage("eve")
    assert after == before, "what others do is not told to who may not see all of it"
    assert after.own == pb.UsageCounts()
    ann, ben, chief = [await place.usage(who) for who in ("ann", "ben", "chief")]
    assert (ann.own.documents, ann.own.bytes) == (2, 8)
    assert (ben.own.documents, ben.own.bytes) == (1, 7)
    assert ben.own.tokens_today > ann.own.tokens_today >= 0
    for other in (ann, ben, after):
        assert not other.HasField("tenant")
        assert other.limits.documents == 8
    assert (chief.tenant.documents, chief.tenant.bytes, chief.tenant.collections) == (3, 15, 1)
    assert chief.own.documents == 0
    ends = chief.day_end_time.ToDatetime(UTC)
    assert (ends.hour, ends.minute, ends.second) == (0, 0, 0)
    assert timedelta() < ends - datetime.now(UTC) <= timedelta(days=1)

    users = {one.user_id: one.counts for one in (await place.users()).users}
    assert set(users) == {"ann", "ben"}
    assert (users["ann"].documents, users["ben"].bytes) == (2, 7)
    assert users["ben"] == ben.own
    assert chief.tenant.tokens_today == sum(counts.tokens_today for counts in users.values())
    assert chief.tenant.cost_usd_today == pytest.approx(sum(counts.cost_usd_today for counts in users.values()))


async def test_users_come_in_pages_each_once(place: Place) -> None:
    for who in ("chief", "ann", "ben"):
        await place.upload(who, f"of {who}".encode())
    await place.search("eve")
    token, seen = "", []
    while True:
        page = await place.users(page_size=1, page_token=token)
        assert len(page.users) == 1
        seen += [one.user_id for one in page.users]
        token = page.next_page_token
        if not token:
            break
    assert seen == ["ann", "ben", "chief", "eve"]
    with pytest.raises(InvalidArgument):
        await place.users("rival", page_token=(await place.users(page_size=1)).next_page_token)


@pytest.mark.parametrize("who", ["ann", "eve"])
async def test_users_are_listed_for_administrators_only(place: Place, who: str) -> None:
    with pytest.raises(PermissionDenied):
        await place.users(who)


async def test_what_single_users_used_is_forgotten_after_a_month(place: Place, tmp_path: Path) -> None:
    database, _ = await offline(tmp_path)
    book = UsageTable(database)
    spent = Spent(prompt_tokens=1)
    await book.add({("acme", "2020-01-01", "ann"): spent, ("acme", metering.today(), "ann"): spent})
    await book.sweep()
    assert not await book.of_user("acme", "2020-01-01", "ann")
    assert await book.of_user("acme", metering.today(), "ann") == spent
    await database.close()


async def test_the_system_says_what_a_client_needs_and_no_secret(place: Place) -> None:
    about = await place.stub.GetSystemInfo(pb.GetSystemInfoRequest(), metadata=place.as_("eve"))
    assert about.contract == "footnote.edge.v1"
    assert set(about.services) == {service.full_name for service in SERVICES}
    assert list(about.authentication) == [pb.AUTHENTICATION_KEY]
    assert pb.ACCESS_DOOR_HTTP in about.doors
    assert (about.sizes.message_bytes, about.sizes.page_size) == (16 * 1024 * 1024, 1000)
    assert (about.deadlines.ask.seconds, about.deadlines.call.seconds) == (120, 30)
    assert about.answer_lifetime.seconds == 30 * 86_400
    assert "sqlite" not in str(about)
    with pytest.raises(Unauthenticated):
        await place.stub.GetSystemInfo(pb.GetSystemInfoRequest())
    assert {"GetHealth"} == PUBLIC
    assert {"WhoAmI", "GetUsage", "GetSystemInfo"} <= {method.name for method in METHODS}


async def test_the_same_over_http(place: Place) -> None:
    await place.upload("ann", b"one")
    async with httpx2.AsyncClient(base_url=place.http, headers={"x-api-key": place.keys["chief"]}) as http:
        me = (await http.get("/v1/whoami")).json()
        assert (me["tenant_id"], me["role"], me["authentication"]) == ("acme", "ROLE_ADMIN", "AUTHENTICATION_KEY")
        used = (await http.get("/v1/usage")).json()
        assert used["tenant"]["documents"] == "1"
        assert used["limits"]["documents"] == "8"
        assert [one["user_id"] for one in (await http.get("/v1/usage/users")).json()["users"]] == ["ann"]
        assert (await http.get("/v1/system")).json()["contract"] == "footnote.edge.v1"


async def test_the_commands_show_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FOOTNOTE_API_KEY_FILE", "FOOTNOTE_TENANT", "FOOTNOTE_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOOTNOTE_EDGE_ADDRESS", place.address)
    monkeypatch.setenv("COLUMNS", "100")
    for text in (b"a", b"b"):
        await place.upload("ann", text)

    async def run(who: str, *arguments: str) -> Result:
        monkeypatch.setenv("FOOTNOTE_API_KEY", place.keys[who])
        result = await asyncio.to_thread(CliRunner().invoke, command, list(arguments))
        assert result.exit_code == 0, result.output
        return result

    said = (await run("ann", "whoami")).stdout
    for part in ("acme", "ann", "writer", "lab", "ann's", "documents 8"):
        assert part in said
    assert json.loads((await run("ann", "whoami", "--json")).stdout)["user_id"] == "ann"
    drawn = (await run("chief", "usage")).stdout
    rows = [line.split() for line in drawn.splitlines()]
    assert ["Documents", "0", "2", "8", "█████░░░░░░░░░░░░░░░", "25%"] in rows, drawn
    assert "at 00:00 UTC" in drawn
    assert "%" not in (await run("ann", "usage")).stdout
    assert json.loads((await run("chief", "usage", "--json")).stdout)["tenant"]["documents"] == "2"
    assert "ann" in (await run("chief", "usage", "--by-user")).stdout
