import numpy as np
import pytest
from footnote_retrieval.ranking import fusion
from hypothesis import given
from hypothesis import strategies as st

scores = st.lists(st.floats(0, 40), min_size=1, max_size=30)


@given(scores, st.floats(0, 1), st.booleans())
def test_scores_stay_between_0_and_1(lexical: list[float], weight: float, adapt: bool) -> None:
    dense = np.cos(np.array(lexical))
    fused = fusion.weighted(dense, np.array(lexical), weight, adapt=adapt)
    for values in (fused.scores, fused.dense, fused.lexical):
        assert ((values >= -1e-9) & (values <= 1 + 1e-9)).all()
    assert 0 <= fused.dense_weight <= 1


def test_the_best_of_both_channels_comes_first() -> None:
    fused = fusion.weighted(np.array([0.9, 0.5, 0.1]), np.array([12.0, 6.0, 0.0]), 0.5, adapt=True)
    assert list(np.argsort(-fused.scores)) == [0, 1, 2]
    assert fused.scores[0] == pytest.approx(1.0)


def test_weight_zero_and_one_are_the_channels_themselves() -> None:
    dense, lexical = np.array([0.2, 0.9, 0.5]), np.array([9.0, 1.0, 5.0])
    assert list(np.argsort(-fusion.weighted(dense, lexical, 0.0, adapt=True).scores)) == [0, 2, 1]
    assert list(np.argsort(-fusion.weighted(dense, lexical, 1.0, adapt=True).scores)) == [1, 2, 0]


def test_weight_leans_to_the_channel_that_is_surer() -> None:
    sure = np.array([0.9] + [0.3] * 12)
    unsure = np.linspace(0.5, 0.45, 13)
    assert fusion.adapted_weight(sure, unsure, 0.5) > 0.55
    assert fusion.adapted_weight(unsure, sure, 0.5) < 0.45
    assert fusion.adapted_weight(sure, sure, 0.3) == pytest.approx(0.3, abs=0.01)


def test_dense_gives_way_where_bm25_sees_nothing_in_its_best() -> None:
    dense = np.linspace(0.9, 0.1, 40)
    lexical = np.linspace(9.0, 1.0, 40)
    assert fusion.agreement(dense, lexical) == 1.0
    assert fusion.agreement(dense, lexical[::-1]) == pytest.approx(0.1)
    assert fusion.adapted_weight(dense, lexical[::-1], 0.5) < 0.3 < fusion.adapted_weight(dense, lexical, 0.5)


def test_few_candidates_do_not_count_as_disagreement() -> None:
    assert fusion.agreement(np.array([0.9, 0.5, 0.1]), np.array([1.0, 2.0, 3.0])) == 1.0
    assert fusion.agreement(np.linspace(1, 0, 30), np.zeros(30)) == 1.0


def test_a_fixed_weight_does_not_lean() -> None:
    sure = np.array([0.9] + [0.3] * 12)
    assert fusion.weighted(sure, np.linspace(5, 4, 13), 0.25, adapt=False).dense_weight == 0.25


def test_alike_cosines_are_not_blown_up() -> None:
    normal = fusion.normalize_dense(np.array([0.81, 0.80, 0.79]))
    assert normal.min() > 0.9


def test_cosines_that_differ_as_much_as_a_model_lets_them_are_told_apart() -> None:
    raw = np.array([0.90, 0.84, 0.78])
    assert list(fusion.normalize_dense(raw, 0.72)) == pytest.approx([1.0, 0.5, 0.0])
    assert fusion.normalize_dense(np.array([0.90, 0.895, 0.89]), 0.72).min() > 0.85


def test_the_more_a_model_is_worth_the_less_it_gives_way_where_bm25_disagrees() -> None:
    dense, lexical = np.linspace(0.9, 0.1, 40), np.linspace(1.0, 9.0, 40)
    lost = [1 - fusion.adapted_weight(dense, lexical, base) / base for base in (0.3, 0.5, 0.7, 0.9)]
    assert lost == sorted(lost, reverse=True)


def test_lexical_without_a_common_term_is_zero() -> None:
    assert list(fusion.normalize_lexical(np.array([4.0, 0.0, 2.0]))) == [1.0, 0.0, 0.5]
    assert list(fusion.normalize_lexical(np.zeros(3))) == [0.0, 0.0, 0.0]


def test_reciprocal_rank() -> None:
    fused = fusion.reciprocal_rank([1, 0, 2], [1, 2, 0], 0.5)
    assert fused[0] == pytest.approx(1.0)
    assert fused[1] == pytest.approx(fused[2])
    assert fused[0] > fused[1] > 0
