"""The HTTP side of the service, from its settings to a listening port."""

from footnote_kit.app import Runtime
from footnote_kit.logs import get_logger
from footnote_kit.net import is_loopback
from footnote_kit.server import ListenError

from footnote_edge.http.server import HttpServer
from footnote_edge.http.site import site
from footnote_edge.settings import Settings

_log = get_logger(__name__)


class Web:
    """Serves HTTP beside gRPC, unless switched off; it calls the gRPC side, so that both have one door."""

    def __init__(self, runtime: Runtime, settings: Settings, version: str) -> None:
        self._runtime = runtime
        self._settings = settings
        self._version = version
        self._server: HttpServer | None = None

    async def start(self) -> None:
        """Listen, and make the address known; ListenError when it would listen beyond loopback for anybody."""
        if not self._settings.http:
            return
        kit = self._runtime.settings
        known = self._settings.auth or kit.tls_client_auth or kit.insecure_listen
        if not (known or is_loopback(kit.listen_host)):
            raise ListenError(
                f"edge does not know its callers and therefore serves HTTP on loopback only, not on {kit.listen_host}; "
                "set FOOTNOTE_EDGE_AUTH, switch on mTLS, or say --insecure-listen in a network that you trust"
            )
        application = site(
            self._runtime.channel("edge"),
            self._settings,
            self._version,
            loopback_only=not self._settings.auth and is_loopback(kit.listen_host),
        )
        self._server = HttpServer(
            application,
            kit.listen_host,
            self._runtime.port(self._settings.http_port),
            cert_file=str(kit.tls_cert_file or ""),
            key_file=str(kit.tls_key_file or ""),
            client_ca_file=str(kit.tls_ca_file or "") if kit.tls_client_auth else "",
        )
        address = await self._server.start()
        self._runtime.announce("http", address)
        _log.info("http_listens", address=address)

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            await self._server.stop()
