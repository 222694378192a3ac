import re

import pytest
from footnote.types.v1.document_pb2 import FailureReason
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote_kit.hints import ERROR_HINTS, FAILURE_HINTS

ADVISED_BY_THE_MESSAGE = {"UNSPECIFIED", "INVALID_FIELD", "INVALID_FILTER", "ILLEGAL_STATE", "KEYS_OFF"}


@pytest.mark.parametrize("reason", FailureReason.keys())
def test_every_reason_why_a_document_failed_has_advice(reason: str) -> None:
    name = reason.removeprefix("FAILURE_REASON_")
    assert bool(FAILURE_HINTS[name]) is (name != "UNSPECIFIED")


@pytest.mark.parametrize("reason", ErrorReason.keys())
def test_every_reason_of_an_error_has_advice(reason: str) -> None:
    name = reason.removeprefix("ERROR_REASON_")
    assert bool(ERROR_HINTS[name]) is (name not in ADVISED_BY_THE_MESSAGE)


def test_there_is_advice_for_nothing_else() -> None:
    assert {f"FAILURE_REASON_{name}" for name in FAILURE_HINTS} == set(FailureReason.keys())
    assert {f"ERROR_REASON_{name}" for name in ERROR_HINTS} == set(ErrorReason.keys())


@pytest.mark.parametrize("hint", sorted({*FAILURE_HINTS.values(), *ERROR_HINTS.values()} - {""}))
def test_advice_reads_as_a_sentence_or_ends_in_a_command(hint: str) -> None:
    assert hint[0].isupper()
    assert hint.endswith(".") or re.search(r": footnote [-a-zA-Z ]+$", hint)


@pytest.mark.parametrize("reason", ["DIMENSION_MISMATCH", "COLLECTION_INVALID"])
def test_advice_about_a_wrong_length_does_not_speak_of_keys(reason: str) -> None:
    # A document whose vectors have another length ends with the second reason.
    advice = {**FAILURE_HINTS, **ERROR_HINTS}[reason]
    assert advice
    assert "key" not in advice.lower()
