"""The audit log."""

from footnote.edge.v1.audit_pb2 import ListAuditEventsRequest, ListAuditEventsResponse
from footnote_kit.handler_context import Call
from footnote_kit.paging import Page, long_sequence

from footnote_edge.api.parts import Parts
from footnote_edge.audit.shown import filters, message
from footnote_edge.gateway import principals


class AuditApi:
    """RPCs about the audit log."""

    parts: Parts

    async def ListAuditEvents(self, request: ListAuditEventsRequest, context: Call) -> ListAuditEventsResponse:
        """List events."""
        identity = principals.identity()
        tenant = self.parts.operators.tenant(identity, request.tenant_id)
        found, token = await self.parts.audit.page(
            filters(request, tenant), Page.of(identity.scope, request, kinds=(long_sequence,))
        )
        return ListAuditEventsResponse(events=map(message, found), next_page_token=token)
