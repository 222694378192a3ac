"""Channels to the other stages: they pass on deadline, request id and trace, and raise FootnoteErrors.

They wrap a plain channel instead of using grpc.aio's client interceptors. Those swallow errors of iterated streams
and cost a task per call.

A peer that is stopped, or whose machine vanished, leaves its connections open: no error and no data arrive. The
caller therefore pings each idle connection. gRPC's own threads answer pings, so a call may be silent for long and the
peer's event loop and interpreter may be busy. Without an answer the connection and its calls end with UNAVAILABLE,
and repeatable calls go to another replica. When a new connection fails too, all calls are refused at once until one
succeeds.
"""

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest
from footnote.telemetry.v1.telemetry_service_pb2_grpc import TelemetryServiceStub
from footnote.types.v1.role_pb2 import ROLE_READER
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from grpc_health.v1 import health_pb2, health_pb2_grpc

from footnote_kit import tls
from footnote_kit.calls import StreamCall, UnaryCall, Wiring
from footnote_kit.credential import ServiceCredential
from footnote_kit.edge import SERVICES
from footnote_kit.errors import FootnoteError, Unauthenticated, Unavailable
from footnote_kit.renewed_channel import plain_channel
from footnote_kit.settings import PUBLIC, KitSettings

_NOBODY = Scope(tenant_id="health", user_id="health", roles=[ROLE_READER])
_RETRY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2.0,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
_LANES = 2
"""Channels per peer that share connections and balance independently. A question calls a stage twice, once for a small
and once for a large result. In one round robin, one of two replicas would get all the large calls."""


def service_config(peer: str) -> str:
    """Return the service config of a channel to a stage: round robin, retries of safe calls, no timeout."""
    safe = _safe_methods(peer)
    methods = [{"name": safe, "retryPolicy": _RETRY}] if safe else []
    return json.dumps(
        {
            "loadBalancingConfig": [{"round_robin": {}}],
            "methodConfig": methods,
            # When most calls fail, retrying them all would only keep the peer down.
            "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
        }
    )


def _safe_methods(peer: str) -> list[dict[str, str]]:
    """Return the repeatable unary methods of a stage, according to its contract."""
    return [
        {"service": service.full_name, "method": method.name}
        for service in _services(peer)
        for method in service.methods
        if not method.client_streaming and not method.server_streaming and changes_nothing(method)
    ]


def _services(peer: str) -> Sequence[ServiceDescriptor]:
    if peer == "edge":
        return SERVICES
    found: list[ServiceDescriptor] = []
    internal = (f"footnote.internal.{peer}.v1alpha1.{name}_service_pb2" for name in ("upkeep", "layout"))
    for name in (f"footnote.{peer}.v1.{peer}_service_pb2", *internal):
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue
        found += module.DESCRIPTOR.services_by_name.values()
    return found


def changes_nothing(method: MethodDescriptor) -> bool:
    """Return whether a method may be repeated: its contract says NO_SIDE_EFFECTS."""
    return bool(method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS)


def open_channel(
    address: str,
    peer: str = "",
    settings: KitSettings | None = None,
    credential: ServiceCredential | None = None,
    name: str = "",
) -> "KitChannel":
    """Return a channel to `address` (host:port, unix:…, dns:///…); `peer` names the stage, for retries and messages.

    With a `credential`, every call proves to the stage that a service makes it, and on whose behalf. With TLS and a
    `name`, the certificate must be for `name` instead of the address.
    """
    settings = settings or KitSettings()
    target = (
        address if "://" in address or address.startswith(("unix:", "dns:", "ipv4:", "ipv6:")) else f"dns:///{address}"
    )
    options = [
        ("grpc.service_config", service_config(peer)),
        ("grpc.enable_retries", 1),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        *ping_options(peer),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.dns_min_time_between_resolutions_ms", 5_000),
        ("grpc.enable_http_proxy", 0),  # a company's web proxy knows no names of a deployment's services
        *([("grpc.ssl_target_name_override", name)] if name else []),
    ]
    lanes = [plain_channel(target, options, tls.renewed_channel_credentials(settings)) for _ in range(_LANES)]
    return KitChannel(lanes, Wiring(peer, settings.call_timeout, settings.stream_timeout, credential))


async def check_health(channel: grpc.aio.Channel, peer: str, timeout: float = 2.0) -> str | None:
    """Return None when the peer's health service reports SERVING, else a sentence."""
    try:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=timeout)
    except FootnoteError as error:
        return error.message
    return None if answer.status == health_pb2.HealthCheckResponse.SERVING else f"The {peer} service is not ready"


async def check_trust(channel: grpc.aio.Channel) -> str | None:
    """Return None when a stage trusts this service, else a sentence. Health does not show this: it is open to all."""
    request = GetTraceRequest(scope=_NOBODY, trace_id="f" * 32)
    try:
        await TelemetryServiceStub(channel).GetTrace(request, timeout=2.0)
    except (Unauthenticated, Unavailable) as error:
        return error.message
    except FootnoteError:
        pass  # no such trace, or another implementation without this service: the stage accepted the call
    return None


class KitChannel(grpc.aio.Channel):
    """A grpc.aio channel for generated stubs."""

    def __init__(self, lanes: Sequence[grpc.aio.Channel], wiring: Wiring) -> None:
        self._lanes = lanes
        self._plain = lanes[0]
        self._wiring = wiring

    async def __aenter__(self) -> "KitChannel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """Close the channel; calls in flight get `grace` seconds."""
        await asyncio.gather(*(lane.close(grace) for lane in self._lanes))

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return the state of the connection."""
        return self._plain.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until the connection changes its state."""
        await self._plain.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until the channel is connected."""
        await self._plain.channel_ready()

    def _turns(self, kind: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """Return a function that starts a call of a method on a random lane."""
        starts = [getattr(lane, kind)(method, *args, **kwargs) for lane in self._lanes]
        return lambda *arguments, **options: random.choice(starts)(*arguments, **options)

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a unary method."""
        plain = self._turns("unary_unary", method, args, kwargs)
        return lambda request, **options: UnaryCall(self._wiring, method, plain, request, options)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams its responses."""
        plain = self._turns("unary_stream", method, args, kwargs)
        return lambda request, **options: StreamCall(self._wiring, method, plain, request, options)

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method whose requests are streamed."""
        plain = self._turns("stream_unary", method, args, kwargs)
        return lambda requests=None, **options: UnaryCall(
            self._wiring, method, plain, requests, options, streams_requests=True
        )

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams both ways."""
        plain = self._turns("stream_stream", method, args, kwargs)
        return lambda requests=None, **options: StreamCall(
            self._wiring, method, plain, requests, options, streams_requests=True
        )


PING_SECONDS = 4.0
"""Idle time after which a connection to a stage is pinged, with or without calls on it."""
PING_ANSWER_SECONDS = 8.0
"""Time limit for the answer to a ping. A crowded machine may delay threads by a second or two, rarely longer."""
CONNECT_SECONDS = 5.0
"""Time limit for one attempt to connect to a stage, handshakes included. Calls made meanwhile wait for it."""
_PUBLIC_EVERY_SECONDS = 60.0
# The front proxy delays hasty clients by up to ten seconds, their pings too, and relays frames in Python.
_PUBLIC_ANSWER_SECONDS = 60.0
_PUBLIC_CONNECT_SECONDS = 10.0


def ping_options(peer: str) -> list[tuple[str, int]]:
    """Return the channel ping_options for `peer`, a stage's name or "edge"."""
    public = peer in PUBLIC
    every = _PUBLIC_EVERY_SECONDS if public else PING_SECONDS
    answer = _PUBLIC_ANSWER_SECONDS if public else PING_ANSWER_SECONDS
    connect = _PUBLIC_CONNECT_SECONDS if public else CONNECT_SECONDS
    return [
        ("grpc.keepalive_time_ms", round(every * 1000)),
        # This timeout ends an unanswered connection. gRPC's core reads "grpc.keepalive_timeout_ms" but never sets
        # that timer (its change 39239), so this option, one minute by default, governs all pings.
        ("grpc.http2.ping_timeout_ms", round(answer * 1000)),
        # Ping during silent streams too, or a call to a vanished peer would last until its deadline.
        ("grpc.http2.max_pings_without_data", 0),
        # Detect a stage that stopped between two calls before the next call.
        ("grpc.keepalive_permit_without_calls", int(not public)),
        # Despite its name this limits one attempt: a busy peer needs more time than the pause between two attempts.
        ("grpc.min_reconnect_backoff_ms", round(connect * 1000)),
    ]
