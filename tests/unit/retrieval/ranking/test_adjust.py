import pytest
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE, SCORE_ADJUSTMENT_KIND_PROXIMITY
from footnote_kit.degradations import word
from footnote_retrieval.model import Candidate, Group
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.ranking import adjust
from footnote_retrieval.ranking.adjust import guarantee_files
from footnote_retrieval.ranking.proximity import MOST, STRENGTH, Proximity
from footnote_retrieval.ranking.repetitions import without_repetitions
from footnote_retrieval.ranking.scored import readable
from footnote_text.lexical import lexical_text, terms
from support.chunks import make_chunk, make_hit

GROUP = Group("chunks_8", EmbeddingSettings(), (), "t")
NOW = 1_800_000_000.0
DAY = 86_400


def candidate(text: str, score: float, document_id: str = "d", age_days: float = 0.0, ordinal: int = 0) -> Candidate:
    chunk = make_chunk(text, document_id=document_id, ordinal=ordinal, created=int(NOW - age_days * DAY))
    return Candidate(make_hit(chunk), GROUP, score=score)


def test_newer_passes_older_of_nearly_equal_score_only() -> None:
    old, new, best = candidate("old", 0.501, age_days=300), candidate("new", 0.5), candidate("best", 0.9, age_days=300)
    candidates = [best, old, new]
    adjust.apply_recency(candidates, 0.02, 30 * DAY, NOW)
    adjust.order(candidates)
    assert candidates == [best, new, old]
    assert all(0 <= c.score <= 1 for c in candidates)
    assert new.adjustments[0].delta > old.adjustments[0].delta


def test_recency_halves_with_the_half_life() -> None:
    fresh, month = candidate("a", 0.0), candidate("b", 0.0, age_days=30)
    adjust.apply_recency([fresh, month], 0.5, 30 * DAY, NOW)
    assert month.score == pytest.approx(fresh.score / 2)


def test_recency_off() -> None:
    one = candidate("a", 0.4)
    adjust.apply_recency([one], 0.0, DAY, NOW)
    assert (one.score, one.adjustments) == (0.4, [])


def test_equal_scores_go_by_date_then_by_place() -> None:
    second, first, newer = (
        candidate("b", 0.5, ordinal=2, age_days=1),
        candidate("a", 0.5, age_days=1),
        candidate("c", 0.5),
    )
    candidates = [second, first, newer]
    adjust.order(candidates)
    assert candidates == [newer, first, second]


LONG = "the warranty of this machine covers every part for two years from the day of delivery to its first owner"


def test_repetitions_leave_their_place_to_others() -> None:
    kept = without_repetitions(
        [candidate(LONG, 0.9, "a"), candidate(LONG + "!", 0.8, "b"), candidate("something else", 0.7, "c")], 2, 0.9
    )
    assert [c.hit.chunk.document_id for c in kept] == ["a", "c"]
    assert kept[0].adjustments[0].kind == SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE
    assert [hit.document_id for hit in kept[0].repetitions] == ["b"]


def test_a_file_that_is_named_repeats_no_other_named_one() -> None:
    files = [NamedFile("a.pdf", ("a",)), NamedFile("b.pdf", ("b",))]
    candidates = [candidate(LONG, 0.9, one) for one in "abc"]
    assert [c.hit.document_id for c in without_repetitions(candidates, 5, 0.9, files)] == ["a", "b", "c"]


def test_short_passages_repeat_only_when_equal() -> None:
    candidates = [candidate(text, 0.5, text[-1]) for text in ("price of part A", "price of part B", "price of part A")]
    assert len(without_repetitions(candidates, 5, 0.9)) == 2


def test_both_named_files_are_among_the_first() -> None:
    ranked = [candidate(f"x{i}", 0.9 - i / 100, "a", ordinal=i) for i in range(5)] + [candidate("y", 0.1, "b")]
    files = [NamedFile("a.pdf", ("a",)), NamedFile("b.pdf", ("b",))]
    result = guarantee_files(ranked, files, 3)
    assert [c.hit.chunk.document_id for c in result[:3]] == ["a", "a", "b"]
    assert len(result) == 6
    assert guarantee_files(ranked, files[:1], 3) is ranked


def test_words_together_count_more_than_words_apart() -> None:
    proximity = Proximity(terms("safety stock of bolts", "en"))
    together = proximity(lexical_text("the safety stock of bolts is 150", "en"))
    apart = proximity(lexical_text("bolts are kept for safety in a shed far from the other and older stock", "en"))
    assert MOST >= together > apart > proximity(lexical_text("parental leave", "en")) == 0.0


def test_proximity_keeps_scores_in_range_and_says_so() -> None:
    candidates = [candidate("safety stock of bolts", 1.0), candidate("bolts", 0.9)]
    adjust.apply_proximity(candidates, terms("safety stock bolts", "en"))
    assert 1 >= candidates[0].score > candidates[1].score > 0
    assert candidates[0].adjustments[0].kind == SCORE_ADJUSTMENT_KIND_PROXIMITY


def test_proximity_counts_less_where_the_dense_channel_has_the_weight() -> None:
    lexical, dense = candidate("safety stock of bolts", 0.5), candidate("safety stock of bolts", 0.5, ordinal=1)
    dense.dense_weight = 0.7
    adjust.apply_proximity([lexical, dense], terms("safety stock bolts", "en"))
    assert lexical.score > dense.score > 0.5 / (1 + STRENGTH * MOST)


def test_one_word_stands_with_nothing() -> None:
    one = candidate("bolts", 0.5)
    adjust.apply_proximity([one], ["bolt"])
    assert one.adjustments == []


def test_a_damaged_row_is_left_out_and_reported() -> None:
    good, damaged = candidate("a", 0.9), candidate("b", 0.8, ordinal=1)
    damaged.hit.extra = "no base64 of a chunk"
    degradations: list[Degradation] = []
    assert readable([damaged, good], degradations) == [good]
    assert [word(entry) for entry in degradations] == ["STORE_UNAVAILABLE"]
    assert damaged.hit.id in degradations[0].detail


@pytest.mark.parametrize("apart", [0.0, 1e-10, 4e-10, 1.5e-9, 3e-9])
@pytest.mark.parametrize("start", [0.5, 0.1 + 0.2, 1 / 3])
def test_order_is_by_rounded_scores_then_newest(start: float, apart: float) -> None:
    better = [candidate("", 0.9 - number / 10, "a", ordinal=number) for number in range(3)]
    newer, older = candidate("", start, "b"), candidate("", start + apart, "c", age_days=1.0)
    candidates = [newer, *better, older]
    expected = sorted(candidates, key=lambda c: (-round(c.score, 9), -c.hit.created_at, c.hit.id))
    adjust.order(candidates)
    assert [one.hit.id for one in candidates] == [one.hit.id for one in expected]
