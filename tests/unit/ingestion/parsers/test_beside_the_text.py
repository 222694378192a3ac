"""Content of documents besides running text: charts, objects, comments, alternative texts, heads and feet of pages."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_FURNITURE, Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from openpyxl.chart import BarChart, Reference
from PIL import Image
from pptx.opc.package import Part as SlidePart
from pptx.opc.packuri import PackURI as SlideURI
from support.ingestion_client import assert_spans_exact
from support.opendocument import NAMES, spreadsheet

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DRAW = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def read(data: bytes, kind: str, tmp_path: Path) -> tuple[list[str], list[str], dict[str, int]]:
    """What is searched, what is kept apart, and the warnings with their counts."""
    path = tmp_path / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for(kind).parse(path, out, Limits())
    assert_spans_exact(blocks)
    searched = [block.text for block in blocks if block.kind != BLOCK_KIND_FURNITURE]
    apart = [block.text for block in blocks if block.kind == BLOCK_KIND_FURNITURE]
    return searched, apart, {one.text: one.count for one in out.noticed.warnings()}


def saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


# Charts


def points(values: dict[int, str]) -> str:
    return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in values.items())


def series(name: str, **kinds: dict[int, str]) -> str:
    data = "".join(
        f"<c:{kind}><c:numRef><c:numCache>{points(one)}</c:numCache></c:numRef></c:{kind}>"
        for kind, one in kinds.items()
    )
    return f"<c:ser><c:tx><c:strRef><c:strCache>{points({0: name})}</c:strCache></c:strRef></c:tx>{data}</c:ser>"


def chart(title: str, *plots: str) -> str:
    titled = (
        f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>" if title else ""
    )
    return f"<c:chartSpace {C} {A}><c:chart>{titled}<c:plotArea>{''.join(plots)}</c:plotArea></c:chart></c:chartSpace>"


def word_with_chart(xml: str) -> bytes:
    document = docx.Document()
    document.add_paragraph("All prices rose.")
    kind = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
    part = Part(PackURI("/word/charts/chart1.xml"), kind, xml.encode(), document.part.package)
    known = document.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
    drawing = (
        f"<w:p {W} {R} {C} {A}><w:r><w:drawing><a:graphic><a:graphicData><c:chart r:id='{known}'/></a:graphicData>"
        "</a:graphic></w:drawing></w:r></w:p>"
    )
    document.element.body.insert(1, parse_xml(drawing))
    return saved(document)


def test_charts_of_word_are_tables_of_their_values(tmp_path: Path) -> None:
    lands = {0: "Chad", 1: "Peru"}
    bars = series("2023", cat=lands, val={0: "7.1000000000000005", 1: "9"}) + series("2024", cat=lands, val={1: "10"})
    xml = chart("Prices by land", f"<c:barChart>{bars}</c:barChart>")
    texts, _, said = read(word_with_chart(xml), "docx", tmp_path)
    assert texts == [
        "All prices rose.", "Prices by land",
        "Category: Chad; 2023: 7.1", "Category: Peru; 2023: 9; 2024: 10",
    ]  # fmt: skip
    assert said == {}


@pytest.mark.parametrize(("epoch", "serial"), [("", 45292), ("<c:date1904 val='1'/>", 43830)])
def test_values_of_charts_are_shown_in_their_formats(epoch: str, serial: int, tmp_path: Path) -> None:
    def formatted(xml: str, *codes: str) -> str:
        first, *rest = xml.split("<c:numCache>")
        return first + "".join(
            f"<c:numCache><c:formatCode>{code}</c:formatCode>{one}" for code, one in zip(codes, rest, strict=True)
        )

    days = {0: str(serial), 1: str(serial + 31)}
    line = formatted(series("Share", cat=days, val={0: "0.25", 1: "0.305"}), "mmm\\-yy", "0.0%")
    euros = series("Price", cat=days, val={0: "1577.5", 1: "3"})
    euros = formatted(euros, "m/d/yyyy", "#,##0.00&quot; EUR&quot;")
    xml = chart("", f"<c:lineChart>{line}</c:lineChart>", f"<c:barChart>{euros}</c:barChart>")
    xml = xml.replace("<c:chart>", f"{epoch}<c:chart>")
    assert read(word_with_chart(xml), "docx", tmp_path)[0] == [
        "All prices rose.",
        "Category: 2024-01-01; Share: 25.0%",
        "Category: 2024-02-01; Share: 30.5%",
        "Category: 2024-01-01; Price: 1577.50 EUR",
        "Category: 2024-02-01; Price: 3.00 EUR",
    ]


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("[h]:mm", "1.5", "1.5"), ("[mm]", "1.5", "1.5"), ("0.0\\ m", "1.5", "1.5"),
        ("[Red]d.m.yy", "1.5", "1899-12-31"),
        ("m/d/yy h:mm", "45292.5", "2024-01-01 12:00"), ("dd.mm.yyyy hh:mm:ss", "45292.00001", "2024-01-01 00:00:01"),
        ("m/d/yy", "45291.9999999999", "2024-01-01"), ("m/d/yy;@", "45292.5", "2024-01-01"),
    ],
)  # fmt: skip
def test_durations_and_units_of_charts_are_no_days_and_times_stay(
    code: str, value: str, shown: str, tmp_path: Path
) -> None:
    hours = series("Load", cat={0: value}, val={0: "5"})
    hours = hours.replace("<c:numCache>", f"<c:numCache><c:formatCode>{code}</c:formatCode>", 1)
    texts, _, _ = read(word_with_chart(chart("", f"<c:lineChart>{hours}</c:lineChart>")), "docx", tmp_path)
    assert texts[1:] == [f"Category: {shown}; Load: 5"]


def test_points_of_two_measures_in_word_are_rows(tmp_path: Path) -> None:
    cloud = series("Wage", xVal={0: "1", 1: "2"}, yVal={0: "30", 1: "41.5"})
    texts, _, _ = read(word_with_chart(chart("", f"<c:scatterChart>{cloud}</c:scatterChart>")), "docx", tmp_path)
    assert texts == ["All prices rose.", "X: 1; Wage: 30", "X: 2; Wage: 41.5"]


def axes(*titles: str) -> tuple[str, str]:
    """What a plot says of its axes, and the axes."""
    said = "".join(f"<c:axId val='{at}'/>" for at in range(len(titles)))
    text = "<c:title><c:tx><c:rich><a:p><a:r><a:t>{}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    return said, "".join(f"<c:valAx><c:axId val='{at}'/>{text.format(one)}</c:valAx>" for at, one in enumerate(titles))


def test_the_axes_of_a_chart_name_its_columns_and_units(tmp_path: Path) -> None:
    said, shown = axes("Year", "EUR million")
    bars = f"<c:barChart>{series('Revenue', cat={0: 'A', 1: 'B'}, val={0: '1.5', 1: '2'})}{said}</c:barChart>{shown}"
    path = tmp_path / "a.docx"
    path.write_bytes(word_with_chart(chart("", bars)))
    blocks: list[Block] = []
    parser_for("docx").parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [one.text for one in blocks[1:]] == ["EUR million", "Year: A; Revenue: 1.5", "Year: B; Revenue: 2"]
    (measure,) = (column.measure for column in blocks[2].table_part.columns if column.headers[-1] == "Revenue")
    assert (measure.currency, measure.scale) == ("EUR", 6)
    said, shown = axes("Travel (mm)", "Load (kN)")
    cloud = series("A", xVal={0: "1.2"}, yVal={0: "3.4"}, bubbleSize={0: "7"})
    bubbles = chart("", f"<c:bubbleChart>{cloud}{said}</c:bubbleChart>{shown}")
    texts, _, _ = read(word_with_chart(bubbles), "docx", tmp_path)
    assert texts[1:] == ["Travel (mm): 1.2; A, Load (kN): 3.4; Size: 7"]


def test_outer_names_of_categories_are_in_each_row(tmp_path: Path) -> None:
    levels = f"<c:lvl>{points({0: 'Q1', 1: 'Q2', 3: 'Q1'})}</c:lvl><c:lvl>{points({0: '2022', 3: '2023'})}</c:lvl>"
    names = f"<c:cat><c:multiLvlStrRef><c:multiLvlStrCache>{levels}</c:multiLvlStrCache></c:multiLvlStrRef></c:cat>"
    bars = series("Units", val={0: "1", 1: "2", 3: "3"}).replace("<c:val>", f"{names}<c:val>")
    texts, _, _ = read(word_with_chart(chart("", f"<c:barChart>{bars}</c:barChart>")), "docx", tmp_path)
    assert [one.removeprefix("Category: ") for one in texts[1:]] == [
        "2022 › Q1; Units: 1", "2022 › Q2; Units: 2", "2023 › Q1; Units: 3",
    ]  # fmt: skip


def test_a_chart_that_claims_a_billion_points_has_those_that_are_there(tmp_path: Path) -> None:
    line = series("Wage", val={0: "1", 999_999_999: "2"})
    texts, _, _ = read(word_with_chart(chart("", f"<c:lineChart>{line}</c:lineChart>")), "docx", tmp_path)
    assert texts == ["All prices rose.", "Wage: 1"]


def test_a_damaged_chart_of_word_is_said(tmp_path: Path) -> None:
    texts, _, said = read(word_with_chart("<c:chartSpace"), "docx", tmp_path)
    assert (texts, said) == (["All prices rose."], {"1 charts could not be read": 1})


def on_sheet(cell: str) -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for row in (("Land", "Price"), ("Chad", 7), ("Peru", 9)):
        book.active.append(row)
    drawn = BarChart()
    drawn.add_data(Reference(book.active, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    book.active.add_chart(drawn, cell)
    return saved(book)


def test_charts_on_sheets_of_excel_are_said(tmp_path: Path) -> None:
    texts, _, said = read(on_sheet("D2"), "xlsx", tmp_path)
    assert texts == ["Land: Chad; Price: 7", "Land: Peru; Price: 9"]
    assert said == {"1 charts and embedded objects on sheets are not read": 1}


@pytest.mark.parametrize("kind", ["object", "object-ole"])
def test_charts_and_objects_on_sheets_of_opendocument_are_said(kind: str, tmp_path: Path) -> None:
    frame = f"<draw:frame {DRAW}><draw:{kind}/></draw:frame>"
    cells = "".join(
        f'<table:table-row><table:table-cell office:value-type="string"><text:p>{one}</text:p>{frame}'
        "</table:table-cell></table:table-row>"
        for one in ("Land", "Chad")
    )
    tables = f'<table:table table:name="Prices"><table:shapes>{frame}</table:shapes>{cells}</table:table>'
    path = spreadsheet(tmp_path / "made.ods", tables)
    assert read(path.read_bytes(), "ods", tmp_path)[2] == {"3 charts and embedded objects on sheets are not read": 3}


def test_objects_in_word_are_said(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("All prices rose.")
    office = 'xmlns:o="urn:schemas-microsoft-com:office:office"'
    document.element.body.insert(
        1, parse_xml(f"<w:p {W}><w:r><w:object><o:OLEObject {office} ProgID='Excel.Sheet.12'/></w:object></w:r></w:p>")
    )
    assert read(saved(document), "docx", tmp_path)[2] == {"1 embedded objects are not read": 1}


# Slides


def slides(change: Callable[[pptx.presentation.Presentation], None]) -> bytes:
    show = pptx.Presentation()
    show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = "Prices"
    change(show)
    return saved(show)


def with_comments(xml: str) -> bytes:
    def change(show: pptx.presentation.Presentation) -> None:
        slide = show.slides[0].part
        part = SlidePart(SlideURI("/ppt/comments/comment1.xml"), "application/xml", slide.package, xml.encode())
        slide.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments")

    return slides(change)


def test_comments_on_slides_are_kept(tmp_path: Path) -> None:
    p = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    old = f"<p:cmLst {p}><p:cm authorId='0' idx='1'><p:text>Not in Peru.</p:text></p:cm></p:cmLst>"
    assert read(with_comments(old), "pptx", tmp_path)[0] == ["Prices", "Comment: Not in Peru."]


def test_threads_on_slides_are_kept_with_their_answers(tmp_path: Path) -> None:
    def body(text: str) -> str:
        return f"<m:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></m:txBody>"

    m = f'xmlns:m="http://schemas.microsoft.com/office/powerpoint/2018/8/main" {A}'
    replies = f"<m:replyLst><m:reply>{body('Nor in Chad.')}</m:reply></m:replyLst>"
    thread = f"<m:cmLst {m}><m:cm>{replies}{body('Not in Peru.')}</m:cm></m:cmLst>"
    assert read(with_comments(thread), "pptx", tmp_path)[0] == [
        "Prices", "Comment: Not in Peru.", "Comment: Nor in Chad.",
    ]  # fmt: skip


def test_damaged_comments_on_slides_are_said(tmp_path: Path) -> None:
    assert read(with_comments("<p:cmLst"), "pptx", tmp_path)[2] == {"1 parts with comments could not be read": 1}


def test_alternative_texts_on_slides_are_kept(tmp_path: Path) -> None:
    def change(show: pptx.presentation.Presentation) -> None:
        picture = io.BytesIO()
        Image.new("RGB", (9, 9), "red").save(picture, "PNG")
        shape = show.slides[0].shapes.add_picture(picture, 0, 0)
        shape._element.nvPicPr.cNvPr.set("descr", "Prices rise to the right")

    assert read(slides(change), "pptx", tmp_path)[0] == ["Prices", "Prices rise to the right"]


def test_names_that_powerpoint_gives_pictures_are_no_text(tmp_path: Path) -> None:
    def change(show: pptx.presentation.Presentation) -> None:
        picture = io.BytesIO()
        Image.new("RGB", (9, 9), "red").save(picture, "PNG")
        show.slides[0].shapes.add_picture(picture, 0, 0)

    assert read(slides(change), "pptx", tmp_path)[0] == ["Prices"]


# OpenDocument texts and slides


def opendocument(body: str, styles: str = "") -> bytes:
    made = io.BytesIO()
    presentation = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    with zipfile.ZipFile(made, "w") as package:
        inside = f"<office:body>{body}</office:body>"
        names = f"{NAMES} {DRAW} {presentation}"
        package.writestr("content.xml", f"<office:document-content {names}>{inside}</office:document-content>")
        if styles:
            masters = f"<office:master-styles><style:master-page>{styles}</style:master-page></office:master-styles>"
            package.writestr("styles.xml", f"<office:document-styles {NAMES}>{masters}</office:document-styles>")
    return made.getvalue()


REMARK = (
    "<office:annotation><dc:creator>Ann</dc:creator><text:p>Not in</text:p><text:p>Peru.</text:p></office:annotation>"
)


def test_comments_of_opendocument_stand_behind_their_paragraph(tmp_path: Path) -> None:
    body = f"<office:text><text:p>All prices{REMARK} rose.</text:p><text:p>Wages did not.</text:p></office:text>"
    texts, _, said = read(opendocument(body), "odt", tmp_path)
    assert texts == ["All prices rose.", "Comment by Ann: Not in Peru.", "Wages did not."]
    assert said == {}


def test_notes_and_comments_in_tables_of_opendocument_stand_behind_these(tmp_path: Path) -> None:
    said = "<text:note-body><text:p>Estimated.</text:p></text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{said}</text:note>"

    def row(*cells: str) -> str:
        made = "".join(f"<table:table-cell><text:p>{one}</text:p></table:table-cell>" for one in cells)
        return f"<table:table-row>{made}</table:table-row>"

    table = f"<table:table>{row('Land', 'Price')}{row('Chad' + REMARK, '7' + note)}</table:table>"
    texts, _, _ = read(opendocument(f"<office:text>{table}</office:text>"), "odt", tmp_path)
    assert texts == ["Land: Chad; Price: 7", "Comment by Ann: Not in Peru.", "Estimated."]


def test_comments_on_slides_of_opendocument_are_kept(tmp_path: Path) -> None:
    box = "<draw:frame><draw:text-box><text:p>All prices rose.</text:p></draw:text-box></draw:frame>"
    body = f"<office:presentation><draw:page>{box}{REMARK}</draw:page></office:presentation>"
    assert read(opendocument(body), "odp", tmp_path)[0] == ["All prices rose.", "Comment by Ann: Not in Peru."]


def test_headers_and_footers_of_opendocument_are_kept_apart(tmp_path: Path) -> None:
    margins = (
        "<style:header><text:p>Secret</text:p></style:header><style:footer><text:p>Page 1</text:p></style:footer>"
        "<style:footer-left><text:p>Page 1</text:p></style:footer-left>"
    )
    body = "<office:text><text:p>All prices rose.</text:p></office:text>"
    assert read(opendocument(body, margins), "odt", tmp_path) == (
        ["All prices rose."], ["Secret", "Page 1"], {"2 headers and footers are kept apart and not searched": 2},
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["object", "object-ole"])
def test_objects_of_opendocument_are_said(kind: str, tmp_path: Path) -> None:
    frame = f"<draw:frame><draw:{kind}/></draw:frame>"
    text = f"<office:text><text:p>All prices rose.{frame}</text:p></office:text>"
    assert read(opendocument(text), "odt", tmp_path)[2] == {"1 charts and embedded objects are not read": 1}
    show = f"<office:presentation><draw:page>{frame}<text:p>Prices</text:p></draw:page></office:presentation>"
    assert read(opendocument(show), "odp", tmp_path)[2] == {"1 charts and embedded objects are not read": 1}


def test_deleted_text_of_opendocument_is_said(tmp_path: Path) -> None:
    gone = "<text:changed-region><text:deletion><text:p>Gone.</text:p></text:deletion></text:changed-region>"
    changes = f"<text:tracked-changes>{gone}</text:tracked-changes>"
    body = f"<office:text>{changes}<text:p>All prices rose.</text:p></office:text>"
    texts, _, said = read(opendocument(body), "odt", tmp_path)
    assert texts == ["All prices rose."]
    assert said == {"1 tracked deletions are read as if they were accepted": 1}
