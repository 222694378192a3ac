import random

import pytest
from footnote_text import tokens
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shared import shared_dir

SAMPLES = [
    "The quick brown fox jumps over the lazy dog, twice.",
    "Le stock de sécurité recommandé est de 200 unités pour ce produit à Évry.",
    "Die Donaudampfschifffahrtsgesellschaft wurde 1829 gegründet; Straßen und Größen.",
    "中国的首都是北京，人口超过两千万。",
    "日本の首都は東京です。ひらがなカタカナ",
    "대한민국의 수도는 서울입니다.",
    "Какая столица России? Москва — город-герой.",
    "def f(x: int) -> list[str]:\n    return [str(i) for i in range(x)]\n\n\n",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "Name: Bolt M8; Quantity: 150; Unit price: €1,234.56",
    "🙂🙃🚀 done ✅",
]


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens are counted by the shared vocabulary."""
    shared = shared_dir()
    if shared is None or not (shared / "data" / "tiktoken").is_dir():
        pytest.skip("the vocabulary cl100k_base is not beside the checkout (FOOTNOTE_SHARED names its folder)")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(shared / "data" / "tiktoken"))
    tokens._encoding.cache_clear()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """No vocabulary is at hand."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._encoding.cache_clear()


@pytest.fixture(autouse=True)
def _forget() -> object:
    """No vocabulary stays loaded after a test."""
    yield
    tokens._encoding.cache_clear()


@pytest.mark.usefixtures("offline")
def test_without_vocabulary_it_estimates_and_says_so() -> None:
    assert tokens.tokenizer_name() == "estimate"
    assert tokens.count("hello world") == 4
    assert tokens.count("") == 0


@pytest.mark.usefixtures("offline")
def test_a_damaged_vocabulary_is_not_used(tmp_path: object) -> None:
    (tmp_path / tokens._CACHE_KEY).write_bytes(b"damaged")  # type: ignore[operator]
    assert tokens.tokenizer_name() == "estimate"
    assert (tmp_path / tokens._CACHE_KEY).exists()  # type: ignore[operator]


@pytest.mark.usefixtures("exact")
def test_exact_counts() -> None:
    assert tokens.tokenizer_name() == "cl100k_base"
    assert tokens.count("hello world") == 2
    assert tokens.count("<|endoftext|>") > 1


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("text", SAMPLES)
def test_estimate_is_never_below_the_truth(text: str) -> None:
    assert tokens.count(text) <= tokens.estimate(text) <= 3 * tokens.count(text)


def number(draw: random.Random) -> str:
    """A number as tables write it."""
    value = draw.uniform(-1, 1) * 10 ** draw.randrange(8)
    written = (
        "{:.2f}",
        "{:.4f}",
        "{:,.2f}",
        "{:.0f}",
        "{:.1%}",
        "{:.3e}",
        "${:,.0f}",
        "({:.2f})",
        "€{:.2f}",
        "{:.0f} kg",
    )
    day, month, year = draw.randrange(1, 29), draw.randrange(1, 13), draw.randrange(1990, 2030)
    return draw.choice(
        [*(one.format(value) for one in written), f"{day:02}/{month:02}/{year}", f"{day % 24}:{month:02}"]
    )


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("separator", [" ", "\t", " | ", ", ", ";", "\n", "  ", "; Price: ", " ± ", "\n\t"])
def test_estimate_is_never_below_the_truth_for_rows_of_numbers(separator: str) -> None:
    import tiktoken

    encodings = [tiktoken.get_encoding(name) for name in ("cl100k_base", "o200k_base")]
    draw = random.Random(13)
    for count in (1, 2, 3, 5, 20, 200):
        for _ in range(20):
            text = separator.join(number(draw) for _ in range(count))
            for encoding in encodings:
                assert len(encoding.encode_ordinary(text)) <= tokens.estimate(text), text


@pytest.mark.usefixtures("exact")
def test_long_unbroken_runs_are_counted_quickly() -> None:
    assert tokens.count("a" * 300_000) > 1000


@settings(max_examples=50)
@given(st.text(max_size=300), st.integers(0, 60))
def test_truncation_stays_in_budget_and_is_a_beginning(text: str, budget: int) -> None:
    cut = tokens.truncate_to(text, budget)
    assert text.startswith(cut)
    assert tokens.count(cut) <= budget


def test_truncation_ends_at_a_word() -> None:
    assert tokens.truncate_to("alpha beta gamma delta epsilon", 6).split()[-1] in {"alpha", "beta", "gamma", "delta"}
