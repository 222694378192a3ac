"""The address of a Milvus server, with TLS configured by pymilvus's parameter names.

An example is `https://milvus:19530?ca_pem_path=…&client_pem_path=…&client_key_path=…&server_name=…`. The first
parameter names the accepted authorities, by default gRPC's. The next two are the client's certificate and key. The
last is the name in the server's certificate if it differs from the address. A parameter without effect is refused.
Replaced files apply to the next connection.
"""

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import grpc
from footnote_kit.errors import FailedPrecondition
from footnote_kit.tls import CHECK_SECONDS, Renewed

_CA, _CERT, _KEY, _NAME = NAMES = ("ca_pem_path", "client_pem_path", "client_key_path", "server_name")
_HANDSHAKE_SECONDS = 3.0
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # RFC 9113, 3.4: empty settings
_HTTPS_PORT, _PORT = 443, 19530  # where the address names none
_OPTIONS = (
    ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 2_000),
)  # fmt: skip
_WITHIN = ("grpc.enable_http_proxy", 0)
"""A server without TLS is in the deployment's own network, where no web proxy leads; one with TLS may be outside."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address without its TLS parameters; `said` holds the parameters, `files` the certificate files."""

    uri: str
    said: dict[str, str]
    files: Renewed[ssl.SSLContext] | None = None

    @property
    def _split(self) -> SplitResult:
        return urlsplit(self.uri)

    @property
    def database(self) -> str:
        """The database in its path; "" for the server's default."""
        return "" if self.uri.startswith("unix:") else self._split.path.strip("/").partition("/")[0]

    @property
    def token(self) -> str:
        """The credentials in it, as `user:password`."""
        return unquote(self._split.netloc.rpartition("@")[0])

    def channel(self) -> grpc.aio.Channel:
        """Open a channel, which reads the certificate files now."""
        if self.uri.startswith("unix:"):
            return grpc.aio.insecure_channel(self.uri, _OPTIONS)
        host, port = self._split.netloc.rpartition("@")[2], _PORT if self.files is None else _HTTPS_PORT
        target = host if self._split.port else f"{host}:{port}"
        if self.files is None:
            return grpc.aio.insecure_channel(target, [*_OPTIONS, _WITHIN])
        named = [("grpc.ssl_target_name_override", self.said[_NAME])] if _NAME in self.said else []
        read = (Path(self.said[name]).read_bytes() if name in self.said else None for name in (_CA, _KEY, _CERT))
        return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(*read), [*_OPTIONS, *named])

    def renewed(self) -> bool:
        """Return whether the files were replaced since the last check."""
        return self.files is not None and self.files.check()[1]

    async def refusal(self) -> str:
        """Repeat the channel's TLS handshake and return the reason of a failure; "" when TLS is not the cause."""
        if self.files is None:
            return ""
        split = self._split
        name = self.said.get(_NAME, split.hostname)
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                reader, writer = await asyncio.open_connection(
                    split.hostname, split.port or _HTTPS_PORT, ssl=self.files.now(), server_hostname=name
                )
                return await _greeted(reader, writer)
        except ssl.SSLCertVerificationError as error:
            return f"its certificate is not accepted: {error.verify_message}. See {_CA} and {_NAME} in its address"
        except ssl.SSLError as error:
            return f"it refuses the handshake: {error.reason or 'it hangs up'}. Does it speak TLS?"
        except (OSError, TimeoutError):
            return ""


async def _greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """Send an HTTP/2 preface and wait for a response: TLS 1.3 servers refuse a client after the handshake."""
    why = "it hangs up"
    try:
        writer.write(_GREETING)
        if await reader.read(1):
            return ""
    except ssl.SSLError as error:
        why = error.reason or why
    except OSError:  # some servers hang up without an alert
        pass
    finally:
        writer.transport.abort()
    return f"it refuses this certificate, or that there is none: {why}. See {_CERT} in its address"


def address(uri: str) -> Address:
    """Parse an address; FailedPrecondition for parameters that are invalid or have no effect."""
    split = urlsplit(uri)
    if split.scheme not in ("https", "http", "tcp", "unix"):
        raise _wrong("it begins with none of https://, http:// and unix:")
    if split.scheme != "https":
        if split.scheme != "unix" and split.query:
            raise _wrong(f"?{split.query.partition('=')[0]}=… has no effect without https://")
        return Address(uri, {})
    said = dict(parse_qsl(split.query, keep_blank_values=True))
    _check(said)
    named = tuple(Path(said[name]) for name in (_CA, _CERT, _KEY) if name in said)
    try:
        files = Renewed(named, lambda: _context(said), CHECK_SECONDS)
    except (OSError, ValueError) as error:
        raise _wrong(_why(error)) from error
    return Address(_without(split), said, files)


def _check(said: dict[str, str]) -> None:
    if unknown := sorted(said.keys() - set(NAMES)):
        raise _wrong(f"it does not know {unknown[0]}; there are {', '.join(NAMES)}")
    if empty := [name for name in NAMES if said.get(name) == ""]:
        raise _wrong(f"{empty[0]} is empty")
    if (_CERT in said) != (_KEY in said):
        raise _wrong(f"{_CERT} and {_KEY} belong together")
    if _CERT in said and _CA not in said:
        raise _wrong(f"{_CERT} has no effect without {_CA}")


def _context(said: dict[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if _CA in said:
        context.load_verify_locations(said[_CA])
    else:
        context.load_default_certs()
    if _CERT in said:
        # A key with a password is refused, so that no prompt appears on the terminal.
        context.load_cert_chain(said[_CERT], said[_KEY], password="")
    return context


def _without(split: SplitResult) -> str:
    return split._replace(query="", fragment="").geturl()


def _wrong(why: str) -> FailedPrecondition:
    return FailedPrecondition(f"FOOTNOTE_VECTOR_STORE_URI is no good: {why}")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ssl.SSLError):
        return f"a certificate: {error.reason or error}"
    return str(error)
