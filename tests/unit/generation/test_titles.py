"""Titles cut from a first message."""

import pytest
from footnote_generation.answering.side_calls import LONGEST, short_title


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("What is the refund policy?", "What is the refund policy"),
        ("Bonjour, pouvez-vous me dire combien de congés j'ai ?", "Combien de congés j'ai"),
        ("Hello! Could you please tell me about the X200 pump. It is broken.", "The X200 pump"),
        ("???", "New conversation"),
    ],
)
def test_titles(message: str, title: str) -> None:
    assert short_title(message) == title


def test_long_messages_are_cut_at_a_word() -> None:
    title = short_title("word " * 100)
    assert len(title) <= LONGEST
    assert title.endswith("word…")
    assert "\n" not in short_title("two\nlines")
