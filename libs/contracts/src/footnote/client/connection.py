"""A client's connection: address, identity, the caller's key and its sources, and transport security."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio

from footnote.client.repeating import Retry

KEY_VARIABLE = "FOOTNOTE_API_KEY"
KEY_FILE_VARIABLE = "FOOTNOTE_API_KEY_FILE"
_MAX_BYTES = 64 * 1024


class KeyProblem(ValueError):
    """A file contains no valid key; `hint` says what to do. The error does not show the file's content."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def key_of(given: str | None = None, file: str | Path | None = None) -> str:
    """Return the given key, or that of the file, FOOTNOTE_API_KEY or FOOTNOTE_API_KEY_FILE; "" for none.

    ValueError if both a key and a file are given, KeyProblem if a file contains none.
    """
    if given is not None and file is not None:
        raise ValueError("give api_key or api_key_file, not both")
    if given is not None:
        return given
    if file is not None:
        return key_in(file)
    name = os.environ.get(KEY_FILE_VARIABLE, "")
    return os.environ.get(KEY_VARIABLE, "") or (key_in(name) if name else "")


def key_in(name: str | Path) -> str:
    """Return the key on a file's only line; KeyProblem if it cannot be read or contains anything else."""
    try:
        with Path(name).open(encoding="ascii") as handle:
            text = handle.read(_MAX_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise KeyProblem(
            f"No key can be read from {name}: {reason}.", f"Set {KEY_FILE_VARIABLE} to a readable file."
        ) from error
    if not text or not text.isprintable() or " " in text:
        raise KeyProblem(f"{name} does not hold a key.", "Write the key into it, and nothing else.")
    return text


ADDRESS_VARIABLE = "FOOTNOTE_EDGE_ADDRESS"
DEFAULT_ADDRESS = "127.0.0.1:7100"
CALL_TIMEOUT = 60.0
STREAM_TIMEOUT = 600.0
"""Seconds; a model may write for minutes."""
_MAX_MESSAGE = 64 * 1024 * 1024
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    # A name with several addresses has several replicas: each call goes to the next available one.
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
    ("grpc.max_receive_message_length", _MAX_MESSAGE),
    # A server that has just started is found within a second instead of after gRPC's default backoff.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A watch may be silent for long: pings keep routers from dropping the connection, and detect a vanished server.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_http_proxy", 0),
)
_TLS = "https://"

Metadata = Sequence[tuple[str, str]] | None
"""Metadata of one call, its names in lower case."""
Headers = Callable[[], Sequence[tuple[str, str]]]
"""Further metadata for each call, such as a trace's."""


def _none() -> Sequence[tuple[str, str]]:
    return ()


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


@dataclass(frozen=True, slots=True)
class Connection:
    """The options of both clients; see `Client` for their meaning."""

    address: str
    api_key: str = field(default="", repr=False)
    tenant: str = ""
    user: str = ""
    timeout: float = CALL_TIMEOUT
    stream_timeout: float = STREAM_TIMEOUT
    retry: Retry = field(default_factory=Retry)
    headers: Headers = _none
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def __post_init__(self) -> None:
        if min(self.timeout, self.stream_timeout) <= 0:
            raise ValueError("a deadline must be more than 0 seconds")
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file belong together")
        if not self.address.startswith(_TLS) and (self.ca_file or self.cert_file):
            raise ValueError(f"certificates need an address that begins with {_TLS}")
        if not _fits_header(self.api_key):
            raise KeyProblem("The key has characters that are not printable ASCII.", "Set it again, without line ends.")
        for name in ("tenant", "user"):
            if not _fits_header(getattr(self, name)):
                raise ValueError(f"The {name} must be printable ASCII.")

    def metadata(self, own: Metadata = ()) -> tuple[tuple[str, str], ...]:
        """Return the metadata of a call: the identity, and the caller's additions; the call's `own` replaces these."""
        entries = list(self.headers())
        if self.api_key:
            entries.append(("authorization", f"Bearer {self.api_key}"))
        if self.tenant:
            entries.append(("x-footnote-tenant", self.tenant))
        if self.user:
            entries.append(("x-footnote-user", self.user))
        named = {name for name, _ in own or ()}
        return (*((name, value) for name, value in entries if name not in named), *(own or ()))

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Return the TLS credentials; None for plain text. OSError if a file cannot be read."""
        if not self.address.startswith(_TLS):
            return None
        read = [path.read_bytes() if path else None for path in (self.ca_file, self.key_file, self.cert_file)]
        return grpc.ssl_channel_credentials(*read)

    def open(self) -> grpc.Channel:
        """Return a channel for threads."""
        credentials = self.credentials()
        if credentials is None:
            return grpc.insecure_channel(self._target(), _OPTIONS)
        return grpc.secure_channel(self._target(), credentials, _OPTIONS)

    def open_aio(self) -> grpc.aio.Channel:
        """Return a channel for the running event loop."""
        credentials = self.credentials()
        if credentials is None:
            return grpc.aio.insecure_channel(self._target(), _OPTIONS)
        return grpc.aio.secure_channel(self._target(), credentials, _OPTIONS)

    def _target(self) -> str:
        return self.address.removeprefix(_TLS).removeprefix("http://")


def connection(
    address: str | None = None,
    *,
    api_key: str | None = None,
    api_key_file: str | Path | None = None,
    tenant: str = "",
    user: str = "",
    timeout: float = CALL_TIMEOUT,
    stream_timeout: float = STREAM_TIMEOUT,
    retry: Retry | None = None,
    headers: Headers | None = None,
    ca_file: str | Path | None = None,
    cert_file: str | Path | None = None,
    key_file: str | Path | None = None,
) -> Connection:
    """Return a connection with defaults for omitted options; see `Client`."""
    return Connection(
        address or os.environ.get(ADDRESS_VARIABLE) or DEFAULT_ADDRESS,
        key_of(api_key, api_key_file),
        tenant,
        user,
        timeout,
        stream_timeout,
        retry or Retry(),
        headers or _none,
        *(None if path is None else Path(path) for path in (ca_file, cert_file, key_file)),
    )
