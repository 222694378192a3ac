"""A discrete simulation of calls that pass through services with so many servers each, in the order of arrival."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Draw = Callable[[random.Random], float]
"""How long a piece of work takes, in seconds."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One kind of call: arrivals a second (at random), and what it asks of which station, one after the other."""

    name: str
    rate: float
    steps: Sequence[tuple[str, Draw]]


@dataclass(slots=True)
class _Station:
    servers: int
    busy: int = 0
    waiting: list[tuple[float, int, float]] = field(default_factory=list)  # since when, which call, how long
    worked: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds from arrival to end by flow, in the order of ending; and the part of its time each station worked."""

    took: Mapping[str, Sequence[float]]
    used: Mapping[str, float]

    def quantile(self, flow: str, part: float) -> float:
        """Return what that part of a flow's calls took at most."""
        ordered = sorted(self.took[flow])
        return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


def simulate(
    stations: Mapping[str, int], flows: Sequence[Flow], seconds: float, *, seed: int = 1, warm: float = 0.2
) -> Found:
    """Let calls arrive for so long; those of the first `warm` part of it are not counted."""
    rng = random.Random(seed)
    at = {name: _Station(servers) for name, servers in stations.items()}
    calls: list[tuple[Flow, float]] = []
    done: dict[str, list[float]] = {flow.name: [] for flow in flows}
    events: list[tuple[float, int, int, int]] = []  # when, order, call or -1 - flow for an arrival, step
    order = 0

    def plan(when: float, call: int, step: int) -> None:
        nonlocal order
        order += 1
        heapq.heappush(events, (when, order, call, step))

    def enter(now: float, call: int, step: int) -> None:
        flow, since = calls[call]
        if step == len(flow.steps):
            if since >= warm * seconds:
                done[flow.name].append(now - since)
            return
        name, draw = flow.steps[step]
        station, takes = at[name], draw(rng)
        station.worked += takes
        if station.busy < station.servers:
            station.busy += 1
            plan(now + takes, call, step)
        else:
            heapq.heappush(station.waiting, (now, call, takes))

    def leave(now: float, call: int, step: int) -> None:
        station = at[calls[call][0].steps[step][0]]
        if station.waiting:
            _, other, takes = heapq.heappop(station.waiting)
            plan(now + takes, other, _step_of[other])
        else:
            station.busy -= 1

    _step_of: dict[int, int] = {}
    for number, flow in enumerate(flows):
        plan(rng.expovariate(flow.rate), -1 - number, 0)
    last = seconds
    while events:
        now, _, call, step = heapq.heappop(events)
        if call < 0:
            flow = flows[-1 - call]
            if now < seconds:
                calls.append((flow, now))
                _step_of[len(calls) - 1] = 0
                enter(now, len(calls) - 1, 0)
                plan(now + rng.expovariate(flow.rate), call, 0)
            continue
        last = max(last, now)
        leave(now, call, step)
        _step_of[call] = step + 1
        enter(now, call, step + 1)
    return Found(done, {name: one.worked / (one.servers * last) for name, one in at.items()})


def exponential(mean: float) -> Draw:
    """Return work of which most is short and some long: what is known of nothing but its mean."""
    return lambda rng: rng.expovariate(1 / mean)


def fixed(seconds: float) -> Draw:
    """Return work that is always the same."""
    return lambda _: seconds


def erlang_c(servers: int, load: float) -> float:
    """Return the part of calls that wait, of M/M/c with a load of rate times service time, below `servers`."""
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))
