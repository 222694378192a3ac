"""Keeps the tables of a file while it is parsed, in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Self

import duckdb
from footnote.stages.v1.parsing_pb2 import Block

from footnote_ingestion.parsers.failures import is_no_room
from footnote_ingestion.tables.collected import Collector
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.table_archive import Keeper

_PART = 1024 * 1024


class KeptTables:
    """Collects the tables of a file being parsed. Problems with tables never fail the file."""

    def __init__(self, session: Session) -> None:
        self._folder = Path(mkdtemp(dir=session.folder))
        self._keeper = Keeper(session.connection, self._folder)
        self._collector = Collector(self._keeper.add)
        self._archive = self._folder / "archive.zip"
        self._failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self._keeper.close()
        rmtree(self._folder, ignore_errors=True)

    def before(self, emit: Callable[[Block], None]) -> Callable[[Block], None]:
        """Return a callback that takes a parsed block and passes it on to `emit`."""

        def take(block: Block) -> None:
            self._add(block)
            emit(block)

        return take

    def _add(self, block: Block) -> None:
        if not block.table or self._failed:
            return
        try:
            self._collector.add(block)
        except (duckdb.Error, OSError) as error:
            self._failed = _passing_by(error)

    def finish(self) -> bool:
        """Make the archive; False if there are tables that cannot be kept."""
        try:
            kept = not self._failed and self._keeper.finish(self._collector.tables, self._archive)
        except (duckdb.Error, OSError) as error:
            kept = not _passing_by(error)
        if not kept:
            self._archive.unlink(missing_ok=True)
        return kept or not self._collector.tables

    def parts(self) -> Iterator[tuple[int, bytes]]:
        """Yield the archive in parts, each with its offset; nothing without an archive."""
        if not self._archive.exists():
            return
        with self._archive.open("rb") as file:
            at = 0
            while part := file.read(_PART):
                yield at, part
                at += len(part)


def _passing_by(error: Exception) -> bool:
    """Return True for tables that cannot be kept; raises that of a full disk, after which the file is read again."""
    if is_no_room(error):
        raise error
    return True
