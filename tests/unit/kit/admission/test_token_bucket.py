"""Rate limiters by token buckets."""

from footnote_kit.admission.token_bucket import RateLimiter
from support.doubles.clock import Clock


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    clock = Clock()
    limiter = RateLimiter(rate=2, burst=4, clock=clock)
    assert [limiter.wait("t") for _ in range(4)] == [0] * 4
    assert limiter.wait("t") == 0.5
    clock.now += 0.5
    assert limiter.wait("t") == 0
    assert limiter.wait("other") == 0


def test_a_limiter_without_rate_never_waits() -> None:
    assert all(RateLimiter(0, 0).wait("t") == 0 for _ in range(1000))


def test_a_replica_that_is_left_alone_has_the_whole_limit_again() -> None:
    now = 0.0
    limiter = RateLimiter(10.0, 20.0, lambda: now)
    limiter.divide(2)
    assert sum(not limiter.wait("acme") for _ in range(50)) == 10
    limiter.divide(1)
    now = 10.0
    assert sum(not limiter.wait("acme") for _ in range(50)) == 20
