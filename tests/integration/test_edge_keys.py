"""API keys over the public API: made, listed and revoked by administrators of a tenant, by gRPC, HTTP and command."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse
from footnote.edge.v1.conversations_pb2 import ListConversationsRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentsRequest
from footnote.edge.v1.keys_pb2 import CreateKeyRequest, Key, ListKeysRequest, RevokeKeyRequest
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_UNSPECIFIED, ROLE_WRITER
from footnote_cli.main import app as command
from footnote_edge.app import build
from footnote_edge.gateway.keys import CACHE_SECONDS
from footnote_edge.offline import keys as offline
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied, Unauthenticated
from footnote_kit.paging import PAGE_BYTES
from footnote_kit.testing import Served, serve_app
from google.protobuf.duration_pb2 import Duration
from support.doubles.stages import World, serve_doubles
from typer.testing import CliRunner, Result

Metadata = tuple[tuple[str, str], ...]


def bearer(key: str) -> Metadata:
    return (("authorization", f"Bearer {key}"),)


class Place:
    """A served edge with keys: an administrator and a writer of acme, and an administrator of rival."""

    def __init__(self, served: Served, keys: dict[str, str], folder: Path) -> None:
        self.address = served.address
        self.stub = EdgeStub(served.channel)
        self.keys = keys
        self.folder = folder
        self.http = f"http://{served.runtime.announced['http']}"

    def as_(self, who: str) -> Metadata:
        return bearer(self.keys[who])

    async def create(self, who: str = "admin", **fields: Any) -> tuple[Key, str]:
        request = CreateKeyRequest(**{"label": "ci", "role": ROLE_WRITER, **fields})
        made = await self.stub.CreateKey(request, metadata=self.as_(who))
        return made.key, made.secret

    async def use(self, secret: str) -> Any:
        return await self.stub.ListConversations(ListConversationsRequest(), metadata=bearer(secret))

    async def revoke(self, key_id: str, who: str = "admin", **fields: Any) -> Key:
        request = RevokeKeyRequest(key_id=key_id, **fields)
        return (await self.stub.RevokeKey(request, metadata=self.as_(who))).key

    async def listed(self, who: str = "admin", **fields: Any) -> list[Key]:
        return list((await self.stub.ListKeys(ListKeysRequest(**fields), metadata=self.as_(who))).keys)


async def make_keys(folder: Path) -> dict[str, str]:
    database, keys = await offline(folder)
    made: dict[str, str] = {}
    for name, tenant, role in (("admin", "acme", ROLE_ADMIN), ("writer", "acme", ROLE_WRITER), ("rival", "rival", 3)):
        _, made[name] = await keys.create(name, tenant, name, role)
    await database.close()
    return made


@asynccontextmanager
async def serving(folder: Path, keys: dict[str, str], world: World | None = None) -> AsyncIterator[Place]:
    async with serve_doubles(world or World()) as stages, serve_app(build, addresses=stages, data_dir=folder) as served:
        yield Place(served, keys, folder)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Edge with keys, and what administers them."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    async with serving(tmp_path, await make_keys(tmp_path)) as running:
        yield running


def id_of(secret: str) -> str:
    return secret.split("_")[1]


async def test_a_key_is_made_used_listed_and_ended(place: Place) -> None:
    key, secret = await place.create(user_id="bot", groups=["lab", "hr", "lab"], ttl=Duration(seconds=3600))
    assert (key.label, key.user_id, key.role, list(key.groups)) == ("ci", "bot", ROLE_WRITER, ["hr", "lab"])
    assert key.expire_time.seconds - key.create_time.seconds == 3600
    assert id_of(secret) == key.id
    await place.use(secret)
    assert key in await place.listed()
    assert [one.id for one in await place.listed(user_id="bot")] == [key.id]
    assert secret.split("_", 2)[2] not in str(await place.listed(include_ended=True))

    ended = await place.revoke(key.id)
    assert ended.HasField("revoke_time")
    with pytest.raises(Unauthenticated):
        await place.use(secret)
    assert key.id not in [one.id for one in await place.listed()]
    assert ended in await place.listed(include_ended=True)
    assert await place.revoke(key.id) == ended, "revoking again changes nothing"


async def test_the_caller_is_the_user_of_a_key_that_names_none(place: Place) -> None:
    assert (await place.create())[0].user_id == "admin"


async def test_another_tenants_keys_do_not_exist(place: Place) -> None:
    theirs, absent = id_of(place.keys["rival"]), "0123456789abcdef"
    said = []
    for key_id in (theirs, absent):
        with pytest.raises(NotFound) as caught:
            await place.revoke(key_id, force=True)
        assert caught.value.reason == "KEY_NOT_FOUND"
        assert caught.value.metadata == {"key_id": key_id}
        said.append(caught.value.message.replace(key_id, "…"))
        assert await place.revoke(key_id, allow_missing=True) == Key()
    assert len(set(said)) == 1
    assert theirs not in [one.id for one in await place.listed(include_ended=True)]
    await place.use(place.keys["rival"])


async def test_only_administrators_may(place: Place) -> None:
    for call in (place.create("writer"), place.listed("writer"), place.revoke("x", "writer")):
        with pytest.raises(PermissionDenied):
            await call


@pytest.mark.parametrize("role", [ROLE_UNSPECIFIED, ROLE_SYSTEM])
async def test_no_key_has_the_role_of_a_service_or_none(place: Place, role: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await place.create(role=role)
    assert [one.field for one in caught.value.violations] == ["role"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("label", ""), ("label", " "), ("label", "x" * 201), ("label", "a\nb"), ("user_id", "a b"),
        ("user_id", "x" * 129), ("groups", ["a b"]), ("groups", [f"g{n}" for n in range(201)]), ("ttl", Duration()),
        ("ttl", Duration(seconds=-1)), ("ttl", Duration(seconds=315_576_000_000)), ("request_id", "ü"),
        ("request_id", "x" * 65), ("role", 9),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused_by_name(place: Place, field: str, value: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await place.create(**{field: value})
    assert caught.value.violations[0].field.startswith(field)
    assert len(await place.listed()) == 2


async def test_the_last_administrators_key_is_kept_unless_forced(place: Place) -> None:
    own = id_of(place.keys["admin"])
    await place.create(role=ROLE_ADMIN, ttl=Duration(seconds=1))
    await asyncio.sleep(1.1)
    with pytest.raises(FailedPrecondition) as caught:
        await place.revoke(own)
    assert (caught.value.reason, caught.value.metadata["key_id"]) == ("LAST_ADMIN_KEY", own)
    second, secret = await place.create(role=ROLE_ADMIN)
    await place.revoke(own)
    place.keys["admin"] = secret
    assert (await place.revoke(second.id, force=True)).HasField("revoke_time")
    with pytest.raises(Unauthenticated):
        await place.listed()


async def test_two_administrators_who_revoke_each_other_do_not_both_succeed(place: Place) -> None:
    for _ in range(5):
        second, place.keys["second"] = await place.create(role=ROLE_ADMIN)
        first = id_of(place.keys["admin"])
        done = await asyncio.gather(
            place.revoke(second.id, "admin"), place.revoke(first, "second"), return_exceptions=True
        )
        left = [name for name, one in zip(("admin", "second"), done, strict=True) if isinstance(one, Key)]
        assert len(left) == 1, done
        place.keys["admin"] = place.keys[left[0]]


async def test_a_call_repeated_under_its_id_makes_one_key(place: Place) -> None:
    many = await asyncio.gather(*(place.create(request_id="again") for _ in range(5)))
    assert len({key.id for key, _ in many}) == 1
    assert len([secret for _, secret in many if secret]) == 1, "the secret is shown once"
    with pytest.raises(InvalidArgument) as caught:
        await place.create(request_id="again", label="another")
    assert caught.value.reason == "REQUEST_ID_REUSED"
    other = await place.create("rival", request_id="again")
    assert other[1]


async def test_pages_hold_every_key_once_while_more_are_made(place: Place) -> None:
    made = {(await place.create(label=f"n{number}"))[0].id for number in range(7)}
    request, seen = ListKeysRequest(page_size=3), []
    while True:
        page = await place.stub.ListKeys(request, metadata=place.as_("admin"))
        seen += [key.id for key in page.keys]
        if not page.next_page_token:
            break
        await place.create()
        request.page_token = page.next_page_token
    assert len(seen) == len(set(seen))
    assert made <= set(seen)
    other = ListKeysRequest(page_size=3, include_ended=True, page_token=request.page_token)
    with pytest.raises(InvalidArgument, match="belongs to another request"):
        await place.stub.ListKeys(other, metadata=place.as_("admin"))


async def test_a_page_of_keys_ends_before_it_is_too_large(place: Place) -> None:
    groups = [f"g{number:03}".ljust(128, "g") for number in range(200)]
    made = [(await place.create(groups=groups))[0].id for _ in range(140)]
    request, seen = ListKeysRequest(page_size=1000), []
    while not seen or request.page_token:
        page = await place.stub.ListKeys(request, metadata=place.as_("admin"))
        assert page.ByteSize() <= PAGE_BYTES
        seen += [key.id for key in page.keys]
        request.page_token = page.next_page_token
    assert len(seen) == len(set(seen)) == page.total_size
    assert set(made) <= set(seen)


async def test_a_revoked_key_ends_on_another_replica_within_the_stated_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, secret = await place.create()
    await place.use(secret)
    database, elsewhere = await offline(place.folder)
    await elsewhere.revoke(key.id)
    await database.close()
    async with asyncio.timeout(CACHE_SECONDS + 5):
        while True:
            try:
                await place.use(secret)
            except Unauthenticated:
                return
            await asyncio.sleep(0.2)


async def test_a_watch_under_a_revoked_key_tells_nothing_more(place: Place) -> None:
    async def upload(text: bytes) -> None:
        head = UploadMetadata(collection="default", filename=f"{text.decode()}.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text)]
        await place.stub.UploadDocument(iter(parts), metadata=place.as_("admin"))

    await upload(b"first")
    key, secret = await place.create()
    watch = place.stub.WatchDocuments(WatchDocumentsRequest(collection="default"), metadata=bearer(secret), timeout=60)
    events = aiter(watch)
    await anext(events)
    await place.revoke(key.id)
    told: list[str] = []

    async def go_on() -> None:
        async for event in events:
            told.append(str(event))

    going = asyncio.create_task(go_on())
    await upload(b"secret-plan")
    with pytest.raises(Unauthenticated):
        await going
    assert "secret-plan" not in str(told)


async def test_an_answer_under_a_revoked_key_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    world = World()
    async with serving(tmp_path, await make_keys(tmp_path), world) as place:
        key, secret = await place.create()
        world.gates["Generate"] = asyncio.Event()
        asking = aiter(place.stub.Ask(AskRequest(question="tea ?"), metadata=bearer(secret), timeout=60))
        going = asyncio.create_task(_all(asking))
        await world.until(lambda: bool(world.requests("Generate")))
        await place.revoke(key.id)
        with pytest.raises(Unauthenticated):
            await asyncio.wait_for(going, 30)
        await world.until(lambda: world.cancelled == ["Generate"])


async def _all(events: AsyncIterator[AskResponse]) -> list[AskResponse]:
    return [event async for event in events]


async def test_without_keys_there_are_none_to_make(tmp_path: Path) -> None:
    async with serving(tmp_path, {"admin": "none"}) as place:
        for request in (CreateKeyRequest(label="x", role=ROLE_READER), ListKeysRequest(), RevokeKeyRequest(key_id="x")):
            method = type(request).__name__.removesuffix("Request")
            with pytest.raises(FailedPrecondition) as caught:
                await getattr(place.stub, method)(request)
            assert caught.value.reason == "KEYS_OFF"


async def test_the_same_over_http(place: Place) -> None:
    headers = {"x-api-key": place.keys["admin"]}
    async with httpx2.AsyncClient(base_url=place.http, headers=headers) as http:
        body = {"label": "web", "role": "ROLE_READER", "user_id": "ann", "ttl": "3600s"}
        made = await http.post("/v1/keys", json=body)
        assert made.status_code == 200, made.text
        key, secret = made.json()["key"], made.json()["secret"]
        assert made.headers["cache-control"] == "no-store"
        assert (key["role"], key["user_id"]) == ("ROLE_READER", "ann")
        listed = await http.get("/v1/keys", params={"user_id": "ann"})
        assert [one["id"] for one in listed.json()["keys"]] == [key["id"]]
        assert secret not in listed.text
        own = {"x-api-key": secret}
        assert (await http.get("/v1/conversations", headers=own)).status_code == 200
        assert (await http.get("/v1/keys", headers=own)).status_code == 403
        revoked = await http.post(f"/v1/keys/{key['id']}:revoke", json={})
        assert revoked.json()["key"]["revoke_time"]
        assert (await http.get("/v1/conversations", headers=own)).status_code == 401
        last = await http.post(f"/v1/keys/{id_of(place.keys['admin'])}:revoke", json={})
        assert (last.status_code, last.json()["reason"]) == (409, "LAST_ADMIN_KEY")
        none = await http.post("/v1/keys/none:revoke", json={})
        assert (none.status_code, none.json()["reason"]) == (404, "KEY_NOT_FOUND")


async def test_the_command_goes_to_the_server_with_a_key_and_to_the_database_without(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FOOTNOTE_API_KEY_FILE", "FOOTNOTE_TENANT", "FOOTNOTE_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOOTNOTE_EDGE_ADDRESS", place.address)
    monkeypatch.setenv("FOOTNOTE_DATA_DIR", str(place.folder / "elsewhere"))
    monkeypatch.setenv("FOOTNOTE_API_KEY", place.keys["admin"])

    async def keys(*arguments: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, command, ["keys", *arguments])

    made = await keys("create", "laptop", "--user", "ann", "--role", "reader", "--expires", "90d", "--json")
    assert made.exit_code == 0, made.output
    key = json.loads(made.stdout)
    assert (key["label"], key["user_id"], key["role"]) == ("laptop", "ann", "reader")
    assert key["expire_time"] > key["create_time"]
    await place.use(key["key"])
    listed = await keys("list", "--json")
    assert {one["label"] for one in json.loads(listed.stdout)["keys"]} == {"laptop", "admin", "writer"}
    assert key["key"] not in listed.stdout
    assert "laptop" in (await keys("list")).stdout
    refused = await keys("create", "x", "--tenant", "rival")
    assert (refused.exit_code, "own tenant only" in refused.stderr) == (2, True)
    last = await keys("revoke", id_of(place.keys["admin"]), "--yes")
    assert (last.exit_code, "--force" in last.stderr) == (1, True)
    assert (await keys("revoke", key["id"], "--yes")).exit_code == 0
    with pytest.raises(Unauthenticated):
        await place.use(key["key"])
    assert not (place.folder / "elsewhere").exists()

    of_database = await keys("list", "--json", "--data-dir", str(place.folder))
    assert {one["tenant_id"] for one in json.loads(of_database.stdout)["keys"]} == {"acme", "rival"}
    monkeypatch.delenv("FOOTNOTE_API_KEY")
    monkeypatch.setenv("FOOTNOTE_DATA_DIR", str(place.folder))
    assert len(json.loads((await keys("list", "--json")).stdout)["keys"]) == 3


async def test_no_secret_is_logged_or_traced(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    _, secret = await place.create()
    await place.use(secret)
    with pytest.raises(Unauthenticated):
        await place.use(secret + "x")
    said = "".join(capfd.readouterr())
    for hidden in (secret, secret.split("_", 2)[2], place.keys["admin"]):
        assert hidden not in said
