"""The state machine: every pair of states, and what each move records."""

from __future__ import annotations

import itertools

import pytest
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import WAITING_REASON_STORE_UNAVAILABLE as WAITING
from footnote.types.v1.document_pb2 import DocumentState, Failure
from footnote_ingestion.model.lifecycle import ERROR, INDEXED, PROCESSING, UNSPECIFIED, UPLOADED, Move, apply
from footnote_kit.errors import Aborted, FailedPrecondition, InvalidArgument

STATES = (UPLOADED, PROCESSING, INDEXED, ERROR)
MOVES = {(UPLOADED, PROCESSING), (PROCESSING, INDEXED), (PROCESSING, ERROR), (ERROR, PROCESSING)}


def document(state: DocumentState.ValueType, **fields: int) -> Document:
    return Document(id="d", state=state, revision=3, indexed_revision=2, etag="7", **fields)


def move(state: DocumentState.ValueType, **fields: object) -> Move:
    extra: dict[str, object] = {}
    if state == ERROR:
        extra["failure"] = Failure(message="no")
    if state == INDEXED:
        extra |= {"chunks_expected": 2, "chunks_stored": 2}
    return Move(state=state, **{**extra, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATES, STATES)))
def test_every_pair_of_states(before: DocumentState.ValueType, after: DocumentState.ValueType) -> None:
    subject = document(before)
    if before == after or (before, after) in MOVES:
        apply(subject, move(after))
        assert subject.state == after
        return
    untouched = document(before)
    with pytest.raises(FailedPrecondition) as caught:
        apply(subject, move(after))
    assert caught.value.reason == "ILLEGAL_STATE"
    assert subject == untouched


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATES, (UPLOADED, PROCESSING))))
def test_a_new_revision_begins_only_when_the_last_has_ended(
    before: DocumentState.ValueType, after: DocumentState.ValueType
) -> None:
    subject = document(before, attempts=5, chunks_expected=9, chunks_stored=9)
    if before in (UPLOADED, PROCESSING):
        with pytest.raises(FailedPrecondition):
            apply(subject, move(after, new_revision=True))
        return
    apply(subject, move(after, new_revision=True))
    assert (subject.revision, subject.indexed_revision) == (4, 2)
    assert subject.attempts == (1 if after == PROCESSING else 0)
    assert (subject.chunks_expected, subject.chunks_stored) == (0, 0)


@pytest.mark.parametrize(("expected", "stored"), [(3, 2), (2, 3), (0, 0), (None, 2), (2, None)])
def test_indexed_needs_all_chunks(expected: int | None, stored: int | None) -> None:
    with pytest.raises(FailedPrecondition):
        apply(document(PROCESSING), Move(state=INDEXED, chunks_expected=expected, chunks_stored=stored))


def test_counts_recorded_before_are_enough() -> None:
    subject = document(PROCESSING)
    apply(subject, Move(chunks_expected=4))
    apply(subject, Move(state=INDEXED, chunks_stored=4))
    assert subject.indexed_revision == 3
    assert subject.HasField("index_time")


@pytest.mark.parametrize(
    "bad",
    [
        Move(state=ERROR),
        Move(state=PROCESSING, failure=Failure()),
        Move(new_revision=True),
        Move(state=INDEXED, new_revision=True),
        Move(chunks_expected=-1),
    ],
)
def test_requests_that_make_no_sense(bad: Move) -> None:
    with pytest.raises(InvalidArgument) as caught:
        apply(document(INDEXED), bad)
    assert caught.value.violations


@pytest.mark.parametrize("stale", [{"etag": "6"}, {"revision": 2}, {"revision": 4}])
def test_stale_callers_are_told(stale: dict[str, object]) -> None:
    with pytest.raises(Aborted):
        apply(document(UPLOADED), move(PROCESSING, **stale))
    apply(document(UPLOADED), move(PROCESSING, etag="7", revision=3))


def test_what_parsing_found_replaces_what_was_known() -> None:
    subject = document(PROCESSING)
    subject.authors.append("Old")
    parsed = ParsedMetadata(title="T", authors=["A", "B"], language="fr", keywords=["k"], page_count=2, word_count=5)
    parsed.warnings.add(text="w", count=3)
    apply(subject, Move(parsed=parsed, waiting_reason=WAITING))
    assert [(one.text, one.count) for one in subject.warnings] == [("w", 3)]
    assert (subject.title, list(subject.authors), subject.language, subject.page_count) == ("T", ["A", "B"], "fr", 2)
    assert subject.waiting_reason == WAITING
    apply(subject, Move(state=UNSPECIFIED))
    assert not subject.waiting_reason


def test_another_attempt_at_a_revision_waits_for_what_the_last_one_did_until_it_comes_further() -> None:
    subject = document(PROCESSING)
    apply(subject, Move(waiting_reason=WAITING, waiting_message="away", waiting_attempts=1))
    apply(subject, Move(state=PROCESSING))
    assert (subject.waiting_reason, subject.waiting_message) == (WAITING, "away")
    apply(subject, Move(chunks_expected=2))
    assert not subject.waiting_reason
