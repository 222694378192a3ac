from typing import get_args

from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE, Degradation, DegradationReason
from footnote_kit.degradations import Reason, degradation, word


def test_every_reason_of_the_contract_has_its_word_and_none_more() -> None:
    names = {name.removeprefix("DEGRADATION_REASON_") for name in DegradationReason.DESCRIPTOR.values_by_name}
    assert set(get_args(Reason)) == names - {"UNSPECIFIED"}


def test_a_reason_is_said_and_read_by_its_word() -> None:
    made = degradation(PIPELINE_STAGE_EDGE, "HISTORY_WITHHELD", "left out", "why")
    assert (word(made), made.effect, made.detail) == ("HISTORY_WITHHELD", "left out", "why")
    unknown = Degradation()
    unknown.ParseFromString(bytes([0x10, 0x63]))
    assert word(unknown) == "99"
