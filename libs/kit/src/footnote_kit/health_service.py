"""gRPC's health service, whose watches end with a service instead of holding up its shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

SERVICE_NAME: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class HealthService(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """Says which services of this server answer calls (https://github.com/grpc/grpc/blob/master/doc/health-checking.md).

    grpc_health's own servicer does the same but never ends a watch, so each watching client would delay a shutdown by
    the whole time that calls in flight may take.
    """

    def __init__(self) -> None:
        self._statuses: dict[str, Any] = {}
        self._changed = asyncio.Event()
        self._ended = False

    def set(self, service: str, status: Any) -> None:
        """Set the status of a service; "" is the server as a whole. After `end` nothing changes."""
        if not self._ended and self._statuses.get(service) != status:
            self._statuses[service] = status
            self._wake()

    def end(self) -> None:
        """Set all services to NOT_SERVING for good, and end each watch after it has sent that."""
        for service in self._statuses:
            self.set(service, NOT_SERVING)
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def Check(self, request: Any, context: Any) -> health_pb2.HealthCheckResponse:
        """Return the status of a service; NOT_FOUND for one that this server does not have."""
        if request.service not in self._statuses:
            await context.abort(grpc.StatusCode.NOT_FOUND, "This server has no such service")
        return health_pb2.HealthCheckResponse(status=self._statuses[request.service])

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Yield the status of a service at once and at each change; UNAVAILABLE at the end of the server."""
        sent = None
        while True:
            changed = self._changed
            if (status := self._statuses.get(request.service, _UNKNOWN)) != sent:
                sent = status
                yield health_pb2.HealthCheckResponse(status=status)
                continue  # it may have changed meanwhile
            if self._ended:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "The service is shutting down; watch again")
            await changed.wait()
