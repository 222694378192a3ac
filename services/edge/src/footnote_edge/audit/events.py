"""Audit events: their content (names of the contract, never a caller's text), selection, storage port and message."""

import hmac
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

from footnote.edge.v1.audit_pb2 import (
    AUDIT_DOOR_GRPC,
    AUDIT_DOOR_HTTP,
    AUDIT_DOOR_MCP,
    AUDIT_DOOR_OPENAI,
    AUDIT_OUTCOME_FAILED,
    AUDIT_OUTCOME_REFUSED,
    AUDIT_OUTCOME_SUCCEEDED,
    AuditDoor,
    AuditEvent,
    AuditOutcome,
    ListAuditEventsRequest,
)
from footnote.edge.v1.system_pb2 import Authentication
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote_kit.paging import Page
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.code_pb2 import Code

OK = "OK"
_REFUSED = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED"})


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The origin of an attempt: the interface and the peer's address, "" if unknown."""

    door: AuditDoor.ValueType = AuditDoor.AUDIT_DOOR_UNSPECIFIED
    address: str = ""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of an attempt; every field is empty for an unknown caller."""

    tenant_id: str = ""
    user_id: str = ""
    authentication: Authentication.ValueType = Authentication.AUTHENTICATION_UNSPECIFIED
    key_id: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One attempt, or `count` of them; times in milliseconds since 1970. See AuditEvent in audit.proto."""

    principal: Principal
    call_origin: CallOrigin
    action: str
    resource: str = ""
    status: str = OK
    reason: str = ""
    changed_fields: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    trace_id: str = ""
    request_id: str = ""
    count: int = 1
    last_ms: int | None = None
    mixed: bool = False
    time_ms: int = field(default_factory=lambda: int(time.time() * 1000))
    id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def outcome(self) -> AuditOutcome.ValueType:
        """The meaning of the status for an administrator."""
        if self.status == OK:
            return AUDIT_OUTCOME_SUCCEEDED
        return AUDIT_OUTCOME_REFUSED if self.status in _REFUSED else AUDIT_OUTCOME_FAILED

    @property
    def kind(self) -> str:
        """The resource type, as in "documents/"; empty without a resource."""
        kind, slash, _ = self.resource.partition("/")
        return kind + slash

    def of_tenant(self, tenant_id: str) -> "Event":
        """Return the event as an event of another tenant, in which the caller is not a user."""
        user = f"{self.principal.tenant_id}/{self.principal.user_id}"
        return replace(self, principal=replace(self.principal, tenant_id=tenant_id, user_id=user))


CALL_ORIGIN_HEADER = "x-footnote-way"
_OPENAI = ("/v1/chat/", "/v1/models")
_MCP = "/mcp"
MOST_ADDRESS = 64


class CallOrigins:
    """Determines the origin of calls; `address_of` returns the address behind a gRPC peer.

    The HTTP side calls the gRPC side in the same process. It names its client in a header with a secret of this
    process, so that other clients cannot forge it.
    """

    def __init__(self, address_of: Callable[[str], str]) -> None:
        self._address_of = address_of
        self._secret = secrets.token_hex(16)

    def header(self, call_origin: CallOrigin) -> str:
        """Return the value of CALL_ORIGIN_HEADER with which the HTTP side names its client."""
        return f"{self._secret} {int(call_origin.door)} {call_origin.address}"

    def of(self, headers: Mapping[str, str], peer: str) -> CallOrigin:
        """Return the origin of a call with these headers."""
        secret, _, said = headers.get(CALL_ORIGIN_HEADER, "").partition(" ")
        if secret and hmac.compare_digest(secret.encode(), self._secret.encode()):
            door, _, address = said.partition(" ")
            return CallOrigin(AuditDoor.ValueType(int(door)), address)
        return CallOrigin(AUDIT_DOOR_GRPC, self._address_of(peer)[:MOST_ADDRESS])


def origin_of_request(path: str, client: tuple[str, int] | None) -> CallOrigin:
    """Return the origin of an HTTP request."""
    if path.startswith(_OPENAI):
        door = AUDIT_DOOR_OPENAI
    else:
        door = AUDIT_DOOR_MCP if path == _MCP or path.startswith(f"{_MCP}/") else AUDIT_DOOR_HTTP
    return CallOrigin(door, (client[0] if client else "")[:MOST_ADDRESS])


ALL_TENANTS = "-"


@dataclass(frozen=True, slots=True)
class Filters:
    """Selects events; an empty, 0 or None filter does not narrow. Times in milliseconds, the end excluded."""

    tenant_id: str
    start_ms: int | None = None
    end_ms: int | None = None
    user_id: str = ""
    key_id: str = ""
    action: str = ""
    resource: str = ""
    outcome: int = 0


class AuditLog(Protocol):
    """The stored events; see `adapters.audit.AuditTable`."""

    async def append(self, events: Sequence[Event]) -> None:
        """Write events, all of them or none."""

    async def page(self, filters: Filters, page: Page) -> tuple[list[Event], str]:
        """Return a page of events, newest first, and the next page's token."""


_CODES = dict(Code.items())
_REASONS = dict(ErrorReason.items())


def filters(request: ListAuditEventsRequest, tenant_id: str) -> Filters:
    """Return the filters of a request for a tenant's events."""
    return Filters(
        tenant_id,
        start_ms=_ms(request.start_time) if request.HasField("start_time") else None,
        end_ms=_ms(request.end_time) if request.HasField("end_time") else None,
        user_id=request.user_id,
        key_id=request.key_id,
        action=request.action,
        resource=request.resource,
        outcome=request.outcome,
    )


def message(event: Event) -> AuditEvent:
    """Return an event as a message."""
    shown = AuditEvent(
        id=event.id,
        tenant_id=event.principal.tenant_id,
        user_id=event.principal.user_id,
        authentication=event.principal.authentication,
        key_id=event.principal.key_id,
        door=event.call_origin.door,
        address=event.call_origin.address,
        action=event.action,
        resource=event.resource,
        changed_fields=event.changed_fields,
        providers=event.providers,
        outcome=event.outcome,
        code=_CODES.get(event.status, Code.UNKNOWN),
        reason=_REASONS.get(f"ERROR_REASON_{event.reason}", ErrorReason.ERROR_REASON_UNSPECIFIED),
        trace_id=event.trace_id,
        request_id=event.request_id,
        count=event.count,
        mixed=event.mixed,
    )
    shown.create_time.FromMilliseconds(event.time_ms)
    if event.last_ms is not None:
        shown.last_time.FromMilliseconds(event.last_ms)
    return shown


def _ms(moment: Timestamp) -> int:
    """Return a time in milliseconds, rounded up, so that an event in the same millisecond is before it."""
    return moment.seconds * 1000 + -(-moment.nanos // 1_000_000)
