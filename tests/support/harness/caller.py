"""A caller of the public API that keeps at it: what it was told goes into the model, what was lost is tried again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from footnote.edge.v1 import documents_pb2 as docs
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, DeadlineExceeded, FootnoteError, ResourceExhausted, Unavailable

from support.harness.plan import Step
from support.harness.world import World

DEADLINE = 20.0
"""Seconds of one attempt."""
PATIENCE = 150.0
"""Seconds after which a call that nobody answers is a finding: no fault lasts nearly as long."""
PART = 256 * 1024
LOST = (Unavailable, DeadlineExceeded, ResourceExhausted)
"""Answers that leave open whether anything was done."""

Metadata = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Told:
    """What came of a call: a result, or a refusal, or neither; and how many attempts before that were lost."""

    result: Any
    """None where there is none."""
    error: FootnoteError | None
    lost: int


def bearer(secret: str) -> Metadata:
    """Return the metadata of a caller with this key."""
    return (("authorization", f"Bearer {secret}"),)


class Caller:
    """One user of a deployment."""

    def __init__(self, channel: Any, world: World, secret: str) -> None:
        self._stub = EdgeStub(channel)
        self._world = world
        self.metadata = bearer(secret)

    async def call(self, method: str, request: Any, timeout: float = DEADLINE, metadata: Metadata | None = None) -> Any:
        """Make one call, once."""
        return await getattr(self._stub, method)(request, timeout=timeout, metadata=metadata or self.metadata)

    async def stream(self, method: str, request: Any, timeout: float = DEADLINE) -> list[Any]:
        """Make one call that answers with a stream, once."""
        events = getattr(self._stub, method)(request, timeout=timeout, metadata=self.metadata)
        return [event async for event in events]

    async def upload(self, metadata: docs.UploadMetadata, data: bytes) -> Any:
        """Upload a file, once."""

        def messages() -> Iterator[docs.UploadDocumentRequest]:
            yield docs.UploadDocumentRequest(metadata=metadata)
            for start in range(0, len(data), PART):
                yield docs.UploadDocumentRequest(data=data[start : start + PART])

        return await self.call("UploadDocument", messages())

    async def replace(self, document_id: str, data: bytes) -> Any:
        """Replace a file, once."""

        def messages() -> Iterator[docs.ReplaceDocumentRequest]:
            yield docs.ReplaceDocumentRequest(metadata=docs.ReplaceMetadata(document_id=document_id))
            for start in range(0, len(data), PART):
                yield docs.ReplaceDocumentRequest(data=data[start : start + PART])

        return await self.call("ReplaceDocument", messages())

    async def pages(self, method: str, request: Any, items: str) -> list[Any]:
        """Return a list that comes in pages."""
        found: list[Any] = []
        while True:
            page = await self.call(method, request, timeout=60)
            found += getattr(page, items)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    async def tell(self, step: Step, call: Callable[[], Awaitable[Any]], *, abandon: bool = False) -> Told:
        """Make a call until it is answered, or until its first answer is lost; write down how it went."""
        what = f"lane {step.lane} step {step.number} {step.kind}"
        ends = time.monotonic() + PATIENCE
        lost = 0
        while True:
            try:
                result = await call()
            except LOST as error:
                lost += 1
                self._world.counts["lost answers"] += 1
                self._world.note(f"{what}: {type(error).__name__} {error.reason}")
                if abandon:
                    return Told(None, None, lost)
                if time.monotonic() > ends:
                    self._world.problem(f"{what}: never answered: {error!r}")
                    return Told(None, None, lost)
            except Aborted as error:
                self._world.note(f"{what}: {error!r}")
                if time.monotonic() > ends:
                    self._world.problem(f"{what}: aborted without end: {error!r}")
                    return Told(None, None, lost)
            except FootnoteError as error:
                self._world.note(f"{what}: {error!r}")
                return Told(None, error, lost)
            else:
                self._world.counts["acknowledged"] += 1
                self._world.note(f"{what}: acknowledged{f' after {lost} lost' if lost else ''}")
                return Told(result, None, lost)
            await asyncio.sleep(random.uniform(0.1, 0.5))  # jitter of a client, not part of the plan
