import pytest
from footnote_edge.gateway.limits import Admission, RateLimits
from footnote_edge.settings import Settings
from footnote_kit.admission.concurrency import Size
from footnote_kit.errors import ResourceExhausted
from support.doubles.clock import Clock


def test_tokens_are_charged_afterwards_and_hold_up_the_next_question() -> None:
    clock = Clock()
    limits = RateLimits(Settings(tokens_per_minute=600), clock)
    limits.enter("t", "Ask")
    limits.spend("t", 900)
    limits.enter("t", "Search")
    with pytest.raises(ResourceExhausted) as caught:
        limits.enter("t", "Ask")
    assert caught.value.retry_after == pytest.approx(30)
    clock.now += 31
    limits.enter("t", "Ask")


def test_bytes_are_charged_as_they_come_and_hold_up_the_next_upload() -> None:
    clock = Clock()
    limits = RateLimits(Settings(upload_bytes_per_minute=6000), clock)
    limits.enter("t", "UploadDocument")
    for _ in range(9):
        limits.receive("t", 1000)
    limits.enter("other", "UploadDocument")
    limits.enter("t", "Ask")
    with pytest.raises(ResourceExhausted, match="bytes uploaded") as caught:
        limits.enter("t", "ReplaceDocument")
    assert caught.value.retry_after == pytest.approx(30)
    clock.now += 31
    limits.enter("t", "ReplaceDocument")


def test_replicas_that_divide_a_limit_keep_it_together() -> None:
    """Two replicas are asked in turn for a minute; what they let in is what one alone would have."""
    now = 0.0
    settings = Settings(requests_per_minute=60)
    one, two = RateLimits(settings, lambda: now), RateLimits(settings, lambda: now)
    for limits in (one, two):
        limits.divide(2)
    taken = 0
    for step in range(600):
        now = step / 10
        try:
            (one, two)[step % 2].enter("acme", "Search")
            taken += 1
        except ResourceExhausted:
            pass
    assert 60 <= taken <= 60 + 10  # what ten quiet seconds have saved comes on top


def test_each_method_has_its_lane() -> None:
    admission = Admission(Size(1, 1), Size(2, 1), Size(3, 1), iteration=lambda: 0.0, processor=lambda: 0.0)
    assert admission.lane("Ask") is admission.lane("EditMessage")
    assert admission.lane("UploadDocument") is admission.lane("ReplaceDocument")
    assert len({id(admission.lane(name)) for name in ("Ask", "UploadDocument", "SearchChunks", "ListDocuments")}) == 3
