import pytest
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers.base import Cosines
from footnote_retrieval.model import Candidate, Group
from footnote_retrieval.ranking.absolute_score import closeness, level, lexical_full
from hypothesis import given
from hypothesis import strategies as st
from support.chunks import make_chunk, make_hit

GROUP = Group("chunks_8", EmbeddingSettings(), (), "t")
E5 = Cosines(0.72, 0.86)
WORTH = {"parental": 3.0, "leave": 2.0, "weeks": 1.5}


def candidates(texts: list[str], cosines: list[float] | None = None) -> list[Candidate]:
    """Hits whose BM25 score is that of WORTH by the formula, each word once, all of one length."""
    made = []
    for place, text in enumerate(texts):
        score = sum(WORTH.get(word, 0.0) for word in text.split())
        hit = make_hit(make_chunk(text, ordinal=place))
        hit.lexical_text = text
        made.append(Candidate(hit, GROUP, lexical=score, lexical_rank=place + 1))
        if cosines:
            made[-1].dense = cosines[place]
    return made


TEXTS = ["parental leave weeks one two", "parental leave six seven eight", "leave weeks nine ten eleven",
         "weeks twelve thirteen some more", "parental a b c d"]  # fmt: skip


def test_the_score_of_a_full_match_follows_from_the_engines_own_scores() -> None:
    assert lexical_full(["parental", "leave", "weeks"], candidates(TEXTS)) == pytest.approx(6.5, abs=0.05)


def test_a_word_that_nobody_has_is_worth_as_much_as_the_dearest() -> None:
    assert lexical_full(["parental", "leave", "weeks", "zxqv"], candidates(TEXTS)) == pytest.approx(9.5, abs=0.05)


@pytest.mark.parametrize(
    ("query", "expected"),
    [(["parental", "leave", "weeks"], 1.0), (["parental", "leave", "weeks", "zxqv", "blorp", "fnord"], 6.5 / 15.5)],
)
def test_the_best_scores_its_share_of_a_full_match(query: list[str], expected: float) -> None:
    found = candidates(TEXTS)
    assert level(found[0], found, query, 0.0, None) == pytest.approx(expected, abs=0.01)


def test_what_is_near_to_everything_is_not_near_to_the_question() -> None:
    """In a collection of one subject nonsense has cosines like those of answers elsewhere: none of them stands out."""
    alike = candidates([f"w{n} x y z v" for n in range(20)], [0.84 + n / 1000 for n in range(20)])
    standing_out = candidates([f"w{n} x y z v" for n in range(20)], [0.78 + n / 200 for n in range(20)])
    assert level(alike[-1], alike, ["zxqv"], 1.0, E5) < 0.35
    assert level(standing_out[-1], standing_out, ["zxqv"], 1.0, E5) > 0.6


def test_of_a_model_that_tells_nothing_a_cosine_is_what_it_is() -> None:
    assert [closeness(cosine, None) for cosine in (-0.2, 0.4, 1.0)] == [0.0, 0.4, 1.0]


@given(
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.sampled_from([E5, Cosines(0.03, 0.29), Cosines(0, 0.99), None]),
)
def test_a_nearer_passage_never_scores_less(one: float, other: float, floor: float, cosines: Cosines | None) -> None:
    low, high = sorted((one, other))
    assert 0 <= closeness(low, cosines, floor) <= closeness(high, cosines, floor) <= 1


def test_without_hits_or_words_there_is_no_level() -> None:
    found = candidates(TEXTS)
    assert lexical_full([], found) == lexical_full(["parental"], []) == lexical_full(["zxqv"], found) == 0.0
