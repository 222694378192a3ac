"""What callers do to a deployment, through its public gRPC API, and how long it took."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from bench.page.files import File
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest, UploadDocumentsRequest, UploadMetadata
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FootnoteError
from support.edge_client import EdgeClient, edge_client

GROUPS = 8
FILES_TOGETHER, BYTES_TOGETHER = 64, 4 << 20  # what one call takes
PART = 256 << 10
CHANNELS = 8
PATIENCE, LONGEST = 60.0, 600.0


@dataclass(frozen=True)
class TakenIn:
    """Files that have become searchable."""

    document_ids: tuple[str, ...]
    bytes: int
    seconds: float
    """From the first byte sent to the last one searchable."""


@dataclass
class Asked:
    """What a crowd was answered; times in seconds."""

    firsts: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    """By the name of their gRPC code."""
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Return answers a second."""
        return len(self.wholes) / self.seconds if self.seconds else 0.0


def _groups(files: Sequence[File]) -> list[list[File]]:
    groups: list[list[File]] = []
    size = BYTES_TOGETHER
    for name, content in files:
        if size + len(content) > BYTES_TOGETHER or len(groups[-1]) == FILES_TOGETHER:
            groups.append([])
            size = 0
        groups[-1].append((name, content))
        size += len(content)
    return groups


class Caller:
    """One machine's callers: some channels to one edge."""

    def __init__(self, clients: Sequence[EdgeClient]) -> None:
        self._clients = clients

    @property
    def stub(self) -> EdgeClient:
        """Return the first of them."""
        return self._clients[0]

    async def put(self, name: str, content: bytes) -> str:
        """Upload a file and wait until it is searchable; return its id."""
        accepted = await self.stub.upload(content, name)
        settled = await self.stub.settle(accepted.document.id, timeout=600)
        if settled.state != DOCUMENT_STATE_INDEXED:
            raise AssertionError(f"{name} did not become searchable: {settled.failure.message}")
        return str(settled.id)

    async def take_in(self, files: Sequence[File], look: float = 0.02) -> TakenIn:
        """Upload files in groups, as a folder is uploaded, until all are searchable; `look` every so many seconds."""
        before = await self._searchable()
        line = asyncio.Semaphore(GROUPS)

        async def one(group: Sequence[File]) -> list[str]:
            async with line:
                return await self._upload(group)

        began = time.perf_counter()
        ids = [id for found in await asyncio.gather(*map(one, _groups(files))) for id in found]
        while await self._searchable() < before + len(files):
            if time.perf_counter() - began > LONGEST:
                raise AssertionError(f"{len(files)} files did not become searchable in {LONGEST} s")
            await asyncio.sleep(look)
        return TakenIn(tuple(ids), sum(len(content) for _, content in files), time.perf_counter() - began)

    async def _upload(self, group: Sequence[File]) -> list[str]:
        messages: list[UploadDocumentsRequest] = []
        for name, content in group:
            metadata = UploadMetadata(collection="default", filename=name)
            messages.append(UploadDocumentsRequest(metadata=metadata, data=content[:PART]))
            messages += [UploadDocumentsRequest(data=content[at : at + PART]) for at in range(PART, len(content), PART)]
        answer = await self.stub.stub.UploadDocuments(iter(messages), timeout=PATIENCE)
        for (name, _), one in zip(group, answer.files, strict=True):
            if not one.HasField("stored"):
                raise AssertionError(f"{name} was refused: {one.error.message}")
        return [one.stored.document.id for one in answer.files]

    async def _searchable(self) -> int:
        request = ListDocumentsRequest(page_size=1, states=[DOCUMENT_STATE_INDEXED])
        return int((await self.stub.stub.ListDocuments(request, timeout=PATIENCE)).total_size)

    async def search(self, question: str, collection: str = "", at: int = 0) -> float:
        """Search by the deployment's own settings, which are hybrid; return seconds."""
        request = SearchRequest(query=question, collections=[collection] if collection else [])
        began = time.perf_counter()
        found = await self._clients[at % len(self._clients)].stub.Search(request, timeout=PATIENCE)
        took = time.perf_counter() - began
        if not found.chunks and not collection:
            raise AssertionError("a search found nothing: there is nothing to measure")
        return took

    async def search_crowd(self, questions: Sequence[str], callers: int, seconds: float) -> float:
        """Have so many search again and again; return searches a second."""
        done, end = 0, time.perf_counter() + seconds

        async def one(at: int) -> None:
            nonlocal done
            number = at
            while time.perf_counter() < end:
                await self.search(questions[number % len(questions)], at=at)
                done += 1
                number += callers

        began = time.perf_counter()
        await asyncio.gather(*(one(at) for at in range(callers)))
        return done / (time.perf_counter() - began)

    async def ask(self, request: AskRequest, asked: Asked, at: int = 0) -> None:
        """Ask once and record the outcome."""
        began, first = time.perf_counter(), 0.0
        try:
            async for event in self._clients[at % len(self._clients)].stub.Ask(request, timeout=PATIENCE):
                if event.text_delta and not first:
                    first = time.perf_counter() - began
                    asked.firsts.append(first)
        except FootnoteError as error:
            asked.errors[type(error).__name__] += 1
        else:
            asked.wholes.append(time.perf_counter() - began)

    async def ask_crowd(self, questions: Sequence[str], streams: int, seconds: float, provider: str) -> Asked:
        """Have so many ask again and again for a time; who is answered after it still counts, and its time too."""
        asked, began = Asked(), time.perf_counter()

        async def one(at: int) -> None:
            number = at
            while time.perf_counter() < began + seconds:
                request = AskRequest(question=questions[number % len(questions)])
                request.generation.provider = provider
                await self.ask(request, asked, at)
                number += streams

        await asyncio.gather(*(one(at) for at in range(streams)))
        asked.seconds = time.perf_counter() - began
        return asked


@asynccontextmanager
async def calling(address: str) -> AsyncIterator[Caller]:
    """Open channels to an edge."""
    async with AsyncExitStack() as stack:
        yield Caller([await stack.enter_async_context(edge_client(address)) for _ in range(CHANNELS)])
