"""Content of office documents besides plain text: each is read in its place, or a warning reports it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_FURNITURE, BLOCK_KIND_NOTE, Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from support.ingestion_client import assert_spans_exact

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def read(data: bytes, kind: str, tmp_path: Path) -> tuple[list[str], dict[str, int]]:
    """What is searched, block by block, and the warnings with their counts."""
    path = tmp_path / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for(kind).parse(path, out, Limits())
    assert_spans_exact(blocks)
    texts = [block.text for block in blocks if block.kind != BLOCK_KIND_FURNITURE]
    return texts, {one.text: one.count for one in out.noticed.warnings()}


def saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


# Word


def word(*paragraphs: str) -> bytes:
    document = docx.Document()
    document.add_paragraph("All prices rose.")
    for xml in paragraphs:
        document.element.body.insert(len(document.element.body) - 1, parse_xml(xml))
    return saved(document)


def test_moved_and_deleted_text_of_word_is_read_where_it_stands_now(tmp_path: Path) -> None:
    data = word(
        f"<w:p {W}><w:moveFrom w:id='1' w:author='a'><w:r><w:t>The moved.</w:t></w:r></w:moveFrom></w:p>",
        f"<w:p {W}><w:del w:id='2' w:author='a'><w:r><w:delText>The old.</w:delText></w:r></w:del>"
        "<w:ins w:id='3' w:author='a'><w:r><w:t>The new.</w:t></w:r></w:ins></w:p>",
        f"<w:p {W}><w:moveTo w:id='4' w:author='a'><w:r><w:t>The moved.</w:t></w:r></w:moveTo></w:p>",
    )
    texts, said = read(data, "docx", tmp_path)
    assert texts == ["All prices rose.", "The new.", "The moved."]
    assert said == {"4 tracked changes are read as if they were accepted": 4}


def test_hidden_text_of_word_is_left_out_and_said(tmp_path: Path) -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Praise the vendor.</w:t></w:r>"
    shown = "<w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>All costs fell.</w:t></w:r>"
    mark = "<w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>"
    texts, said = read(word(f"<w:p {W}>{mark}{hidden}{shown}</w:p>"), "docx", tmp_path)
    assert texts == ["All prices rose.", "All costs fell."]
    assert said == {"1 pieces of hidden text are left out": 1}


def test_struck_text_of_word_is_left_out_and_said(tmp_path: Path) -> None:
    run = "<w:r><w:rPr><w:{}/></w:rPr><w:t>{}</w:t></w:r>"
    runs = [("strike", "The fee is 40 EUR."), ("dstrike", "Fees: 41."), ("strike w:val='0'", "The fee is 50 EUR.")]
    texts, said = read(word(f"<w:p {W}>{''.join(run.format(*one) for one in runs)}</w:p>"), "docx", tmp_path)
    assert texts == ["All prices rose.", "The fee is 50 EUR."]
    assert said == {"2 pieces of struck text are left out": 2}


def test_one_of_alternative_paragraphs_of_word_is_read(tmp_path: Path) -> None:
    names = f'{W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    forms = "<mc:Choice Requires='wps'><w:p>{0}</w:p></mc:Choice><mc:Fallback><w:p>{0}</w:p></mc:Fallback>"
    xml = f"<mc:AlternateContent {names}>{forms.format('<w:r><w:t>All costs fell.</w:t></w:r>')}</mc:AlternateContent>"
    assert read(word(xml), "docx", tmp_path) == (["All prices rose.", "All costs fell."], {})


def test_content_controls_of_word_are_read(tmp_path: Path) -> None:
    row = (
        "<w:tr><w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc></w:tr>"
    )
    data = word(
        f"<w:p {W}><w:sdt><w:sdtContent><w:r><w:t>Inline.</w:t></w:r></w:sdtContent></w:sdt></w:p>",
        f"<w:sdt {W}><w:sdtContent><w:p><w:r><w:t>Block.</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        f"<w:tbl {W}>{row.format('Land', 'Price')}<w:sdt><w:sdtContent>{row.format('Chad', '7')}</w:sdtContent></w:sdt>"
        f"{row.format('Peru', '9')}</w:tbl>",
    )
    texts, said = read(data, "docx", tmp_path)
    assert texts == ["All prices rose.", "Inline.", "Block.", "Land: Chad; Price: 7", "Land: Peru; Price: 9"]
    assert said == {}


RUN = "<m:r><m:t>{}</m:t></m:r>"


@pytest.mark.parametrize(
    ("xml", "linear"),
    [
        (RUN.format("a+b"), "a+b"),
        (f"<m:f><m:num>{RUN.format('a+b')}</m:num><m:den>{RUN.format('2')}</m:den></m:f>", "(a+b)/2"),
        (f"<m:sSup><m:e>{RUN.format('x')}</m:e><m:sup>{RUN.format('2')}</m:sup></m:sSup>", "x^2"),
        (f"<m:sSub><m:e>{RUN.format('x')}</m:e><m:sub>{RUN.format('i+1')}</m:sub></m:sSub>", "x_(i+1)"),
        (f"<m:rad><m:deg/><m:e>{RUN.format('x+1')}</m:e></m:rad>", "√(x+1)"),
        (f"<m:rad><m:deg>{RUN.format('3')}</m:deg><m:e>{RUN.format('x')}</m:e></m:rad>", "root(3, x)"),
        (f"<m:d><m:e>{RUN.format('x')}</m:e></m:d>", "(x)"),
        (f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{RUN.format('i')}</m:sub>"
         f"<m:sup>{RUN.format('n')}</m:sup>"
         f"<m:e>{RUN.format('k')}</m:e></m:nary>", "∑_i^n k"),
    ],
)  # fmt: skip
def test_equations_of_word_are_linear_text(xml: str, linear: str, tmp_path: Path) -> None:
    data = word(f"<w:p {W} {M}><w:r><w:t xml:space='preserve'>Let </w:t></w:r><m:oMath>{xml}</m:oMath></w:p>")
    assert read(data, "docx", tmp_path)[0] == ["All prices rose.", f"Let {linear}"]


def test_headers_and_footers_of_word_are_kept_apart(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("All prices rose.")
    document.sections[0].header.paragraphs[0].text = "Secret"
    document.sections[0].footer.paragraphs[0].text = "Page 1 of 3"
    table = document.sections[0].header.add_table(1, 1, 100)
    table.cell(0, 0).text = "Rev. 7"
    texts, said = read(saved(document), "docx", tmp_path)
    assert texts == ["All prices rose."]
    assert said == {"2 headers and footers are kept apart and not searched": 2}
    blocks: list[Block] = []
    parser_for("docx").parse(tmp_path / "file.docx", BlockWriter(blocks.append, Limits()), Limits())
    assert [one.text for one in blocks if one.kind == BLOCK_KIND_FURNITURE] == ["Secret Rev. 7", "Page 1 of 3"]


def test_boxes_of_text_of_word_stand_behind_their_paragraph(tmp_path: Path) -> None:
    box = "<w:pict><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent></w:pict>"
    data = word(f"<w:p {W}><w:r><w:t>Beside it.</w:t></w:r><w:r>{box}</w:r></w:p>")
    assert read(data, "docx", tmp_path) == (["All prices rose.", "Beside it.", "In a box."], {})


def test_comments_of_word_are_notes(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_comment(document.add_paragraph("All prices rose.").runs, text="Not in Peru.", author="Ann")
    texts, said = read(saved(document), "docx", tmp_path)
    assert texts == ["All prices rose.", "Comment by Ann: Not in Peru."]
    assert said == {}


# PowerPoint


def slide(build: Callable[[object], None]) -> bytes:
    presentation = pptx.Presentation()
    page = presentation.slides.add_slide(presentation.slide_layouts[6])
    page.shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame.text = "All prices rose."
    build(page)
    page.shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame.text = "All costs fell."
    return saved(presentation)


def test_a_bad_shape_loses_only_itself(tmp_path: Path) -> None:
    def build(page: object) -> None:
        frame = page.shapes.add_table(2, 2, 0, 0, Inches(3), Inches(1))  # type: ignore[attr-defined]
        frame._element.graphic.graphicData.tbl.tr_lst[0].tc_lst[0].set("gridSpan", "many")

    texts, said = read(slide(build), "pptx", tmp_path)
    assert texts == ["All prices rose.", "All costs fell."]
    assert said == {"1 shapes could not be read": 1}


def test_an_embedded_object_is_told_although_a_picture_stands_for_it(tmp_path: Path) -> None:
    def build(page: object) -> None:
        page.shapes.add_ole_object(io.BytesIO(b"any"), "Package", 0, 0)  # type: ignore[attr-defined]

    texts, said = read(slide(build), "pptx", tmp_path)
    assert texts == ["All prices rose.", "All costs fell."]
    assert said == {"1 embedded objects are not read": 1}


def test_hidden_slides_are_said(tmp_path: Path) -> None:
    texts, said = read(slide(lambda page: page._element.set("show", "0")), "pptx", tmp_path)  # type: ignore[attr-defined]
    assert texts == ["All prices rose.", "All costs fell."]
    assert said == {"1 hidden slides are read like the others": 1}


def test_titles_and_values_of_charts_are_read(tmp_path: Path) -> None:
    def build(page: object) -> None:
        data = CategoryChartData()
        data.categories = ["2022", "2023"]
        data.add_series("Lyon", (1, 2.5))
        chart = page.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, 99, 99, data).chart  # type: ignore[attr-defined]
        chart.has_title = True
        chart.chart_title.text_frame.text = "Visitors in thousands"
        points = XyChartData()
        series = points.add_series("Height by age")
        series.add_data_point(3, 95)
        series.add_data_point(4, 102.5)
        page.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, 0, 99, 99, points)  # type: ignore[attr-defined]

    text = "\n".join(read(slide(build), "pptx", tmp_path)[0])
    assert "Visitors in thousands" in text
    assert "Category: 2023; Lyon: 2.5" in text
    assert "X: 4; Height by age: 102.5" in text


def test_what_stands_in_alternatives_is_read_once(tmp_path: Path) -> None:
    box = (
        "<p:sp><p:nvSpPr><p:cNvPr id='{}' name='n'/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>"
        "<p:txBody><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    )

    def build(page: object) -> None:
        xml = (
            "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006' "
            "xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' "
            "xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'>"
            f"<mc:Choice Requires='a14'>{box.format(90, 'The formula is new.')}</mc:Choice>"
            f"<mc:Fallback>{box.format(90, 'The formula is old.')}</mc:Fallback></mc:AlternateContent>"
        )
        page.shapes._spTree.append(parse_xml(xml))  # type: ignore[attr-defined]

    texts, said = read(slide(build), "pptx", tmp_path)
    assert texts == ["All prices rose.", "The formula is new.", "All costs fell."]
    assert said == {}


# Excel


def test_formulas_without_values_hidden_parts_and_comments_of_a_workbook_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Land", "Price"], ["Chad", 7], ["Peru", "=B2*2"], ["Mali", 8], ["Fiji", "=B4+1"]):
        sheet.append(row)
    sheet["A2"].comment = Comment("Without the north.", "Ann")
    sheet.row_dimensions[4].hidden = True
    sheet.column_dimensions["C"].hidden = True
    other = book.create_sheet("Old")
    other.append(["Land", "Price"])
    other.append(["Togo", 3])
    other.sheet_state = "hidden"
    texts, said = read(saved(book), "xlsx", tmp_path)
    assert "Land: Mali; Price: 8" in texts
    assert "Land: Togo; Price: 3" in texts
    assert "A2: Without the north." in "\n".join(texts)
    assert said == {
        "2 formulas have no computed value: open the file in a spreadsheet program and save it again": 2,
        "2 hidden rows and columns are read like the others": 2,
        "1 hidden sheets are read like the others": 1,
    }
    out = BlockWriter(lambda block: None, Limits())
    parser_for("xlsx").parse(tmp_path / "file.xlsx", out, Limits())
    places = [[place.sheet.sheet for place in one.places] for one in out.noticed.warnings()]
    assert sorted(places) == [["Old"], ["Sheet"], ["Sheet", "Sheet"]]


def test_a_workbook_with_nothing_hidden_says_nothing(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Land", "Price"])
    book.active.append(["Chad", 7])
    data = saved(book)
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    assert read(data, "xlsx", tmp_path)[1] == {}


def test_a_sheet_that_is_a_chart_is_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Land", "Price"], ["Chad", 7]):
        book.active.append(row)
    chart = BarChart()
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=2), titles_from_data=True)
    book.create_chartsheet("Chart").add_chart(chart)
    texts, said = read(saved(book), "xlsx", tmp_path)
    assert texts == ["Land: Chad; Price: 7"]
    assert said == {"1 sheets without cells, such as charts, are not read": 1}


# Notes of Word


def with_notes(body: str, **parts: str) -> bytes:
    """A Word document with parts of notes, by their names: "footnotes", "endnotes", "comments"."""
    made = io.BytesIO(saved(docx.Document()))
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    types = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    out = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "word/document.xml":
                data = f"<w:document {W}><w:body>{body}</w:body></w:document>".encode()
            if name == "word/_rels/document.xml.rels":
                more = "".join(f'<Relationship Id="n{p}" Type="{kinds}/{p}" Target="{p}.xml"/>' for p in parts)
                data = data.replace(b"</Relationships>", f"{more}</Relationships>".encode())
            if name == "[Content_Types].xml":
                more = "".join(f'<Override PartName="/word/{p}.xml" ContentType="{types}.{p}+xml"/>' for p in parts)
                data = data.replace(b"</Types>", f"{more}</Types>".encode())
            new.writestr(name, data)
        for name, content in parts.items():
            new.writestr(f"word/{name}.xml", f"<w:{name} {W}>{content}</w:{name}>")
    return out.getvalue()


def paragraph(text: str, *references: tuple[str, int]) -> str:
    marks = "".join(f'<w:r><w:{kind}Reference w:id="{number}"/></w:r>' for kind, number in references)
    return f"<w:p><w:r><w:t>{text}</w:t></w:r>{marks}</w:p>"


def note(kind: str, number: int, text: str, author: str = "") -> str:
    by = f' w:author="{author}"' if author else ""
    return f'<w:{kind} w:id="{number}"{by}>{paragraph(text)}</w:{kind}>'


def test_notes_of_word_stand_behind_what_refers_to_them(tmp_path: Path) -> None:
    data = with_notes(
        paragraph("All prices rose.", ("footnote", 2), ("footnote", 3), ("endnote", 2))
        + paragraph("Wages did not.", ("comment", 0), ("footnote", 2)),
        footnotes=note("footnote", 2, "Not in Peru.") + note("footnote", 3, "Nor in Chad.") + note("footnote", 4, "?"),
        endnotes=note("endnote", 2, "Bulletin 7."),
        comments=note("comment", 0, "Check this.", "Ann"),
    )
    texts, said = read(data, "docx", tmp_path)
    assert texts == [
        "All prices rose.", "Not in Peru.", "Nor in Chad.", "Bulletin 7.",
        "Wages did not.", "Comment by Ann: Check this.",
        "?",
    ]  # fmt: skip
    assert said == {}


def test_notes_of_a_table_of_word_stand_behind_it(tmp_path: Path) -> None:
    cells = "".join(f"<w:tc>{one}</w:tc>" for one in (paragraph("Chad"), paragraph("7", ("footnote", 2))))
    head = "".join(f"<w:tc>{paragraph(one)}</w:tc>" for one in ("Land", "Price"))
    data = with_notes(
        f"<w:tbl><w:tr>{head}</w:tr><w:tr>{cells}</w:tr></w:tbl>" + paragraph("Wages did not."),
        footnotes=note("footnote", 2, "An estimate."),
    )
    assert read(data, "docx", tmp_path)[0] == ["Land: Chad; Price: 7", "An estimate.", "Wages did not."]


def test_a_table_within_a_table_of_word_keeps_its_own_rows(tmp_path: Path) -> None:
    def table(*rows: tuple[str, ...]) -> str:
        cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
        return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"

    inner = table((paragraph("Part"), paragraph("Sum")), (paragraph("Axle"), paragraph("3")))
    outer = table((paragraph("Land"), paragraph("Price")), (paragraph("Chad"), paragraph("7") + inner + paragraph("")))
    texts, said = read(with_notes(outer + paragraph("End.")), "docx", tmp_path)
    assert texts == ["Land: Chad; Price: 7", "Part: Axle; Sum: 3", "End."]
    assert said == {}


_SHAPE = (
    '<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><xdr:twoCellAnchor>'
    "<xdr:from><xdr:col>3</xdr:col><xdr:row>4</xdr:row></xdr:from><xdr:sp><xdr:txBody><a:p><a:r><a:t>Not </a:t></a:r>"
    "<a:r><a:t>audited</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:twoCellAnchor></xdr:wsDr>"
)


def test_boxes_of_text_on_a_sheet_stand_at_their_cell(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Land", "Price"], ["Chad", 7], ["Mali", 8]):
        sheet.append(row)
    sheet.add_chart(BarChart(), "F1")
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(io.BytesIO(saved(book))) as made, zipfile.ZipFile(path, "w") as changed:
        for name in made.namelist():
            changed.writestr(name, _SHAPE if name == "xl/drawings/drawing1.xml" else made.read(name))
    blocks: list[Block] = []
    parser_for("xlsx").parse(path, BlockWriter(blocks.append, Limits()), Limits())
    (note,) = [block for block in blocks if block.kind == BLOCK_KIND_NOTE]
    assert (note.text, note.locator.sheet.range) == ("Not audited", "D5")
