"""API keys."""

from footnote.edge.v1.keys_pb2 import (
    CreateKeyRequest,
    CreateKeyResponse,
    ListKeysRequest,
    ListKeysResponse,
    RevokeKeyRequest,
    RevokeKeyResponse,
)
from footnote_kit.context import Call

from footnote_edge.api.services import Services, caller


class KeysApi:
    """RPCs about keys."""

    services: Services

    async def CreateKey(self, request: CreateKeyRequest, context: Call) -> CreateKeyResponse:
        """Create a key."""
        lifetime = request.ttl.ToTimedelta() if request.HasField("ttl") else None
        key, secret = await self.services.keys.create(caller(), request, lifetime, request.groups)
        return CreateKeyResponse(key=key.message(), secret=secret)

    async def ListKeys(self, request: ListKeysRequest, context: Call) -> ListKeysResponse:
        """List keys."""
        found, token, total = await self.services.keys.page(caller(), request)
        return ListKeysResponse(keys=[key.message() for key in found], next_page_token=token, total_size=total)

    async def RevokeKey(self, request: RevokeKeyRequest, context: Call) -> RevokeKeyResponse:
        """Revoke a key."""
        revoked = await self.services.keys.revoke(
            caller(), request.key_id, allow_missing=request.allow_missing, force=request.force
        )
        return RevokeKeyResponse(key=None if revoked is None else revoked.message())
