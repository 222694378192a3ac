"""The HTTP side of the service: from its settings to a listening port."""

from footnote_kit import tls
from footnote_kit.admission.fair_shares import Shares
from footnote_kit.app import Runtime
from footnote_kit.logs import get_logger

from footnote_edge.gateway.auditing import Auditor
from footnote_edge.gateway.identity import Authenticator
from footnote_edge.http.serving.connections import Connections
from footnote_edge.http.serving.server import HttpServer
from footnote_edge.http.site import site
from footnote_edge.settings import Settings

_log = get_logger(__name__)


class Web:
    """Serves HTTP beside gRPC, unless disabled; it calls the gRPC side, so that both share one guard."""

    def __init__(
        self,
        runtime: Runtime,
        settings: Settings,
        authenticator: Authenticator,
        shares: Shares,
        auditor: Auditor,
        version: str,
    ) -> None:
        self._runtime = runtime
        self._settings = settings
        self._authenticator = authenticator
        self._shares = shares
        self._auditor = auditor
        self._version = version
        self._server: HttpServer | None = None

    async def start(self) -> None:
        """Listen, and publish the address; ListenError if the port is taken."""
        if not self._settings.http:
            return
        kit = self._runtime.settings
        settings = self._settings
        application = site(
            self._runtime.channel("edge"), settings, self._authenticator, self._shares, self._auditor, self._version
        )
        self._server = HttpServer(
            application,
            kit.listen_host,
            self._runtime.port(settings.http_port),
            Connections(
                most=settings.http_connections,
                most_per_peer=settings.http_connections_per_peer,
                head_seconds=settings.head_seconds,
                write_seconds=settings.write_seconds,
            ),
            keep_alive_seconds=settings.keep_alive_seconds,
            tls=tls.server_context(kit, "http/1.1"),
        )
        address = await self._server.start()
        self._runtime.announce("http", address)
        _log.info("http_listens", address=address)

    def drain(self) -> None:
        """Close each connection after its next response, so that callers connect elsewhere."""
        if self._server is not None:
            self._server.drain()

    async def refuse(self) -> None:
        """Refuse new requests; to be called before gRPC refuses the calls that they would make."""
        if self._server is not None:
            await self._server.refuse()

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            await self._server.stop()
