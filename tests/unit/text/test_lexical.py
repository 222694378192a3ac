import pytest
from footnote_text.lexical import fold, lexical_text, terms
from hypothesis import given
from hypothesis import strategies as st


def test_fold_unifies_case_accents_and_compatibility_forms() -> None:
    assert fold("Ｃａｆé ŒUVRE Straße Łódź") == "cafe oeuvre strasse lodz"


def test_fold_keeps_marks_that_make_other_letters() -> None:
    assert fold("がくせい") == "がくせい"
    assert fold("한국어") == "한국어"
    assert fold("हिन्दी") == "हिन्दी"


def test_english_words_are_stemmed_and_stop_words_dropped() -> None:
    assert terms("The investigations of heating were running", "en") == terms("investigation heat run", "en")


def test_possessives_and_elisions_are_split_off() -> None:
    assert terms("Einstein's theory", "en") == terms("Einstein theory", "en")
    assert terms("l’article d'une qu'elle", "fr") == terms("article", "fr")
    assert terms("dell'università", "it") == terms("università", "it")


def test_missing_accents_still_match() -> None:
    assert terms("élection présidentielle", "fr") == terms("election presidentielle", "fr")


def test_numbers_are_one_term_in_either_notation() -> None:
    assert terms("$1,577 million", "en")[0] == "1577"
    assert terms("3,5 %", "fr") == terms("3.5", "en") == ["3.5"]
    assert terms("1,234,567.89", "en") == terms("1.234.567,89", "de") == ["1234567.89"]


def test_code_with_year_is_found_by_the_year() -> None:
    assert "2019" in terms("FY2019", "en")


def test_acronyms_are_joined() -> None:
    assert terms("the U.S. economy", "en")[0] == "us"


def test_cjk_gives_bigrams_and_mixes_with_latin() -> None:
    assert terms("東京大学でBERTを", "ja") == ["東京", "京大", "大学", "学で", "bert", "を"]


def test_unknown_language_only_folds() -> None:
    assert terms("The Running", "") == ["the", "running"]


def test_nothing_but_punctuation_gives_nothing() -> None:
    assert lexical_text("?!… -- '", "en") == ""


@given(st.text(max_size=200), st.sampled_from(["", "en", "fr", "de", "zh", "xx"]))
def test_any_text_gives_terms_without_space(text: str, language: str) -> None:
    for term in terms(text, language):
        assert term
        assert term.split() == [term]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=100))
def test_upper_case_changes_nothing_for_ascii(text: str) -> None:
    ascii_text = text.encode("ascii", "ignore").decode()
    assert terms(ascii_text.upper(), "en") == terms(ascii_text.lower(), "en")


@pytest.mark.parametrize(("written", "plain", "language"), [
    ("İstanbul", "istanbul", "tr"),
    ("İZİN", "izin", ""),
    ("Росси\u0301я", "Россия", "ru"),
    ("стре\u0301ссы", "стрессы", ""),
    ("مُحَمَّد", "محمد", "ar"),
    ("العَقْدُ", "العقد", ""),
    ("محـــمد", "محمد", ""),
    ("שָׁלוֹם", "שלום", "he"),
    ("٥٠٠", "500", "ar"),
    ("١٢٫٥٪", "12.5", "fa"),
])  # fmt: skip
def test_words_with_optional_marks_and_digits_of_other_scripts_are_found(
    written: str, plain: str, language: str
) -> None:
    assert terms(f"({written})", language) == terms(written, language) == terms(plain, language)
    assert len(terms(plain, language)) == 1


def test_fold_removes_optional_marks() -> None:
    assert fold("İstanbul Росси\u0301я العَقْدُ") == "istanbul россия العقد"


def test_marks_alone_are_no_term() -> None:
    assert terms("a \u0301 ـــ \u064e b", "ar") == ["a", "b"]
