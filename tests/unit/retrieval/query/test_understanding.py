import pytest
from footnote.types.v1.collection_pb2 import SearchStrategy
from footnote.types.v1.reasons_pb2 import SearchStrategyChoice, SearchStrategyReason
from footnote_kit.printable import enum_word
from footnote_retrieval.query.understanding import choose, lexical_query, understand

AUTO = SearchStrategy.SEARCH_STRATEGY_AUTO
VECTOR, FULLTEXT, HYBRID = (
    SearchStrategy.SEARCH_STRATEGY_VECTOR,
    SearchStrategy.SEARCH_STRATEGY_FULLTEXT,
    SearchStrategy.SEARCH_STRATEGY_HYBRID,
)
LONG = "I would like to know in some detail how the company handles " + "several situations that may come up " * 6


@pytest.mark.parametrize(
    ("text", "dense_weight", "strategy", "reason"),
    [
        ('clauses with "force majeure" in them', 0.5, FULLTEXT, "QUOTED_TERMS"),
        ("clauses avec « force majeure »", 0.5, FULLTEXT, "QUOTED_TERMS"),
        ("turnover ratio", 0.5, FULLTEXT, "KEYWORDS"),
        ("invoice-2023", 0.5, FULLTEXT, "KEYWORDS"),
        ("Why?", 0.5, HYBRID, "NOTHING_SPECIAL"),
        ("what happened", 0.5, HYBRID, "NOTHING_SPECIAL"),
        ("What is the training objective of BERT?", 0.5, HYBRID, "NOTHING_SPECIAL"),
        ("日本の首都はどこですか", 0.5, HYBRID, "NOTHING_SPECIAL"),
        (LONG, 0.5, VECTOR, "LONG_QUESTION"),
        (LONG, 0.1, HYBRID, "NOTHING_SPECIAL"),
    ],
)
def test_auto(text: str, dense_weight: float, strategy: int, reason: str) -> None:
    chosen, why = choose(understand(text), AUTO, dense_weight, 40)
    assert (chosen, enum_word(SearchStrategyReason.DESCRIPTOR, why.reason)) == (strategy, reason)
    assert why.query_words == (understand(text).words if reason == "LONG_QUESTION" else 0)


def test_what_was_asked_for_is_taken() -> None:
    assert choose(understand("x"), VECTOR, 0.1, 40) == (
        VECTOR,
        SearchStrategyChoice(reason=SearchStrategyReason.SEARCH_STRATEGY_REASON_CONFIGURED),
    )


def test_phrases() -> None:
    assert understand('a "first one" and “second” and «\u00a0troisième\u00a0»').phrases == (
        "first one",
        "second",
        "troisième",
    )
    assert understand("it's Anna's 5\" pipe").phrases == ()


def test_language_of_the_request_wins_then_the_text_then_the_collections() -> None:
    assert understand("budget 2023", "de", ["fr"]).language == "de"
    assert understand("Where is the budget of the company?", "", ["fr"]).language == "en"
    assert understand("budget 2023", "", ["fr", "en"]).language == "fr"
    assert understand("12345").language == ""


def test_terms_also_in_the_languages_of_the_documents() -> None:
    query = understand("Which elections are presidential?", "en")
    plain = lexical_query(query, ["en"]).split()
    both = lexical_query(query, ["fr", "en"]).split()
    assert both[: len(plain)] == plain
    assert len(both) > len(plain)
    assert "are" not in both
    assert len(both) == len(set(both))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Give the number of parking places.", {"number", "park", "place"}),
        ("Please state the capacity in words.", {"capac", "word"}),
        ("What is the capex of 2019? Round your answer to two decimal places.", {"capex", "2019", "decim"}),
    ],
)
def test_every_sentence_of_a_question_is_searched_for(text: str, terms: set[str]) -> None:
    assert terms <= set(lexical_query(understand(text, "en")).split())


def test_abbreviations_are_searched_for_spelled_out_too() -> None:
    found = lexical_query(understand("capex of 2019", "en"), ["en"]).split()
    assert found[:2] == ["capex", "2019"]
    assert {"capit", "expenditur"} < set(found)
