"""What the audit log needs of its store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from footnote_kit.paging import Page

from footnote_edge.audit.events import Event

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
