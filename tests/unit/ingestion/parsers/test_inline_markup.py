"""Markup within a line splits no word or number and joins no two; line breaks of markup separate."""

from __future__ import annotations

from pathlib import Path

import docx
import pptx
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from lxml import etree  # type: ignore[import-untyped]


def write(path: Path, runs: str) -> Path:
    document = docx.Document()
    xml = f'<w:p xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{runs}</w:p>'
    document.element.body.insert(0, etree.fromstring(xml))
    document.save(str(path))
    return path


def test_symbols_of_word_documents_are_read(tmp_path: Path) -> None:
    """A box that is ticked differs from one that is not, and a limit from an equality."""
    path = write(
        tmp_path / "file.docx",
        '<w:r><w:t>Box </w:t><w:sym w:font="Wingdings" w:char="F0FE"/><w:t> yes </w:t>'
        '<w:sym w:font="Wingdings" w:char="F0A8"/><w:t> no, dose </w:t><w:sym w:font="Symbol" w:char="F0B3"/>'
        '<w:t> 5 </w:t></w:r><w:r><w:rPr><w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/></w:rPr><w:t>\uf06d</w:t></w:r>'
        '<w:r><w:t>g, </w:t><w:sym w:font="MS Gothic" w:char="2612"/><w:sym w:font="Webdings" w:char="F04A"/></w:r>'
        '<w:r><w:sym w:font="Wingdings" w:char="F04A"/><w:sym w:font="Wingdings" w:char="F028"/><w:t>01</w:t></w:r>',
    )
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for("docx").parse(path, out, Limits())
    assert blocks[0].text == "Box ☑ yes ☐ no, dose ≥ 5 μg, ☒\ufffd☺☎01"
    assert {one.text: one.count for one in out.noticed.warnings()} == {
        "1 symbols of special fonts are not known and read as \ufffd": 1
    }


SYMBOLS = [
    ("Wingdings", "à", "→"), ("Symbol", "\xb3", "≥"), ("Symbol", "\uf0b3", "≥"), ("Wingdings", "ü", "✓"),
    ("Arial", "à", "à"),
]  # fmt: skip


@pytest.mark.parametrize(("font", "written", "shown"), SYMBOLS)
def test_symbols_of_pages_and_rtf_are_read(font: str, written: str, shown: str, tmp_path: Path) -> None:
    for tag in (f"font face='{font}'", f"span style='font-size:9pt;font-family:{font},serif'"):
        page = f"<p>dose <{tag}>{written}</{tag[:4]}> 5 <b>mg</b></p><h2>x <{tag}>{written}</{tag[:4]}></h2>"
        assert read(page, "html", tmp_path) == [f"dose {shown} 5 mg", f"x {shown}"]
    code = f"\\u{ord(written) - 65536}?" if written > "\xff" else f"\\'{ord(written):02x}"
    kind = "0" if font == "Arial" else "2"
    fonts = rf"{{\fonttbl{{\f0 Times;}}{{\f3\fcharset{kind}{{\*\panose 0505}}{font};}}}}"
    source = rf"{{\rtf1\ansi\ansicpg1252{fonts}\f0 dose {{\f3{code}}} 5 \f3{code}\plain {code} mg\par}}"
    assert read(source, "rtf", tmp_path)[0].startswith(f"dose {shown} 5 {shown}{written}")


@pytest.mark.parametrize(("font", "written", "shown"), SYMBOLS)
def test_symbols_of_slides_are_read(font: str, written: str, shown: str, tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    title = presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text_frame.paragraphs[0]
    for words, kind in (("dose ", ""), (written, "sym"), (f" 5 {written} ", "sym"), ("n", "sym"), (written, "latin")):
        run = title.add_run()
        run.text = words
        if kind:
            name = f"{{http://schemas.openxmlformats.org/drawingml/2006/main}}{kind}"
            etree.SubElement(run._r.get_or_add_rPr(), name, typeface=font)
    presentation.save(str(tmp_path / "a.pptx"))
    blocks: list[Block] = []
    parser_for("pptx").parse(tmp_path / "a.pptx", BlockWriter(blocks.append, Limits()), Limits())
    assert blocks[0].text == f"dose {shown} 5 {written} n{shown}"


def read(text: str, kind: str, tmp_path: Path) -> list[str]:
    path = tmp_path / f"file.{kind}"
    path.write_text(text)
    blocks: list[Block] = []
    parser_for(kind).parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return [block.text for block in blocks]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("12<span>.50</span>", "12.50"),
        ("1<span>,</span>234", "1,234"),
        ("12<!-- -->.5<?x?>0", "12.50"),
        ("<b>T</b>otal", "Total"),
        ("CO<sub>2</sub>", "CO2"),
        ("10<sup>6</sup>", "10^6"),
        ("Foo<br>Bar", "Foo Bar"),
        ("<div>Foo</div>Bar", "Foo Bar"),
        ("A<style>.x{}</style>B<script>x=1</script>", "AB"),
        ("A <select><option>one</option></select>", "A"),
        ("(<ix:nonFraction sign='-'>56</ix:nonFraction>)", "(56)"),
        ("un<x-b>bel</x-b>ievable", "unbelievable"),
        ("<x-b>5</x-b><!---->%", "5%"),
        ("Install<a class=headerlink href='#install'>¶</a>", "Install"),
        ("<x-b>Edit</x-b><x-b>Delete</x-b>", "Edit Delete"),
    ],
)
def test_of_headings_cells_and_captions_of_pages(html: str, expected: str, tmp_path: Path) -> None:
    assert read(f"<body><h2>{html}</h2><p>x</p></body>", "html", tmp_path)[0] == expected
    table = f"<table><caption>{html}</caption><tr><th>Name</th><th>Value</th></tr><tr><td>A</td><td>{html}</td></tr>"
    assert read(f"<body>{table}</table></body>", "html", tmp_path) == [expected, f"Name: A; Value: {expected}"]


@pytest.mark.parametrize(
    ("html", "code"),
    [
        ("<span>run --port 80<br></span><span><br></span><span>8080<i>x</i></span>", "run --port 80\n\n8080x"),
        ("<div>run 80</div><div>8080 x</div>", "run 80\n8080 x"),
        ("<table><tr><td>run </td><td>80</td></tr><tr><td>8080 x</td></tr></table>", "run 80\n8080 x"),
        ("\nrun <b>80</b>\n<script>x=1</script>  8080 x\n", "run 80\n  8080 x"),
    ],
)
def test_lines_of_code_of_pages_stay_apart(html: str, code: str, tmp_path: Path) -> None:
    assert read(f"<body><pre><code>{html}</code></pre></body>", "html", tmp_path) == [code]


@pytest.mark.parametrize("tag", ["ix:nonFraction", "st1:place", "relative-time", "picture"])
def test_elements_that_no_browser_knows_cut_no_sentence(tag: str, tmp_path: Path) -> None:
    sales = f"<p>Sales of <{tag} x=1><source src=x>1,234</{tag}>, as told.</p>"
    page = f"<body>{sales}<x-box><p>One.</p><p>Two.</p></x-box></body>"
    assert read(page, "html", tmp_path) == ["Sales of 1,234, as told.", "One.", "Two."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fast<br>slow<br/>auto", "fast slow auto"),
        ("10<sup>2</sup> m<sup>2</sup>", "10^2 m²"),
        ("10<SUP class=x>**6**</SUP> units", "10^6 units"),
        ("21<sup>st</sup> of 12<span>.5</span>", "21st of 12.5"),
        ('5<sup><a href="#f1">1</a></sup> of 6<sup></sup>7', "5^1 of 67"),
        ("un<x-b>bel</x-b>ievable", "unbelievable"),
        ("H<sub>2</sub>O <kbd>Ctrl</kbd>+C", "H2O Ctrl+C"),
        ("one<p>two</p>three", "one two three"),
    ],
)
def test_of_markdown(text: str, expected: str, tmp_path: Path) -> None:
    assert read(f"# {text}\n\nSo {text}\n", "md", tmp_path) == [expected, f"So {expected}"]
    assert read(f"| Mode | Value |\n|---|---|\n| A | {text} |\n", "md", tmp_path) == [f"Mode: A; Value: {expected}"]
