"""Lists and tables shown whole end where they end, though a passage goes on with the next section."""

from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import Anchor, Locator, TextSpan
from footnote_generation.extractive.compose import draft
from support.sources_with_tables import with_tables

LINES = (
    "Guests must bring:", "a sleeping bag", "slippers", "a head torch", "Fees",
    "Guest: Adult; Per night: 28 EUR", "Guest: Child; Per night: 14 EUR", "Transport", "The bus leaves at nine.",
)  # fmt: skip


def source(*, headings: bool) -> Source:
    """A passage over three sections, whose headings its anchors tell or not."""
    text = "\n".join(LINES)
    anchors = [
        Anchor(span=TextSpan(start=text.index(name), end=len(text)), locator=Locator(heading_path=["Hut", name]))
        for name in ("Fees", "Transport")
    ]
    return with_tables(Source(number=1, text=text, title="Hut", score=0.9, anchors=anchors if headings else []))


def shown(question: str, *, headings: bool = True) -> list[str]:
    return [text for group in draft(question, [source(headings=headings)]).groups for text, _ in group]


def test_a_list_ends_before_the_next_heading() -> None:
    assert shown("List everything that guests must bring.") == list(LINES[:4])


def test_a_list_ends_before_rows_where_no_heading_is_known() -> None:
    assert shown("List everything that guests must bring.", headings=False) == list(LINES[:5])


def test_a_total_shows_the_rows_and_nothing_around_them() -> None:
    assert shown("What is the total of the fees per night for a guest?") == list(LINES[5:7])
