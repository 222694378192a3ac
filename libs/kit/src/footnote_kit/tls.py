"""TLS and mTLS from the settings; files that are replaced serve the next connection, without a restart."""

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import grpc

from footnote_kit.logs import get_logger
from footnote_kit.settings import KitSettings

LOOK_SECONDS = 1.0
"""Between two looks of a channel at its files: a call is made more often than a connection."""
Made = TypeVar("Made")
_log = get_logger("footnote.tls")


class Renewed(Generic[Made]):
    """What is made of files, and anew when they were replaced.

    Files that cannot be read, or do not belong together since only half of them were replaced yet, leave what was made
    before in its place; they are tried again at the next look. Threads of gRPC's look too.
    """

    def __init__(self, files: tuple[Path | None, ...], make: Callable[[], Made], every: float = 0.0) -> None:
        self._files = tuple(file for file in files if file is not None)
        self._make, self._every = make, every
        self._lock = threading.Lock()
        self._signs = _signs(self._files)
        self._looked = time.monotonic()
        self._told: object = None
        self._now = make()

    def now(self) -> Made:
        """Return what the files make now."""
        return self.look()[0]

    def look(self) -> tuple[Made, bool]:
        """Return what the files make now, and whether that is new with this look."""
        with self._lock:
            moment = time.monotonic()
            if moment - self._looked < self._every:
                return self._now, False
            self._looked = moment
            try:
                signs = _signs(self._files)
                if signs == self._signs:
                    return self._now, False
                made = self._make()
                if _signs(self._files) != signs:  # replaced while they were read
                    return self._now, False
            except (OSError, ValueError) as error:
                self._say(error)
                return self._now, False
            self._now, self._signs, self._told = made, signs, None
            _log.info("certificates_reloaded", files=[str(file) for file in self._files])
            return made, True

    def _say(self, error: Exception) -> None:
        """Warn once of each way in which the files are no good."""
        words = f"{type(error).__name__}: {error}"
        if words != self._told:
            self._told = words
            _log.warning("certificates_not_reloaded", reason=words, files=[str(file) for file in self._files])


def _signs(files: tuple[Path, ...]) -> tuple[tuple[int, int, int], ...]:
    """Return what changes when files are replaced, also through a symbolic link to a folder of them; or OSError."""
    found = [file.stat() for file in files]
    return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in found)


def _all(settings: KitSettings) -> tuple[Path | None, ...]:
    return settings.tls_cert_file, settings.tls_key_file, settings.tls_ca_file


def _check(settings: KitSettings) -> None:
    """Raise OSError or ssl.SSLError, which is one, where certificate, key and authorities are no good together."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if settings.tls_cert_file is not None and settings.tls_key_file is not None:
        # A key that needs a password is refused, not asked for on the terminal.
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file, password="")
    if settings.tls_ca_file is not None:
        context.load_verify_locations(settings.tls_ca_file)


def server_credentials(settings: KitSettings) -> grpc.ServerCredentials | None:
    """Return what a server listens with; None for plain text. OSError when a file cannot be read, or is no good."""
    cert, key = settings.tls_cert_file, settings.tls_key_file
    if cert is None or key is None:
        return None
    asked = settings.tls_client_auth and settings.tls_ca_file is not None

    def make() -> grpc.ServerCertificateConfiguration:
        _check(settings)
        authorities = settings.tls_ca_file.read_bytes() if asked and settings.tls_ca_file else None
        return grpc.ssl_server_certificate_configuration([(key.read_bytes(), cert.read_bytes())], authorities)

    renewed = Renewed(_all(settings), make)

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        """Be asked by gRPC before each handshake."""
        configuration, new = renewed.look()
        return configuration if new else None

    return grpc.dynamic_ssl_server_credentials(
        renewed.now(),
        fetch,  # type: ignore[arg-type]  # None says that nothing changed
        require_client_authentication=asked,
    )


def server_context(settings: KitSettings, *protocols: str) -> Callable[[], ssl.SSLContext] | None:
    """Return the same for a server that is not gRPC's own, to be asked at each connection; `protocols` are ALPN's.

    OSError when a file is no good.
    """
    cert, key = settings.tls_cert_file, settings.tls_key_file
    if cert is None or key is None:
        return None

    def make() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(list(protocols))
        context.load_cert_chain(cert, key, password="")
        if settings.tls_client_auth:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(settings.tls_ca_file)
        return context

    return Renewed(_all(settings), make).now


def channel_credentials(settings: KitSettings) -> grpc.ChannelCredentials | None:
    """Return what a client connects with; None for plain text. OSError when a file cannot be read, or is no good."""
    if settings.tls_ca_file is None and settings.tls_cert_file is None:
        return None
    authorities = settings.tls_ca_file.read_bytes() if settings.tls_ca_file else None
    if settings.tls_client_auth and settings.tls_cert_file and settings.tls_key_file:
        return grpc.ssl_channel_credentials(
            authorities, settings.tls_key_file.read_bytes(), settings.tls_cert_file.read_bytes()
        )
    return grpc.ssl_channel_credentials(authorities)


def renewed_channel_credentials(settings: KitSettings) -> Renewed[grpc.ChannelCredentials] | None:
    """Return the same, made anew when the files are; None for plain text."""
    if settings.tls_ca_file is None and settings.tls_cert_file is None:
        return None

    def make() -> grpc.ChannelCredentials:
        _check(settings)
        credentials = channel_credentials(settings)
        assert credentials is not None
        return credentials

    return Renewed(_all(settings), make, LOOK_SECONDS)
