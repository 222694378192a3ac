"""A parse reaches its reader to the end, whatever happens while it is kept for later."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_ingestion.documents.extraction import Extraction
from footnote_ingestion.model.values import Stored
from footnote_ingestion.settings import Settings
from footnote_ingestion.worker import wire
from sqlalchemy.exc import IntegrityError


class Documents:
    async def doom(self, *_: Any) -> None:
        raise IntegrityError("insert", {}, Exception("duplicate key"))


class Files:
    @asynccontextmanager
    async def as_file(self, key: str) -> AsyncIterator[Path]:
        yield Path("/dev/null")


class Readers:
    async def run(self, *_: Any) -> AsyncIterator[tuple[bytes, bytes]]:
        yield wire.METADATA, ParsedMetadata(title="x").SerializeToString()


async def test_a_parse_that_cannot_be_kept_ends_all_the_same(tmp_path: Path) -> None:
    parts = cast(Any, (Documents(), None, Files(), Readers()))
    extraction = Extraction(*parts, tmp_path, Settings().limits())
    stored = Stored(Document(id="d", document_type="pdf", size_bytes=1_000_000), "uploads/a/b/c", "", 1)
    async with asyncio.timeout(5):
        found = [part async for part in extraction.parsed(stored, False)]
    assert found == [ParsedMetadata(title="x")]
