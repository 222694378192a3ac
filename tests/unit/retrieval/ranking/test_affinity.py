import random
from itertools import pairwise, permutations

import pytest
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF
from footnote_retrieval.model import Candidate, Group
from footnote_retrieval.query.files import FileNames
from footnote_retrieval.ranking.affinity import affinities, apply_affinity
from support.chunks import make_chunk, make_hit

FILINGS = {
    "b18": "BOEING_2018_10K.pdf",
    "b22": "BOEING_2022_10K.pdf",
    "l22": "LOCKHEEDMARTIN_2022_10K.pdf",
    "u23": "ULTABEAUTY_2023Q4_EARNINGS.pdf",
}


def best(query: str) -> str:
    found = affinities(query, "en", FileNames(FILINGS))
    return max(found, key=lambda document: found[document]) if found else ""


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("How does Boeing's effective tax rate in FY2022 compare to the year before?", "b22"),
        ("What was Boeing's revenue in 2018?", "b18"),
        ("What drove Ulta Beauty's inventories?", "u23"),
        ("Who are the customers of Lockheed Martin?", "l22"),
        ("Who signed the report?", ""),
    ],
)
def test_the_file_that_the_question_speaks_of_stands_out(query: str, document: str) -> None:
    assert best(query) == document


def test_a_company_with_its_year_outweighs_the_company_in_another_year() -> None:
    found = affinities("How does Boeing's tax rate in FY2022 compare to FY2021?", "en", FileNames(FILINGS))
    assert found["b22"] == pytest.approx(found["b18"] + found["l22"])
    assert found["b22"] > found["b18"] == found["l22"] > 0


def test_a_word_that_every_name_shares_tells_nothing() -> None:
    files = {"a": "report_north.pdf", "b": "report_south.pdf"}
    assert affinities("What does the report say?", "en", FileNames(files)) == {}
    assert affinities("What does the northern report say about the north?", "en", FileNames(files)) == {"a": 1.0}


def test_one_file_has_nothing_to_be_told_apart_from() -> None:
    assert affinities("What is in the handbook?", "en", FileNames({"a": "handbook.pdf"})) == {}


def test_copies_of_one_file_share_its_affinity() -> None:
    files = {"a": "bert.pdf", "b": "bert.pdf", "c": "llama.pdf"}
    assert affinities("What is BERT trained on?", "en", FileNames(files)) == {"a": 1.0, "b": 1.0}


def test_a_short_number_alone_speaks_of_no_file() -> None:
    files = FileNames({"a": "2.md", "b": "7.md", "c": "chapter 2.pdf", "d": "chapter 7.pdf"})
    assert affinities("What happens at Mach 2?", "en", files) == {}
    found = affinities("What does chapter 2 say?", "en", files)
    assert found["c"] > found["d"]


def test_accents_and_case_do_not_matter() -> None:
    assert affinities("Que dit le rapport SECURITE ?", "fr", FileNames({"a": "sécurité.pdf", "b": "stock.xlsx"})) == {
        "a": 1.0
    }


def test_scores_lean_to_the_document_and_stay_within_bounds() -> None:
    group = Group(space="s", embedding=EmbeddingSettings(), members=(), tenant_id="t")
    near, far = (
        Candidate(hit=make_hit(make_chunk("x", document_id=name), score), group=group, score=score)
        for name, score in (("a", 0.9), ("b", 1.0))
    )
    apply_affinity([near, far], {"a": 1.0}, 0.3)
    assert 1.0 >= near.score > far.score
    assert [adjustment.kind for adjustment in near.adjustments] == [SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF]


@pytest.mark.parametrize("weight", [0.05, 0.15, 0.3, 1.0])
@pytest.mark.parametrize("most", [1.0, 2.5])
def test_a_clearly_better_passage_is_never_passed(weight: float, most: float) -> None:
    group = Group(space="s", embedding=EmbeddingSettings(), members=(), tenant_id="t")
    rng = random.Random(7)
    for _ in range(200):
        scores = [rng.random() for _ in range(8)]
        candidates = [
            Candidate(hit=make_hit(make_chunk("x", document_id=f"d{n}"), s), group=group, score=s)
            for n, s in enumerate(scores)
        ]
        apply_affinity(candidates, {f"d{n}": most * rng.random() for n in range(0, 8, 2)} | {"d6": most}, weight)
        for (before, one), (other_before, other) in permutations(zip(scores, candidates, strict=True), 2):
            assert 0 <= one.score <= 1
            assert one.score >= before / (1 + weight) - 1e-9
            assert 0 <= one.adjustments[0].basis <= 1
            if before > other_before * (1 + weight * most) + 1e-9:
                assert one.score > other.score


@pytest.mark.parametrize("weight", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("most", [1.0, 2.5, 20.0])
def test_other_documents_fall_by_the_weight_however_many_words_a_name_shares(weight: float, most: float) -> None:
    group = Group(space="s", embedding=EmbeddingSettings(), members=(), tenant_id="t")
    other, named = (
        Candidate(hit=make_hit(make_chunk("x", document_id=name), 0.8), group=group, score=0.8) for name in "ab"
    )
    apply_affinity([other, named], {"b": most / 2, "without a candidate": most}, weight)
    assert other.score == pytest.approx(0.8 / (1 + weight))
    assert named.score > other.score


def test_scores_that_names_raise_keep_their_order_up_to_the_best() -> None:
    group = Group(space="s", embedding=EmbeddingSettings(), members=(), tenant_id="t")
    given = [(share, score) for share in (0.0, 0.5, 1.0, 1.8, 4.0) for score in (0.1, 0.4, 0.7, 0.9, 1.0)]
    candidates = [
        Candidate(hit=make_hit(make_chunk("x", document_id=f"d{share}"), score), group=group, score=score)
        for share, score in given
    ]
    apply_affinity(candidates, {f"d{share}": share for share, _ in given}, 0.3)
    raised = {score * (1 + 0.3 * share): one.score for (share, score), one in zip(given, candidates, strict=True)}
    ordered = [raised[key] for key in sorted(raised)]
    assert all(worse < better for worse, better in pairwise(ordered)), ordered
    assert ordered[-1] < 1


def test_a_passage_that_says_nothing_of_the_matter_gains_nothing_by_its_name() -> None:
    group = Group(space="s", embedding=EmbeddingSettings(), members=(), tenant_id="t")
    candidate = Candidate(hit=make_hit(make_chunk("x", document_id="a"), 0.0), group=group, score=0.0)
    apply_affinity([candidate], {"a": 1.0}, 1.0)
    assert candidate.score == 0.0
