"""Addresses of footnotes: a text fragment that a browser finds on the page."""

import pytest
from footnote.types.v1.document_pb2 import DocumentOrigin
from footnote_kit.origins import leading_to

PAGE = "https://docs.example.org/guide"
LONG = "The relief valve opens at 7.5 bar, and it is replaced every five years by a fitter of the house."


@pytest.mark.parametrize(
    ("quote", "fragment"),
    [
        ("A certificate is renewed.", "A%20certificate%20is%20renewed."),
        # A heading and its sentence are two elements of the page, which no fragment spans.
        ("Renewing\nA certificate is renewed.", "A%20certificate%20is%20renewed."),
        ("Note:\n\n  well-known, that  \n", "well%2Dknown%2C%20that"),
        (LONG, "The%20relief%20valve%20opens,fitter%20of%20the%20house."),
    ],
)
def test_a_footnote_leads_to_the_quoted_words(quote: str, fragment: str) -> None:
    assert leading_to(DocumentOrigin(kind="web", address=PAGE), quote).address == f"{PAGE}#:~:text={fragment}"


@pytest.mark.parametrize(
    ("origin", "quote"),
    [
        (DocumentOrigin(kind="web", address=PAGE), ""),
        (DocumentOrigin(kind="git", address=f"{PAGE}/blob/1/a.md"), "A certificate is renewed."),
        (DocumentOrigin(kind="web", address="mid:1@example.org"), "A certificate is renewed."),
    ],
)
def test_other_origins_stay_as_they_are(origin: DocumentOrigin, quote: str) -> None:
    assert leading_to(origin, quote) == origin
