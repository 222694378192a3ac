"""Streams the blocks of a stored file, parsed by a worker process or kept from an earlier parse.

The worker writes as fast as it can, large output into a temporary file, and is then free for the next document. The
caller takes the blocks at its own pace, so a slow caller affects neither the time limit nor other documents. A file
whose parser the system killed is parsed again later, one such file at a time, a limited number of times.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit import names, transient_errors
from footnote_kit.access import Access
from footnote_kit.document_files import newest
from footnote_kit.errors import FailedPrecondition, FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import histogram, span

from footnote_ingestion import parsers
from footnote_ingestion.documents.frame_file import FrameFile, frame_offsets, read_frame, write_part
from footnote_ingestion.documents.killed_parses import MOST_RETRIES, KilledParses
from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.documents.spool import in_thread, temporary
from footnote_ingestion.documents.uploads import file_error
from footnote_ingestion.model.files import with_searched_file
from footnote_ingestion.model.values import GRACE_MICROS, Stored, now_micros, tables_key
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import PARSER_KILLED, ParseError
from footnote_ingestion.ports import Documents, Files, WorkerPool
from footnote_ingestion.tables import LAYOUT
from footnote_ingestion.worker import wire

_PLAIN, SHORT = frozenset({"txt", "md"}), 64 * 1024
"""Kinds of files, and a size in bytes, that take a worker a few milliseconds."""

_log = get_logger("footnote.ingestion")


@dataclass(frozen=True, slots=True)
class PagesRead:
    """How many pages, slides or sheets are parsed, and their total."""

    read: int
    total: int


class Extraction:
    """Streams the blocks of documents."""

    def __init__(
        self,
        documents: Documents,
        permissions: Permissions,
        files: Files,
        workers: WorkerPool,
        scratch: Path,
        limits: Limits,
    ) -> None:
        self._documents = documents
        self._permissions = permissions
        self._files = files
        self._workers = workers
        self._scratch = scratch
        self._limits = limits
        self._killed = KilledParses()
        parsers.version()  # reads files, once: here instead of amid a call

    async def parse(
        self, scope: Scope, document_id: str, ocr_pictures: bool = False, searched_file: bool = False
    ) -> AsyncGenerator[list[Block] | PagesRead | ParsedMetadata, None]:
        """Yield blocks in reading order with progress, finally the metadata; raises the error of an unreadable file.

        `ocr_pictures`: OCR reads pictures within it, where it is on. `searched_file`: parses the file that searches see
        during a replacement, instead of the newest one.

        Raises Unavailable when the system killed the parser, and FailedPrecondition when it did so too often.
        """
        stored = await self._permissions.document(scope, document_id, Access.READ)
        if searched_file:
            stored = with_searched_file(stored)
        async with aclosing(self.parsed(stored, ocr_pictures)) as found:
            async for part in found:
                yield part

    async def parsed(
        self, stored: Stored, ocr_pictures: bool
    ) -> AsyncGenerator[list[Block] | PagesRead | ParsedMetadata, None]:
        """Yield the same of a document that the caller may read."""
        document_id = stored.document.id
        attributes: dict[str, str | int] = {
            names.DOCUMENT_ID: document_id,
            names.BYTES: newest(stored.document).size_bytes,
        }
        with span("ingestion.parse", attributes):
            try:
                async with self._killed.turn(stored.blob_key), aclosing(self._frames(stored, ocr_pictures)) as frames:
                    async for kind, payload in frames:
                        if kind == wire.BLOCKS:
                            yield list(wire.unpack_blocks(payload))
                        elif kind == wire.PAGES:
                            yield PagesRead(*wire.PAGES_READ.unpack(payload))
                        else:
                            self._killed.forget(stored.blob_key)
                            yield ParsedMetadata.FromString(payload)
            except ParseError as error:
                raise self.unreadable(stored, error) from error
            except FileNotFoundError:
                raise file_gone(stored) from None

    def unreadable(self, stored: Stored, error: ParseError) -> FootnoteError:
        """Return the error for a file that could not be parsed."""
        if error.reason == PARSER_KILLED:
            return self._kill(stored, error)
        self._killed.forget(stored.blob_key)
        _log.info("document_unreadable", document_id=stored.document.id, reason=error.reason)
        return file_error(error)

    def is_parsed_alone(self, stored: Stored, ocr_pictures: bool) -> bool:
        """Return whether a file's blocks are kept already, or its parser was killed before."""
        return stored.parsed_key == _parsed_key(stored, self.limits(ocr_pictures)) or self._killed.counts(
            stored.blob_key
        )

    def limits(self, ocr_pictures: bool) -> Limits:
        """Return the parsers' limits; OCR reads pictures if asked to, and where it is on."""
        return replace(self._limits, ocr_pictures=ocr_pictures and bool(self._limits.ocr_languages))

    async def keep(self, stored: Stored, frames: Sequence[tuple[bytes, bytes]], limits: Limits) -> None:
        """Keep a file's parsed blocks and tables for later, if that saves more than it costs."""
        if _cheap_to_parse(newest(stored.document)):
            return
        async with temporary(self._scratch) as path, temporary(self._scratch) as tables:
            spooled = FrameFile(path)
            for kind, payload in frames:
                if kind == wire.TABLES:
                    await in_thread(write_part, tables, payload)
                elif kind != wire.PAGES:
                    await spooled.append(kind, payload)
            await spooled.spill()
            await self._keep_frames(stored, path, tables, _parsed_key(stored, limits))

    def _kill(self, stored: Stored, error: ParseError) -> FootnoteError:
        """Return the error for a file whose parser was killed: to try again later, or for good."""
        pause = self._killed.note_kill(stored.blob_key)
        _log.warning("parser_killed", document_id=stored.document.id, retry_seconds=pause)
        if pause is not None:
            return transient_errors.unavailable(error.message, transient_errors.PARSER_KILLED, pause)
        message = f"{error.message} Each of {MOST_RETRIES} retries ended so, too."
        return FailedPrecondition(message, metadata={"failure_reason": error.reason, "hint": error.hint})

    async def _frames(self, stored: Stored, ocr_pictures: bool) -> AsyncGenerator[tuple[bytes, bytes], None]:
        limits = self.limits(ocr_pictures)
        if stored.parsed_key == _parsed_key(stored, limits):
            async for frame in self._kept_frames(stored.parsed_key):
                yield frame
                if frame[0] == wire.METADATA:
                    return
        async with temporary(self._scratch) as path, temporary(self._scratch) as tables:
            spooled = FrameFile(path)
            writer = asyncio.create_task(self._parse_into(stored, spooled, path, tables, limits))
            try:
                async with aclosing(spooled.frames()) as frames:
                    async for frame in frames:
                        yield frame
                await writer
            finally:
                writer.cancel()
                await asyncio.gather(writer, return_exceptions=True)

    def file(self, stored: Stored) -> AbstractAsyncContextManager[Path]:
        """Return the context manager of the searched file of a document."""
        return self._files.as_file(stored.searched_key or stored.blob_key)

    @asynccontextmanager
    async def tables(self, stored: Stored) -> AsyncIterator[Path | None]:
        """Yield the archive of a document's tables, None if it has none; raises the error of an unreadable file."""
        async with AsyncExitStack() as stack:
            if stored.searched_key:  # during a replacement, use the searched file
                try:
                    path = await stack.enter_async_context(self._files.as_file(tables_key(stored.searched_key)))
                except FileNotFoundError:
                    stored = with_searched_file(stored)
                else:
                    yield path
                    return
            # Also by other parsers: searches see what those read. "v10" is how the same layout was called.
            if stored.parsed_key.startswith((_kept_with(stored), _kept_with(stored, "v10"))):
                try:
                    path = await stack.enter_async_context(self._files.as_file(tables_key(stored.blob_key)))
                except FileNotFoundError:
                    yield None
                    return
                yield path
                return
            frames = await stack.enter_async_context(temporary(self._scratch))
            archive = await stack.enter_async_context(temporary(self._scratch))
            spooled = FrameFile(frames)
            await self._parse_into(stored, spooled, frames, archive, self._limits)
            try:
                async for _ in spooled.frames():
                    pass
            except ParseError as error:
                raise file_error(error) from error
            yield archive if await asyncio.to_thread(archive.exists) else None

    async def _parse_into(self, stored: Stored, spooled: FrameFile, path: Path, tables: Path, limits: Limits) -> None:
        """Let a worker parse the file into `spooled` and its tables into `tables`; keep the result for later."""
        document = newest(stored.document)
        started = time.perf_counter()
        try:
            async with self._files.as_file(stored.blob_key) as source:
                job = wire.Job("parse", str(source), document.document_type, document.filename, limits)
                async with aclosing(self._workers.run(job, document.tenant_id, document.owner_id)) as frames:
                    async for kind, payload in frames:
                        if kind == wire.PAGES:
                            await spooled.note(payload)
                        elif kind == wire.TABLES:
                            await in_thread(write_part, tables, payload)
                        else:
                            await spooled.append(kind, payload)
            keep = not _cheap_to_parse(document)
            if keep:
                await spooled.spill()
        except Exception as error:
            await spooled.end(error)
            return
        seconds = time.perf_counter() - started
        histogram("footnote.ingestion.parse.duration").record(seconds, {"footnote.type": document.document_type})
        if keep:
            await self._keep_frames(stored, path, tables, _parsed_key(stored, limits))
        await spooled.end()

    async def _keep_frames(self, stored: Stored, path: Path, tables: Path, key: str) -> None:
        """Store frames and tables beside the file; on failure, the next parse does the work again."""
        of_tables = tables_key(stored.blob_key)
        try:
            await self._documents.doom([key, of_tables], now_micros() + GRACE_MICROS)
            await self._files.put(key, path)
            if await asyncio.to_thread(tables.exists):
                await self._files.put(of_tables, tables)
            if not await self._documents.set_parsed_key(stored.document.id, stored.blob_key, key):
                await self._files.delete(key)
                await self._files.delete(of_tables)
                await self._documents.deleted([key, of_tables])
        except FootnoteError as error:
            _log.warning("parsed_blocks_not_kept", document_id=stored.document.id, reason=error.reason)
        except Exception as error:  # the parse is complete: what fails here must not fail, or hold up, its reader
            _log.error("parsed_blocks_not_kept", document_id=stored.document.id, exc_info=error)

    async def _kept_frames(self, key: str) -> AsyncGenerator[tuple[bytes, bytes], None]:
        """Yield the frames kept from an earlier parse; none when they are missing or incomplete."""
        try:
            async with self._files.as_file(key) as path:
                frames = await asyncio.to_thread(frame_offsets, path)
                for offset in frames:
                    yield await asyncio.to_thread(read_frame, path, offset)
        except (FileNotFoundError, EOFError):
            return


def file_gone(stored: Stored) -> NotFound:
    """Return the error for a file that was deleted or replaced meanwhile."""
    return NotFound(f"The file of document '{stored.document.id}' is gone", reason="DOCUMENT_NOT_FOUND")


def _cheap_to_parse(document: Document) -> bool:
    """Return whether parsing again costs less than keeping the result: two transactions, and a file on disk."""
    return document.document_type in _PLAIN and document.size_bytes <= SHORT


def _kept_with(stored: Stored, layout: str = f"{LAYOUT}-") -> str:
    """Return how the keys of all kept blocks of a file begin beside which tables of today's layout are kept."""
    return f"{stored.blob_key.replace('uploads/', 'parsed/', 1)}.{layout}"


def _parsed_key(stored: Stored, limits: Limits) -> str:
    """Return the key of the blocks parsed from a file by these parsers, with the OCR that is on."""
    ocr = f"-{limits.ocr_languages.replace('+', '-')}" if limits.ocr_languages else ""
    pictures = "-pictures" if limits.ocr_languages and limits.ocr_pictures else ""
    return f"{_kept_with(stored)}{parsers.version()}{ocr}{pictures}"
