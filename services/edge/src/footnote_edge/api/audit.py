"""The audit log."""

from footnote.edge.v1.audit_pb2 import ListAuditEventsRequest, ListAuditEventsResponse
from footnote_kit.handler_context import Call
from footnote_kit.paging import Page, long_sequence

from footnote_edge.api.services import Services
from footnote_edge.audit.messages import filters, message
from footnote_edge.gateway import principals


class AuditApi:
    """RPCs about the audit log."""

    services: Services

    async def ListAuditEvents(self, request: ListAuditEventsRequest, context: Call) -> ListAuditEventsResponse:
        """List events."""
        identity = principals.identity()
        tenant = self.services.operators.tenant(identity, request.tenant_id)
        found, token = await self.services.audit.page(
            filters(request, tenant), Page.of(identity.scope, request, kinds=(long_sequence,))
        )
        return ListAuditEventsResponse(events=map(message, found), next_page_token=token)
