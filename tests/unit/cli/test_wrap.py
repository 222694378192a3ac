from itertools import pairwise

from footnote_cli.render.text import WordWrapper
from hypothesis import given
from hypothesis import strategies as st


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


@given(st.text(alphabet="ab \n", max_size=80), st.integers(5, 12), st.lists(st.integers(0, 80), max_size=5))
def test_where_the_pieces_are_cut_does_not_matter_and_no_word_is_lost(text: str, width: int, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    result = wrapped(pieces, width)
    assert result == wrapped([text], width)
    assert result.split() == text.split()
    longest = max((len(word) for word in text.split()), default=0)
    assert all(len(line) <= max(width, longest) for line in result.split("\n"))
