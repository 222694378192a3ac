"""What the public port does not do: believe proofs, speak for services, show traces around its guard."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.system_pb2 import GetTraceRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1 import telemetry_service_pb2 as telemetry
from footnote.telemetry.v1.telemetry_service_pb2_grpc import TelemetryServiceStub
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_UNSPECIFIED, Role
from footnote_edge.app import build
from footnote_edge.gateway.guard import PUBLIC, CallGuard
from footnote_edge.gateway.limits import Admission, RateLimits, Watches
from footnote_edge.gateway.principals import Identity, Proof
from footnote_edge.offline import keys as offline
from footnote_edge.settings import Settings
from footnote_kit.admission.concurrency import Size
from footnote_kit.admission.fair_shares import Shares
from footnote_kit.edge import METHODS, PATHS, EdgeStub
from footnote_kit.errors import NotFound, PermissionDenied, Unauthenticated
from footnote_kit.testing import SCOPE, Served, proof_of, serve_app
from google.protobuf.message_factory import GetMessageClass
from support.doubles.stages import World, serve_doubles


@dataclass
class Edge:
    """A running edge that asks for keys, and keys by user."""

    served: Served
    keys: dict[str, str]

    @property
    def stub(self) -> EdgeStub:
        return EdgeStub(self.served.channel)

    def as_(self, user: str) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.keys[user]}"),)

    async def ask(self, user: str) -> str:
        """Ask something as a user and return the trace's id."""
        asked = self.stub.Ask(AskRequest(question="tea ?"), metadata=self.as_(user), timeout=20)
        return [event async for event in asked][-1].completed.trace_id

    async def trace(self, user: str, trace_id: str) -> Any:
        return await self.stub.GetTrace(GetTraceRequest(trace_id=trace_id), metadata=self.as_(user))


@pytest.fixture
async def edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Edge]:
    """Edge with keys of two tenants, and the stages behind it."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    database, keys = await offline(tmp_path)
    made: dict[str, str] = {}
    for name, tenant, role in (
        ("ann", "acme", ROLE_READER), ("ben", "acme", ROLE_READER), ("chief", "acme", ROLE_ADMIN),
        ("rival", "other", ROLE_ADMIN),
    ):  # fmt: skip
        _, made[name] = await keys.create(name, tenant, name, role)
    await database.close()
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        yield Edge(served, made)


def messages(method: Any) -> Any:
    message = GetMessageClass(method.input_type)()
    return iter([message]) if method.client_streaming else message


async def test_a_proof_opens_nothing_on_the_public_port(edge: Edge) -> None:
    for method in METHODS:
        if method.name in PUBLIC:
            continue
        for stage in ("edge", "retrieval"):
            metadata = (proof_of(stage), ("x-footnote-tenant", "acme"))
            made = getattr(edge.stub, method.name)(messages(method), metadata=metadata, timeout=20)
            with pytest.raises(Unauthenticated) as caught:
                await (made.read() if method.server_streaming else made)
            assert caught.value.reason == "CREDENTIALS_INVALID", method.name


async def test_the_public_port_has_no_telemetry_service(edge: Edge) -> None:
    trace_id = await edge.ask("ann")
    request = telemetry.GetTraceRequest(scope=Scope(tenant_id="acme", user_id="ann"), trace_id=trace_id)
    async with grpc.aio.insecure_channel(edge.served.address) as plain:
        for metadata in ((), (proof_of("edge", scope=request.scope),), edge.as_("chief")):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await TelemetryServiceStub(plain).GetTrace(request, metadata=metadata)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_trace_is_read_by_who_made_it_and_by_admins_of_its_tenant(edge: Edge) -> None:
    trace_id = await edge.ask("ann")
    for user in ("ann", "chief"):
        services = {span.service for span in (await edge.trace(user, trace_id)).spans}
        assert {"footnote-edge", "footnote-retrieval", "footnote-generation"} <= services
    for user in ("ben", "rival"):
        with pytest.raises(NotFound) as caught:
            await edge.trace(user, trace_id)
        assert caught.value.reason == "TRACE_NOT_FOUND"


ROLES_OF_NO_CALLER = [
    number for name, number in Role.items() if name not in ("ROLE_READER", "ROLE_WRITER", "ROLE_ADMIN")
]


@pytest.mark.parametrize("role", ROLES_OF_NO_CALLER)
async def test_the_door_lets_in_nobody_with_a_services_role(role: Any) -> None:
    class Fooled:
        async def authenticate(self, metadata: Any) -> Identity:
            return Identity(Scope(tenant_id="t", user_id="u", roles=[ROLE_ADMIN, role]), Proof.NONE)

        def anonymous(self, metadata: Any) -> bool:
            return False

        async def check(self, identity: Identity) -> None:
            """Let everybody go on."""

    door = CallGuard(
        Fooled(),
        RateLimits(Settings()),
        Watches(1),
        Shares(1, 64, 10.0),
        Admission(*[Size(1, 1.0)] * 3, iteration=lambda: 0.0, processor=lambda: 0.0),
    )
    with pytest.raises(PermissionDenied, match="role of a service"):
        await door.admit(PATHS["Ask"], {})


def test_the_roles_of_no_caller_are_these() -> None:
    assert set(ROLES_OF_NO_CALLER) == {ROLE_UNSPECIFIED, ROLE_SYSTEM}
    assert ROLE_SYSTEM not in SCOPE.roles
