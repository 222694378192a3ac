"""Cuts documents off the event loop: short ones on a thread, long ones in separate processes.

A thread that cuts holds the interpreter lock and so delays all searches; a process does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pickle
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from footnote.stages.v1 import parsing_pb2, passage_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote_kit.app import Forks
from footnote_kit.errors import Internal
from footnote_kit.logs import get_logger
from footnote_kit.status import make

from footnote_indexing.chunking import cutting_child, registry
from footnote_indexing.chunking.cutting_process import LENGTH
from footnote_indexing.chunking.drafts import Draft, Drafter
from footnote_indexing.chunking.model import UNDECIDED, Chosen, SentenceVectors

LONG = 20_000
"""Document length in characters from which it is cut in a process."""
TOGETHER = 100_000
"""Characters sent to the process per request; most documents take one request."""
IDLE_SECONDS = 60.0
"""How long an idle process is kept."""
_MOST_HERE = 64
"""Drafts decoded on the event loop; more would block it, so they are decoded on a thread."""
_log = get_logger(__name__)

Step = tuple[str, Any]
Request = tuple[int, Sequence[Step]]


class Cutters:
    """The processes, started on demand; with zero processes, all cutting runs on threads."""

    def __init__(self, most: int, forks: Callable[[], Forks | None] = lambda: None) -> None:
        """Run at most so many, forked by what `forks` returns, else started."""
        self._processes = [_Process(forks) for _ in range(most)]
        self._numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def cutting(
        self,
        document: stored_document_pb2.Document,
        settings: collection_pb2.CollectionSettings,
        sentence_vectors: SentenceVectors,
    ) -> AsyncIterator[Cutter]:
        """Cut one revision of a document."""
        here = not self._processes or registry.needs_vectors(settings.chunking)
        process = None if here else min(self._processes, key=lambda one: one.documents)
        cutter = Cutter(Drafter(document, settings, sentence_vectors), process, next(self._numbers))
        cutter.begins_with = (document.SerializeToString(), settings.SerializeToString())
        try:
            yield cutter
        finally:
            await cutter.close()

    async def close(self) -> None:
        """Stop the processes."""
        for process in self._processes:
            await process.end()


class Cutter:
    """One document being cut; calls must not overlap."""

    begins_with: tuple[bytes, bytes] = (b"", b"")

    def __init__(self, drafter: Drafter, process: _Process | None, number: int) -> None:
        self._drafter = drafter
        self._process = process
        self._number = number
        self._held: list[Sequence[parsing_pb2.Block]] = []
        self._held_characters = 0
        self._away = False
        self._known_there = False
        self._state: tuple[Chosen, str, int, int] = (UNDECIDED, "", 0, 0)

    @property
    def state(self) -> tuple[Chosen, str, int, int]:
        """Strategy with its reason, language, and the numbers of chunks and characters so far."""
        if self._away:
            return self._state
        return self._drafter.chosen, self._drafter.language, self._drafter.ordinal, self._drafter.characters

    async def feed(self, blocks: Sequence[parsing_pb2.Block]) -> list[Draft]:
        """Take the next blocks; return completed chunks. Raises InvalidArgument for blocks out of place."""
        if self._process is None:
            return await asyncio.to_thread(self._drafter.feed, blocks)
        self._held.append(blocks)
        self._held_characters += sum(len(block.text) for block in blocks)
        return [] if self._held_characters < TOGETHER else await self._cut([])

    async def finish(self, parsed: parsing_pb2.ParsedMetadata) -> list[Draft]:
        """Return the last chunks."""
        if self._process is not None and (self._away or self._held_characters >= LONG):
            return await self._cut([("finish", parsed.SerializeToString())])
        held, self._held = self._held, []

        def all_of_it() -> list[Draft]:
            drafts = [draft for blocks in held for draft in self._drafter.feed(blocks)]
            return drafts + self._drafter.finish(parsed)

        return await asyncio.to_thread(all_of_it)

    async def close(self) -> None:
        """Release the document."""
        if self._away and self._process is not None:
            self._process.documents -= 1
            if self._known_there:
                await asyncio.shield(self._process.leave(self._number))

    async def _cut(self, last: Sequence[Step]) -> list[Draft]:
        """Send the process the held blocks and `last`, the end of the document; return completed chunks."""
        assert self._process is not None
        steps: list[Step] = []
        if not self._away:
            self._away = self._known_there = True
            self._process.documents += 1
            steps.append(("open", self.begins_with))
        steps += [("feed", [block.SerializeToString() for block in blocks]) for blocks in self._held]
        self._held, self._held_characters = [], 0
        self._state, cut = await self._process.ask((self._number, [*steps, *last]))
        self._known_there = not last  # after its last step the process has dropped the document
        return _drafts(cut) if len(cut) <= _MOST_HERE else await asyncio.to_thread(_drafts, cut)


def _drafts(cut: list[tuple[bytes, str, str]]) -> list[Draft]:
    return [Draft(passage_pb2.Chunk.FromString(chunk), embedded, lexical) for chunk, embedded, lexical in cut]


class _Process:
    """One process, and the requests that wait for it in turn."""

    def __init__(self, forks: Callable[[], Forks | None]) -> None:
        self._forks = forks
        self.documents = 0
        self._lock = asyncio.Lock()
        self._process: cutting_child.Child | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._leaving: asyncio.Future[None] | None = None
        """The end of the last process that had nothing to do."""

    async def ask(self, request: Request) -> Any:
        """Return the answer to a request; re-raises errors of cutting, and Internal when the process has died."""
        self._cancel_idle_timer()
        try:
            # Shielded: otherwise the next request could receive this request's answer.
            answer = await asyncio.shield(asyncio.ensure_future(self._in_turn(request)))
        finally:
            self._start_idle_timer()
        kind, *values = answer
        if kind == "refused":
            code, message, reason, metadata, violations, retry_after = values
            raise make(code, message, reason, metadata, violations, retry_after)
        if kind == "failed":
            raise Internal(f"Cutting the document failed: {values[0]}")
        return values

    async def leave(self, number: int) -> None:
        """Make the process drop a document, if it still holds it."""
        if self._process is not None and not self._process.answers.at_eof():
            with contextlib.suppress(Internal):
                await self.ask((number, [("close", None)]))

    async def end(self) -> None:
        """Stop the process, even in the middle of a document."""
        self._cancel_idle_timer()
        process, self._process = self._process, None
        if process is not None:
            await process.end()
        if self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def _in_turn(self, request: Request) -> tuple[Any, ...]:
        async with self._lock:
            return await self._exchange(request)

    async def _exchange(self, request: Request) -> tuple[Any, ...]:
        try:
            process = await self._alive()
            data = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
            process.jobs.write(LENGTH.pack(len(data)))
            process.jobs.write(data)
            await process.jobs.drain()
            (size,) = LENGTH.unpack(await process.answers.readexactly(LENGTH.size))
            answer: tuple[Any, ...] = pickle.loads(await process.answers.readexactly(size))
            return answer
        except (OSError, EOFError) as error:
            await self.end()
            _log.warning("cutting_process_died", error=type(error).__name__)
            raise Internal("The process that cut the document has died") from None

    async def _alive(self) -> cutting_child.Child:
        if self._process is not None and self._process.answers.at_eof():
            process, self._process = self._process, None
            await process.end()
        if self._process is None:
            self._process = await cutting_child.start(self._forks())
        return self._process

    def _cancel_idle_timer(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _start_idle_timer(self) -> None:
        self._cancel_idle_timer()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_if_unused)

    def _end_if_unused(self) -> None:
        if self.documents:
            self._start_idle_timer()
        elif (process := self._process) is not None:
            self._process = None  # the next document starts another
            self._leaving = asyncio.ensure_future(process.end())
