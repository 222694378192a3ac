"""Every file of the shared collection of real and hostile files ends as blocks or in the right typed failure."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote_ingestion.app import build
from footnote_kit.errors import FootnoteError
from footnote_kit.testing import serve_app
from support.ingestion_client import Client, assert_spans_exact
from support.processes import FORK_SERVER, family
from support.shared import NO_SHARED, shared_dir

SHARED = shared_dir()
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        SHARED is None,
        reason=NO_SHARED,
    ),
]

# What does not end as blocks. All others do.
FAILURES = {
    "PASSWORD_PROTECTED": """
        pdfjs__pr6531_1.pdf pdfjs__bug1782186.pdf pdfjs__issue3371.pdf unst__password.pdf pdfjs__issue21579.pdf
        unst__password_protected.xlsx unst__fake-encrypted.msg
    """,
    "CORRUPT": "pdfjs__poppler-742-0-fuzzed.pdf pdfjs__issue9105_other.pdf pdfjs__issue19484_1.pdf",
    "NO_TEXT": """
        onyx__empty.pdf onyx__with_image.pdf pdfjs__extractPages_null_in_array.pdf pdfjs__issue19176.pdf
        pdfjs__issue11878_reduced.pdf pdfjs__issue7229.pdf unst__single_table.pdf unst__table-multi-row-column-cells.pdf
        pdfjs__GHOSTSCRIPT-698804-1-fuzzed.pdf pdfjs__issue15590.pdf pdfjs__issue18986.pdf pdfjs__secHandler.pdf
        pdfjs__pr6531_2.pdf
    """,
}
ATTEMPTS = 5
EXPECTED = {name: reason for reason, names in FAILURES.items() for name in names.split()}


def all_files() -> list[Path]:
    assert SHARED is not None
    found = [path for folder in ("pdf", "office") for path in sorted((SHARED / "data/files" / folder).iterdir())]
    return [path for path in found if path.name not in ("README.md", "MANIFEST.tsv")]


async def outcome(client: Client, path: Path) -> str:
    """Return OK, or the reason of the failure; a file that a busy machine did not read is tried again, as jobs do."""
    data = await asyncio.to_thread(path.read_bytes)
    for _ in range(ATTEMPTS):
        try:
            uploaded = await client.upload(data, path.name, allow_duplicate=True, max_documents=10_000)
            blocks, metadata = await client.parse(uploaded.document.id)
        except FootnoteError as error:
            reason = error.metadata["failure_reason"] if error.metadata["hint"] else "no hint"
            if reason == "PARSER_KILLED":
                continue
            return reason
        assert blocks
        assert metadata.block_count == len(blocks)
        assert_spans_exact(blocks)
        return "OK"
    return "PARSER_KILLED"


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of ingestion with bounds below the defaults, which let through more; no process of it is left behind."""
    monkeypatch.setenv("FOOTNOTE_INGESTION_PARSE_MEMORY_BYTES", str(300 * 1024 * 1024))
    monkeypatch.setenv("FOOTNOTE_INGESTION_FILES_PER_WORKER", "10")
    before = family(FORK_SERVER)
    async with serve_app(build, data_dir=tmp_path) as served:
        yield Client(served)
        # Two that check files, one reader a core, and the one that they are all forked from.
        assert len(family(FORK_SERVER) - before) <= 3 + (os.cpu_count() or 1)
    assert not family(FORK_SERVER) - before, "a worker was left behind"


@pytest.mark.timeout(1200)
async def test_every_file_ends_as_expected(client: Client) -> None:
    paths = all_files()
    assert len(paths) == 104
    gate = asyncio.Semaphore(4)

    async def one(path: Path) -> tuple[str, str]:
        async with gate:
            return path.name, await outcome(client, path)

    found = dict(await asyncio.gather(*(one(path) for path in paths)))
    rows = [(name, EXPECTED.get(name, "OK"), got) for name, got in found.items()]
    print("\n".join(f"{name:55} expected {expected:20} got {got}" for name, expected, got in rows))
    assert [row for row in rows if row[1] != row[2]] == []
