"""Blocks kept from an earlier parse are used by the parsers that made them, and by no others."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote_ingestion import parsers
from footnote_ingestion.app import build
from footnote_ingestion.tables import LAYOUT
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

pytestmark = pytest.mark.asyncio

ROWS = b"Town,Stock\nLyon,5\nNice,7\n"
PAGE = b"<h1>Leave</h1><p>Leave is 30 days a year.</p>"


def _kept(folder: Path) -> set[str]:
    return {
        path.name.partition(".")[2] for path in (folder / "ingestion" / "blobs" / "parsed").rglob("*") if path.is_file()
    }


async def test_other_parsers_parse_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        document = (await client.upload(PAGE, "leave.html")).document
        before, _ = await client.parse(document.id)
        assert _kept(tmp_path) == {f"{LAYOUT}-{parsers.version()}"}

        monkeypatch.setattr(parsers, "version", lambda: "other")
        after, _ = await client.parse(document.id)

    assert after == before
    assert f"{LAYOUT}-other" in _kept(tmp_path)


async def test_tables_kept_by_other_parsers_are_asked_until_the_document_is_indexed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question would wait for the parse of each file after each upgrade, and chunks name the cells of the old one."""
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        document = (await client.upload(ROWS, "stock.csv")).document
        await client.parse(document.id)
        tables = pb.DescribeTablesRequest(scope=client.scope, document_id=document.id)
        before, kept = await client.stub.DescribeTables(tables), _kept(tmp_path)

        monkeypatch.setattr(parsers, "version", lambda: "other")
        after = await client.stub.DescribeTables(tables)

    assert len(before.tables) == 1
    assert after == before
    assert _kept(tmp_path) == kept


async def test_a_changed_line_makes_other_parsers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("footnote_ingestion.parsers", "footnote_ingestion.tables", "footnote_text"):
        shutil.copytree(str(files(package)), tmp_path / package)
    monkeypatch.setattr(parsers, "files", lambda package: tmp_path / package)
    assert parsers.version.__wrapped__() == parsers.version()

    with (tmp_path / "footnote_ingestion.parsers" / "texts" / "html.py").open("a") as source:
        source.write("# another line\n")

    assert parsers.version.__wrapped__() != parsers.version()
