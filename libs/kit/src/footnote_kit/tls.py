"""TLS and mTLS from the settings; replaced certificate files apply to the next connection without a restart."""

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import grpc

from footnote_kit.logs import get_logger
from footnote_kit.settings import KitSettings

CHECK_SECONDS = 1.0
"""Seconds between a channel's checks of its files, because calls are more frequent than connections."""
Made = TypeVar("Made")
_log = get_logger("footnote.tls")


class Renewed(Generic[Made]):
    """An object built from files, rebuilt when the files are replaced.

    If the files are unreadable or do not match, for example when only half of them are replaced yet, the previous
    object stays. The next check tries again. Thread-safe, because gRPC's threads check too.
    """

    def __init__(self, files: tuple[Path | None, ...], make: Callable[[], Made], every: float = 0.0) -> None:
        self._files = tuple(file for file in files if file is not None)
        self._make, self._every = make, every
        self._lock = threading.Lock()
        self._signs = _signs(self._files)
        self._looked = time.monotonic()
        self._reported: object = None
        self._now = make()

    def now(self) -> Made:
        """Return the current object."""
        return self.check()[0]

    def check(self) -> tuple[Made, bool]:
        """Return the current object, and whether this check rebuilt it."""
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
            self._now, self._signs, self._reported = made, signs, None
            _log.info("certificates_reloaded", files=[str(file) for file in self._files])
            return made, True

    def _say(self, error: Exception) -> None:
        """Log a warning, once for each kind of problem with the files."""
        words = f"{type(error).__name__}: {error}"
        if words != self._reported:
            self._reported = words
            _log.warning("certificates_not_reloaded", reason=words, files=[str(file) for file in self._files])


def _signs(files: tuple[Path, ...]) -> tuple[tuple[int, int, int], ...]:
    """Return a fingerprint that changes when files are replaced, even through a symlinked folder; raises OSError."""
    found = [file.stat() for file in files]
    return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in found)


def _all(settings: KitSettings) -> tuple[Path | None, ...]:
    return settings.tls_cert_file, settings.tls_key_file, settings.tls_ca_file


def _check(settings: KitSettings) -> None:
    """Raise OSError, of which ssl.SSLError is one kind, when certificate, key and authorities do not fit together."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if settings.tls_cert_file is not None and settings.tls_key_file is not None:
        # A key with a password is refused, so that no prompt appears on the terminal.
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file, password="")
    if settings.tls_ca_file is not None:
        context.load_verify_locations(settings.tls_ca_file)


def server_credentials(settings: KitSettings) -> grpc.ServerCredentials | None:
    """Return a server's credentials; None for plain text. OSError when a file is unreadable or invalid."""
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
        """Return a new configuration for the next handshake; gRPC calls this before each one."""
        configuration, new = renewed.check()
        return configuration if new else None

    return grpc.dynamic_ssl_server_credentials(
        renewed.now(),
        fetch,  # type: ignore[arg-type]  # None says that nothing changed
        require_client_authentication=asked,
    )


def server_context(settings: KitSettings, *protocols: str) -> Callable[[], ssl.SSLContext] | None:
    """Return a factory of TLS contexts for a server that is not gRPC's, to call at each connection.

    `protocols` are ALPN names. Returns None for plain text. Raises OSError when a file is invalid.
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
    """Return a client's credentials; None for plain text. OSError when a file is unreadable or invalid."""
    if settings.tls_ca_file is None and settings.tls_cert_file is None:
        return None
    authorities = settings.tls_ca_file.read_bytes() if settings.tls_ca_file else None
    if settings.tls_client_auth and settings.tls_cert_file and settings.tls_key_file:
        return grpc.ssl_channel_credentials(
            authorities, settings.tls_key_file.read_bytes(), settings.tls_cert_file.read_bytes()
        )
    return grpc.ssl_channel_credentials(authorities)


def renewed_channel_credentials(settings: KitSettings) -> Renewed[grpc.ChannelCredentials] | None:
    """Return a client's credentials that follow replaced files; None for plain text."""
    if settings.tls_ca_file is None and settings.tls_cert_file is None:
        return None

    def make() -> grpc.ChannelCredentials:
        _check(settings)
        credentials = channel_credentials(settings)
        assert credentials is not None
        return credentials

    return Renewed(_all(settings), make, CHECK_SECONDS)
