"""Tables of CSV files that a test writes, open in the engine that computes over them, as in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.jobs import OwnRows
from footnote_ingestion.tables.kept import KeptTables
from footnote_ingestion.tables.opened import Archive
from footnote_ingestion.tables.session import Session


@cache
def session() -> Session:
    """Return the engine of this process: a worker has one, too."""
    return Session(Path(mkdtemp()) / "session", 256 << 20)


def archived(file: Path, document_id: str) -> Archive:
    """Return the tables of a CSV file, kept beside it."""
    archive = file.with_suffix(".zip")
    with KeptTables(session()) as kept:
        parser_for("csv").parse(file, BlockWriter(kept.before(lambda block: None), Limits()), Limits())
        assert kept.finish()
        archive.write_bytes(b"".join(part for _, part in kept.parts()))
    return Archive(archive, document_id, file.name)


@contextmanager
def opened(folder: Path, **texts: str) -> Iterator[tuple[Engine, OwnRows]]:
    """Open an engine over CSV files by their names, and the files' own rows."""
    archives, files = [], {}
    for name, text in texts.items():
        file, document_id = folder / f"{name}.csv", name.ljust(12, "0")
        file.write_text(text)
        archives.append(archived(file, document_id))
        files[document_id] = ("csv", str(file))
    with Engine(archives, session(), 30.0) as engine:
        yield engine, OwnRows(files)
