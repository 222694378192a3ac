import pytest
from footnote.types.v1.locator_pb2 import (
    Anchor,
    LineLocator,
    Locator,
    PageLocator,
    SheetLocator,
    SlideLocator,
    TextSpan,
)
from footnote.types.v1.table_pb2 import Cell, TableCell
from footnote_text.locators import label, narrow

C12 = Locator(sheet=SheetLocator(sheet="Stocks", range="C12"))
PAGE = Locator(page=PageLocator(page=3))


@pytest.mark.parametrize(
    ("filename", "locator", "locale", "expected"),
    [
        ("handbook.pdf", PAGE, "en", "handbook.pdf, page 3"),
        ("handbook.pdf", Locator(page=PageLocator(page=3, last_page=4)), "fr", "handbook.pdf, pages 3-4"),
        ("b.pdf", Locator(page=PageLocator(page=12, label="iv")), "en", "b.pdf, page 12 (iv)"),
        ("stock.xlsx", C12, "en", "stock.xlsx, sheet 'Stocks', cell C12"),
        ("stock.xlsx", C12, "fr", "stock.xlsx, feuille 'Stocks', cellule C12"),
        ("stock.csv", Locator(sheet=SheetLocator(range="A2:C2")), "en", "stock.csv, cells A2:C2"),
        ("d.pptx", Locator(slide=SlideLocator(slide=4, title="Plan")), "fr", "d.pptx, diapositive 4 (Plan)"),
        ("guide.md", Locator(lines=LineLocator(first_line=4, last_line=9), heading_path=["Setup", "Linux"]), "en",
         "guide.md, lines 4-9 (Setup › Linux)"),
        ("a.txt", Locator(lines=LineLocator(first_line=4, last_line=4)), "fr", "a.txt, ligne 4"),
        ("a.docx", Locator(heading_path=["Setup"]), "en", "a.docx, Setup"),
        ("a.docx", Locator(), "en", "a.docx"),
    ],
)  # fmt: skip
def test_label(filename: str, locator: Locator, locale: str, expected: str) -> None:
    assert label(filename, locator, locale) == expected


@pytest.mark.parametrize(
    ("locator", "locale", "cell", "expected"),
    [
        (PAGE, "en", TableCell(row_headers=["Assets", "Cash"], column_headers=["2023"]),
         "a, page 3, row 'Assets › Cash', column '2023'"),
        (Locator(heading_path=["Wards"]), "fr", TableCell(cell=Cell(row=3, column=2)),
         "a, Wards, ligne 3, colonne 2"),
        (Locator(), "en", TableCell(row_headers=["x " * 80], column_headers=["Beds"]),
         f"a, row '{'x ' * 39}x…', column 'Beds'"),
        (C12, "en", TableCell(row_headers=["Bolt"], column_headers=["Stock"]), "a, sheet 'Stocks', cell C12"),
    ],
)  # fmt: skip
def test_a_cell_outside_of_sheets_is_named_by_its_headers(
    locator: Locator, locale: str, cell: TableCell, expected: str
) -> None:
    assert label("a", locator, locale, cell) == expected


def row() -> tuple[Locator, list[Anchor]]:
    locator = Locator(
        sheet=SheetLocator(sheet="S", range="A2:C2"), span=TextSpan(start=100, end=130), heading_path=["H"]
    )
    cells = ["A2", "B2", "C2"]
    anchors = [
        Anchor(span=TextSpan(start=10 * i, end=10 * i + 9), locator=Locator(sheet=SheetLocator(sheet="S", range=cell)))
        for i, cell in enumerate(cells)
    ]
    return locator, anchors


def test_narrow_to_one_cell_keeps_headings_and_moves_the_span() -> None:
    place = narrow(*row(), (12, 15))
    assert place.sheet.range == "B2"
    assert (place.span.start, place.span.end) == (112, 115)
    assert list(place.heading_path) == ["H"]


def test_narrow_joins_neighbouring_cells() -> None:
    assert narrow(*row(), TextSpan(start=12, end=25)).sheet.range == "B2:C2"


def test_narrow_joins_pages() -> None:
    anchors = [
        Anchor(span=TextSpan(start=0, end=5), locator=Locator(page=PageLocator(page=3))),
        Anchor(span=TextSpan(start=5, end=9), locator=Locator(page=PageLocator(page=4))),
    ]
    locator = Locator(page=PageLocator(page=3, last_page=4))
    assert narrow(locator, anchors, (1, 3)).page.last_page == 0
    both = narrow(locator, anchors, (4, 7)).page
    assert (both.page, both.last_page) == (3, 4)


def test_narrow_without_anchors_keeps_the_place() -> None:
    assert narrow(PAGE, [], (0, 4)).page.page == 3


def test_narrow_does_not_change_its_input() -> None:
    locator, anchors = row()
    before = locator.SerializeToString()
    narrow(locator, anchors, (12, 15))
    assert locator.SerializeToString() == before
