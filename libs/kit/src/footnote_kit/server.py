"""The server of one service: ports, interceptor, health, reflection, telemetry, and graceful shutdown."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import grpc
from footnote.telemetry.v1.telemetry_service_pb2_grpc import add_TelemetryServiceServicer_to_server
from grpc_health.v1 import health_pb2_grpc

from footnote_kit import context as call_context
from footnote_kit import private, redact, reflection, tls
from footnote_kit.admission import loop_lag
from footnote_kit.admission.loop_lag import LoopLag
from footnote_kit.admission.process_load import LoadFile
from footnote_kit.app import App
from footnote_kit.credential import MAX_LIFETIME, ServiceCredential
from footnote_kit.errors import FailedPrecondition
from footnote_kit.front.proxy import FrontProxy, listen
from footnote_kit.health_service import NOT_SERVING, SERVICE_NAME, SERVING, HealthService
from footnote_kit.interceptor import KitInterceptor
from footnote_kit.logs import get_logger
from footnote_kit.net import is_loopback, port_is_free
from footnote_kit.settings import PUBLIC, KitSettings
from footnote_kit.telemetry import SERVICE_NAME as TELEMETRY_SERVICE
from footnote_kit.telemetry import TelemetryServicer
from footnote_kit.trust import Trust

# The shortest interval of callers' pings on a silent connection, also between calls. It is half of the services' own
# interval (`clients`), so that a long silent stream is not ended for "too_many_pings".
MIN_PING_SECONDS = 2.0
# Time limit for TLS, the HTTP/2 preface and the acknowledgement of settings, which ends silent new connections. Pings
# and the maximum age below end connections that fall silent later.
_GREETING_MS = 10_000
_IDLE_MS = 300_000
_HEADER_BYTES = 16 * 1024
_STAGE_HEADER_BYTES = 64 * 1024  # the scope travels in a header: with 200 groups of 128 characters it takes 36 kB
_CLOSE_SECONDS = 5.0
_POLLER_SECONDS = 2.0
# The most calls that wait for a handler. gRPC's core refuses the rest before any Python runs, but without a reason
# (RST_STREAM, UNAVAILABLE for the caller). A front proxy limits concurrent calls itself, so behind one all calls wait
# for a handler that gives a reason and a retry delay.
_PENDING = 1024
_log = get_logger("footnote.server")


class ListenError(Exception):
    """The server cannot or must not listen on the address; the message says why and what to do."""


def _options(settings: KitSettings, public: bool) -> list[tuple[str, int]]:
    pending = settings.max_concurrent_calls if public else min(settings.max_concurrent_calls, _PENDING)
    # The front proxy of a public server counts its connections.
    counted = [] if public else [("grpc.max_allowed_incoming_connections", settings.max_connections)]
    headers = _HEADER_BYTES if public else _STAGE_HEADER_BYTES
    return [
        *counted,
        ("grpc.so_reuseport", 0),  # a second server on the port must fail, not share it
        ("grpc.max_send_message_length", settings.max_message_bytes),
        # gRPC's core refuses with a bare code; up to twice the limit, the interceptor refuses with a message.
        ("grpc.max_receive_message_length", 2 * settings.max_message_bytes),
        ("grpc.server.max_pending_requests", pending),
        ("grpc.server.max_pending_requests_hard_limit", 2 * pending),
        ("grpc.max_concurrent_streams", settings.max_streams_per_connection),
        ("grpc.server_handshake_timeout_ms", _GREETING_MS),
        ("grpc.http2.settings_timeout", _GREETING_MS),
        # Ping a peer at each stream reset, to check that it keeps up, because some peers open calls only to reset
        # them.
        ("grpc.http2.ping_on_rst_stream_percent", 100),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.max_metadata_size", headers),
        ("grpc.absolute_max_metadata_size", headers),
        ("grpc.max_connection_age_ms", int(settings.max_connection_age * 1000)),
        # After this time gRPC ends the old connection's streams by force, so that it has to last for a document's.
        ("grpc.max_connection_age_grace_ms", int(max(settings.stream_timeout, MAX_LIFETIME) * 1000)),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", int(MIN_PING_SECONDS * 1000)),
    ]


def _taken(name: str, address: str) -> str:
    return f"{name} cannot listen on {address}: is the port taken? Choose others with --port-base"


class ServiceHost:
    """Runs one service. Call in this order: bind, serve, started, …, drain, stop."""

    def __init__(self, name: str, settings: KitSettings, credential: ServiceCredential | None = None) -> None:
        redact.learn()  # before any code runs that could log a key
        redact.register(settings.vector_store_token, settings.vector_store_token.rpartition(":")[2])
        self.name = name
        self.ready = asyncio.Event()
        self.not_ready_because = "not started"
        self._settings = settings
        self._credential = credential
        self._app: App | None = None
        self._health = HealthService()
        self._poller: asyncio.Task[None] | None = None
        self._load: LoadFile | None = None
        self._lag: LoopLag | None = None
        self._draining = False
        self._front: FrontProxy | None = None
        self._socket: Path | None = None
        self.inner_address = ""
        """The address of a public service inside its own process, behind the front proxy; "" for other services."""
        self._interceptor = KitInterceptor(name, settings.slow_call_seconds, settings.max_message_bytes)
        self._server = grpc.aio.server(
            interceptors=[self._interceptor],
            options=_options(settings, name in PUBLIC),
            maximum_concurrent_rpcs=settings.max_concurrent_calls,
        )

    @property
    def connections(self) -> int:
        """Return the number of connections at a public service's front proxy."""
        return self._front.connections if self._front is not None else 0

    def bind(self, host: str, port: int) -> str:
        """Take a port, 0 for any free one; return the address for peers on this machine. ListenError if it is taken."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if self.name in PUBLIC:
            bound = self._bind_front(host, port, address)
        else:
            bound = self._bind_directly(host, port, address)
        reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        return f"{reachable}:{bound}"

    def _bind_directly(self, host: str, port: int, address: str) -> int:
        credentials = tls.server_credentials(self._settings)
        if port and not port_is_free(host, port):
            raise ListenError(_taken(self.name, address))
        try:
            if credentials is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise ListenError(_taken(self.name, address)) from error

    def _bind_front(self, host: str, port: int, address: str) -> int:
        """Take the port for the front proxy, and a private socket for gRPC's own server behind it."""
        context = tls.server_context(self._settings, "h2")
        try:
            listeners = listen(host, port)
        except OSError as error:
            raise ListenError(_taken(self.name, address)) from error
        self._front = FrontProxy(self.name, listeners, self._bind_inner(), context)
        return int(listeners[0].getsockname()[1])

    def _bind_inner(self) -> str | int:
        try:
            path = private.new_socket_path(self.name)
            self._server.add_insecure_port(f"unix:{path}")
        except (OSError, RuntimeError, FailedPrecondition) as error:
            # Local callers can then bypass the front proxy; authentication happens behind it all the same.
            _log.warning("front_door_without_socket", stage=self.name, reason=str(error))
            port = self._server.add_insecure_port("127.0.0.1:0")
            self.inner_address = f"127.0.0.1:{port}"
            return port
        self._socket, self.inner_address = path, f"unix:{path}"
        return str(path)

    async def serve(self, app: App, host: str) -> None:
        """Serve calls for `app`; ListenError when it could not authenticate callers on its address."""
        if app.public and self._front is None:
            raise ValueError(f"{self.name} is public and has no front proxy: add it to footnote_kit.settings.PUBLIC")
        try:
            trust = self._trust(app, host)
        except ListenError:
            self._leave_port()
            raise
        self._interceptor.trust(trust)
        self._app = app
        self._interceptor.admit, self._interceptor.refused = app.admit, app.refused
        names = [name for _, _, name in app.servicers]
        for add, servicer, _ in app.servicers:
            add(servicer, self._server)
        if not app.public:
            add_TelemetryServiceServicer_to_server(TelemetryServicer(), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ("", *names):
            self._health.set(name, NOT_SERVING)
        shown = [*names, SERVICE_NAME]
        reflection.add_to(self._server, shown if app.public else [*shown, TELEMETRY_SERVICE])
        await self._server.start()
        if self._front is not None:
            await self._front.serve(app.front)

    def _leave_port(self) -> None:
        if self._front is not None:
            self._front.refuse()
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)

    def _trust(self, app: App, host: str) -> Trust | None:
        """Return how to authenticate the app's callers; None for a public app. ListenError when that is impossible."""
        settings, beyond = self._settings, not is_loopback(host)
        if app.public:
            if beyond and not app.authenticates:
                raise ListenError(
                    f"{self.name} does not authenticate its callers and therefore listens on loopback only, not on "
                    f"{host}; enable authentication"
                )
            return None
        credential = self._credential
        if not settings.tls_peers and (credential is None or (beyond and credential.local)):
            raise ListenError(
                f"{self.name} could not authenticate the other services on {host}; give all of them the same "
                "FOOTNOTE_SERVICE_TOKEN (`footnote service-token FILE` creates one), or mTLS with FOOTNOTE_TLS_PEERS"
            )
        return Trust(self.name, credential, settings.tls_peers)

    async def started(self, data_dir: Path | None = None) -> None:
        """Run the app's start hooks and begin to poll its dependencies; write the load to a file in `data_dir`."""
        assert self._app is not None
        call_context.bind_service(self.name)
        try:
            for hook in self._app.start:
                await hook()
            self._poller = asyncio.create_task(self._watch(self._app), name=f"ready-{self.name}")
            lag = loop_lag.watch()
            if data_dir is not None:
                self._load = LoadFile(data_dir, self.name)
                lag.listeners.append(self._load.write)
                self._lag = lag
        finally:
            call_context.bind_service("")

    async def _watch(self, app: App) -> None:
        """Copy the app's readiness to the health service."""
        names = ["", *(name for _, _, name in app.servicers)]
        last: str | None = "not started"
        # The flag is needed because a library that `ready` calls may swallow the cancellation of this task.
        while not self._draining:
            try:
                async with asyncio.timeout(max(5.0, self._settings.ready_interval)):
                    reason = await app.ready()
            except TimeoutError:
                reason = "the look at its dependencies timed out"
            except Exception as error:  # whatever the error, the service is not ready and the loop must go on
                _log.warning("readiness_failed", exc_info=error)
                reason = f"the look at its dependencies failed: {type(error).__name__}"
            if self._draining:
                return
            self.not_ready_because = reason or ""
            if reason != last:
                last = reason
                _log.info("service_ready" if reason is None else "service_not_ready", stage=self.name, reason=reason)
                for name in names:
                    self._health.set(name, SERVING if reason is None else NOT_SERVING)
                if reason is None:
                    self.ready.set()
                else:
                    self.ready.clear()
            # Poll faster until the service is first ready, so that a start takes no longer than needed.
            await asyncio.sleep(
                self._settings.ready_interval if reason is None else min(0.2, self._settings.ready_interval)
            )

    async def drain(self) -> None:
        """Make load balancers stop sending calls, and end the calls that would never end."""
        if self._poller is not None and not self._draining:
            loop_lag.unwatch()
            if self._load is not None and self._lag is not None:
                self._lag.listeners.remove(self._load.write)
                self._load.close()
        if self._app is not None and not self._draining:
            for hook in self._app.drain:
                hook()
        self._draining = True
        if self._poller is not None:
            self._poller.cancel()
            _, late = await asyncio.wait({self._poller}, timeout=_POLLER_SECONDS)
            if late:  # a poll of the dependencies that ignores its cancellation must not delay the shutdown
                _log.warning("readiness_does_not_end", stage=self.name)
        self._health.end()
        self._interceptor.end_watches()

    async def stop(self, grace: float, close_seconds: float = _CLOSE_SECONDS) -> None:
        """Refuse new calls, give those in flight `grace` seconds; run the app's hooks before and after.

        Each hook gets `close_seconds`, or `grace` where that is longer.
        """
        await self.drain()
        if self._app is not None:
            await self._run(self._app.refuse, max(grace, close_seconds))
        if self._front is not None:
            self._front.refuse()
        await self._server.stop(grace)
        if self._front is not None:
            await self._front.close()
        self._leave_port()
        self._interceptor.refusals.end()
        if self._app is not None:
            await self._run(self._app.close, max(grace, close_seconds))

    async def _run(self, hooks: Sequence[Callable[[], Awaitable[None]]], seconds: float) -> None:
        call_context.bind_service(self.name)
        for hook in hooks:
            try:
                async with asyncio.timeout(seconds):
                    await hook()
            except Exception as error:  # the other hooks must run all the same
                _log.error("close_failed", stage=self.name, exc_info=error)
        call_context.bind_service("")
