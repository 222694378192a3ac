import pytest
from footnote_text.sentences import split
from hypothesis import given
from hypothesis import strategies as st


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("See Fig. 3 for J. R. Tolkien, e.g. the map. Next.", ["See Fig. 3 for J. R. Tolkien, e.g. the map.", "Next."]),
        ("Il a dit « non. » Puis il partit.", ["Il a dit « non. »", "Puis il partit."]),
        ('He said "Stop." Then he ran.', ['He said "Stop."', "Then he ran."]),
        ("今日は晴れです。明日は雨です。", ["今日は晴れです。", "明日は雨です。"]),
        ("First\n\nSecond", ["First", "Second"]),
        ("Yahoo! announced results. Fine.", ["Yahoo! announced results.", "Fine."]),
        ("- one item\n- two items", ["- one item", "- two items"]),
        ("1. First step\n2. Second step", ["1. First step", "2. Second step"]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_split(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@given(st.text(alphabet="aA. !?\n。”)1,é", max_size=80))
def test_spans_are_ordered_and_cover_everything_but_space(text: str) -> None:
    spans = split(text)
    covered = set()
    last = 0
    for start, end in spans:
        assert last <= start < end
        last = end
        covered.update(range(start, end))
    assert all(char.isspace() for index, char in enumerate(text) if index not in covered)
