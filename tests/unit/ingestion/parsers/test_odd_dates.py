"""A date that no timestamp can hold costs a file its date and nothing else."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import docx
import pytest
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.metadata import describe

FIRST, LAST = "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-05:00"


def described(kind: str, data: bytes, folder: Path) -> ParsedMetadata:
    path = folder / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    found = describe(out, parser_for(kind).parse(path, out, Limits()), path.name)
    assert any("Herons nest." in block.text for block in blocks)
    return found


def mail(date: str) -> bytes:
    return f"From: a@example.org\nSubject: Birds\nDate: {date}\nMIME-Version: 1.0\n\nHerons nest.\n".encode()


def word(date: str) -> bytes:
    document, made, dated = docx.Document(), io.BytesIO(), io.BytesIO()
    document.add_paragraph("Herons nest.")
    document.save(made)
    with zipfile.ZipFile(made) as before, zipfile.ZipFile(dated, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + date.encode(), data)
            after.writestr(name, data)
    return dated.getvalue()


def markdown(date: str) -> bytes:
    return f"---\ntitle: Birds\ndate: {date}\n---\n\nHerons nest.\n".encode()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("eml", mail("Fri, 31 Dec 9999 23:59:59 -0500")),
        ("eml", mail("Mon, 1 Jan 2020 00:00:00 +99999999999999999999")),
        ("docx", word(FIRST)),
        ("docx", word(LAST)),
        ("md", markdown(FIRST)),
        ("md", markdown(LAST)),
    ],
)
def test_a_date_beyond_the_calendar_is_left_out(kind: str, data: bytes, tmp_path: Path) -> None:
    assert not described(kind, data, tmp_path).HasField("file_time")


@pytest.mark.parametrize(
    ("kind", "data", "hour"),
    [
        ("eml", mail("Mon, 1 Jan 2024 12:00:00 +0200"), 10),
        ("eml", mail("Mon, 1 Jan 2024 12:00:00 -0000"), 12),
        ("docx", word("2024-01-01T12:00:00-03:00"), 15),
        ("docx", word("2024-01-01T12:00:00"), 12),
        ("md", markdown("2024-01-01 12:00+02:00"), 10),
        ("md", markdown("2024-01-01 12:00"), 12),
        ("md", markdown("2024-01-01"), 0),
    ],
)
def test_other_dates_are_in_utc(kind: str, data: bytes, hour: int, tmp_path: Path) -> None:
    found = described(kind, data, tmp_path).file_time.ToDatetime(tzinfo=UTC)
    assert found == datetime(2024, 1, 1, hour, tzinfo=UTC)
