import pytest
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.jobs.failures import failure_of
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal, InvalidArgument, NotFound, Unavailable


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InvalidArgument("x", metadata={"failure_reason": "NO_TEXT"}), doc.FAILURE_REASON_NO_TEXT),
        (InvalidArgument("x", reason="FILE_CORRUPT"), doc.FAILURE_REASON_CORRUPT),
        (Unavailable("x", reason="PROVIDER_FAILED"), doc.FAILURE_REASON_EMBEDDING_FAILED),
        (NotFound("x", reason="COLLECTION_NOT_FOUND"), doc.FAILURE_REASON_COLLECTION_INVALID),
        (DeadlineExceeded("x"), doc.FAILURE_REASON_TIMEOUT),
        (Unavailable("x"), doc.FAILURE_REASON_STORE_FAILED),
        (Internal("x"), doc.FAILURE_REASON_INTERNAL),
        (InvalidArgument("x", metadata={"failure_reason": "NEVER_HEARD_OF"}), doc.FAILURE_REASON_INTERNAL),
    ],
)
def test_every_error_has_a_reason_and_a_hint(error: FootnoteError, reason: int) -> None:
    failure = failure_of(error)
    assert failure.reason == reason
    assert failure.message == "x"
    assert failure.hint


def test_the_parsers_own_hint_comes_first() -> None:
    error = InvalidArgument("x", metadata={"failure_reason": "TIMEOUT", "hint": "Split it."})
    assert failure_of(error).hint == "Split it."
