"""The ids of the objects of a repeated call, also of one whose first try an earlier version took."""

import time
from uuid import UUID, uuid4, uuid5

from footnote_edge.gateway.request_ids import _TIME, IdSeed


def test_rows_of_a_call_that_an_earlier_version_took_keep_their_ids() -> None:
    earlier = "f" + uuid4().hex[1:]  # random digits throughout
    assert IdSeed(earlier).ordered_id_of(3) == uuid5(UUID(earlier), "row 3").hex


def test_rows_of_a_call_are_in_their_order_and_the_same_a_day_later() -> None:
    for age in (0, 86_399):
        seed = IdSeed(f"{time.time_ns() // 1000 - age * 1_000_000:0{_TIME}x}{uuid4().hex[_TIME:]}")
        ids = [seed.ordered_id_of(number) for number in range(1000)]
        assert ids == sorted(set(ids))
        assert {one[:_TIME] for one in ids} == {seed.seed[:_TIME]}
