"""Converts candidates to the contract's messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.chunk_pb2 import SEARCH_CHANNEL_DENSE, SEARCH_CHANNEL_LEXICAL, ChannelScore, Repetition
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_retrieval.model import Candidate, degradation

_log = get_logger("footnote.retrieval.search")


def readable(candidates: Sequence[Candidate], degradations: list[Degradation]) -> list[Candidate]:
    """Drop candidates with a damaged row, with a warning: the others are still good."""
    kept = []
    for candidate in candidates:
        try:
            candidate.hit.decode()
        except FootnoteError as error:
            _log.error("row_unreadable", chunk_id=candidate.hit.id, error=error.message)
            degradations.append(degradation("STORE_UNAVAILABLE", "A damaged passage is left out.", error.message))
        else:
            kept.append(candidate)
    return kept


def scored(candidate: Candidate, *, explain: bool) -> ScoredChunk:
    """Return a readable candidate with its scores, and if wanted everything that led to them."""
    chunk = candidate.hit.chunk
    member = candidate.group.member(candidate.hit.collection_key)
    if member is not None:
        chunk.collection = member.collection.name
        chunk.collection_id = member.collection.id
    made = ScoredChunk(chunk=chunk, score=min(1.0, max(0.0, candidate.score)))
    for channel, raw, normal, rank, weight in (
        (SEARCH_CHANNEL_DENSE, candidate.dense, candidate.normal_dense,
         candidate.dense_rank, candidate.dense_weight),
        (SEARCH_CHANNEL_LEXICAL, candidate.lexical, candidate.normal_lexical,
         candidate.lexical_rank, 1 - candidate.dense_weight),
    ):  # fmt: skip
        # A channel's score for a candidate that it did not find itself is shown only with `explain`.
        if raw is not None and (rank or explain):
            made.channels.append(ChannelScore(channel=channel, raw_score=raw, score=normal, rank=rank, weight=weight))
    made.repetitions.extend(_repetitions(candidate))
    if explain:
        made.adjustments.extend(adjustment.message() for adjustment in candidate.adjustments)
    return made


def _repetitions(candidate: Candidate) -> Iterator[Repetition]:
    """Yield the other places of a passage; damaged rows are left out, as they are from results."""
    for hit in candidate.repetitions:
        try:
            chunk = hit.decode()
        except FootnoteError as error:
            _log.error("row_unreadable", chunk_id=hit.id, error=error.message)
            continue
        yield Repetition(
            chunk_id=chunk.id, document_id=chunk.document_id, filename=chunk.filename, locator=chunk.locator
        )
