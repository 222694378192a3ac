"""Git's HTTP transport over our own client, so that its requests obey the same address checks and limits.

dulwich is synchronous: it runs in a thread, and each request runs on the event loop.
"""

import asyncio
import base64
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from dulwich.client import AbstractHttpGitClient
from dulwich.errors import GitProtocolError, NotGitRepository

from footnote_edge.sources.net.client import Answer, Client, TooLarge
from footnote_edge.sources.ports import ItemFailed, SourceRefused, SourceUnavailable

MEMORY = 4 * 1024 * 1024
"""Bytes of a response that are kept in memory; a larger one goes to the disk."""
TIMEOUT_SECONDS = 900.0
"""Timeout of a fetch in seconds."""


class HeldBack(Exception):
    """Carries one of our own errors through dulwich."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class PackLimit:
    """The most bytes of a fetch, and what a source is told whose repository sends more."""

    most: int
    refusal: str


@dataclass
class Response:
    """The response interface that dulwich expects."""

    content_type: str | None
    redirect_location: str
    body: IO[bytes]
    status: int = 200

    def close(self) -> None:
        """Release the body."""
        self.body.close()


class GitHttp(AbstractHttpGitClient):
    """Speaks Git's smart protocol by `Client`."""

    def __init__(
        self,
        url: str,
        client: Client,
        loop: asyncio.AbstractEventLoop,
        limit: PackLimit,
        username: str,
        password: str,
        folder: Path,
    ) -> None:
        super().__init__(url)
        self._client = client
        self._loop = loop
        self._limit = limit
        self._folder = folder
        self._origin = urlsplit(url)[:2]
        pair = f"{username or 'git'}:{password}"
        self._bodies: list[IO[bytes]] = []
        self._basic = f"Basic {base64.b64encode(pair.encode()).decode()}" if password else ""

    def drop(self) -> None:
        """Close the files that hold responses."""
        for body in self._bodies:
            body.close()

    def get_url(self, path: Any) -> str:
        """Return the repository's address: each client has only one."""
        return self._base_url

    def _get_url(self, path: Any) -> str:
        return self._base_url

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> Any:
        content = data if data is None or isinstance(data, bytes) else b"".join(data)
        sent = {name: value for name, value in (headers or {}).items() if name.lower() != "content-length"}
        if self._basic and urlsplit(url)[:2] == self._origin:
            sent["authorization"] = self._basic
        asked = asyncio.run_coroutine_threadsafe(self._ask(url, sent, content), self._loop)
        try:
            response = asked.result(TIMEOUT_SECONDS)
        except TooLarge:
            raise HeldBack(SourceRefused(self._limit.refusal)) from None
        except (SourceUnavailable, SourceRefused, ItemFailed) as error:
            raise HeldBack(SourceRefused(str(error)) if isinstance(error, ItemFailed) else error) from None
        finally:
            asked.cancel()
        if raise_for_status and response.status in (401, 403):
            raise HeldBack(SourceRefused("The repository refuses these secrets, or requires some."))
        if raise_for_status and response.status == 404:
            raise NotGitRepository
        if raise_for_status and response.status != 200:
            raise GitProtocolError(f"HTTP status {response.status}")
        read: Callable[[int], bytes] = response.body.read
        return response, read

    async def _ask(self, url: str, headers: dict[str, str], content: bytes | None) -> Response:
        if content is None:
            async with self._client.follow(url, headers) as answer:
                return await self._received(url, answer)
        async with self._client.open(url, headers, method="POST", content=content) as answer:
            return await self._received(url, answer)

    async def _received(self, url: str, answer: Answer) -> Response:
        # Not in /tmp, which in containers is small or memory of the service.
        body = tempfile.SpooledTemporaryFile(max_size=MEMORY, dir=str(self._folder))  # noqa: SIM115 - closed by `drop`
        self._bodies.append(body)
        async for part in answer.parts(self._limit.most):
            await asyncio.to_thread(body.write, part)
        body.seek(0)
        moved = answer.head.url if answer.head.url != url else ""
        return Response(answer.head.headers.get("content-type"), moved, body, answer.head.status)
