"""Sources of `footnote audit`: a server with the events that the caller may see, or a deployment's database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from footnote.edge.v1.audit_pb2 import AuditEvent, ListAuditEventsRequest, ListAuditEventsResponse
from footnote_kit.errors import FootnoteError

from footnote_cli.errors import explain_failure
from footnote_cli.installed import OFFLINE, found
from footnote_cli.session import Connection, open_session

Read = Callable[[ListAuditEventsRequest], Awaitable[ListAuditEventsResponse]]
"""Returns a page of events."""
_PAGE = 1000


@asynccontextmanager
async def served(connection: Connection, name: str) -> AsyncIterator[Read]:
    """Open the log at a server. Raises CommandError."""
    async with open_session(connection, name) as session:

        async def read(request: ListAuditEventsRequest) -> ListAuditEventsResponse:
            response: ListAuditEventsResponse = await session.call(session.stub.ListAuditEvents, request)
            return response

        yield read


@asynccontextmanager
async def offline(data_dir: Path) -> AsyncIterator[Read]:
    """Open the log of all tenants in a deployment's database. Raises CommandError."""
    database, log = await found(OFFLINE, "audit")(data_dir)
    try:
        yield log.read
    except FootnoteError as error:
        raise explain_failure(error) from error
    finally:
        await database.close()


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
