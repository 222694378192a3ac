import pytest
from footnote_kit.front.frames import Tally, Violation
from footnote_kit.front.limits import MAX_WAIT_SECONDS, FrameBudget, FrameRate, FrontLimits, Peer, Peers
from support.doubles.clock import Clock

CALL = Tally(frames=2, streams=1)


def peers(clock: Clock, **limits: float) -> Peers:
    return Peers(FrontLimits(**limits), clock)  # type: ignore[arg-type]


def enter(of: Peers, name: str = "a") -> Peer:
    peer = of.enter(name)
    assert peer is not None
    return peer


@pytest.mark.parametrize(
    ("habit", "good", "bad"),
    [("resets", 100, 400), ("pings", 50, 1000), ("settings", 10, 500), ("empties", 20, 500)],
)
def test_good_habits_are_borne_for_ever_and_bad_ones_end_the_connection(habit: str, good: int, bad: int) -> None:
    habits = FrameBudget(0)
    for second in range(1000):
        habits.judge(Tally(**{habit: good}), second)

    def go_on() -> None:
        for tenth in range(100):
            habits.judge(Tally(**{habit: bad // 10}), 1000 + tenth / 10)

    with pytest.raises(Violation, match=f"too_many_{habit}"):
        go_on()


def test_a_crowd_of_strangers_leaves_room_for_a_probe_of_this_machine() -> None:
    of = peers(Clock(100.0), connections=2, connections_per_peer=3)
    for stranger in ("192.0.2.1", "192.0.2.2"):
        enter(of, stranger)
    assert of.enter("192.0.2.3") is None
    for _ in range(3):
        enter(of, "127.0.0.1")
    assert of.enter("127.0.0.1") is None, "it has a bound, too"


def test_hundreds_of_calls_may_be_broken_off_at_once() -> None:
    FrameBudget(0).judge(Tally(resets=500), 0)
    with pytest.raises(Violation, match="too_many_resets"):
        FrameBudget(0).judge(Tally(resets=501), 0)


def test_pings_that_measure_what_is_received_are_free() -> None:
    habits = FrameBudget(0)
    for n in range(10_000):
        habits.received(2)
        habits.judge(Tally(pings=2), n / 10_000)


def test_an_address_is_slowed_down_to_its_pace_however_many_connections_it_has() -> None:
    clock = Clock(100.0)
    of = peers(clock, calls_per_second=100, connections_per_peer=1000, connections=1000)
    begun = [FrameRate(enter(of), clock.now) for _ in range(10)]
    due = dict.fromkeys(begun, clock.now)
    passed = 0
    while (pace := min(due, key=lambda one: due[one])) and due[pace] < 110:
        clock.now = due[pace]
        due[pace] += pace.wait(CALL, clock.now) + 1e-3
        passed += 1
    # In ten seconds: what comes back in common, the parts, and what may be begun at once.
    assert 1000 <= passed <= 1000 + 500 + 50 + 10 * 10


def test_a_calm_connection_keeps_its_part_beside_hasty_ones() -> None:
    clock = Clock(100.0)
    of = peers(clock, calls_per_second=100)
    calm = FrameRate(enter(of), clock.now)
    calm.wait(CALL, clock.now)
    clock.now += 10
    flood = Tally(frames=20, streams=20)
    hasty = {FrameRate(enter(of), clock.now): clock.now for _ in range(100)}
    slow = 0.0
    for _ in range(200):
        clock.now += 0.1
        for pace, due in list(hasty.items()):
            if due <= clock.now:
                try:
                    hasty[pace] = clock.now + 1e-3 + pace.wait(flood, clock.now)
                except Violation:  # it comes again
                    pace.leave()
                    del hasty[pace]
                    hasty[FrameRate(of._known["a"], clock.now)] = clock.now
        slow = max(slow, calm.wait(CALL, clock.now))
    assert slow == 0
    assert of._known["a"].calm == 1
    # A hasty one that rests is calm again, until it leaves.
    clock.now += 60
    rested = next(iter(hasty))
    rested.wait(CALL, clock.now)
    assert of._known["a"].calm == 2
    rested.leave()
    assert of._known["a"].calm == 1


def test_who_asks_for_more_than_can_be_waited_for_is_sent_away() -> None:
    clock = Clock(100.0)
    pace = FrameRate(enter(peers(clock, calls_per_second=10)), clock.now)
    with pytest.raises(Violation, match="too_many_calls"):
        pace.wait(Tally(streams=1000), clock.now)
    other = FrameRate(enter(peers(clock, calls_per_second=10)), clock.now)
    assert 0 < other.wait(Tally(streams=30), clock.now) < MAX_WAIT_SECONDS


def test_connections_are_counted_by_address_and_in_all() -> None:
    of = peers(Clock(100.0), connections=3, connections_per_peer=2)
    assert of.enter("a")
    assert of.enter("a")
    assert not of.enter("a")
    assert of.enter("b")
    assert not of.enter("c")
    of.leave("a")
    assert of.enter("c")


def test_who_had_to_be_ended_begins_later_but_always_begins() -> None:
    clock = Clock(100.0)
    of = peers(clock)
    peer = enter(of)
    assert peer.begin(clock.now) == 0
    for _ in range(1000):
        peer.ended(clock.now)
    assert 0 < peer.begin(clock.now) < 3
    other = enter(of, "b")
    assert other.begin(clock.now) == 0
    clock.now += 10
    assert peer.begin(clock.now) == 0


def test_addresses_that_rest_are_forgotten() -> None:
    clock = Clock(100.0)
    of = peers(clock, connections=10_000)
    for n in range(1000):
        peer = enter(of, str(n))
        peer.begin(clock.now)
        of.leave(str(n))
        clock.now += 0.5
    assert len(of._known) < 10
