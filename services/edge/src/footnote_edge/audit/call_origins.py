"""Origins of calls: the peer's address behind the proxy, or the client that edge's own HTTP side names."""

import hmac
import secrets
from collections.abc import Callable, Mapping

from footnote.edge.v1.audit_pb2 import AUDIT_DOOR_GRPC, AUDIT_DOOR_HTTP, AUDIT_DOOR_MCP, AUDIT_DOOR_OPENAI, AuditDoor

from footnote_edge.audit.events import CallOrigin

HEADER = "x-footnote-way"
_OPENAI = ("/v1/chat/", "/v1/models")
_MCP = "/mcp"
MOST_ADDRESS = 64


class CallOrigins:
    """Determines the origin of calls; `address_of` returns the address behind a gRPC peer.

    The HTTP side calls the gRPC side in the same process. It names its client in a header with a secret of this
    process, so that other clients cannot forge it.
    """

    def __init__(self, address_of: Callable[[str], str]) -> None:
        self._address_of = address_of
        self._secret = secrets.token_hex(16)

    def header(self, call_origin: CallOrigin) -> str:
        """Return the value of HEADER with which the HTTP side names its client."""
        return f"{self._secret} {int(call_origin.door)} {call_origin.address}"

    def of(self, headers: Mapping[str, str], peer: str) -> CallOrigin:
        """Return the origin of a call with these headers."""
        secret, _, said = headers.get(HEADER, "").partition(" ")
        if secret and hmac.compare_digest(secret.encode(), self._secret.encode()):
            door, _, address = said.partition(" ")
            return CallOrigin(AuditDoor.ValueType(int(door)), address)
        return CallOrigin(AUDIT_DOOR_GRPC, self._address_of(peer)[:MOST_ADDRESS])


def origin_of_request(path: str, client: tuple[str, int] | None) -> CallOrigin:
    """Return the origin of an HTTP request."""
    if path.startswith(_OPENAI):
        door = AUDIT_DOOR_OPENAI
    else:
        door = AUDIT_DOOR_MCP if path == _MCP or path.startswith(f"{_MCP}/") else AUDIT_DOOR_HTTP
    return CallOrigin(door, (client[0] if client else "")[:MOST_ADDRESS])
