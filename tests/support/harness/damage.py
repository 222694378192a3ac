"""Damages the write-ahead log of a killed database, and compares how the service starts with what SQLite has lost.

SQLite itself decides: it reads a copy of the files before and one after the damage. Only what differs between the two
may be missing afterwards, or have its earlier value.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import struct
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from support.deployment import Deployment
from support.harness.reference_model import Conversation, Document, Presence, ReferenceModel

VICTIMS = {
    "documents": ("ingestion", "ingestion/documents.db"),
    "indexing": ("indexing", "indexing/indexing.db"),
    "edge": ("edge", "edge/edge.db"),
    "jobs": ("edge", "edge/jobs.db"),
}
"""By part: its service and its file."""

MOST_BITS = 64
HEADER, FRAME_HEADER = 32, 24
REFUSES = 90.0
"""Seconds within which a start must be refused, on a loaded machine."""
READY = 240.0
ACCEPTED = "damaged_log_accepted"


@dataclass(frozen=True, slots=True)
class Lost:
    """What a damaged log lost, and the databases before and after.

    The number of commits is None if the header is damaged; bits flipped in frame headers make it `unsure`.
    """

    commits: int | None
    unsure: int
    intact: Path
    left: Path


class Damage:
    """Damages the logs of one deployment. All methods block: call them on a thread."""

    def __init__(self, running: Deployment, world: ReferenceModel, aside: Path) -> None:
        self._running = running
        self._world = world
        self._aside = aside

    def strike(self, part: str, seed: int) -> list[str]:
        """Kill a part's service, damage its log, start it, and return what is wrong with how it starts."""
        service, place = VICTIMS[part]
        running = self._running
        target = service if running.separate else "all"
        running.kill(target)
        lost = spoil(running.folder / place, self._aside, random.Random(seed))
        if lost is None or lost.commits == 0:
            self._world.counts[f"logs of {part} with nothing to lose"] += 1
            running.spawn(target)
            running.wait(READY)
            return []
        self._world.counts[f"damaged logs of {part}"] += 1
        self._world.counts["commits lost by damage"] += lost.commits or 0
        self._world.note(f"DAMAGE of {part}: {lost.commits} commits")
        found = wrong_refusal(self._refused(target), part, running.folder / place, lost)
        with running.accepting(part):
            found += self._accepted(target, part, random.Random(f"{seed}/accepted").uniform(0, 1))
        undo(part, lost, self._world)
        running.spawn(target)  # an accepted loss need not be accepted again
        running.wait(READY)
        return found

    def _accepted(self, target: str, part: str, delay: float) -> list[str]:
        """Start a target, and kill it some seconds after it has reported that the loss is accepted."""
        before, ends = len(self._running.log(target)), time.monotonic() + READY
        self._running.spawn(target)
        process = self._running.processes[target]
        while ACCEPTED not in self._running.log(target)[before:]:
            if process.poll() is not None or time.monotonic() > ends:
                self._running.kill(target)
                said = self._running.log(target)[before:]
                return [f"lost: the loss of commits of {part} is not accepted: {said[-600:]!r}"]
            time.sleep(0.02)
        time.sleep(delay)
        self._running.kill(target)
        self._world.counts["kills after a loss was accepted"] += 1
        return []

    def _refused(self, target: str) -> str:
        """Start a target and return its output if it ends, "" if it does not."""
        before = len(self._running.log(target))
        self._running.spawn(target)
        process = self._running.processes[target]
        try:
            code = process.wait(REFUSES)
        except subprocess.TimeoutExpired:
            code = 0
        self._running.kill(target)
        return self._running.log(target)[before:] if code else ""


def wrong_refusal(said: str, part: str, path: Path, lost: Lost) -> list[str]:
    """Compare the refusal of a start with a damaged log with what was lost."""
    if not said:
        return [f"lost: the damaged log of {part} was not refused, and cost {lost.commits} commits"]
    wanted = (
        f"The write-ahead log of the {part} database {path} is damaged: its ",
        f"start with --accept {part} to go on without them.",
    )
    found = [f"differs: the refusal of {part} lacks {one!r}: {said[-600:]!r}" for one in wanted if one not in said]
    if "Traceback" in said:
        found.append(f"differs: the refusal of {part} is a traceback")
    counted = re.search(r"its (?:(commits since the last checkpoint)|newest (\d+) commits|newest commit), until", said)
    commits = -1 if counted is None else None if counted[1] else int(counted[2] or 1)
    if commits is None or lost.commits is None:
        right = commits is lost.commits
    else:
        right = abs(commits - lost.commits) <= lost.unsure
    return found if right else [*found, f"differs: {commits} commits of {part} are said to be lost, {lost.commits} are"]


def spoil(path: Path, aside: Path, chance: random.Random) -> Lost | None:
    """Flip 1 to 64 bits in the committed part of a database's log; None if there is nothing to lose."""
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or log.stat().st_size <= HEADER:
        return None
    content = log.read_bytes()
    backfilled, attempted = _checkpointed(path)
    intact = _copied(path, aside / "intact", content)
    committed = _frames(_copied(path, aside / "counted", content))
    if not committed or attempted > backfilled:
        return None  # the log is empty, or a checkpoint was interrupted
    size = FRAME_HEADER + struct.unpack_from(">I", content, 8)[0]
    first = 0 if chance.random() < 0.1 else HEADER
    bits = 1 if chance.random() < 0.5 else chance.randint(2, MOST_BITS)
    damaged = bytearray(content)
    unsure = 0
    for place in (chance.randrange(first * 8, (HEADER + committed * size) * 8) for _ in range(bits)):
        damaged[place // 8] ^= 1 << place % 8
        unsure += (place // 8 - HEADER) % size < FRAME_HEADER
    if damaged == content:
        return None
    log.write_bytes(damaged)
    readable = _frames(_copied(path, aside / "read", bytes(damaged)))
    kept = max(readable, backfilled)  # frames that the file already has are not read from the log
    left = _copied(path, aside / "left", b"" if backfilled > readable else bytes(damaged))
    places = range(HEADER + kept * size, HEADER + committed * size, size)
    commits = sum(content[place + 4 : place + 8] != bytes(4) for place in places)
    beheaded = damaged[:HEADER] != content[:HEADER] and commits > 0
    return Lost(None if beheaded else commits, unsure, intact, left)


def _checkpointed(path: Path) -> tuple[int, int]:
    """Return how many frames a checkpoint has written to the file, and how many it was about to write."""
    index = path.with_name(f"{path.name}-shm").read_bytes()
    return struct.unpack_from("=I", index, 96)[0], struct.unpack_from("=I", index, 128)[0]


def _copied(path: Path, folder: Path, log: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = Path(shutil.copy(path, folder))
    if log:
        made.with_name(f"{made.name}-wal").write_bytes(log)
    return made


def _frames(copy: Path) -> int:
    """Return how many frames of a copy's log SQLite reads; this changes the copy."""
    with closing(sqlite3.connect(copy)) as connection:
        return max(0, int(connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]))


class _Changes:
    """How a query's rows differ between both databases, by their first column."""

    def __init__(self, lost: Lost, query: str) -> None:
        before, after = (_rows(one, query) for one in (lost.intact, lost.left))
        self.missing = before.keys() - after.keys()
        self.back = after.keys() - before.keys()
        self.touched = {one for one in before.keys() | after.keys() if before.get(one) != after.get(one)}

    def presence(self, one_id: str, presence: Presence) -> Presence:
        """Return the presence of a thing that was certain before."""
        lost = self.missing if presence is Presence.THERE else self.back
        return Presence.POSSIBLE if one_id in lost else presence


def _rows(path: Path, query: str) -> dict[str, tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        try:
            return {row[0]: row[1:] for row in connection.execute(query)}
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return {}
            raise


def undo(part: str, lost: Lost, world: ReferenceModel) -> None:
    """Record in the model what may be missing, or have its earlier value, without the lost commits."""
    {"documents": _documents, "indexing": _indexing, "edge": _edge, "jobs": _jobs}[part](lost, world)


def _documents(lost: Lost, world: ReferenceModel) -> None:
    changes = _Changes(lost, "SELECT id, * FROM documents WHERE delete_time IS NULL")
    for one in world.documents:
        if one.id:
            one.presence = changes.presence(one.id, one.presence)
        if one.id in changes.touched:
            _values(one)
    named = [set(_rows(path, query)) for path in (lost.intact, lost.left) for query in _KEYS]
    half = len(_KEYS)
    world.loose_files |= set().union(*(a ^ b for a, b in zip(named[:half], named[half:], strict=True)))


_KEYS = (
    "SELECT blob_key FROM documents UNION SELECT parsed_key FROM documents UNION SELECT searched_key FROM documents",
    "SELECT key FROM doomed_blobs",
)


def _values(one: Document) -> None:
    one.content.undone()
    one.tag.undone()


def _indexing(lost: Lost, world: ReferenceModel) -> None:
    changes = _Changes(lost, "SELECT id, * FROM indexing_collections WHERE NOT hidden")
    for one in world.collections:
        one.presence = changes.presence(one.id, one.presence)
        if one.id in changes.touched:
            for value in (one.description, one.dimensions, one.size, one.grantee):
                value.undone()
    versions = _Changes(lost, "SELECT collection_id || ':' || number, * FROM indexing_generations")
    world.lost_index_versions |= versions.missing
    rows = _Changes(lost, "SELECT document_id || ':' || revision, * FROM indexing_revisions")
    touched = {key.rpartition(":")[0] for key in rows.touched}
    for collection_id, known in world.rows.items():
        for name, of in known.items():
            if f"{collection_id}/{name}" in touched:
                of.undone()


def _edge(lost: Lost, world: ReferenceModel) -> None:
    talks = _Changes(lost, "SELECT id, * FROM conversations")
    messages = _Changes(lost, "SELECT id, text FROM messages")
    world.lost_messages |= messages.missing
    ratings = _Changes(lost, "SELECT answer_id, rating FROM feedback")
    for one in world.conversations:
        one.presence = talks.presence(one.id, one.presence)
        if one.id in talks.touched:
            one.title.undone()
        _questions(one, messages.touched, ratings.touched)
    keys = _Changes(lost, "SELECT id FROM api_keys WHERE revoke_time IS NULL")
    for key in world.keys:
        key.presence = keys.presence(key.id, key.presence)
    for operation_id in _Changes(lost, "SELECT id FROM operations").missing:
        world.operations.pop(operation_id, None)


def _questions(one: Conversation, messages: set[str], ratings: set[str]) -> None:
    for question in one.questions:
        if {question.question_id, question.answer_id} & messages:
            question.certain = False
        if question.answer_id in ratings | messages:
            question.rating.undone()
            question.rating.maybe(0)


def _jobs(lost: Lost, world: ReferenceModel) -> None:
    """Lost jobs cost nothing: reconciliation finds their documents and enqueues them again."""
