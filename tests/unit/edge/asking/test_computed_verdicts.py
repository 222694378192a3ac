"""Verdicts of computed answers: what a statement leaves open is said, and never SUPPORTED."""

from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import BASIS_COMPUTED, VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED
from footnote.types.v1.table_pb2 import ComputedCells, TableComputation
from footnote_edge.asking.computed import answer_of

CHUNKS = [ScoredChunk(chunk=Chunk(id="c", document_id="d", filename="a.csv", document_type="csv"))]


def computed(**more: object) -> TableComputation:
    cells = ComputedCells(document_id="d", filename="a.csv", table=1, column="Units", ranges=["B2:B9"], count=8)
    query = 'SELECT SUM("Units") FROM t_d_1'
    return TableComputation(
        text="Sum of Units: 4", query=query, document_ids=["d"], cells=[cells], confirmed=True, **more
    )  # type: ignore[arg-type]


def test_doubts_are_said_and_not_confirmed() -> None:
    answer, _ = answer_of(computed(doubts=["Left out: margin."], model="m"), [], CHUNKS, "en")
    assert (answer.claims[0].support, answer.claims[0].basis) == (VERDICT_NOT_CONFIRMED, BASIS_COMPUTED)
    assert all(one.support == VERDICT_NOT_CONFIRMED for one in answer.citations)
    assert "Left out: margin." in answer.text
    assert (answer.reliability.claims_supported, answer.reliability.claims_computed) == (0.0, 0)
    assert answer.model == "m"


def test_without_doubts_it_is_supported_and_says_how_it_was_computed() -> None:
    answer, _ = answer_of(computed(), [], CHUNKS, "en")
    assert (answer.claims[0].support, answer.claims[0].basis) == (VERDICT_SUPPORTED, BASIS_COMPUTED)
    assert (answer.computation.query, list(answer.computation.document_ids)) == (
        'SELECT SUM("Units") FROM t_d_1',
        ["d"],
    )
