"""The header that proves to another stage on whose behalf a call is made."""

from typing import Any

from footnote.types.v1.role_pb2 import ROLE_SYSTEM

from footnote_kit import context as call_context
from footnote_kit.credential import HEADER, MARGIN, ServiceCredential
from footnote_kit.errors import PermissionDenied


def proof(credential: ServiceCredential, audience: str, method: str, request: Any, timeout: float) -> tuple[str, str]:
    """Return the header for a call of `method`; `request` is its first request, None when there is none.

    The proof is valid for `timeout` seconds plus MARGIN. Raises PermissionDenied when the request's scope has
    ROLE_SYSTEM but the caller being served may not act as the system. A caller thus cannot make a service use its own
    rights.
    """
    carries = request is not None and "scope" in request.DESCRIPTOR.fields_by_name and request.HasField("scope")
    scope = request.scope if carries else None
    if scope is not None and ROLE_SYSTEM in scope.roles and not call_context.may_act_as_system():
        raise PermissionDenied("A service's own scope is not used on behalf of a caller")
    return HEADER, credential.sign(audience, method, scope, timeout + MARGIN)
