"""What a region of a deployment needs, reckoned from what each service spends on a document, a search and an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from support.scale.queues import Flow, Found, exponential, simulate

KINDS = ("document", "search", "answer")
Spent = Mapping[str, Mapping[str, float]]
"""Processor milliseconds by service and kind of call."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the region is for; rates a second."""

    documents: float
    ingest_days: float
    searches: float
    answers: float
    chunks_each: float

    @property
    def rates(self) -> dict[str, float]:
        """By kind of call; documents come evenly over the days that they may take."""
        return {
            "document": self.documents / (self.ingest_days * 86_400),
            "search": self.searches,
            "answer": self.answers,
        }


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars: a core and a GiB of memory by the hour, a GiB of disk by the month."""

    core_hour: float
    memory_hour: float
    disk_month: float

    def month(self, cores: float, memory: float, disk: float = 0.0) -> float:
        """Return what so much costs for 730 hours."""
        return 730 * (cores * self.core_hour + memory * self.memory_hour) + disk * self.disk_month


@dataclass(frozen=True, slots=True)
class Need:
    """Of one service: cores at work on average, and replicas of one core each that keep below the utmost use."""

    service: str
    cores: float
    replicas: int
    by_kind: Mapping[str, float]


def needs(spent: Spent, rates: Mapping[str, float], utmost: float) -> list[Need]:
    """Return what each service needs; a replica works on one core, since Python runs one thread at a time."""
    found = []
    for service, by_kind in spent.items():
        parts = {kind: rates[kind] * by_kind[kind] / 1000 for kind in KINDS}
        cores = sum(parts.values())
        found.append(Need(service, cores, max(2, math.ceil(cores / utmost)), parts))
    return found


def load(spent: Spent, rates: Mapping[str, float], replicas: Mapping[str, int], part: float, seconds: float) -> Found:
    """Simulate the region at `part` of its load; each call visits its services once, for as long as it falls out."""
    flows = [
        Flow(
            kind, rates[kind] * part,
            [(service, exponential(by_kind[kind] / 1000)) for service, by_kind in spent.items() if by_kind[kind]],
        )
        for kind in KINDS
    ]  # fmt: skip
    return simulate(replicas, flows, seconds)


def first_to_break(found: list[Need]) -> tuple[str, float]:
    """Return the service that is full first when all load grows alike, and by how much it may grow until then."""
    return min(((one.service, one.replicas / one.cores) for one in found if one.cores), key=lambda pair: pair[1])
