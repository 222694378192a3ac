"""What `footnote audit` reads: the events that the caller may see at a server, or those in a deployment's database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from footnote.edge.v1.audit_pb2 import AuditEvent, ListAuditEventsRequest, ListAuditEventsResponse

from footnote_cli.server_or_database import Open, opener
from footnote_cli.session import Session

Read = Callable[[ListAuditEventsRequest], Awaitable[ListAuditEventsResponse]]
"""Returns a page of events."""
_PAGE = 1000


def _served(session: Session) -> Read:
    async def read(request: ListAuditEventsRequest) -> ListAuditEventsResponse:
        response: ListAuditEventsResponse = await session.call(session.stub.ListAuditEvents, request)
        return response

    return read


def _offline(log: Any) -> Read:
    read: Read = log.read
    return read


open_log: Open[Read] = opener("audit", _served, _offline)


async def events(read: Read, request: ListAuditEventsRequest, most: int = 0) -> AsyncIterator[AuditEvent]:
    """Yield the events that a request matches, newest first, up to a limit; 0 for all. It changes `request`."""
    count = 0
    request.page_size = min(most or _PAGE, _PAGE)
    while True:
        page = await read(request)
        for event in page.events:
            yield event
            count += 1
            if count == most:
                return
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
