"""Parses several documents in order; short files that follow each other are given to one worker at once."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing

from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit import names
from footnote_kit.access import document_missing
from footnote_kit.document_files import newest
from footnote_kit.errors import FootnoteError
from footnote_kit.telemetry import histogram, span

from footnote_ingestion.documents.extraction import SHORT, Extraction, PagesRead, file_gone
from footnote_ingestion.model.values import Stored
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.ports import Documents, Files, WorkerPool
from footnote_ingestion.worker import wire

KINDS = frozenset({"txt", "code", "md", "html", "csv", "tsv"})
"""Kinds of files that hold nothing packed: all blocks of one are in memory at once. Mails may hold archives."""

Part = list[Block] | ParsedMetadata | FootnoteError


class GroupExtraction:
    """Streams the blocks of several documents."""

    def __init__(self, documents: Documents, files: Files, workers: WorkerPool, extraction: Extraction) -> None:
        self._documents = documents
        self._files = files
        self._workers = workers
        self._extraction = extraction

    async def parse(self, scope: Scope, document_ids: Sequence[str]) -> AsyncGenerator[tuple[int, Part], None]:
        """Yield what `Extraction.parse` does of each document in turn, with the document's place in the list.

        An unreadable file ends with its error, and the next follows. Pictures are not read: a document of a collection
        that asks for that is parsed by itself. Only for a system scope.
        """
        known = await self._documents.several(scope.tenant_id, document_ids)
        short: dict[int, Stored] = {}
        for index, document_id in enumerate(document_ids):
            stored = known.get(document_id)
            if stored is not None and self._is_short(stored):
                short[index] = stored
                continue
            async with aclosing(self._together(scope, short)) as parts:
                async for found in parts:
                    yield found
            short = {}
            if stored is None:
                yield index, document_missing(document_id)
                continue
            async with aclosing(self._alone(stored)) as own:
                async for part in own:
                    yield index, part
        async with aclosing(self._together(scope, short)) as parts:
            async for found in parts:
                yield found

    def _is_short(self, stored: Stored) -> bool:
        document = newest(stored.document)
        small = document.document_type in KINDS and document.size_bytes <= SHORT
        return small and not self._extraction.is_parsed_alone(stored, ocr_pictures=False)

    async def _alone(self, stored: Stored) -> AsyncGenerator[Part, None]:
        try:
            async with aclosing(self._extraction.parsed(stored, ocr_pictures=False)) as found:
                async for part in found:
                    if not isinstance(part, PagesRead):
                        yield part
        except FootnoteError as error:
            yield error

    async def _together(self, scope: Scope, several: Mapping[int, Stored]) -> AsyncGenerator[tuple[int, Part], None]:
        """Yield the parts of short files; one worker parses them all."""
        if not several:
            return
        limits = self._extraction.limits(ocr_pictures=False)
        jobs: dict[int, wire.Job] = {}
        size: dict[str, str | int] = {names.BYTES: sum(newest(one.document).size_bytes for one in several.values())}
        owner = next(iter(several.values())).document.owner_id
        with span("ingestion.parse", size):
            async with AsyncExitStack() as stack:
                for index, stored in several.items():
                    document = newest(stored.document)
                    try:
                        path = str(await stack.enter_async_context(self._files.as_file(stored.blob_key)))
                    except FileNotFoundError:
                        continue
                    jobs[index] = wire.Job("parse", path, document.document_type, document.filename, limits)
                runs = self._workers.run_many(list(jobs.values()), scope.tenant_id, owner)
                ends = await stack.enter_async_context(aclosing(runs))
                for index, stored in several.items():
                    if index not in jobs:
                        yield index, file_gone(stored)
                        continue
                    began = time.perf_counter()
                    end = await anext(ends)
                    if isinstance(end, ParseError):
                        yield index, self._extraction.unreadable(stored, end)
                        continue
                    seconds = time.perf_counter() - began
                    kind = jobs[index].document_type
                    histogram("footnote.ingestion.parse.duration").record(seconds, {"footnote.type": kind})
                    await self._extraction.keep(stored, end, limits)
                    for frame, payload in end:
                        if frame == wire.BLOCKS:
                            yield index, list(wire.unpack_blocks(payload))
                        elif frame == wire.METADATA:
                            yield index, ParsedMetadata.FromString(payload)
