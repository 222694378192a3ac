"""Derives a round from a seed: the steps of every lane and the faults. Neither clock nor responses affect it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from support.harness.damage import VICTIMS
from support.harness.modes import Mode
from support.states import STATES

LANES = 4
"""Concurrent callers; each has its own collections, documents, conversations and keys, and runs one step at a time."""

SHORT = 100
"""Seeds below this give short rounds, of five steps a lane and two faults; others have fourteen and three."""

SEPARATE = ("store", "ingestion", "indexing", "retrieval", "augmentation", "generation", "edge")
TOGETHER = ("ingestion", "retrieval", "edge")
"""One stage of each of the three processes of `serve all`; edge's is the first, without which the others end."""

# Besides these, faults strike the engine, and the process from which ingestion forks its parsers.
SERVERS = ("postgres", "postgres", "postgres", "redis")
"""Servers, by relative frequency of their faults."""

DATABASES = ("ingestion/documents.db", "indexing/indexing.db", "edge/edge.db", "edge/jobs.db")
TABLES = ("ingestion.documents", "indexing_revisions", "edge.messages", "dbos.workflow_status")
"""Locked on PostgreSQL."""

STEPS = {
    "upload": 8, "duplicate": 1, "replace": 3, "break_off": 1, "retag": 2, "delete": 3, "reindex": 2, "look": 3,
    "collect": 1, "describe": 1, "share": 1, "resize": 1, "move": 1, "drop": 1,
    "converse": 1, "ask": 3, "rate": 1, "retitle": 1, "forget": 1,
    "vectors": 2, "revise": 1, "unvector": 1,
    "key": 1, "revoke": 1,
}  # fmt: skip
"""Steps by name, with their relative frequency."""

ABANDONED = {
    "upload",
    "replace",
    "retag",
    "describe",
    "share",
    "retitle",
    "ask",
    "delete",
    "vectors",
    "revise",
    "unvector",
}
"""Steps that a caller may give up when an answer was lost."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lane; numbers name things that have no id yet."""

    lane: int
    number: int
    kind: str
    collection: int = 0
    document: int = 0
    content: int = 0
    other: int = 0
    """A conversation, a key, or the step that added rows."""
    abandon: bool = False
    """The caller gives up when the first answer is lost."""
    repeat: bool = False
    """The caller repeats the call although it was answered."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its targets: it happens a moment after the lanes have begun this many steps; `hold` is in seconds."""

    kind: str
    victims: tuple[str, ...]
    after: int
    delay: float
    hold: float
    again: float | None = None
    """Seconds into the recovery after which it happens again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A round."""

    seed: int
    lanes: tuple[tuple[Step, ...], ...]
    faults: tuple[Fault, ...]
    damage: str = ""
    """The database whose log is damaged at the end, while accepted work is still in progress; empty for none."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An upgrade: the data of an earlier release, and kills during its first starts."""

    state: str
    kills: tuple[tuple[str, float], ...]
    """Each: a database, and the seconds after its log has begun to fill."""


@dataclass(slots=True)
class _Intended:
    """What a lane would have if every step succeeded."""

    collections: list[int] = field(default_factory=list)
    documents: dict[int, int] = field(default_factory=dict)
    conversations: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    vectors: list[int] = field(default_factory=list)


def plan(seed: int, mode: Mode) -> Plan:
    """Return the round of a seed."""
    steps, faults = (5, 2) if seed < SHORT else (14, 3)
    chance = random.Random(f"{seed}/{mode.name}")
    lanes = tuple(_lane(chance, seed, lane, steps) for lane in range(LANES))
    total = sum(map(len, lanes))
    moments = sorted(chance.sample(range(2, total - LANES), faults))
    made = tuple(_fault(chance, mode, moment) for moment in moments)
    damaged = seed >= SHORT and not mode.servers and chance.random() < 0.5
    return Plan(seed, lanes, made, chance.choice(list(VICTIMS)) if damaged else "")


def upgrade(seed: int, mode: Mode) -> Upgrade | None:
    """Return the upgrade with which a deployment begins whose first round has this seed; None for none."""
    chance = random.Random(f"{seed}/{mode.name}/upgrade")
    if seed < SHORT or mode.servers or chance.random() < 0.5:
        return None
    kills = tuple((chance.choice(list(VICTIMS)), chance.uniform(0, 0.3)) for _ in range(chance.randint(1, 3)))
    return Upgrade(chance.choice(STATES), kills)


def _lane(chance: random.Random, seed: int, lane: int, count: int) -> tuple[Step, ...]:
    has = _Intended([0], {0: 0})
    base = (seed % 10_000) * 1000 + lane * 200  # contents of neighbouring rounds differ
    steps = [Step(lane, 0, "collect"), Step(lane, 1, "upload", content=base)]
    made = 1
    while len(steps) < count + 2:
        kind = chance.choices(list(STEPS), list(STEPS.values()))[0]
        step = _step(chance, has, kind, lane, len(steps), base + made)
        if step is not None:
            made += 1
            steps.append(step)
    return tuple(steps)


def _step(chance: random.Random, has: _Intended, kind: str, lane: int, at: int, fresh: int) -> Step | None:
    """Return a step of a kind, None if the lane has nothing for it."""
    collection = chance.choice(has.collections) if has.collections else -1
    document = chance.choice(sorted(has.documents)) if has.documents else -1
    abandon = kind in ABANDONED and chance.random() < 0.2
    repeat = chance.random() < 0.4
    other = -1
    match kind:
        case "collect":
            has.collections.append(collection := at)
        case "drop":
            if len(has.collections) < 2:
                return None
            has.collections.remove(collection)
            has.documents = {one: home for one, home in has.documents.items() if home != collection}
        case "describe" | "share" | "resize" | "move":
            pass
        case "upload":
            has.documents[document := at] = collection
        case "duplicate" | "replace" | "break_off" | "retag" | "reindex" | "look" | "delete":
            if document < 0:
                return None
            collection = has.documents[document]
            if kind == "delete":
                del has.documents[document]
        case "converse":
            has.conversations.append(other := at)
        case "ask" | "rate" | "retitle" | "forget":
            if not has.conversations:
                return None
            other = chance.choice(has.conversations)
            if kind == "forget":
                has.conversations.remove(other)
        case "vectors":
            has.vectors.append(other := at)
        case "revise" | "unvector":
            if not has.vectors:
                return None
            other = chance.choice(has.vectors)
            if kind == "unvector":
                has.vectors.remove(other)
        case "key":
            has.keys.append(other := at)
        case "revoke":
            if not has.keys:
                return None
            has.keys.remove(other := chance.choice(has.keys))
    return Step(lane, at, kind, collection, document, fresh, other, abandon, repeat)


def _fault(chance: random.Random, mode: Mode, after: int) -> Fault:
    """Draw a fault: a kill more often than the others, of one process, a pair, or all; a third of kills come twice.

    Half of them affect the deployment's servers, if the mode has any.
    """
    if mode.servers and chance.random() < 0.5:
        return _beneath(chance, mode, after)
    stages: Sequence[str] = SEPARATE if mode.separate else TOGETHER
    kind = chance.choices(["kill", "term", "stop", "flap", "lock"], [6, 1, 2, 1, 1])[0]
    delay, hold = chance.uniform(0, 0.3), chance.uniform(0.3, 2.5)
    again = chance.uniform(0, 2.0) if kind == "kill" and chance.random() < 1 / 3 else None
    if kind == "lock":
        victims: tuple[str, ...] = (chance.choice(TABLES if mode.servers else DATABASES),)
    elif kind == "term":
        victims = (chance.choice(SEPARATE),) if mode.separate else ("whole",)
    elif kind == "kill" and chance.random() < 0.15:
        victims = ("whole",)
    else:
        several = 2 if chance.random() < 0.3 else 1
        victims = tuple(chance.sample([*stages, "engine", "parsers"], several))
    return Fault(kind, victims, after, delay, hold, again)


def _beneath(chance: random.Random, mode: Mode, after: int) -> Fault:
    """Draw a fault of a server, with a stage's process in a quarter of kills."""
    delay, hold = chance.uniform(0, 0.3), chance.uniform(0.3, 6.0)
    kind = chance.choices(["kill", "restart", "stop", "flap"], [4, 2, 2, 1])[0]
    victims: tuple[str, ...] = (chance.choice(SERVERS),)
    if kind == "kill" and chance.random() < 0.25:
        victims += (chance.choice(SEPARATE),)
    return Fault(kind, victims, after, delay, hold)
