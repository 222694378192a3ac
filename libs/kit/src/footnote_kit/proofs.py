"""The header with which a call to another stage proves on whose behalf it is made."""

from typing import Any

from footnote.types.v1.scope_pb2 import ROLE_SYSTEM

from footnote_kit import context as call_context
from footnote_kit.credential import HEADER, MARGIN, ServiceCredential
from footnote_kit.errors import PermissionDenied


def proof(credential: ServiceCredential, audience: str, method: str, request: Any, timeout: float) -> tuple[str, str]:
    """Return the header for a call of `method` whose (first) request is `request`, None for no request.

    It lives as long as the call may, in seconds, and a minute more. Raises PermissionDenied for a scope that is a
    service's own (ROLE_SYSTEM) while a caller is served who has no such scope: nobody can make a service send it.
    """
    carries = request is not None and "scope" in request.DESCRIPTOR.fields_by_name and request.HasField("scope")
    scope = request.scope if carries else None
    if scope is not None and ROLE_SYSTEM in scope.roles and not call_context.may_act_as_system():
        raise PermissionDenied("A service's own scope is not used on behalf of a caller")
    return HEADER, credential.sign(audience, method, scope, timeout + MARGIN)
