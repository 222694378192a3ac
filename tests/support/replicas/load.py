"""Callers of a cluster, each through `footnote.client`, and what became of their calls."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from footnote.client import AsyncClient
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import Document, ListDocumentsRequest
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.degradations import word as reason_word
from footnote_kit.errors import FootnoteError

KNOWN = b"The daily travel allowance is 38 euros."
QUESTION = "What is the daily travel allowance?"
_SETTLED = (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)


@dataclass
class Outcome:
    """Calls that were made, those that failed by kind and reason, and the files that were acknowledged, by name."""

    calls: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    degraded: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    slowest: tuple[float, str] = (0.0, "")
    """Of the call that took longest: seconds, and which it was and when it began, in seconds of the load."""
    began: float = field(default_factory=time.monotonic)

    @property
    def longest(self) -> str:
        """The call that took longest, in words."""
        return "{:.1f}: {}".format(*self.slowest)

    @property
    def made(self) -> int:
        """All calls."""
        return sum(self.calls.values())


async def _one(outcome: Outcome, kind: str, call: Callable[[], Awaitable[None]]) -> None:
    began = time.monotonic()
    outcome.calls[kind] += 1
    try:
        await call()
    except FootnoteError as error:
        outcome.failed.append(f"{kind}: {error.reason}: {error.message}")
    which = f"{kind} at {began - outcome.began:.1f}"
    outcome.slowest = max(outcome.slowest, (time.monotonic() - began, which))


@asynccontextmanager
async def load(address: str, name: str, *, pause: float = 0.05) -> AsyncIterator[Outcome]:
    """Search, ask, list and upload side by side until the block ends; calls in flight then are waited for."""
    outcome, ended = Outcome(), asyncio.Event()
    async with AsyncClient(address) as client:

        async def search() -> None:
            found = await client.answers.Search(SearchRequest(query="travel allowance", collections=["default"]))
            outcome.degraded.update(map(_named, found.degradations))
            if not (found.chunks or found.degradations):
                outcome.failed.append("search: found nothing and did not say why")

        async def ask() -> None:
            done = await client.answer(QUESTION, collections=["default"])
            outcome.degraded.update(map(_named, done.degradations))
            if "38" not in done.answer.text and not done.degradations:
                outcome.failed.append("ask: answered otherwise and did not say why")

        async def listing() -> None:
            await client.documents.ListDocuments(ListDocumentsRequest(page_size=5))

        async def upload() -> None:
            file = f"{name}-{len(outcome.acknowledged)}-{outcome.calls['upload']}.txt"
            accepted = await client.upload(f"Word {word(file)} is said here only.".encode(), filename=file)
            outcome.acknowledged[file] = accepted.document.id

        async def caller(kind: str, call: Callable[[], Awaitable[None]], rest: float) -> None:
            while not ended.is_set():
                await _one(outcome, kind, call)
                await asyncio.sleep(rest)

        callers = [
            asyncio.create_task(caller(kind, call, rest))
            for kind, call, rest, number in (
                ("search", search, pause, 2), ("ask", ask, pause, 2), ("list", listing, pause, 1),
                ("upload", upload, 6 * pause, 1),
            )
            for _ in range(number)
        ]  # fmt: skip
        try:
            yield outcome
        finally:
            ended.set()
            await asyncio.gather(*callers)


def _named(one: Degradation) -> str:
    return f"{reason_word(one)}: {one.detail}"


def word(file: str) -> str:
    """Return a word that only this file has."""
    return "".join(one for one in file if one.isalnum())


async def documents(client: AsyncClient) -> list[Document]:
    """Return all documents."""
    found: list[Document] = []
    request = ListDocumentsRequest(page_size=500)
    while True:
        page = await client.documents.ListDocuments(request)
        found += page.documents
        request.page_token = page.next_page_token
        if not request.page_token:
            return found


async def settled(client: AsyncClient, ids: set[str], seconds: float) -> float:
    """Wait until documents are searchable or failed; return how long it took. TimeoutError after `seconds`."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while ids - {one.id for one in await documents(client) if one.state in _SETTLED}:  # noqa: ASYNC110
            await asyncio.sleep(0.3)
    return time.monotonic() - began


@dataclass(frozen=True, slots=True)
class Audit:
    """Counts of acknowledged files that are missing, doubled, not searchable, or not found exactly once."""

    acknowledged: int
    lost: int
    doubled: int
    unsearchable: int
    misfound: int


async def audit(client: AsyncClient, acknowledged: dict[str, str]) -> Audit:
    """Compare acknowledged with existing files."""
    listed = await documents(client)
    names = Counter(one.filename for one in listed)
    states = {one.id: one.state for one in listed}
    misfound = 0
    for file, document_id in acknowledged.items():
        request = SearchRequest(query=word(file), collections=["default"])
        hits = [one for one in (await client.answers.Search(request)).chunks if word(file) in one.chunk.text]
        misfound += [one.chunk.document_id for one in hits] != [document_id]
    return Audit(
        len(acknowledged),
        sum(one not in states for one in acknowledged.values()),
        sum(names[file] > 1 for file in acknowledged),
        sum(states.get(one) != DOCUMENT_STATE_INDEXED for one in acknowledged.values()),
        misfound,
    )
