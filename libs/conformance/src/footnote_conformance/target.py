"""The implementation under test: its methods by name, its refusals, a scope in every request and its proof."""

import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.credential import HEADER, ServiceCredential
from footnote_kit.status import FinalStatus
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

SECONDS = 60.0
"""Time limit of a call."""


def contract_of(stage: str) -> ServiceDescriptor:
    """Return the descriptor of a stage's service."""
    module = import_module(f"footnote.{stage}.v1.{stage}_service_pb2")
    (service,) = module.DESCRIPTOR.services_by_name.values()
    found: ServiceDescriptor = service
    return found


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage's methods. Without a `credential` calls have no proof, and certificates must authenticate them."""

    name: str
    channel: grpc.aio.Channel
    credential: ServiceCredential | None = None

    @property
    def contract(self) -> ServiceDescriptor:
        """The descriptor of its service."""
        return contract_of(self.name)

    def path(self, method: str) -> str:
        """Return a method's path."""
        return f"/{self.contract.full_name}/{method}"

    def proof(self, method: str, scope: Scope | None) -> list[tuple[str, str]]:
        """Return the headers that prove the scope of a method's call."""
        if self.credential is None:
            return []
        return [(HEADER, self.credential.sign(self.name, self.path(method), scope, SECONDS))]

    def start(
        self,
        method: str,
        requests: Message | Sequence[Message],
        headers: Sequence[tuple[str, str]] | None = None,
        timeout: float = SECONDS,
    ) -> Any:
        """Start a call and return grpc.aio's object; the first request's scope is proven unless `headers` are given."""
        found: MethodDescriptor = self.contract.methods_by_name[method]
        first = requests if isinstance(requests, Message) else requests[0] if requests else None
        if headers is None:
            scope: Any = getattr(first, "scope", None)
            headers = self.proof(method, scope if first is not None and first.HasField("scope") else None)
        shape = "_".join("stream" if many else "unary" for many in (found.client_streaming, found.server_streaming))
        call = getattr(self.channel, shape)(self.path(method), _bytes, GetMessageClass(found.output_type).FromString)
        given: Any = requests
        if found.client_streaming:
            given = _each([requests] if isinstance(requests, Message) else requests)
        return call(given, timeout=timeout, metadata=tuple(headers))

    async def call(
        self,
        method: str,
        requests: Message | Sequence[Message],
        headers: Sequence[tuple[str, str]] | None = None,
        timeout: float = SECONDS,
    ) -> Any:
        """Return the response, or the list of all streamed responses; raises Refusal."""
        call = self.start(method, requests, headers, timeout)
        found = self.contract.methods_by_name[method]
        ending = FinalStatus(call) if found.client_streaming else None
        try:
            if found.server_streaming:
                return [response async for response in call]
            return await call
        except grpc.aio.AioRpcError as error:
            # For a stream that is refused during a write, this is the peer's own status.
            raise refusal_of(error if ending is None else await ending.of(error)) from error


@dataclass(frozen=True, slots=True)
class Target:
    """The stage under test, the stages that it needs, and the caller: an administrator of its own tenant."""

    stage: Stage
    others: Mapping[str, Stage]
    scope: Scope
    probe: str = ""

    @classmethod
    def of(cls, stage: Stage, others: Iterable[Stage] = (), probe: str = "") -> "Target":
        """Return a target with a scope of its own."""
        return cls(stage, {other.name: other for other in others}, _own_scope(), probe)

    def in_new_tenant(self) -> "Target":
        """Return the same target in another tenant."""
        return replace(self, scope=_own_scope())

    def request(self, method: str, **fields: Any) -> Any:
        """Return a request of a method of the stage with the scope."""
        return request_of(self.stage.contract.methods_by_name[method], self.scope, **fields)

    async def call(self, method: str, **fields: Any) -> Any:
        """Call a method of the stage with these fields; raises Refusal."""
        return await self.stage.call(method, self.request(method, **fields))


def request_of(method: MethodDescriptor, scope: Scope | None, **fields: Any) -> Any:
    """Return a request of a method."""
    request: Any = GetMessageClass(method.input_type)(**fields)
    if scope is not None:
        request.scope.CopyFrom(scope)
    return request


def _own_scope() -> Scope:
    return Scope(tenant_id=f"conformance-{secrets.token_hex(8)}", user_id="conformance", roles=[ROLE_ADMIN])


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()


async def _each(requests: Iterable[Message]) -> AsyncIterator[Message]:
    for request in requests:
        yield request


DOMAIN = "footnote.types.v1"
DETAILS = "grpc-status-details-bin"
REASONS = frozenset(name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys())  # noqa: SIM118 - an enum's names


@dataclass(eq=False)  # neither frozen nor slotted: code that re-raises an exception sets its traceback
class Refusal(Exception):
    """A status other than OK: gRPC's code, and from its details the domain, the reason and the wrong fields."""

    code: str
    message: str
    domain: str = ""
    reason: str = ""
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" at {', '.join(self.fields)}" if self.fields else ""
        return f"{self.code} {self.reason or '(no reason)'}{where}: {self.message}"

    @property
    def typed(self) -> bool:
        """Whether it has an ErrorInfo of our domain with a reason of the contract."""
        return self.domain == DOMAIN and self.reason in REASONS


def refusal_of(error: grpc.aio.AioRpcError) -> Refusal:
    """Return the status of a failed call."""
    info, bad = ErrorInfo(), BadRequest()
    for key, value in error.trailing_metadata() or ():
        if key != DETAILS or not isinstance(value, bytes):
            continue
        try:
            details = Status.FromString(value).details
        except DecodeError:
            continue
        for detail in details:
            if detail.Is(ErrorInfo.DESCRIPTOR):
                detail.Unpack(info)
            elif detail.Is(BadRequest.DESCRIPTOR):
                detail.Unpack(bad)
    fields = tuple(violation.field for violation in bad.field_violations)
    return Refusal(error.code().name, error.details() or "", info.domain, info.reason, fields)
