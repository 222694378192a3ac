"""Requests to one web site: robots.txt first, a pause between requests, backoff if the site asks for it."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated
from urllib.parse import urlsplit

from footnote_kit.backoff import retry_after
from pydantic import AfterValidator

from footnote_edge.sources import robots
from footnote_edge.sources.net.client import Answer, Client, checked, normal
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import ItemFailed, SourceRefused, SourceUnavailable
from footnote_edge.sources.robots import CLOSED, NOTHING_SAID, Robots

LONGEST_PAUSE = 30.0
"""Longest pause in seconds that a run grants a site; a site that asks for more counts as away."""

_MOST_HOSTS = 20
_BUSY = (429, 503)


def _address(value: str) -> str:
    try:
        checked(normal(value))
    except ItemFailed as error:
        raise ValueError(str(error)) from None
    return normal(value)


SiteAddress = Annotated[str, AfterValidator(_address)]
"""A setting: the address of a site, in normal form."""


class SiteRequests:
    """Requests of one run, to the hosts of its pages."""

    def __init__(self, client: Client, policy: Policy, delay: float) -> None:
        self._client = client
        self._policy = policy
        self._delay = delay
        self._robots: dict[str, Robots] = {}
        self._next = 0.0
        self._turn = asyncio.Lock()

    async def begin(self, url: str) -> Robots:
        """Read the site's robots.txt; raises SourceRefused if it closes the site, SourceUnavailable if it fails."""
        try:
            rules = await self.rules(url)
        except ItemFailed as error:
            raise SourceRefused(str(error)) from None
        if rules.forbidden:
            raise SourceUnavailable("The site's robots.txt cannot be read: until it can, the site is not read either.")
        return rules

    async def rules(self, url: str) -> Robots:
        """Return robots.txt of an address's site; raises ItemFailed(ADDRESS) for a forbidden address."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._robots:
            if len(self._robots) >= _MOST_HOSTS:
                return CLOSED
            self._robots[origin] = await self._read(origin)
        return self._robots[origin]

    async def allowed(self, url: str) -> bool:
        """Return whether robots.txt allows an address."""
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return (await self.rules(url)).allows(path or "/")

    @asynccontextmanager
    async def ask(self, url: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[Answer]:
        """Request an address and follow its redirects; each hop must be allowed. A busy site gets one retry.

        Raises ItemFailed(ROBOTS) if robots.txt forbids it, SourceUnavailable for a site that stays busy.
        """
        await self._wait(url)
        async with self._client.follow(url, headers, allow=self._check) as answer:
            if answer.head.status not in _BUSY:
                yield answer
                return
            pause = retry_after(answer.head.headers)
        if pause is None or pause > LONGEST_PAUSE:
            raise SourceUnavailable("The site is overloaded and asks for a pause.")
        await asyncio.sleep(pause)
        async with self._client.follow(url, headers, allow=self._check) as answer:
            if answer.head.status in _BUSY:
                raise SourceUnavailable("The site is overloaded and asks for a pause.")
            yield answer

    async def _check(self, url: str) -> None:
        if not await self.allowed(url):
            raise ItemFailed("ROBOTS", "The site's robots.txt forbids reading it.", permanent=True)

    async def _wait(self, url: str) -> None:
        """Wait for this request's turn: the longer pause of the settings and of robots.txt."""
        async with self._turn:
            delay = max(self._delay, (await self.rules(url)).delay)
            now = time.monotonic()
            if self._next > now:
                await asyncio.sleep(self._next - now)
            self._next = time.monotonic() + delay

    async def _read(self, origin: str) -> Robots:
        # RFC 9309: without the file everything is allowed; while it is unreachable nothing is.
        try:
            async with self._client.follow(f"{origin}/robots.txt") as answer:
                if 400 <= answer.head.status < 500 and answer.head.status not in _BUSY:
                    return NOTHING_SAID
                if answer.head.status != 200:
                    return CLOSED
                text = await answer.read(robots.MOST_BYTES * 2)
        except ItemFailed as error:
            if error.reason == "ADDRESS":
                raise
            return CLOSED
        return robots.read(text.decode("utf-8", "replace"), self._policy.user_agent)
