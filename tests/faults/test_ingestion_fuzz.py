"""Mutated files: bit flips, cuts, splices, nested archives. No crash of the service, no leak, bounded time."""

from __future__ import annotations

import asyncio
import io
import os
import random
import zipfile
from collections import Counter
from pathlib import Path

import docx
import fpdf
import openpyxl
import pptx
import psutil
import pytest
from footnote_ingestion.app import build
from footnote_kit.errors import FootnoteError
from footnote_kit.testing import serve_app
from support.ingestion_client import Client, assert_spans_exact
from support.processes import FORK_SERVER, family
from support.shared import shared_dir

pytestmark = pytest.mark.full

_MOST_BYTES = 600_000
_MANY = int(os.environ.get("FOOTNOTE_BENCH_MUTANTS", "2000"))
"""How many, in fifties; it has passed with 5 000."""
_TYPED = {
    "PASSWORD_PROTECTED",
    "CORRUPT",
    "NO_TEXT",
    "TOO_LARGE",
    "TIMEOUT",
    "UNSUPPORTED",
    "OUT_OF_MEMORY",
    "PARSER_CRASHED",
}


def made_seeds() -> list[tuple[str, bytes]]:
    """A small file of each common format, written here."""
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    pdf.multi_cell(0, 8, "A heading\n\nSome words of a paragraph that is long enough to be broken into lines. " * 8)
    word = docx.Document()
    word.add_heading("Title", 1)
    word.add_paragraph("Some words.")
    table = word.add_table(2, 2)
    table.cell(0, 0).text = "cell"
    book = openpyxl.Workbook()
    for row in range(20):
        book.active.append([f"name {row}", row, row / 3])
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "Slide"
    seeds: list[tuple[str, bytes]] = [("a.pdf", bytes(pdf.output()))]
    for name, document in (("a.docx", word), ("a.xlsx", book), ("a.pptx", slides)):
        buffer = io.BytesIO()
        document.save(buffer)
        seeds.append((name, buffer.getvalue()))
    seeds += [
        ("a.html", b"<html><body><h1>T</h1><table><tr><th>a<th>b<tr><td>1<td>2</table><p>Words <b>bold</b></p>"),
        ("a.md", b"---\ntitle: T\n---\n# H\n\n- item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n"),
        ("a.csv", b'a,b\n1,2\n"x\ny",3\n'),
        ("a.eml", b"From: a@b.c\nTo: d@e.f\nSubject: Hi\nMIME-Version: 1.0\nContent-Type: text/plain\n\nBody.\n"),
        ("a.rtf", rb"{\rtf1\ansi {\b Bold} text \'e9 \u233? more\par}"),
    ]
    return seeds


def seeds() -> list[tuple[str, bytes]]:
    found = made_seeds()
    if (shared := shared_dir()) is not None:
        paths = sorted(path for path in (shared / "data/files").rglob("*") if path.suffix not in (".tsv", ""))
        found += [(path.name, path.read_bytes()) for path in paths if path.stat().st_size < _MOST_BYTES]
    return found


def mutate(data: bytes, chance: random.Random, pool: list[tuple[str, bytes]]) -> bytes:
    """One of many ways to spoil a file."""
    spoiled = bytearray(data)
    match chance.randrange(7):
        case 0:
            for _ in range(chance.choice((1, 8, 64, 512))):
                spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
        case 1:
            del spoiled[chance.randrange(len(spoiled)) :]
        case 2:
            start = chance.randrange(len(spoiled))
            del spoiled[start : start + chance.randrange(1, 2000)]
        case 3:
            other = chance.choice(pool)[1]
            cut = chance.randrange(len(other))
            spoiled[chance.randrange(len(spoiled)) :] = other[cut : cut + 50_000]
        case 4:
            start = chance.randrange(len(spoiled))
            spoiled[start : start + 200] = spoiled[start : start + 200] * chance.randrange(2, 200)
        case 5:
            spoiled = bytearray(_inside_zip(bytes(spoiled), chance))
        case 6:
            for old, new in ((b"0", b"99999999"), (b"/Kids", b"/Kidz"), (b"</", b"<"), (b"1 0 R", b"2 0 R")):
                spoiled = spoiled.replace(old, new, chance.randrange(3))
    return bytes(spoiled) or b"\0"


def _inside_zip(data: bytes, chance: random.Random) -> bytes:
    """A member of a package spoiled behind an intact directory, or the file nested in archives."""
    buffer = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
            for entry in old.infolist():
                content = bytearray(old.read(entry))
                if content and chance.random() < 0.4:
                    for _ in range(chance.randrange(1, 30)):
                        content[chance.randrange(len(content))] = chance.randrange(256)
                new.writestr(entry.filename, bytes(content))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        for _ in range(chance.randrange(1, 5)):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(chance.choice(("word/document.xml", "xl/workbook.xml", "mimetype", "a.zip")), data)
            data = buffer.getvalue()
    return buffer.getvalue()


async def fuzz(client: Client, count: int, seed: int) -> Counter[str]:
    chance = random.Random(seed)
    pool = await asyncio.to_thread(seeds)
    outcomes: Counter[str] = Counter()
    gate = asyncio.Semaphore(4)

    async def one(name: str, data: bytes) -> None:
        async with gate:
            try:
                uploaded = await client.upload(data, name, allow_duplicate=True, max_documents=100_000)
                blocks, _ = await client.parse(uploaded.document.id)
                assert_spans_exact(blocks)
                await client.delete(uploaded.document.id)
                outcomes["OK"] += 1
            except FootnoteError as error:
                outcomes[error.metadata.get("failure_reason", "") or f"untyped: {name}: {error!r}"] += 1

    for _ in range(0, count, 50):
        chosen = chance.choices(pool, k=50)
        batch = await asyncio.to_thread(
            lambda chosen=chosen: [(name, mutate(data, chance, pool)) for name, data in chosen]
        )
        await asyncio.gather(*(one(name, data) for name, data in batch))
    return outcomes


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_mutated_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_INGESTION_PARSE_SECONDS", "20")
    monkeypatch.setenv("FOOTNOTE_INGESTION_WORKERS", "2")
    before = family(FORK_SERVER)
    open_before = psutil.Process().num_fds()
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        outcomes = await fuzz(client, _MANY, seed=_MANY)
        print(dict(outcomes))
        assert outcomes.total() == _MANY
        assert set(outcomes) <= _TYPED | {"OK"}
        assert outcomes["OK"] > 0
        # One that the others are forked from, two that look at files before these are stored, two that read them.
        assert len(family(FORK_SERVER) - before) <= 1 + 2 + 2
        assert not any(path.is_file() for path in (tmp_path / "ingestion" / "spool").rglob("*"))
        good = await client.upload(b"Still here.", max_documents=100_000)
        assert len((await client.parse(good.document.id))[0]) == 1
    assert not family(FORK_SERVER) - before, "a worker was left behind"
    assert psutil.Process().num_fds() <= open_before + 20
