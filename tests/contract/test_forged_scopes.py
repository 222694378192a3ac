"""Every RPC of every stage believes a scope only from a service that proves it, and refuses before its handler runs."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import grpc
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1 import telemetry_service_pb2 as telemetry_pb
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_WRITER
from footnote_kit import credential
from footnote_kit.app import App, Runtime
from footnote_kit.credential import HEADER, MAX_LIFETIME, ServiceCredential
from footnote_kit.errors import Aborted
from footnote_kit.status import FinalStatus, from_rpc_error
from footnote_kit.telemetry import TelemetryServicer
from footnote_kit.testing import CREDENTIAL, Served, serve_app
from google.protobuf.descriptor import MethodDescriptor
from support.complete_requests import complete
from support.doubles.services import STAGES, contract, message_class, upkeep

pytestmark = pytest.mark.slow

READER = Scope(tenant_id="t", user_id="u", roles=[ROLE_READER], groups=["g"])
STRANGER = ServiceCredential.random()
TELEMETRY = telemetry_pb.DESCRIPTOR.services_by_name["TelemetryService"]
Headers = list[tuple[str, str]]


def sign(stage: str, path: str, scope: Scope | None, by: ServiceCredential = CREDENTIAL, life: float = 60) -> str:
    return by.sign(stage, path, scope, life)


def changed(header: str, part: int, text: str) -> str:
    parts = header.split(".")
    parts[part] = text
    return ".".join(parts)


def scope(**values: Any) -> Scope:
    return Scope(**{"tenant_id": "t", "user_id": "u", "roles": [ROLE_READER], "groups": ["g"], **values})


def signed_at(seconds: float, stage: str, path: str, life: float = 60) -> str:
    """Return a proof made that many seconds from now."""
    with pytest.MonkeyPatch.context() as patch:
        moment = credential.time.time() + seconds
        patch.setattr(credential.time, "time", lambda: moment)
        return sign(stage, path, READER, life=life)


def too_long_lived(stage: str, path: str) -> str:
    now = int(credential.time.time())
    return CREDENTIAL.signed(stage, path, READER, now, now + MAX_LIFETIME + 1)


def text_of(scope: Scope) -> str:
    """Return a scope as a proof has it."""
    return sign("", "", scope).split(".")[5]


# (stage, path) -> headers, and the scope in the message. Each is wrong in one thing only.
HEADERS: dict[str, Callable[[str, str], Headers]] = {
    "no proof": lambda stage, path: [],
    "an empty one": lambda stage, path: [(HEADER, "")],
    "nonsense": lambda stage, path: [(HEADER, "v1." + "a" * 120)],
    "an unknown key": lambda stage, path: [(HEADER, sign(stage, path, READER, STRANGER))],
    "a key's name alone": lambda stage, path: [
        (HEADER, changed(sign(stage, path, READER, STRANGER), 1, sign(stage, path, READER).split(".")[1]))
    ],
    "expired": lambda stage, path: [(HEADER, signed_at(-62, stage, path))],
    "from the future": lambda stage, path: [(HEADER, signed_at(credential.CLOCK_SKEW + 10, stage, path))],
    "too long a life": lambda stage, path: [(HEADER, too_long_lived(stage, path))],
    "renewed by hand": lambda stage, path: [
        (HEADER, changed(signed_at(-62, stage, path), 2, sign(stage, path, READER).split(".")[2]))
    ],
    "ends before it begins": lambda stage, path: [(HEADER, sign(stage, path, READER, life=-1))],
    "prolonged by hand": lambda stage, path: [
        (HEADER, changed(signed_at(-62, stage, path), 3, sign(stage, path, READER).split(".")[3]))
    ],
    "another stage's": lambda stage, path: [(HEADER, sign("edge", path, READER))],
    "another method's": lambda stage, path: [(HEADER, sign(stage, path + "s", READER))],
    "widened to all methods": lambda stage, path: [(HEADER, changed(sign(stage, path, READER), 4, "*"))],
    "two of them": lambda stage, path: [(HEADER, sign(stage, path, READER))] * 2,
}
SCOPES: dict[str, Scope | None] = {
    "another tenant": scope(tenant_id="other"),
    "another user": scope(user_id="other"),
    "a higher role": scope(roles=[ROLE_ADMIN]),
    "one role more": scope(roles=[ROLE_READER, ROLE_ADMIN]),
    "the services' role": scope(roles=[ROLE_SYSTEM]),
    "one group more": scope(groups=["g", "h"]),
    "no role": scope(roles=[]),
    "none": None,
}


def forgeries(stage: str, path: str) -> dict[str, tuple[Headers, Scope | None]]:
    """Return headers and scope of each attempt by its name."""
    good = [(HEADER, sign(stage, path, READER))]
    found: dict[str, tuple[Headers, Scope | None]] = {
        f"proof: {name}": (make(stage, path), READER) for name, make in HEADERS.items()
    }
    for name, wrong in SCOPES.items():
        found[f"scope: {name}"] = (good, wrong)
        if wrong is not None:
            found[f"scope and its copy: {name}"] = ([(HEADER, changed(good[0][1], 5, text_of(wrong)))], wrong)
            found[f"copy of the scope: {name}"] = ([(HEADER, sign(stage, path, wrong))], READER)
    return found


def recording(servicer: Any, reached: list[str]) -> Any:
    """Return a servicer whose handlers note that they were reached, and end there."""

    def handler(name: str, original: Any) -> Any:
        async def unary(request: Any, context: Any) -> Any:
            reached.append(name)
            raise Aborted("reached")

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            reached.append(name)
            raise Aborted("reached")
            yield

        return stream if inspect.isasyncgenfunction(original) else unary

    names = [name for name in dir(servicer) if name[0].isupper()]
    return type("Recording", (), {name: staticmethod(handler(name, getattr(servicer, name))) for name in names})()


@asynccontextmanager
async def real(stage: str, reached: list[str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Serve a real stage as it registers itself, its handlers and those of its telemetry exchanged for notes."""
    build = import_module(f"footnote_{stage}.app").build

    async def built(runtime: Runtime) -> App:
        app: App = await build(runtime)
        app.servicers = [(add, recording(servicer, reached), name) for add, servicer, name in app.servicers]
        return app

    monkeypatch.setattr("footnote_kit.server.TelemetryServicer", lambda: recording(TelemetryServicer(), reached))
    nowhere = dict.fromkeys((*STAGES, "edge"), "127.0.0.1:1")
    async with serve_app(built, addresses=nowhere, vector_store_uri="http://127.0.0.1:1") as served:
        yield served


async def call(channel: Any, method: MethodDescriptor, headers: Headers, scope: Scope | None, **fields: Any) -> Any:
    """Call a method with a plain client and return the error that it ends with, as ours."""
    kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    stub = getattr(channel, kind)(path_of(method), message_class(method.input_type).SerializeToString)
    request: Any = complete(method)
    request.MergeFrom(message_class(method.input_type)(**fields))
    if scope is not None:
        request.scope.CopyFrom(scope)
    made = stub(iter([request]) if method.client_streaming else request, timeout=30, metadata=headers)
    ending = FinalStatus(made)
    try:
        if method.server_streaming:
            await made.read()
        else:
            await made
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(await ending.of(error))
    raise AssertionError("it was answered")


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def methods(stage: str) -> list[MethodDescriptor]:
    return [*contract(stage)[1].methods, *upkeep(stage), *TELEMETRY.methods]


@pytest.mark.parametrize("stage", STAGES)
async def test_no_forged_scope_reaches_a_handler(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    cells = 0
    async with real(stage, reached, monkeypatch) as served, grpc.aio.insecure_channel(served.address) as channel:
        for method in methods(stage):
            path = path_of(method)
            for name, (headers, body) in forgeries(stage, path).items():
                error = await call(channel, method, headers, body)
                assert (error.code, error.reason) == ("UNAUTHENTICATED", "SCOPE_INVALID"), (path, name, error)
                assert reached == [], (path, name)
                cells += 1
            # The same call with nothing wrong gets there; so does a developer's header for all methods of the stage.
            for good in (path, "*"):
                error = await call(channel, method, [(HEADER, sign(stage, good, READER))], READER)
                assert error.message == "reached", (path, error)
            assert reached == [method.name] * 2
            reached.clear()
    assert cells == len(methods(stage)) * len(forgeries(stage, ""))


@pytest.mark.parametrize("stage", STAGES)
async def test_a_proof_is_not_good_once_its_time_is_over(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    async with real(stage, reached, monkeypatch) as served, grpc.aio.insecure_channel(served.address) as channel:
        for method in methods(stage):
            headers = [(HEADER, sign(stage, path_of(method), READER))]
            assert (await call(channel, method, headers, READER)).message == "reached"
            error = await call(channel, method, [(HEADER, signed_at(-62, stage, path_of(method)))], READER)
            assert error.reason == "SCOPE_INVALID"
            assert "expired" in error.message
    assert reached == [method.name for method in methods(stage)]


async def test_only_the_services_themselves_ask_over_all_tenants(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    for stage in STAGES:
        reached: list[str] = []
        wide = [one for one in methods(stage) if "all_tenants" in one.input_type.fields_by_name]
        async with real(stage, reached, monkeypatch) as served, grpc.aio.insecure_channel(served.address) as channel:
            for method in wide:
                for roles in ([], [ROLE_READER], [ROLE_WRITER], [ROLE_READER, ROLE_WRITER, ROLE_ADMIN]):
                    caller = scope(roles=roles)
                    headers = [(HEADER, sign(stage, path_of(method), caller))]
                    error = await call(channel, method, headers, caller, all_tenants=True)
                    assert error.code == "PERMISSION_DENIED", (method.full_name, roles)
                assert reached == []
                system = scope(roles=[ROLE_SYSTEM])
                headers = [(HEADER, sign(stage, path_of(method), system))]
                assert (await call(channel, method, headers, system, all_tenants=True)).message == "reached"
                asked += 1
    assert asked >= 2, "ListDocuments and ListDamagedDocuments"


@pytest.mark.parametrize("stage", STAGES)
async def test_a_stranger_is_refused_before_its_message_is_read(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    async with real(stage, reached, monkeypatch) as served, grpc.aio.insecure_channel(served.address) as channel:
        for method in methods(stage):
            # A call whose message never comes: a server that waited for it would not answer.
            silent = channel.stream_stream(path_of(method))(metadata=(), timeout=30)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await asyncio.wait_for(silent.read(), 20)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert reached == []
