"""The built-in vectors are the same whatever was embedded before, and the same as in earlier releases."""

import numpy as np
import pytest
from footnote_providers import builtin
from footnote_providers.builtin import _Words, embed
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.text(alphabet="abcdé中文เすア9_ ", max_size=40)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No word is known yet."""
    monkeypatch.setattr(builtin, "_known", _Words())


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6))
def test_what_was_embedded_before_changes_nothing(texts: list[str], before: list[str]) -> None:
    builtin._known = _Words()
    alone = embed(texts, 64)
    embed(before, 64)
    np.testing.assert_array_equal(embed(texts, 64), alone)
    np.testing.assert_array_equal(embed([*before, *texts], 64)[len(before) :], alone)


def test_vectors_are_those_of_earlier_releases() -> None:
    # Stored vectors stay, and questions have to fall on them; written down before words were remembered.
    texts = ["Annual leave is 25 days, ten more for the Zürich office.", "员工每年享有二十五天带薪年假。", "I I am"]
    found = embed(texts, 8)
    np.testing.assert_allclose(found, EARLIER, atol=1e-6)


def test_more_words_than_are_kept_and_long_ones_are_embedded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{number} " + "x" * (number % 40) for number in range(200)]
    expected = embed(texts, 64)
    monkeypatch.setattr(builtin, "_MOST_KEPT", 50)
    for _ in range(2):
        singly = np.concatenate([embed([text], 64) for text in texts])
        np.testing.assert_array_equal(singly, expected)
    assert len(builtin._known._features) <= 50


EARLIER = [
    [-0.3980708, -0.4776850, 0.6176961, 0.0796142, 0.2058987, 0.2608050, 0.3321832, -0.0686329],
    [-0.2085144, 0.4170288, -0.6255432, 0.4170288, 0.4170288, 0.2085144, 0.0000000, 0.0000000],
    [-0.6761262, 0.5221574, -0.3993310, 0.3327758, 0.0000000, 0.0000000, 0.0000000, 0.0000000],
]
