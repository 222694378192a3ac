from footnote_retrieval.ranking.proximity import Occurrences
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.sampled_from(["a", "aa", "b", "ab", "ba"]), max_size=12)


@given(query=WORDS, passage=WORDS)
def test_terms_are_found_where_they_stand(query: list[str], passage: list[str]) -> None:
    """Whole words only, also where the same one stands twice in a row."""
    text = " ".join(passage)
    sought = Occurrences(query)
    assert sought.terms == tuple(dict.fromkeys(query))
    begins = [len(" ".join(passage[:at])) + (at > 0) for at in range(len(passage))]
    for term, places in zip(sought.terms, sought.of(text), strict=True):
        assert places == tuple(begin for begin, word in zip(begins, passage, strict=True) if word == term)
    assert sought.of(text) is sought.of(text)
