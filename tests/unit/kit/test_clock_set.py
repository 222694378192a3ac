"""The wall clock is set: stages check proofs by the clock as it is, and callers sign again."""

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from footnote_kit import context, wall_clock
from footnote_kit.credential import ServiceCredential, new_secret
from footnote_kit.errors import Unauthenticated, Unavailable
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.services import Answer, Ask, SampleService, SampleStub

ASK = Ask(scope=SCOPE)
HOUR, DAY = 3600, 86_400
_true = time.time


class Clock:
    """A wall clock that is ahead by some seconds; the monotonic clock is untouched."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        patch.setattr(time, "time", lambda: _true() + self.ahead)
        patch.setattr(wall_clock, "_deletions", wall_clock.DeletionClock())  # the process's own doubts for an hour


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of services and callers."""
    return Clock(monkeypatch)


@pytest.mark.parametrize("jump", [HOUR, DAY, -HOUR, -DAY])
def test_a_stage_knows_no_other_clock_than_its_own(clock: Clock, jump: int) -> None:
    one = ServiceCredential(new_secret())
    early = one.sign("a", "/m", SCOPE, 90)
    one.verify(early, "a", "/m")
    clock.ahead = jump
    with pytest.raises(Unauthenticated, match="expired" if jump > 0 else "from the future"):
        one.verify(early, "a", "/m")
    one.verify(one.sign("a", "/m", SCOPE, 90), "a", "/m")


@pytest.mark.parametrize("jump", [4, HOUR, -4, -HOUR])
def test_what_has_expired_stays_so_over_a_jump_and_back(clock: Clock, jump: int) -> None:
    one = ServiceCredential(new_secret())
    now = int(time.time())
    over = one.signed("a", "/m", SCOPE, now - 100, now - 20)
    for clock.ahead in (0, jump, 0):
        one.verify(one.sign("a", "/m", SCOPE, 90), "a", "/m")
        with pytest.raises(Unauthenticated):
            one.verify(over, "a", "/m")


def test_a_process_that_starts_amid_a_jump_believes_the_clock_it_finds(clock: Clock) -> None:
    secret = new_secret()
    early = ServiceCredential(secret).sign("a", "/m", SCOPE, 90)
    clock.ahead = HOUR
    with pytest.raises(Unauthenticated, match="expired"):
        ServiceCredential(secret).verify(early, "a", "/m")


def jump_after_signing(monkeypatch: pytest.MonkeyPatch, clock: Clock, jumps: list[float]) -> list[str]:
    """Set the clock after each signing to the next of `jumps`; return the headers, which are added as they come."""
    sign: Callable[..., str] = ServiceCredential.signed
    headers: list[str] = []

    def signed(*arguments: Any) -> str:
        headers.append(sign(*arguments))
        if jumps:
            clock.ahead = jumps.pop(0)
        return headers[-1]

    monkeypatch.setattr(ServiceCredential, "signed", signed)
    return headers


async def name(request: Ask, _: Any) -> Answer:
    return Answer(name=request.trace_id)


async def names(request: Ask, _: Any) -> AsyncIterator[Answer]:
    for one in request.trace_id.split():
        yield Answer(name=one)


@pytest.mark.parametrize(("before", "after"), [(0, HOUR), (HOUR, 0), (0, DAY), (DAY, 0)])
async def test_a_call_is_signed_again_where_the_clock_was_set_on_its_way(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, before: int, after: int
) -> None:
    async with serve_app(SampleService(unary=name, stream=names).app()) as served:
        stub, request = SampleStub(served.channel), Ask(scope=SCOPE, trace_id="one two")
        for response in (False, True):
            clock.ahead = before
            headers = jump_after_signing(monkeypatch, clock, [after])
            if response:
                assert [one.name async for one in stub.stream(request, timeout=5)] == ["one", "two"]
            else:
                assert (await stub.unary(request, timeout=5)).name == "one two"
            assert len(set(headers)) == 2


async def test_it_is_signed_again_once(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    reached: list[str] = []

    async def reach(_: Ask, __: Any) -> Answer:
        reached.append("")
        return Answer()

    async with serve_app(SampleService(unary=reach).app()) as served:
        headers = jump_after_signing(monkeypatch, clock, [HOUR, DAY])
        with pytest.raises(Unauthenticated, match="expired"):
            await SampleStub(served.channel).unary(ASK, timeout=5)
    assert (len(headers), reached) == (2, [])


async def test_a_caller_that_is_not_believed_by_a_steady_clock_signs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_app(SampleService(unary=name).app()) as served:
        stranger = ServiceCredential(new_secret())
        async with serve_app(SampleService(unary=None).app("other"), addresses={"sample": served.address},
                             credential=stranger) as other:  # fmt: skip
            headers = jump_after_signing(monkeypatch, Clock(monkeypatch), [])
            with pytest.raises(Unauthenticated, match="not from a service"):
                await SampleStub(other.runtime.channel("sample")).unary(ASK, timeout=5)
    assert len(headers) == 1


async def test_streamed_requests_fail_in_words_that_are_true(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    async def collect(requests: Any, _: Any) -> Answer:
        return Answer(name=" ".join([one.trace_id async for one in requests]))

    async with serve_app(SampleService(collect=collect).app()) as served:
        stub = SampleStub(served.channel)
        jump_after_signing(monkeypatch, clock, [HOUR])
        with context.detached("edge", SCOPE), pytest.raises(Unavailable, match="The clock was set") as caught:
            await stub.collect([ASK, ASK], timeout=5)
        assert caught.value.metadata == {"stage": "sample"}
        assert (await stub.collect([ASK, ASK], timeout=5)).name == " "


async def test_the_time_left_of_a_call_does_not_follow_the_wall_clock(clock: Clock) -> None:
    async with serve_app(SampleService(unary=name).app()) as served:
        call = SampleStub(served.channel).unary(ASK, timeout=30)
        for clock.ahead in (DAY, -DAY):
            assert 20 < call.time_remaining() <= 30
        clock.ahead = 0.0
        await call
