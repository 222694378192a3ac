"""How much a connection, and an address, may ask of the server: token buckets, without clock and transport.

Two kinds of limit. What no client in good faith does ends the connection (`Habits`). What many clients of one address
may do together only slows down: an address may be a company's, or an ingress's; nobody in it may lock out the others.
So an address is never banned. Its connections share a rate (`FrameRate`) with a guaranteed part for each, and
start more slowly the more of them had to be ended (`Peer.begin`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from footnote_kit.front.frames import Tally, Violation

RESET_COST = 3.0
"""A call that is broken off, in calls: its server has begun to work for it."""
RESETS_PER_SECOND, RESETS_BURST = 30.0, 500.0
"""How many an address may break off at that cost, once and then on and on; each beyond costs more."""
RESET_TOO_MANY_COST = 20.0
FRAME_COST = 1 / 20
"""Any frame, in calls."""
SHARED_BURST_SECONDS = 0.5
"""What an address may begin at once, as the time in which it comes back."""
OWN_PART = 0.5
"""What its connections have besides, each its part, of what they have in common."""
OWN_BURST = 50.0
"""Calls that a connection may begin at once however busy its address is, when it has been calm for a while."""
CALM_SECONDS = 5.0
"""Time for which a connection must not have been slowed down to count as a calm one."""
OWN_BEGIN = 10.0
"""The same of a new one: whoever connects again and again gains nothing by it."""
MAX_WAIT_SECONDS = 10.0
"""Who would have to wait longer has sent hundreds of calls at once over an address that is busy: it is sent away."""
ENDED_COST = 16.0
"""What a connection that had to be ended counts, in connections."""
MAX_DEBT = 64.0
"""No address owes more connections than this, however many were ended: their time to wait has a bound."""


@dataclass(frozen=True, slots=True)
class FrontLimits:
    """The limits of one front door; times in seconds."""

    connections: int = 512
    """At a time, in all."""
    connections_per_peer: int = 128
    """Of one address, of IPv6 one network of 64 bits. A quarter of them may begin in a second, 16 at least."""
    calls_per_second: float = 500.0
    """Calls that one address may begin before it is slowed down."""
    greeting_seconds: float = 10.0
    """For TLS and the first bytes of HTTP/2."""
    write_seconds: float = 60.0
    """Until a client that does not read is given up."""


class Bucket:
    """Tokens that come back with time; the level may go below nothing, which is a debt."""

    __slots__ = ("_at", "burst", "level", "rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate, self.burst = rate, burst
        self.level = burst
        self._at = now

    def refill(self, now: float) -> None:
        """Add what has come back since."""
        self.level = min(self.burst, self.level + (now - self._at) * self.rate)
        self._at = now

    def take(self, amount: float, now: float) -> bool:
        """Take tokens; False when there are not enough."""
        self.refill(now)
        self.level -= amount
        return self.level >= 0


class Habits:
    """What one connection does that no client in good faith does so often. Rates are a second's.

    A good client of many asks breaks off some hundred at once when its own caller goes; it pings every few seconds, or,
    to measure the line, once for what it receives (`received`).
    """

    __slots__ = ("_buckets",)

    def __init__(self, now: float) -> None:
        self._buckets = {
            "resets": Bucket(200, 500, now),
            "pings": Bucket(100, 1000, now),
            "settings": Bucket(20, 200, now),
            "empties": Bucket(50, 200, now),
        }

    def judge(self, tally: Tally, now: float) -> None:
        """Count; Violation when it is too much."""
        for name, bucket in self._buckets.items():
            amount = getattr(tally, name)
            if amount and not bucket.take(amount, now):
                raise Violation(f"too_many_{name}")

    def received(self, messages: int) -> None:
        """Allow a ping for each message that the client was sent."""
        pings = self._buckets["pings"]
        pings.level = min(pings.burst, pings.level + messages)


@dataclass(slots=True)
class Peer:
    """One address."""

    shared: Bucket
    """The pace of its connections, in calls."""
    begins: Bucket
    """How fast its connections begin."""
    resets: Bucket = field(default_factory=lambda: Bucket(RESETS_PER_SECOND, RESETS_BURST, 0.0))
    """Calls that its connections may break off at little cost."""
    connections: int = 0
    calm: int = 0
    """Of these, how many have been there for a while and not been too fast lately: they share one part. All others,
    newcomers among them, share another."""

    def begin(self, now: float) -> float:
        """Return the seconds until one more connection is listened to."""
        self.begins.take(1, now)
        return max(0.0, -self.begins.level / self.begins.rate)

    def ended(self, now: float) -> None:
        """Note that a connection had to be ended for what it did: the next ones begin later."""
        self.begins.take(ENDED_COST, now)
        self.begins.level = max(self.begins.level, -MAX_DEBT)

    def rested(self, now: float) -> bool:
        """Return whether nothing needs to be remembered of it."""
        if self.connections:
            return False
        for bucket in (self.shared, self.begins):
            bucket.refill(now)
        return all(bucket.level >= bucket.burst for bucket in (self.shared, self.begins))


class FrameRate:
    """How fast one connection's frames are passed on: from what its address has in common, else from its own part."""

    __slots__ = ("_calm", "_calm_at", "_own", "_peer")

    def __init__(self, peer: Peer, now: float) -> None:
        self._peer = peer
        self._own = Bucket(peer.shared.rate, OWN_BURST, now)
        self._own.level = OWN_BEGIN
        self._calm, self._calm_at = False, now + CALM_SECONDS

    def wait(self, tally: Tally, now: float) -> float:
        """Return the seconds until a piece may be passed on; Violation when that is out of all proportion."""
        cost = tally.streams + FRAME_COST * tally.frames
        if tally.resets:
            few = self._peer.resets.take(tally.resets, now)
            self._peer.resets.level = max(self._peer.resets.level, -RESETS_PER_SECOND)
            cost += tally.resets * (RESET_COST if few else RESET_TOO_MANY_COST)
        shared, own = self._peer.shared, self._own
        shared.refill(now)
        if now >= self._calm_at:
            self._become(calm=True)
        own.rate = self._part()
        own.refill(now)
        common = min(max(shared.level, 0.0), cost)
        shared.level -= common
        own.level -= cost - common
        if own.level < 0:
            self._become(calm=False)
        wait = max(0.0, -own.level / self._part())
        if wait:
            self._calm_at = now + wait + CALM_SECONDS
        if wait > MAX_WAIT_SECONDS:
            raise Violation("too_many_calls")
        return wait

    def leave(self) -> None:
        """End."""
        self._become(calm=False)

    def _become(self, *, calm: bool) -> None:
        self._peer.calm += calm - self._calm
        self._calm = calm

    def _part(self) -> float:
        """Return the connection's own calls in a second: its part of what the calm ones have, or the hasty ones."""
        peer = self._peer
        others = peer.calm if self._calm else peer.connections - peer.calm
        return peer.shared.rate * OWN_PART / max(1, others)


@dataclass(slots=True)
class Peers:
    """All addresses that have connections, or had a moment ago."""

    limits: FrontLimits
    clock: Callable[[], float]
    connections: int = 0
    _known: dict[str, Peer] = field(default_factory=dict)

    def enter(self, name: str) -> Peer | None:
        """Count a connection of an address; None when there are too many."""
        known = self._known.get(name)
        most = known is not None and known.connections >= self.limits.connections_per_peer
        if most or self.connections >= self.limits.connections:
            return None
        if known is None:
            known = self._known[name] = self._new()
        known.connections += 1
        self.connections += 1
        return known

    def leave(self, name: str) -> None:
        """Forget a connection, and addresses of which nothing is left to remember."""
        self.connections -= 1
        self._known[name].connections -= 1
        # More than one may have rested since; looking at two for each that leaves keeps the table small.
        now = self.clock()
        for one in (name, next(iter(self._known))):
            peer = self._known.get(one)
            if peer is None:
                continue
            del self._known[one]
            if not peer.rested(now):
                self._known[one] = peer  # to the end of the line

    def _new(self) -> Peer:
        now, limits = self.clock(), self.limits
        most = max(float(limits.connections_per_peer), MAX_DEBT)
        return Peer(
            shared=Bucket(limits.calls_per_second, limits.calls_per_second * SHARED_BURST_SECONDS, now),
            begins=Bucket(most / 4, most, now),
        )
