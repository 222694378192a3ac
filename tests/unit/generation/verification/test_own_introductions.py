"""An answer's own words above a list may turn its items, so what confirms an item alone is then not enough."""

import re

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED, Source
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment

SHOP = "# Delivery\n\nFurniture costs 45 EUR. Returns are sent by post.\n\nThe policy covers:\n- Damage by fire.\n"
LADEN = "Die Lieferung kostet 45 EUR. Rückgaben kommen per Post."


def supported(source: str, answer: str, question: str = "What does delivery of furniture cost?") -> bool:
    """Return whether the last statement of an answer is supported."""
    markers = [PlacedMarker(found.start(), found.end(), 1) for found in re.finditer(r"\[1\]", answer)]
    sources = {1: Source(number=1, filename="shop.md", title="Norway", text=source)}
    checker = Checker(sources, "en", question=question)
    return checker.check_by_rules(segment(answer, markers))[-1].claim.support == VERDICT_SUPPORTED


@pytest.mark.parametrize(
    "lead",
    ["The following is not true:", "For members only:", "**Not possible:**", "Until 2010:", "No furniture:", "不对："],
)
@pytest.mark.parametrize("mark", ["-", "1."])
def test_an_introduction_that_may_turn_an_item_leaves_it_unconfirmed(lead: str, mark: str) -> None:
    assert not supported(SHOP, f"{lead}\n\n{mark} Furniture costs 45 EUR [1].\n")
    assert not supported(LADEN, f"{lead}\n\n{mark} Die Lieferung kostet 45 EUR [1].\n")


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("The cost of the delivery:\n- Furniture costs 45 EUR [1].", "What does delivery of furniture cost?"),
        ("Here is the information from the document:\n- Furniture costs 45 EUR [1].", ""),
        ("In Norway:\n- Furniture costs 45 EUR [1].", ""),
        ("The policy covers:\n- Damage by fire [1].", ""),
        ("- Furniture costs 45 EUR [1].", ""),
        ("Furniture costs 45 EUR [1].", ""),
    ],
)
def test_one_that_adds_nothing_leaves_an_item_confirmed(answer: str, question: str) -> None:
    assert supported(SHOP, answer, question)
