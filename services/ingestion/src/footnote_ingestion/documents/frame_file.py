"""The temporary file of a parse: frames of a worker, with one writer and one reader that may lag behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from footnote_ingestion.documents.spool import in_thread
from footnote_ingestion.worker import wire

_IN_MEMORY = 256 * 1024
"""Bytes of frames that are held without a file."""


class FrameFile:
    """Frames with one writer and one reader that may lag behind; in memory while they are few."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._memory = bytearray()
        self._in_file = 0
        self._written = 0
        self._ended = False
        self._error: Exception | None = None
        self._pages = b""
        self._grown = asyncio.Condition()

    async def append(self, kind: bytes, payload: bytes) -> None:
        """Write one frame."""
        self._memory += wire.HEADER.pack(kind, len(payload)) + payload
        if len(self._memory) > _IN_MEMORY:
            await self.spill()
        async with self._grown:
            self._written = self._in_file + len(self._memory)
            self._grown.notify_all()

    async def spill(self) -> None:
        """Move all frames so far into the file."""
        data = bytes(self._memory)
        await in_thread(self._append, data)
        # Not before: the reader takes from memory the frames that are not in the file.
        self._in_file += len(data)
        del self._memory[: len(data)]

    async def note(self, payload: bytes) -> None:
        """Report progress to the reader, unless it lags behind; progress is not kept."""
        async with self._grown:
            self._pages = payload
            self._grown.notify_all()

    async def end(self, error: Exception | None = None) -> None:
        """Mark the end; the reader gets `error` after the last frame."""
        async with self._grown:
            self._ended, self._error = True, error
            self._grown.notify_all()

    async def frames(self) -> AsyncGenerator[tuple[bytes, bytes], None]:
        """Yield all frames from the first, waiting for new ones."""
        offset = 0
        while True:
            async with self._grown:
                while self._written <= offset and not self._ended and not self._pages:
                    await self._grown.wait()
                pages, self._pages = self._pages, b""
            if pages:
                yield wire.PAGES, pages
                continue
            if offset >= self._written:
                if self._error is not None:
                    raise self._error
                return
            if offset < self._in_file:
                kind, payload = await asyncio.to_thread(read_frame, self._path, offset)
            else:
                kind, payload = self._remembered(offset - self._in_file)
            offset += wire.HEADER.size + len(payload)
            yield kind, payload

    def _remembered(self, start: int) -> tuple[bytes, bytes]:
        kind, length = wire.HEADER.unpack_from(self._memory, start)
        begin = start + wire.HEADER.size
        return kind, bytes(self._memory[begin : begin + length])

    def _append(self, data: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(data)


def read_frame(path: Path, offset: int) -> tuple[bytes, bytes]:
    """Return the frame at `offset` of a file; raises `EOFError` when it is incomplete."""
    with path.open("rb") as file:
        file.seek(offset)
        header = file.read(wire.HEADER.size)
        if len(header) < wire.HEADER.size:
            raise EOFError
        kind, length = wire.HEADER.unpack(header)
        payload = file.read(length)
        if len(payload) < length:
            raise EOFError
        return kind, payload


def frame_offsets(path: Path) -> list[int]:
    """Return the offsets of a whole file's frames; raises `EOFError` when it is truncated."""
    offsets: list[int] = []
    size = path.stat().st_size
    offset, kind = 0, b""
    with path.open("rb") as file:
        while offset < size:
            file.seek(offset)
            header = file.read(wire.HEADER.size)
            if len(header) < wire.HEADER.size:
                raise EOFError
            kind, length = wire.HEADER.unpack(header)
            offsets.append(offset)
            offset += wire.HEADER.size + length
    if offset != size or kind != wire.METADATA:
        raise EOFError
    return offsets


def write_part(path: Path, payload: bytes) -> None:
    """Write a part of an archive at its offset; the first part starts over, also after a worker's death."""
    (at,) = wire.TABLES_AT.unpack_from(payload)
    with path.open("r+b" if at else "wb") as file:
        file.seek(at)
        file.write(memoryview(payload)[wire.TABLES_AT.size :])
