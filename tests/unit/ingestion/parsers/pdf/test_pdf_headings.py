"""Which bold lines of a PDF are headings."""

import pytest
from footnote_ingestion.parsers.pdf.headings import HeadingFinder
from footnote_ingestion.parsers.pdf.lines import Line


def line(text: str, *, bold: bool = False) -> Line:
    return Line(text, 1, 72, 500, 700, 690, 10, bold, hyphen=False)


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Consolidated Balance Sheets", True),
        ("Results for 2023", True),
        ("Item 7. Liquidity", True),
        ("Total revenues 66,608 62,286 58,158", False),
        ("Diluted loss per share ($8.30) ($7.15) ($20.88)", False),
        ("Total borrowings $ 1,204 —", False),
        ("Margin 12.5% 13.0%", False),
        ("December 31, 2022 2021", False),
    ],
)
def test_a_sum_in_bold_type_is_no_heading(text: str, heading: bool) -> None:
    body = [line("Plain text that makes up most of the page, in the same size as the rest of it.") for _ in range(20)]
    finder = HeadingFinder([*body, line(text, bold=True)], [])
    assert (finder.level(line(text, bold=True)) > 0) == heading
