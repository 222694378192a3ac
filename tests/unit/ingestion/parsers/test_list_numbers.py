"""Numbers of lists of Word documents are read as Word shows them; diagrams and alternative texts are read."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from pathlib import Path

import docx
import pptx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_HEADING, Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.office.numbering import Numbers
from pptx.opc.package import Part as SlidePart
from pptx.opc.packuri import PackURI as SlidePackURI

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
D = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"


def level(at: int, form: str, text: str, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'
    )


def blocks_of(document: object, kind: str, tmp_path: Path) -> list[Block]:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    path = tmp_path / f"file.{kind}"
    path.write_bytes(made.getvalue())
    blocks: list[Block] = []
    parser_for(kind).parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return blocks


def numbered(levels: str, paragraphs: Sequence[tuple[int, int]], nums: str = "") -> tuple[docx.document.Document, int]:
    """A document whose list 900 has these levels; each paragraph is in (list, level)."""
    document = docx.Document()
    numbering = document.part.numbering_part.element
    numbering.insert(0, parse_xml(f'<w:abstractNum {W} w:abstractNumId="900">{levels}</w:abstractNum>'))
    for num in (f'<w:num {W} w:numId="900"><w:abstractNumId w:val="900"/></w:num>', nums):
        if num:
            numbering.append(parse_xml(num))
    for list_number, at in paragraphs:
        numbers = f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{list_number}"/></w:numPr>'
        xml = f"<w:p {W}><w:pPr>{numbers}</w:pPr><w:r><w:t>x</w:t></w:r></w:p>"
        document.element.body.insert(len(document.element.body) - 1, parse_xml(xml))
    return document, len(paragraphs)


def test_lists_by_a_style_of_lists_have_the_numbers_of_that_style(tmp_path: Path) -> None:
    levels = '<w:styleLink w:val="Legal"/>' + level(0, "decimal", "%1.") + level(1, "decimal", "%1.%2")
    num = f'<w:num {W} w:numId="901"><w:abstractNumId w:val="901"/></w:num>'
    document, _ = numbered(levels, [(901, 0), (901, 1), (901, 1), (901, 0)], num)
    link = f'<w:abstractNum {W} w:abstractNumId="901"><w:numStyleLink w:val="Legal"/></w:abstractNum>'
    document.part.numbering_part.element.insert(0, parse_xml(link))
    shown = [block.text for block in blocks_of(document, "docx", tmp_path)]
    assert shown == ["1. x", "1.1 x", "1.2 x", "2. x"]


@pytest.mark.parametrize(
    ("levels", "places", "shown"),
    [
        (level(0, "decimal", "%1."), [0, 0, 0], ["1.", "2.", "3."]),
        (level(0, "lowerLetter", "(%1)"), [0, 0], ["(a)", "(b)"]),
        (level(0, "upperRoman", "Article %1"), [0] * 4, ["Article I", "Article II", "Article III", "Article IV"]),
        (
            level(0, "decimal", "%1") + level(1, "decimal", "%1.%2") + level(2, "lowerRoman", "%1.%2.%3"),
            [0, 0, 1, 1, 2, 2, 0, 1],
            ["1", "2", "2.1", "2.2", "2.2.i", "2.2.ii", "3", "3.1"],
        ),
        (
            level(0, "upperRoman", "%1") + level(1, "decimal", "%1.%2", "<w:isLgl/>"),
            [0, 0, 1],
            ["I", "II", "2.1"],
        ),
        (
            level(0, "decimal", "%1") + level(1, "decimal", "§ %2", '<w:lvlRestart w:val="0"/>'),
            [0, 1, 1, 0, 1],
            ["1", "§ 1", "§ 2", "2", "§ 3"],
        ),
        (level(0, "bullet", "•"), [0, 0], ["", ""]),
        (level(0, "decimalZero", "%1"), [0], ["01"]),
    ],
)
def test_numbers_are_read_as_word_shows_them(levels: str, places: list[int], shown: list[str], tmp_path: Path) -> None:
    document, _ = numbered(levels, [(900, at) for at in places])
    assert [block.text for block in blocks_of(document, "docx", tmp_path)] == [f"{one} x".strip() for one in shown]


def test_a_list_of_the_same_kind_goes_on_or_begins_anew(tmp_path: Path) -> None:
    again = f'<w:num {W} w:numId="901"><w:abstractNumId w:val="900"/>%s</w:num>'
    anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    places = [(900, 0), (900, 0), (901, 0), (901, 0)]
    for more, shown in (("", ["1.", "2.", "3.", "4."]), (anew, ["1.", "2.", "1.", "2."])):
        document, _ = numbered(level(0, "decimal", "%1."), places, again % more)
        assert [block.text for block in blocks_of(document, "docx", tmp_path)] == [f"{one} x" for one in shown]


def test_headings_numbered_by_their_style_bear_their_numbers(tmp_path: Path) -> None:
    levels = level(0, "decimal", "%1", '<w:pStyle w:val="Heading1"/>')
    levels += level(1, "decimal", "%1.%2", '<w:pStyle w:val="Heading2"/>')
    document, _ = numbered(levels, [])
    for name in ("Heading 1", "Heading 2"):
        properties = document.styles[name].element.get_or_add_pPr()
        properties.append(parse_xml(f'<w:numPr {W}><w:numId w:val="900"/></w:numPr>'))
    for depth, text in ((1, "Scope"), (2, "Terms"), (2, "Prices"), (1, "Law")):
        document.add_heading(text, depth)
    blocks = blocks_of(document, "docx", tmp_path)
    assert [block.text for block in blocks] == ["1 Scope", "1.1 Terms", "1.2 Prices", "2 Law"]
    assert all(block.kind == BLOCK_KIND_HEADING for block in blocks)


def test_what_is_deleted_is_not_counted(tmp_path: Path) -> None:
    document, _ = numbered(level(0, "decimal", "%1."), [(900, 0), (900, 0), (900, 0)])
    gone = document.paragraphs[1]._p.find(docx.oxml.ns.qn("w:pPr"))
    gone.append(parse_xml(f'<w:rPr {W}><w:del w:id="1" w:author="a"/></w:rPr>'))
    assert [block.text for block in blocks_of(document, "docx", tmp_path)] == ["1. x", "x", "2. x"]


def test_any_numbering_is_read_without_fault() -> None:
    chance = random.Random(5)
    values = ("", "-1", "1", "4", "99999999999", "x", "%1", "bullet", "upperRoman", "lowerLetter")
    for _ in range(300):

        def any_of(name: str) -> str:
            return f'<w:{name} w:val="{chance.choice(values)}"/>'

        inner = "".join(any_of(name) for name in ("start", "numFmt", "lvlText", "lvlRestart", "isLgl", "pStyle"))
        level_xml = f'<w:lvl w:ilvl="{chance.choice(values)}">{inner}</w:lvl>'
        kind = f'<w:abstractNum w:abstractNumId="1">{level_xml * 3}</w:abstractNum>'
        over = f'<w:lvlOverride w:ilvl="0">{any_of("startOverride")}</w:lvlOverride>'
        root = parse_xml(
            f'<w:numbering {W}>{kind}<w:num w:numId="1">{any_of("abstractNumId")}{over}</w:num></w:numbering>'
        )
        styles = parse_xml(f'<w:styles {W}><w:style w:styleId="1">{any_of("basedOn")}</w:style></w:styles>')
        numbers = Numbers(root, styles)
        own = f"<w:numPr>{any_of('ilvl')}{any_of('numId')}</w:numPr>"
        paragraph = parse_xml(f"<w:p {W}><w:pPr>{any_of('pStyle')}{own}</w:pPr></w:p>")
        assert all(len(numbers.of(paragraph)) < 500 for _ in range(3))


def diagram(*texts: str) -> bytes:
    points = "".join(f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>" for text in texts)
    xml = f'<dgm:dataModel xmlns:dgm="{D}" xmlns:a="{A}"><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>'
    return xml.encode()


GRAPHIC = (
    '<a:graphic xmlns:a="{a}"><a:graphicData uri="{d}">'
    '<dgm:relIds xmlns:dgm="{d}" xmlns:r="{r}" r:dm="{name}"/></a:graphicData></a:graphic>'
)


def test_diagrams_and_alternative_texts_of_word_are_read(tmp_path: Path) -> None:
    document = docx.Document()
    part = Part(PackURI("/word/diagrams/data1.xml"), "application/xml", diagram("Ask", "Answer"), document.part.package)
    name = document.part.relate_to(part, f"{R}/diagramData")
    graphic = GRAPHIC.format(a=A, d=D, r=R, name=name)
    drawing = (
        '<wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
        f'<wp:docPr id="1" name="Diagram 1" descr="How questions go"/>{graphic}</wp:inline>'
    )
    xml = f"<w:p {W}><w:r><w:t>See here.</w:t></w:r><w:r><w:drawing>{drawing}</w:drawing></w:r></w:p>"
    document.element.body.insert(0, parse_xml(xml))
    texts = [block.text for block in blocks_of(document, "docx", tmp_path)]
    assert texts == ["See here.", "How questions go", "Ask", "Answer"]


def test_diagrams_of_slides_are_read(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    part = SlidePart(
        SlidePackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, diagram("Ask", "Answer")
    )
    name = slide.part.relate_to(part, f"{R}/diagramData")
    xml = (
        '<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"><p:nvGraphicFramePr>'
        '<p:cNvPr id="9" name="Diagram"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
        f'<p:xfrm><a:off xmlns:a="{A}" x="0" y="0"/><a:ext xmlns:a="{A}" cx="1" cy="1"/></p:xfrm>'
        f"{GRAPHIC.format(a=A, d=D, r=R, name=name)}</p:graphicFrame>"
    )
    slide.shapes._spTree.append(pptx.oxml.parse_xml(xml))
    assert [block.text for block in blocks_of(deck, "pptx", tmp_path)] == ["Ask", "Answer"]


def test_a_paragraph_of_a_symbol_alone_has_its_number(tmp_path: Path) -> None:
    document, _ = numbered(level(0, "decimal", "%1."), [(900, 0)])
    text = next(document.element.body.iter("{http://schemas.openxmlformats.org/wordprocessingml/2006/main}t"))
    text.getparent().replace(text, parse_xml(f'<w:sym {W} w:font="Wingdings" w:char="F0FE"/>'))
    assert [block.text for block in blocks_of(document, "docx", tmp_path)] == ["1. ☑"]
