from itertools import pairwise

import pytest
from footnote_cli.render.text import WordWrapper
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len


def wrapped(pieces: list[str], width: int) -> str:
    out: list[str] = []
    wrapper = WordWrapper(out.append, width)
    for piece in pieces:
        wrapper.feed(piece)
    wrapper.finish()
    return "".join(out)


def test_lines_break_between_words() -> None:
    assert wrapped(["The quick bro", "wn fox jumps"], 10) == "The quick\nbrown fox\njumps\n"


def test_without_a_width_the_text_stays_as_it_is() -> None:
    assert wrapped(["The quick brown ", "fox"], 0) == "The quick brown fox\n"


def test_text_without_spaces_is_shown_as_it_comes() -> None:
    out: list[str] = []
    wrapper = WordWrapper(out.append, 40)
    for number, character in enumerate("従業員には年に二十七日の有給休暇がある"):
        assert len("".join(out)) >= number - 1  # one is held back: a mark after it must not begin a line
        wrapper.feed(character)


def test_lines_of_wide_characters_are_as_wide_as_the_terminal() -> None:
    lines = wrapped(["従業員には年に二十七日の有給休暇がある。 [1] より長い者もいる。[2]"], 20).splitlines()
    assert max(map(cell_len, lines)) <= 20
    assert min(map(cell_len, lines[:-1])) >= 16
    assert not [line for line in lines if line[0] in "。、」"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("漢字漢字。漢", "漢字漢\n字。漢\n"),
        ("漢字「漢字」漢", "漢字\n「漢\n字」漢\n"),
        ("漢ab字漢ab", "漢ab字\n漢ab\n"),
        ("漢字 漢字", "漢字\n漢字\n"),
        ("ab\u0301cde fg", "ab\u0301cde\nfg\n"),
        ("👩\u200d🔬" * 4, "👩\u200d🔬" * 3 + "\n👩\u200d🔬\n"),
        ("漢字漢e\u0301漢", "漢字漢\ne\u0301漢\n"),
    ],
)
def test_a_line_breaks_beside_wide_characters_but_not_at_their_marks(text: str, shown: str) -> None:
    assert wrapped([text], 6) == shown
    assert wrapped(list(text), 6) == shown


@given(
    st.text(alphabet="ab漢字。「」ー\u0301\u200d👩 \n", max_size=80),
    st.integers(5, 12),
    st.lists(st.integers(0, 80), max_size=5),
)
def test_where_the_pieces_are_cut_does_not_matter_and_no_word_is_lost(text: str, width: int, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    result = wrapped(pieces, width)
    assert result == wrapped([text], width)
    assert "".join(result.split()) == "".join(text.split())
    longest = max((cell_len(word) for word in text.split()), default=0)
    assert all(cell_len(line) <= max(width, longest) for line in result.split("\n"))
