"""Renders events of the audit log."""

from collections.abc import Sequence

from footnote.edge.v1.audit_pb2 import (
    AUDIT_OUTCOME_REFUSED,
    AUDIT_OUTCOME_SUCCEEDED,
    AuditDoor,
    AuditEvent,
)
from footnote.types.v1.errors_pb2 import ErrorReason
from google.rpc.code_pb2 import Code
from rich.text import Text

from footnote_cli.render.fitted import FittedTable
from footnote_cli.render.text import moment


def events(found: Sequence[AuditEvent]) -> FittedTable:
    """Return events as a table, with the tenant if there are several."""
    tenants = ["Tenant"] if len({event.tenant_id for event in found}) > 1 else []
    columns = ("Time", *tenants, "By", "From", "Action", "Resource", "Outcome")
    result = FittedTable(*columns, optional=("From", "Resource", *tenants), whole=("Time",))
    for event in found:
        tenant = [Text(event.tenant_id or "-")] if tenants else []
        result.add_row(
            moment(event.create_time), *tenant, Text(_who(event)), Text(_where(event)), Text(event.action or "mixed"),
            Text(event.resource), _ended(event),
        )  # fmt: skip
    return result


def _who(event: AuditEvent) -> str:
    key = f"key {event.key_id}" if event.key_id else ""
    return " ".join(part for part in (event.user_id, key) if part) or "unknown"


def _where(event: AuditEvent) -> str:
    door = AuditDoor.Name(event.door).removeprefix("AUDIT_DOOR_").lower() if event.door else ""
    return " ".join(part for part in (event.address, door) if part)


def _ended(event: AuditEvent) -> Text:
    times = f" ×{event.count}" if event.count > 1 else ""
    if event.outcome == AUDIT_OUTCOME_SUCCEEDED:
        return Text(f"done{times}", style="green")
    style = "red" if event.outcome == AUDIT_OUTCOME_REFUSED else "yellow"
    reason = ErrorReason.Name(event.reason).removeprefix("ERROR_REASON_") if event.reason else Code.Name(event.code)
    return Text(f"{reason}{times}", style=style)
