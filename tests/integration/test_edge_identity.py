"""Authentication: every RPC of the public API, taken from its descriptor, with every kind of bad credentials."""

import json
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from footnote.edge.v1.answers_pb2 import RATING_UP, AskRequest, SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListConversationsRequest
from footnote.edge.v1.documents_pb2 import (
    GetDocumentRequest,
    UploadDocumentRequest,
    UploadDocumentsRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.edge.v1.system_pb2 import GetHealthRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_WRITER, Role
from footnote_edge.app import build
from footnote_edge.gateway.guard import PUBLIC, ROLES
from footnote_edge.offline import keys as offline
from footnote_kit import edge
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError, InvalidArgument, PermissionDenied, ResourceExhausted, Unauthenticated
from footnote_kit.server import ListenError
from footnote_kit.testing import Served, serve_app
from google.protobuf.message_factory import GetMessageClass
from support.certificates import Authority
from support.doubles.stages import World, serve_doubles

METHODS = [method for method in edge.METHODS if method.name not in PUBLIC]
SECRET_WORDS = ("topsecret", "classified.txt")


def bearer(key: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {key}"),)


def request_for(method: Any, values: dict[str, str]) -> Any:
    """Return a request in which every known name is filled in; a list of messages for a client stream."""
    message = GetMessageClass(method.input_type)()
    target = message
    if method.client_streaming:
        target = message.metadata
    for field in target.DESCRIPTOR.fields:
        if field.name in values and field.message_type is None and not field.is_repeated:
            setattr(target, field.name, values[field.name])
    if method.name == "CreateCollection":
        message.collection.name = values["collection"]
    if method.name == "UpdateCollection":
        message.resource.description = "changed"
    if method.name == "ReindexDocuments":
        message.document_ids.append(values["document_id"])
    if method.name == "Ask":
        message.collections.append(values["collection"])
    if method.name == "CreateKey":
        message.role, message.label = ROLE_READER, "made by the test"
    if method.name == "CreateFeedback":
        message.rating = RATING_UP
    if method.client_streaming:
        message.metadata.SetInParent()
        data = type(message)(data=b"x")
        return iter([message, data])
    return message


async def call(stub: EdgeStub, method: Any, request: Any, metadata: Any) -> Any:
    answer = getattr(stub, method.name)(request, metadata=metadata, timeout=20)
    if method.server_streaming:
        return [event async for event in answer]
    return await answer


class Tenant:
    """A tenant with something of everything, and keys of each role."""

    def __init__(self, served: Served, keys: dict[str, str]) -> None:
        self.stub = EdgeStub(served.channel)
        self.keys = keys
        self.values: dict[str, str] = {}

    async def fill(self) -> None:
        admin = bearer(self.keys["admin"])
        collection = Collection(name="topsecret-plans", description="topsecret")
        await self.stub.CreateCollection(CreateCollectionRequest(collection=collection), metadata=admin)
        head = UploadMetadata(collection="topsecret-plans", filename="classified.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=b"Tea topsecret.")]
        document = (await self.stub.UploadDocument(iter(parts), metadata=admin)).document
        watch = WatchDocumentRequest(document_id=document.id)
        async for _ in self.stub.WatchDocument(watch, metadata=admin, timeout=20):
            pass
        made = await self.stub.CreateConversation(CreateConversationRequest(title="topsecret"), metadata=admin)
        asked = AskRequest(question="tea ?", conversation_id=made.conversation.id)
        events = [event async for event in self.stub.Ask(asked, metadata=admin, timeout=20)]
        self.values = {
            "document_id": document.id,
            "collection": document.collection_id,
            "conversation_id": made.conversation.id,
            "answer_id": events[-1].completed.answer.id,
            "trace_id": events[-1].completed.trace_id,
            "question": "tea ?",
            "query": "tea",
            "title": "x",
            "filename": "x.txt",
        }


@pytest.fixture
async def tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Tenant]:
    """Edge with a key of each role, of another tenant, expired, and revoked."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    database, keys = await offline(tmp_path)
    made: dict[str, str] = {}
    for role in (ROLE_READER, ROLE_WRITER, ROLE_ADMIN):
        name = Role.Name(role).removeprefix("ROLE_").lower()
        _, made[name] = await keys.create(name, "acme", "ann", role)
    _, made["other"] = await keys.create("other", "rival", "bob", ROLE_ADMIN)
    expired, made["expired"] = await keys.create("old", "acme", "ann", ROLE_ADMIN, timedelta(microseconds=1))
    revoked, made["revoked"] = await keys.create("gone", "acme", "ann", ROLE_ADMIN)
    await keys.revoke(revoked.id)
    made["forged"] = made["admin"][:-1] + ("A" if made["admin"][-1] != "A" else "B")
    made["unknown"] = "fn_0123456789abcdef_" + "x" * 43
    assert expired.expire_time is not None
    await database.close()
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        tenant = Tenant(served, made)
        await tenant.fill()
        tenant.http = f"http://{served.runtime.announced['http']}"  # type: ignore[attr-defined]
        yield tenant


async def test_no_rpc_answers_without_a_valid_key(tenant: Tenant) -> None:
    sentences = set()
    bad = [bearer(tenant.keys[name]) for name in ("expired", "revoked", "forged", "unknown")]
    bad += [(), bearer("nonsense"), (("x-footnote-tenant", "acme"), ("x-footnote-user", "ann"))]
    for method in METHODS:
        for metadata in bad:
            with pytest.raises(Unauthenticated) as caught:
                await call(tenant.stub, method, request_for(method, tenant.values), metadata)
            assert caught.value.reason == "CREDENTIALS_INVALID"
            sentences.add(caught.value.message)
    assert len(sentences) == 1, "the refusal must not tell what was wrong"


async def test_health_needs_no_key(tenant: Tenant) -> None:
    assert not (await tenant.stub.GetHealth(GetHealthRequest())).components


async def test_a_role_below_the_rpcs_is_refused(tenant: Tenant) -> None:
    refused = set()
    for method in METHODS:
        for name, role in (("reader", ROLE_READER), ("writer", ROLE_WRITER)):
            if role >= ROLES[method.name]:
                continue
            with pytest.raises(PermissionDenied):
                await call(tenant.stub, method, request_for(method, tenant.values), bearer(tenant.keys[name]))
            refused.add(method.name)
    assert refused == {
        "CreateCollection", "UpdateCollection", "DeleteCollection", "CheckProvider",
        "UploadDocument", "UploadDocuments", "ReplaceDocument", "UpdateDocument",
        "DeleteDocument", "ReindexDocuments", "AddVectors",
        "DeleteVectors", "CreateKey", "ListKeys", "RevokeKey", "ListUserUsage", "GetActivity", "CancelOperation",
        "CancelDocument", "ListAuditEvents", "GetTenantLimits", "ListTenantLimits", "UpdateTenantLimits",
        "CreateSource", "GetSource", "ListSources", "UpdateSource", "DeleteSource", "SyncSource", "ListSourceItems",
        "WatchSource", "CreateEvaluationRun", "DeleteEvaluationRun",
    }  # fmt: skip


async def test_another_tenants_ids_lead_nowhere(tenant: Tenant) -> None:
    for method in METHODS:
        if method.name in ("CreateCollection", "CheckProvider", "ValidateProvider"):
            continue  # the first would make one of its own; the doubles of the others know no tenants
        try:
            answer = await call(tenant.stub, method, request_for(method, tenant.values), bearer(tenant.keys["other"]))
            said = str(answer)
        except FootnoteError as error:
            said = f"{error.message} {error.metadata} {error.violations}"
        if method.name != "QueryChunks":
            assert not [word for word in SECRET_WORDS if word in said], method.name
    survivor = GetDocumentRequest(document_id=tenant.values["document_id"])
    found = await tenant.stub.GetDocument(survivor, metadata=bearer(tenant.keys["reader"]))
    assert found.document.filename == "classified.txt"


async def test_http_takes_the_same_keys(tenant: Tenant) -> None:
    async with httpx2.AsyncClient(base_url=tenant.http) as http:  # type: ignore[attr-defined]
        assert (await http.get("/v1/collections")).status_code == 401
        for headers in ({"authorization": f"Bearer {tenant.keys['reader']}"}, {"x-api-key": tenant.keys["reader"]}):
            listed = await http.get("/v1/collections", headers=headers)
            assert [one["name"] for one in listed.json()["collections"]] == ["topsecret-plans"]
        body = {"collection": {"name": "mine"}}
        assert (await http.post("/v1/collections", json=body["collection"], headers=headers)).status_code == 403


async def test_a_tenant_that_asks_too_often_has_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_REQUESTS_PER_MINUTE", "60")
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        one = (("x-footnote-tenant", "one"),)
        for _ in range(10):
            await stub.ListConversations(ListConversationsRequest(), metadata=one)
        with pytest.raises(ResourceExhausted) as caught:
            await stub.ListConversations(ListConversationsRequest(), metadata=one)
        assert caught.value.reason == "RATE_LIMITED"
        assert caught.value.retry_after is not None
        assert 0 < caught.value.retry_after <= 1
        await stub.ListConversations(ListConversationsRequest(), metadata=(("x-footnote-tenant", "two"),))


async def test_a_tenant_that_uploads_too_much_has_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_UPLOAD_BYTES_PER_MINUTE", "1000")
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        url = f"http://{served.runtime.announced['http']}/v1/documents"
        async with httpx2.AsyncClient(headers={"x-footnote-tenant": "one"}) as http:
            assert (await http.post(url, files={"file": ("a.txt", b"a" * 2000)})).status_code == 201
            refused = await http.post(url, files={"file": ("b.txt", b"b")})
            assert refused.status_code == 429
            assert 50 <= int(refused.headers["retry-after"]) <= 60
            other = {"x-footnote-tenant": "two"}
            assert (await http.post(url, files={"file": ("b.txt", b"b")}, headers=other)).status_code == 201


async def test_each_file_of_a_call_counts_as_an_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_UPLOADS_PER_MINUTE", "60")
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        files = [
            UploadDocumentsRequest(metadata=UploadMetadata(filename=f"{number}.txt"), data=b"%d" % number)
            for number in range(40)
        ]
        answer = await stub.UploadDocuments(iter(files), timeout=30)
        assert [one.WhichOneof("outcome") for one in answer.files] == ["stored"] * 40
        with pytest.raises(ResourceExhausted) as caught:
            await stub.UploadDocuments(iter(files[:1]), timeout=30)
        assert caught.value.reason == "RATE_LIMITED"
        assert caught.value.retry_after is not None
        assert 20 <= caught.value.retry_after <= 31


@pytest.mark.parametrize("mutual", [False, True])
async def test_without_identity_http_is_for_loopback_only(tmp_path: Path, mutual: bool) -> None:
    """A certificate lets a caller connect; its tenant would still be the one that its headers name."""
    settings: dict[str, Any] = {}
    if mutual:
        authority = Authority(tmp_path, "authority")
        settings = {**authority.issue("edge"), "tls_ca_file": authority.file, "tls_client_auth": True}
    with pytest.raises(ListenError, match=r"serves on loopback only, not on 0\.0\.0\.0; set FOOTNOTE_EDGE_AUTH=keys"):
        async with (
            serve_doubles(World()) as addresses,
            serve_app(build, addresses=addresses, data_dir=tmp_path, listen_host="0.0.0.0", **settings),
        ):
            pass


async def test_with_mutual_tls_http_wants_a_certificate_too(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    own = authority.issue("edge")
    settings = {**own, "tls_ca_file": authority.file, "tls_client_auth": True}
    trust = ssl.create_default_context(cafile=str(authority.file))
    shown = ssl.create_default_context(cafile=str(authority.file))
    shown.load_cert_chain(own["tls_cert_file"], own["tls_key_file"])
    async with serve_app(build, data_dir=tmp_path, **settings) as served:
        url = f"https://{served.runtime.announced['http']}/v1/conversations"
        async with httpx2.AsyncClient(verify=shown) as http:
            assert (await http.get(url)).status_code == 200
        async with httpx2.AsyncClient(verify=trust) as http:
            with pytest.raises(httpx2.TransportError):
                await http.get(url)


@pytest.fixture
def issuer() -> Iterator[tuple[str, Any]]:
    """A server that publishes one public key, and the private one that belongs to it."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = jwt.algorithms.RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    document = json.dumps({"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/jwks", private
    server.shutdown()
    thread.join()
    server.server_close()


async def test_tokens_of_the_issuer_are_taken_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, issuer: tuple[str, Any]
) -> None:
    url, private = issuer
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "jwt")
    monkeypatch.setenv("FOOTNOTE_EDGE_JWT_JWKS_URL", url)
    monkeypatch.setenv("FOOTNOTE_EDGE_JWT_ISSUER", "https://issuer.example")
    now = datetime.now(UTC)
    good = {
        "sub": "ann", "tenant": "acme", "roles": ["writer"], "aud": "footnote", "iss": "https://issuer.example",
        "exp": now + timedelta(minutes=5),
    }  # fmt: skip

    def token(key: Any = private, algorithm: str = "RS256", **changes: Any) -> str:
        claims = {name: value for name, value in {**good, **changes}.items() if value is not None}
        return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "k1"})

    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    bad = [
        token(exp=now - timedelta(minutes=5)), token(aud="other"), token(iss="https://evil.example"), token(exp=None),
        token(sub=None), token(tenant=None), token(tenant="a b"), token(key=stranger), token("x" * 40, "HS256"),
        jwt.encode(good, None, algorithm="none", headers={"kid": "k1"}), "a.b.c",
    ]  # fmt: skip
    world = World()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        await stub.CreateConversation(CreateConversationRequest(title="t"), metadata=bearer(token()))
        skewed = token(exp=now - timedelta(seconds=5))
        listed = await stub.ListConversations(ListConversationsRequest(), metadata=bearer(skewed))
        assert listed.total_size == 1
        for text in bad:
            with pytest.raises(Unauthenticated):
                await stub.ListConversations(ListConversationsRequest(), metadata=bearer(text))
        collection = CreateCollectionRequest(collection=Collection(name="x"))
        with pytest.raises(PermissionDenied):
            await stub.CreateCollection(collection, metadata=bearer(token()))
        for groups, known in (
            (["/lab", "office", "/lab", "a b", 7, "x" * 200], ["/lab", "office"]), ("lab office", ["lab", "office"]),
            (None, []), ({"lab": 1}, []), ([f"g{n:03}" for n in range(300)], [f"g{n:03}" for n in range(200)]),
        ):  # fmt: skip
            await stub.Search(SearchRequest(query="x"), metadata=bearer(token(groups=groups)))
            assert list(world.requests("Retrieve")[-1].scope.groups) == known
        for roles in (None, [], ["owner"], ["Writer"], "", {"writer": True}):
            with pytest.raises(PermissionDenied, match="name no role"):
                await stub.ListConversations(ListConversationsRequest(), metadata=bearer(token(roles=roles)))
    monkeypatch.setenv("FOOTNOTE_EDGE_JWT_DEFAULT_ROLE", "reader")
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        await stub.ListConversations(ListConversationsRequest(), metadata=bearer(token(roles=None)))
        with pytest.raises(PermissionDenied):
            await stub.CreateCollection(collection, metadata=bearer(token(roles=None)))
        with pytest.raises(PermissionDenied, match="name no role"):
            await stub.ListConversations(ListConversationsRequest(), metadata=bearer(token(roles=["owner"])))


async def test_keys_carry_groups_and_never_the_services_own_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    database, keys = await offline(tmp_path)
    made, text = await keys.create("k", "acme", "ann", ROLE_READER, groups=["office", "lab", "office"])
    assert made.groups == ("lab", "office")
    for role, groups in ((ROLE_SYSTEM, []), (ROLE_READER, ["a b"]), (ROLE_READER, [f"g{n}" for n in range(201)])):
        with pytest.raises(InvalidArgument):
            await keys.create("k", "acme", "ann", role, groups=groups)
    await database.close()
    world = World()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        pretending = (*bearer(text), ("x-footnote-groups", "board"), ("x-footnote-role", "admin"))
        await stub.Search(SearchRequest(query="x"), metadata=pretending)
        scope = world.requests("Retrieve")[-1].scope
        assert (list(scope.groups), list(scope.roles)) == (["lab", "office"], [ROLE_READER])


async def test_without_authentication_headers_may_name_role_and_groups(tmp_path: Path) -> None:
    world = World()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        for role, groups, known in (
            ("writer", "lab, office,lab", ["lab", "office"]),
            ("reader", "", []),
            ("admin", "", []),
        ):
            named = (("x-footnote-role", role), ("x-footnote-groups", groups))
            await stub.Search(SearchRequest(query="x"), metadata=named)
            scope = world.requests("Retrieve")[-1].scope
            assert (list(scope.groups), list(scope.roles)) == (known, [Role.Value(f"ROLE_{role.upper()}")])
        for header, value in (("role", "system"), ("role", ""), ("role", "Admin"), ("groups", "a b"), ("groups", "-x")):
            with pytest.raises(Unauthenticated, match=f"x-footnote-{header} must be"):
                await stub.Search(SearchRequest(query="x"), metadata=((f"x-footnote-{header}", value),))
