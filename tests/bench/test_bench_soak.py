"""Mixed load on a whole deployment for a while: what its processes and databases hold at some moments of it.

`FOOTNOTE_SOAK_MINUTES=30` goes on for so long (a minute unless said), with figures after a sixth, a third, two thirds
and the end. Documents and conversations come and go, so that as many stand at the end as at the beginning.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import conversations_pb2 as talk
from footnote.edge.v1 import documents_pb2 as docs
from footnote_kit.errors import FootnoteError
from rich.console import Console
from rich.table import Table
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.standing import Standing, middle, on_disk, rows, standing

MINUTES = float(os.environ.get("FOOTNOTE_SOAK_MINUTES", "1"))
MARKS = (1 / 6, 1 / 3, 2 / 3, 1.0)
"""Shares of the time after which is looked; from the second on the memory of the services must be flat."""
DOCUMENTS = 60
TALKS = 10
TALK = 12
"""Documents that stand at a time, conversations at a time, questions of each."""
SAMPLES = 6
FLAT = 1.05

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(900 + 60 * MINUTES)]


class Load:
    """Callers, each with a kind of call that it makes again and again."""

    def __init__(self, client: EdgeClient) -> None:
        self._client = client
        self._documents: list[str] = []
        self._talks: list[tuple[str, int]] = []
        self._made = 0
        self.calls: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()

    async def fill(self) -> None:
        """Bring the documents that stand from the beginning."""
        for _ in range(DOCUMENTS):
            await self.upload()
        for document in self._documents:
            await self._client.settle(document)

    async def go_on(self, name: str, call: Callable[[], Awaitable[None]], every: float) -> None:
        """Call once in so many seconds, or as often as it can."""
        while True:
            due = time.monotonic() + every
            try:
                await call()
                self.calls[name] += 1
            except FootnoteError as error:
                self.errors[f"{name}: {error.code} {error.reason}"] += 1
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    def _text(self) -> bytes:
        self._made += 1
        facts = (f"Fact {one} of paper {self._made} is {one * 7}, kept in hall {self._made % 17}." for one in range(40))
        return "\n\n".join(facts).encode()

    async def upload(self) -> None:
        """Bring a document, and delete the oldest."""
        content = self._text()
        self._documents.append((await self._client.upload(content, f"paper {self._made}.md")).document.id)
        if len(self._documents) > DOCUMENTS:
            await self._client.stub.DeleteDocument(
                docs.DeleteDocumentRequest(document_id=self._documents.pop(0)), timeout=30
            )

    async def replace(self) -> None:
        """Replace the newest document."""
        document, content = self._documents[-1], self._text()

        def messages() -> list[docs.ReplaceDocumentRequest]:
            metadata = docs.ReplaceMetadata(document_id=document)
            return [docs.ReplaceDocumentRequest(metadata=metadata), docs.ReplaceDocumentRequest(data=content)]

        await self._client.stub.ReplaceDocument(iter(messages()), timeout=30)

    async def ask(self) -> None:
        """Ask the next question of a conversation; one that is long enough goes, and another begins."""
        if len(self._talks) < TALKS:
            created = await self._client.stub.CreateConversation(
                talk.CreateConversationRequest(title="talk"), timeout=30
            )
            self._talks.append((created.conversation.id, 0))
        conversation, asked = self._talks.pop(0)
        if asked >= TALK:
            await self._client.stub.DeleteConversation(
                talk.DeleteConversationRequest(conversation_id=conversation), timeout=30
            )
            return
        self._talks.append((conversation, asked + 1))
        await self._client.ask(f"What is fact {asked} of paper {self._made - asked}?", conversation_id=conversation)

    async def search(self) -> None:
        """Search, half of the time in a file that is named."""
        paper = random.randint(max(1, self._made - DOCUMENTS), self._made)
        query = f"fact {self._made % 40} of paper {paper}" + (f" in paper {paper}.md" if paper % 2 else "")
        await self._client.stub.Search(answers.SearchRequest(query=query), timeout=30)

    async def look(self) -> None:
        """List the documents."""
        await self._client.stub.ListDocuments(docs.ListDocumentsRequest(page_size=100), timeout=30)


async def soak(running: Deployment, seen: list[tuple[float, Standing, dict[str, float], dict[str, int]]]) -> Load:
    """Load a deployment for the whole time; note what stands at each mark."""
    async with edge_client(running.address()) as client:
        load = Load(client)
        await load.fill()
        began = time.monotonic()
        plan = {
            "ask": (load.ask, 1.0), "search": (load.search, 0.7), "list": (load.look, 2.0),
            "upload": (load.upload, 3.0), "replace": (load.replace, 10.0),
        }  # fmt: skip
        callers = [asyncio.create_task(load.go_on(name, call, every)) for name, (call, every) in plan.items()]
        try:
            for mark in MARKS:
                due = began + mark * MINUTES * 60
                await asyncio.sleep(max(0.0, due - MINUTES * 5 - time.monotonic()))
                several = []
                for _ in range(SAMPLES):
                    several.append(await asyncio.to_thread(standing, running))
                    await asyncio.sleep(MINUTES * 5 / SAMPLES)
                disk = await asyncio.to_thread(on_disk, running.folder)
                counts = await asyncio.to_thread(rows, running.folder)
                seen.append((mark * MINUTES, middle(several), disk, counts))
                show(seen, load)
        finally:
            for caller in callers:
                caller.cancel()
            await asyncio.gather(*callers, return_exceptions=True)
        return load


def show(seen: list[tuple[float, Standing, dict[str, float], dict[str, int]]], load: Load) -> None:
    """Print what was seen so far."""
    table = Table("what", *(f"minute {minute:.0f}" if MINUTES >= 6 else f"minute {minute:.1f}" for minute, *_ in seen))
    for title, pick, form in (
        ("MiB", lambda one: one[1].memory, "{:.0f}"), ("descriptors", lambda one: one[1].descriptors, "{}"),
        ("threads", lambda one: one[1].threads, "{}"), ("MiB on disk", lambda one: one[2], "{:.1f}"),
        ("rows", lambda one: one[3], "{}"),
    ):  # fmt: skip
        for name in sorted({name for one in seen for name in pick(one)}):
            figures = [pick(one).get(name, 0) for one in seen]
            if title != "rows" or len(set(figures)) > 1:
                table.add_row(f"{title}: {name}", *(form.format(figure) for figure in figures))
    console = Console(width=120)
    console.print(table)
    console.print(f"calls {dict(load.calls)}, errors {dict(load.errors)}")


def test_what_stands_after_a_while_stood_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[float, Standing, dict[str, float], dict[str, int]]] = []
    with capsys.disabled(), deployment(tmp_path, separate=True) as running:
        load = asyncio.run(soak(running, seen))
    assert not load.errors
    settled, last = seen[1][1].memory, seen[-1][1].memory
    if MINUTES >= 30:  # in less time caches and allocators still fill
        grown = {
            name: (settled[name], last[name])
            for name in settled
            if "," not in name and last[name] > settled[name] * FLAT
        }
        assert not grown, f"MiB then and at the end: {grown}"
