"""HTTP for sources: no cookies, no proxies, no automatic redirects, bounded in bytes and time.

Addresses are checked when connecting. Compressed responses are unpacked here, so that a small response cannot become a
large one.
"""

import asyncio
import contextlib
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

import httpcore2

from footnote_edge.sources.net.addresses import AddressRefused, PinnedBackend, Resolve, resolve
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import LONGEST_ID, ItemFailed, SourceUnavailable

MOST_REDIRECTS = 5
TOTAL_SECONDS = 300.0
_PIECE = 256 * 1024
_CONNECTIONS = 16
_HEADER_BYTES = 64 * 1024
_BODILESS = frozenset({204, 304})
_SHORT = 16 * 1024
"""Bytes of an unwanted body that are read all the same, so that the connection can serve the next request."""
_SEVERAL = "x-robots-tag"
"""A header whose lines, each to an agent of its own, are kept apart; of others the last line counts."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAFE_PATH = "/:;@!$&'()*+,=-._~%?[]"


Allow = Callable[[str], Awaitable[None]]
"""Called before each hop; raises ItemFailed for a forbidden address."""


class TooLarge(ItemFailed):
    """A response exceeds its limit in bytes, as sent or unpacked."""

    def __init__(self, limit: int) -> None:
        super().__init__("TOO_LARGE", f"It has more than {limit} bytes.", permanent=True)


@dataclass(frozen=True, slots=True)
class Head:
    """The status and headers of a response: header names are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        """The media type without its parameters, in lower case; "" if missing."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Answer:
    """A response whose body is read once."""

    def __init__(self, head: Head, response: httpcore2.Response) -> None:
        self.head = head
        self._response = response
        self._unread = True

    async def finish(self) -> None:
        """Read the rest of a response without a body or with a short one: else its connection would be closed."""
        length = self.head.headers.get("content-length", "")
        short = length.isdecimal() and int(length[:10]) <= _SHORT
        if self._unread and (self.head.status in _BODILESS or short):
            self._unread = False
            with contextlib.suppress(*_FAILURES):
                async for _ in self._response.aiter_stream():
                    pass

    async def parts(self, limit: int) -> AsyncIterator[bytes]:
        """Yield the body, unpacked; raises TooLarge beyond `limit` bytes and SourceUnavailable if it breaks off."""
        encoding = self.head.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
            said = f"It is encoded as {encoding[:40]!r}, which was not asked for."
            raise ItemFailed("UNSUPPORTED", said, permanent=True)
        unpack = None if encoding in ("identity", "") else zlib.decompressobj(zlib.MAX_WBITS | 32)
        received = total = 0
        self._unread = False
        try:
            async for raw in self._response.aiter_stream():
                received += len(raw)
                if received > limit:
                    raise TooLarge(limit)
                for piece in (raw,) if unpack is None else _unpacked(unpack, raw):
                    total += len(piece)
                    if total > limit:
                        raise TooLarge(limit)
                    if piece:
                        yield piece
        except zlib.error:
            raise ItemFailed("INVALID", "Its compression is damaged.", permanent=True) from None
        except _FAILURES as error:
            raise SourceUnavailable(f"The connection broke off: {type(error).__name__}.") from None

    async def read(self, limit: int) -> bytes:
        """Return the whole body; raises as `parts` does."""
        return b"".join([part async for part in self.parts(limit)])


_FAILURES = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError)


def _unpacked(unpack: "zlib._Decompress", raw: bytes) -> "list[bytes] | _Pieces":
    return _Pieces(unpack, raw)


class _Pieces:
    """Unpacked pieces of bounded length, produced lazily."""

    def __init__(self, unpack: "zlib._Decompress", raw: bytes) -> None:
        self._unpack = unpack
        self._rest = raw

    def __iter__(self) -> "_Pieces":
        return self

    def __next__(self) -> bytes:
        if not self._rest:
            raise StopIteration
        piece = self._unpack.decompress(self._rest, _PIECE)
        self._rest = self._unpack.unconsumed_tail
        return piece


@cache
def _trusted() -> ssl.SSLContext:
    """Return what the machine trusts, read once: each time would hold the event loop for 20 ms."""
    return ssl.create_default_context()


class Client:
    """An HTTP client for one run of a source."""

    def __init__(self, policy: Policy, resolving: Resolve = resolve, total_seconds: float = TOTAL_SECONDS) -> None:
        self._policy = policy
        self._total = total_seconds
        self.requests = 0
        """Number of requests so far, redirects included."""
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_trusted(),
            max_connections=_CONNECTIONS,
            keepalive_expiry=15.0,
            network_backend=PinnedBackend(policy, resolving),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    @asynccontextmanager
    async def open(
        self, url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", content: bytes | None = None
    ) -> AsyncIterator[Answer]:
        """Send one request, without following a redirect; the response closes at the end of the block.

        Raises ItemFailed(ADDRESS) for a forbidden address, SourceUnavailable if no server answers in time.
        """
        parts = checked(url)
        host, port = str(parts.hostname), parts.port or _DEFAULT_PORTS[parts.scheme]
        target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        sent = {
            "host": parts.netloc,
            "user-agent": self._policy.user_agent,
            "accept-encoding": "gzip, deflate",
            **{name.lower(): value for name, value in (headers or {}).items()},
        }
        if content is not None:
            sent["content-length"] = str(len(content))
        seconds = self._policy.timeout
        request = httpcore2.Request(
            method,
            httpcore2.URL(scheme=parts.scheme.encode(), host=host.encode(), port=port, target=target.encode("ascii")),
            headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in sent.items()],
            content=content or b"",
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)},
        )
        self.requests += 1
        try:
            async with asyncio.timeout(self._total):
                try:
                    response = await self._pool.handle_async_request(request)
                except AddressRefused as error:
                    raise ItemFailed("ADDRESS", str(error), permanent=True) from None
                except _FAILURES as error:
                    raise SourceUnavailable(f"{host} does not answer: {type(error).__name__}.") from None
                try:
                    answer = Answer(Head(url, response.status, _headers(response)), response)
                    yield answer
                    await answer.finish()
                finally:
                    await response.aclose()
        except TimeoutError:
            raise SourceUnavailable(f"{host} took longer than {self._total:.0f} seconds.") from None

    @asynccontextmanager
    async def follow(
        self, url: str, headers: Mapping[str, str] | None = None, *, allow: Allow | None = None
    ) -> AsyncIterator[Answer]:
        """Send a request and follow redirects, each checked like a new request; `allow` is called before each hop.

        Credential headers go to the first host only.
        """
        seen: set[str] = set()
        origin = _origin(checked(url))
        for _ in range(MOST_REDIRECTS + 1):
            if url in seen:
                raise ItemFailed("REFUSED", "Its redirects form a loop.")
            seen.add(url)
            parts = checked(url)
            if allow is not None:
                await allow(url)
            sent = dict(headers or {})
            if _origin(parts) != origin:
                sent.pop("authorization", None)
            async with self.open(url, sent) as answer:
                where = answer.head.headers.get("location")
                if answer.head.status not in _REDIRECTS or where is None:
                    yield answer
                    return
                url = joined(url, where)
                if not url:
                    raise ItemFailed("ADDRESS", "It redirects to an invalid address.", permanent=True)
        raise ItemFailed("REFUSED", f"It redirects more than {MOST_REDIRECTS} times.")


def joined(base: str, reference: str) -> str:
    """Return the normal form of a link on a page at `base`; "" for an invalid one."""
    try:
        found = normal(urljoin(base, reference))
        urlsplit(found)
    except ValueError:
        return ""
    return found


def _headers(response: httpcore2.Response) -> dict[str, str]:
    if sum(len(name) + len(value) for name, value in response.headers) > _HEADER_BYTES:
        raise ItemFailed("INVALID", "Its headers are too long.", permanent=True)
    found: dict[str, str] = {}
    for raw, value in response.headers:
        name = raw.decode("latin-1").lower()
        again = f"{found[name]}\n" if name == _SEVERAL and name in found else ""
        found[name] = again + value.decode("latin-1")
    return found


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port


def checked(url: str) -> SplitResult:
    """Return the parts of a permitted address; raises ItemFailed(ADDRESS)."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ItemFailed("ADDRESS", "It is not a valid address.", permanent=True) from None
    if len(url) > LONGEST_ID or not url.isascii() or any(one <= " " or one == "\x7f" or one == "\\" for one in url):
        raise ItemFailed("ADDRESS", "It is not a valid address.", permanent=True)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ItemFailed("ADDRESS", "An address must begin with https:// or http://.", permanent=True)
    if parts.username is not None or parts.password is not None:
        raise ItemFailed("ADDRESS", "An address must not hold a user name or password.", permanent=True)
    if port == 0:
        raise ItemFailed("ADDRESS", "It is not a valid address.", permanent=True)
    return parts


def normal(url: str) -> str:
    """Return an address in its normal form: host in lower case and ASCII, no fragment, no default port.

    An invalid address is returned unchanged; `checked` refuses it.
    """
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").rstrip(".")
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
        if ":" in ascii_host:
            ascii_host = f"[{ascii_host}]"
        port = parts.port
    except (ValueError, UnicodeError):
        return url
    scheme = parts.scheme.lower()
    place = ascii_host if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{ascii_host}:{port}"
    if parts.username is not None or parts.password is not None:
        return url
    path, query = quote(parts.path, safe=_SAFE_PATH) or "/", quote(parts.query, safe=_SAFE_PATH)
    return urlunsplit((scheme, place, path, query, ""))
