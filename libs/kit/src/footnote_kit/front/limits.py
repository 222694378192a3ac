"""Limits of a connection and of an address: token buckets, without clock or transport.

There are two kinds of limit. Behaviour that no well-behaved client shows ends the connection (`FrameBudget`). Too many
calls from one address only slow down. An address is never banned: it may belong to a company or an ingress, and one
user there must not lock out the others. Its connections share a rate (`FrameRate`), with a guaranteed part for each.
The more of them had to be ended, the more slowly new ones start (`Peer.begin`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from footnote_kit.admission.token_bucket import TokenBucket
from footnote_kit.front.frames import Tally, Violation

RESET_COST = 3.0
"""The cost of a cancelled call, in calls: the server has begun to work on it."""
RESETS_PER_SECOND, RESETS_BURST = 30.0, 500.0
"""The calls an address may cancel at that cost, as sustained rate and burst; each one beyond costs more."""
RESET_TOO_MANY_COST = 20.0
FRAME_COST = 1 / 20
"""The cost of any frame, in calls."""
SHARED_BURST_SECONDS = 0.5
"""The burst of an address, as the time in which it refills."""
OWN_PART = 0.5
"""The extra rate that connections have besides the shared one, as a share of it; connections divide it."""
OWN_BURST = 50.0
"""Calls that a calm connection may begin at once, even when its address is busy."""
CALM_SECONDS = 5.0
"""Seconds without a slowdown after which a connection counts as calm."""
OWN_BEGIN = 10.0
"""Calls that a new connection may begin at once: frequent reconnects gain nothing."""
MAX_WAIT_SECONDS = 10.0
"""A connection that would have to wait longer is ended: it sent hundreds of calls at once over a busy address."""
ENDED_COST = 16.0
"""The cost of a connection that had to be ended, in connections."""
MAX_DEBT = 64.0
"""The largest debt of an address, in connections, which bounds the wait of new ones."""

PROBES = frozenset({"127.0.0.1", "::1"})
"""The addresses from which a probe inside a pod or container asks."""


@dataclass(frozen=True, slots=True)
class FrontLimits:
    """The limits of one front proxy; times in seconds."""

    connections: int = 512
    """The most connections in total. `PROBES` get in beyond them: a crowd of idle strangers must not make an
    orchestrator's probe take the service for dead."""
    connections_per_peer: int = 128
    """The most connections of one address, or of one IPv6 network of 64 bits. A quarter of them may begin in a
    second, at least 16."""
    calls_per_second: float = 500.0
    """Calls per second that one address may begin before it is slowed down."""
    greeting_seconds: float = 10.0
    """For TLS and the first bytes of HTTP/2."""
    write_seconds: float = 60.0
    """Time limit for a client that does not read."""


class FrameBudget:
    """Limits one connection's suspicious behaviour, at rates per second that no well-behaved client reaches.

    A good client with many calls may cancel some hundreds at once when its own caller leaves. It pings every few
    seconds; to measure the line, once per received message (`received`).
    """

    __slots__ = ("_buckets",)

    def __init__(self, now: float) -> None:
        self._buckets = {
            "resets": TokenBucket(200, 500, now),
            "pings": TokenBucket(100, 1000, now),
            "settings": TokenBucket(20, 200, now),
            "empties": TokenBucket(50, 200, now),
        }

    def judge(self, tally: Tally, now: float) -> None:
        """Count the frames; raise Violation when there are too many."""
        for name, bucket in self._buckets.items():
            amount = getattr(tally, name)
            if amount and not bucket.take(amount, now):
                raise Violation(f"too_many_{name}")

    def received(self, messages: int) -> None:
        """Allow one ping for each message sent to the client."""
        pings = self._buckets["pings"]
        pings.level = min(pings.burst, pings.level + messages)


@dataclass(slots=True)
class Peer:
    """One address."""

    shared: TokenBucket
    """The rate of its connections, in calls."""
    begins: TokenBucket
    """The rate at which its connections begin."""
    resets: TokenBucket = field(default_factory=lambda: TokenBucket(RESETS_PER_SECOND, RESETS_BURST, 0.0))
    """Calls that its connections may cancel at low cost."""
    connections: int = 0
    calm: int = 0
    """The number of calm connections: established, and not too fast lately. They divide one part; all others,
    including new ones, divide another."""

    def begin(self, now: float) -> float:
        """Return the seconds until another connection is served."""
        self.begins.take(1, now)
        return max(0.0, -self.begins.level / self.begins.rate)

    def ended(self, now: float) -> None:
        """Record that a connection was ended for its behaviour: the next ones begin later."""
        self.begins.take(ENDED_COST, now)
        self.begins.level = max(self.begins.level, -MAX_DEBT)

    def rested(self, now: float) -> bool:
        """Return whether the address has no connections and no debt, and can be forgotten."""
        if self.connections:
            return False
        for bucket in (self.shared, self.begins):
            bucket.refill(now)
        return all(bucket.level >= bucket.burst for bucket in (self.shared, self.begins))


class FrameRate:
    """The rate of one connection's frames: from the address's shared tokens first, then from its own part."""

    __slots__ = ("_calm", "_calm_at", "_own", "_peer")

    def __init__(self, peer: Peer, now: float) -> None:
        self._peer = peer
        self._own = TokenBucket(peer.shared.rate, OWN_BURST, now)
        self._own.level = OWN_BEGIN
        self._calm, self._calm_at = False, now + CALM_SECONDS

    def wait(self, tally: Tally, now: float) -> float:
        """Return the seconds until a piece may be passed on; Violation when they exceed the limit."""
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
        """Leave the calm connections."""
        self._become(calm=False)

    def _become(self, *, calm: bool) -> None:
        self._peer.calm += calm - self._calm
        self._calm = calm

    def _part(self) -> float:
        """Return the connection's own calls per second: its part of the calm connections' rate, or of the others'."""
        peer = self._peer
        others = peer.calm if self._calm else peer.connections - peer.calm
        return peer.shared.rate * OWN_PART / max(1, others)


@dataclass(slots=True)
class Peers:
    """All addresses that have connections or recently had some."""

    limits: FrontLimits
    clock: Callable[[], float]
    connections: int = 0
    _known: dict[str, Peer] = field(default_factory=dict)

    def enter(self, name: str) -> Peer | None:
        """Count a new connection of an address; return None when there are too many."""
        known = self._known.get(name)
        most = known is not None and known.connections >= self.limits.connections_per_peer
        if most or (self.connections >= self.limits.connections and name not in PROBES):
            return None
        if known is None:
            known = self._known[name] = self._new()
        known.connections += 1
        self.connections += 1
        return known

    def leave(self, name: str) -> None:
        """Remove a connection, and addresses whose state is no longer needed."""
        self.connections -= 1
        self._known[name].connections -= 1
        # Other addresses may have recovered too; checking two per departure keeps the table small.
        now = self.clock()
        for one in (name, next(iter(self._known))):
            peer = self._known.get(one)
            if peer is None:
                continue
            del self._known[one]
            if not peer.rested(now):
                self._known[one] = peer  # moves to the end

    def _new(self) -> Peer:
        now, limits = self.clock(), self.limits
        most = max(float(limits.connections_per_peer), MAX_DEBT)
        return Peer(
            shared=TokenBucket(limits.calls_per_second, limits.calls_per_second * SHARED_BURST_SECONDS, now),
            begins=TokenBucket(most / 4, most, now),
        )
