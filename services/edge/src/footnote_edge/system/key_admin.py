"""API keys of a tenant for its administrators: create, list, revoke."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, Role
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied
from footnote_kit.paging import Page, moment, text

from footnote_edge.gateway.keys import ApiKeys
from footnote_edge.gateway.ports import ApiKey
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.settings import Settings


class KeyAdmin:
    """Keys of the caller's own tenant, as if no others existed."""

    def __init__(self, keys: ApiKeys, request_ids: RequestIds, settings: Settings) -> None:
        self._keys = keys
        self._request_ids = request_ids
        self._by_keys = "keys" in settings.auth

    async def create(
        self, scope: Scope, request: Any, lifetime: timedelta | None, groups: Sequence[str]
    ) -> tuple[ApiKey, str]:
        """Create a key and return it with its text, "" if the same request id created it before.

        Raises PermissionDenied for a role above the caller's own.
        """
        self._check_on()
        if not ROLE_READER <= request.role <= ROLE_ADMIN:
            raise InvalidArgument.field("role", "must be ROLE_READER, ROLE_WRITER or ROLE_ADMIN")
        if request.role > max(scope.roles):
            role = Role.Name(request.role).removeprefix("ROLE_").lower()
            raise PermissionDenied(f"You are not {role} and cannot create a key for one.")
        claim = await self._request_ids.claim(scope, request)
        return await self._keys.create(
            request.label,
            scope.tenant_id,
            request.user_id or scope.user_id,
            request.role,
            lifetime,
            groups,
            key_id=claim.id_of("key")[:16] if claim else "",
        )

    async def page(self, scope: Scope, request: Any) -> tuple[list[ApiKey], str, int]:
        """Return the requested page, newest first; the next page's token; the total."""
        page = Page.of(scope, request, kinds=(moment, text))
        self._check_on()
        return await self._keys.page(scope.tenant_id, page, request.user_id, ended=request.include_ended)

    async def revoke(self, scope: Scope, key_id: str, *, allow_missing: bool, force: bool) -> ApiKey | None:
        """Revoke a key; None if it is missing and `allow_missing` is set. Raises NotFound, FailedPrecondition."""
        self._check_on()
        if not key_id:
            raise InvalidArgument.field("key_id", "must be given")
        try:
            return await self._keys.revoke(key_id, scope.tenant_id, force=force)
        except NotFound:
            if not allow_missing:
                raise
            return None

    def _check_on(self) -> None:
        if not self._by_keys:
            raise FailedPrecondition(
                "API keys are not enabled; the operator enables them with FOOTNOTE_EDGE_AUTH=keys",
                reason="KEYS_OFF",
            )
