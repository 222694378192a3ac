"""A persistent caller of the public API: it retries lost calls and returns their outcome for the reference model."""

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
from support.harness.reference_model import ReferenceModel

DEADLINE = 20.0
"""Seconds of one attempt."""
LONGEST_CALL = 150.0
"""Seconds after which an unanswered call is a finding: no fault lasts nearly as long."""
PART = 256 * 1024
LOST = (Unavailable, DeadlineExceeded, ResourceExhausted)
"""Errors after which the call may or may not have taken effect."""

Metadata = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Outcome:
    """The outcome of a call: a result, a refusal, or neither; and how many earlier attempts were lost."""

    result: Any
    """None without a result."""
    error: FootnoteError | None
    lost: int


def bearer(secret: str) -> Metadata:
    """Return the metadata of a caller with this key."""
    return (("authorization", f"Bearer {secret}"),)


class Caller:
    """One user of a deployment."""

    def __init__(self, channel: Any, world: ReferenceModel, secret: str) -> None:
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

    async def retry(self, step: Step, call: Callable[[], Awaitable[Any]], *, abandon: bool = False) -> Outcome:
        """Retry a call until it is answered and record it; with `abandon`, give up when the first answer is lost."""
        what = f"lane {step.lane} step {step.number} {step.kind}"
        ends = time.monotonic() + LONGEST_CALL
        lost = 0
        while True:
            try:
                result = await call()
            except LOST as error:
                lost += 1
                self._world.counts["lost answers"] += 1
                self._world.note(f"{what}: {type(error).__name__} {error.reason}")
                if abandon:
                    return Outcome(None, None, lost)
                if time.monotonic() > ends:
                    self._world.problem(f"{what}: never answered: {error!r}")
                    return Outcome(None, None, lost)
            except Aborted as error:
                self._world.note(f"{what}: {error!r}")
                if time.monotonic() > ends:
                    self._world.problem(f"{what}: aborted without end: {error!r}")
                    return Outcome(None, None, lost)
            except FootnoteError as error:
                self._world.note(f"{what}: {error!r}")
                return Outcome(None, error, lost)
            else:
                self._world.counts["acknowledged"] += 1
                self._world.note(f"{what}: acknowledged{f' after {lost} lost' if lost else ''}")
                return Outcome(result, None, lost)
            await asyncio.sleep(random.uniform(0.1, 0.5))  # jitter of a client, not part of the plan
