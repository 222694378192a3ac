"""Authenticates a request before a byte of its body is read: one layer around every route."""

from collections.abc import Callable, Set
from functools import partial

from footnote_kit.admission.fair_shares import Shares
from footnote_kit.errors import FootnoteError, InvalidArgument, Unauthenticated
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from footnote_edge.audit.events import origin_of_request
from footnote_edge.gateway.auditing import AUTHENTICATE, Auditor
from footnote_edge.gateway.identity import Authenticator
from footnote_edge.gateway.principals import REFUSAL
from footnote_edge.http.serving.grpc_calls import CALL_ORIGIN, PASSED_ON
from footnote_edge.http.serving.problems import refuse

WORKING = "footnote.working"
"""Key in a request's scope for the context manager around work on its body: the caller's turn."""
TENANT = "footnote.tenant"
"""Key in a request's scope for the caller's tenant."""

ActionOf = Callable[[str, str], str]
"""Returns the RPC of a method and a path, "" for none."""

PUBLIC = frozenset({"/v1/health", "/openapi.json", "/docs"})
"""Paths without authentication."""


class AuthenticationLayer:
    """An ASGI layer that admits authenticated callers. Authorisation happens per RPC behind it."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        shares: Shares,
        auditor: Auditor,
        action_of: ActionOf,
        public: Set[str] = PUBLIC,
    ) -> None:
        self._app = app
        self._auditor = auditor
        self._action_of = action_of
        self._public = public
        self._shares = shares
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        call_origin = origin_of_request(scope["path"], scope.get("client"))
        scope[CALL_ORIGIN] = self._auditor.call_origins.header(call_origin)
        if scope["path"] not in self._public:
            headers = Headers(scope=scope)
            try:
                caller = (await self._authenticator.authenticate(_credentials(headers))).scope
                self._shares.check(caller.tenant_id)
                scope[TENANT] = caller.tenant_id
                scope[WORKING] = partial(self._shares.working, caller.tenant_id, caller.user_id)
            except FootnoteError as error:
                action = self._action_of(scope["method"], scope["path"]) or AUTHENTICATE
                self._auditor.refused_before_handler(action, error, headers, call_origin)
                await refuse(error, scope, receive, send)
                return
        await self._app(scope, receive, send)


def _credentials(headers: Headers) -> dict[str, str]:
    """Return the headers with credentials; raises for one that cannot be forwarded."""
    found = {name: headers[name] for name in PASSED_ON if name in headers}
    for name, value in found.items():
        if not (value.isascii() and value.isprintable()):
            if name.startswith("x-footnote-"):
                raise InvalidArgument.field(name, "must be printable ASCII")
            raise Unauthenticated(REFUSAL)
    return found
