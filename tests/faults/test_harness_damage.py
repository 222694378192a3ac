"""The harness's damage of logs and its data of earlier releases, shown what is wrong: it finds each."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from support.doubles.listing_caller import Listing
from support.harness import audit, damage, earlier, message_audit, reference_model, storage_audit, vector_steps
from support.harness.damage import Lost, spoil, undo, wrong_refusal
from support.harness.modes import MODES
from support.harness.plan import SHORT, plan, upgrade
from support.harness.reference_model import Possible, Presence, ReferenceModel, sha256
from support.harness.tables import Tables
from support.states import STATES

DOCUMENTS = """
CREATE TABLE documents (id TEXT PRIMARY KEY, tag TEXT, delete_time INTEGER, blob_key TEXT, parsed_key TEXT DEFAULT '',
                        searched_key TEXT DEFAULT '');
CREATE TABLE doomed_blobs (key TEXT PRIMARY KEY);
"""
STATEMENTS = (
    "INSERT INTO documents (id, tag, blob_key) VALUES ('new', 'a', 'k/new')",
    "UPDATE documents SET tag = 'b' WHERE id = 'changed'",
    "DELETE FROM documents WHERE id = 'deleted'",
    "INSERT INTO doomed_blobs VALUES ('k/deleted')",
)
IDS = ("new", "changed", "deleted", "old")


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A database whose last four commits are in its log alone."""
    writing = tmp_path / "writing" / "documents.db"
    writing.parent.mkdir()
    with closing(sqlite3.connect(writing, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(DOCUMENTS)
        for one in ("changed", "deleted", "old"):
            connection.execute("INSERT INTO documents (id, tag, blob_key) VALUES (?, 'a', 'k/' || ?)", (one, one))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for statement in STATEMENTS:
            connection.execute(statement)
        shutil.copytree(writing.parent, tmp_path / "killed")  # as a kill would leave it
    return tmp_path / "killed" / "documents.db"


def model() -> ReferenceModel:
    home = reference_model.Collection("c", "c1", Possible(""), Possible(0), Possible(0))
    made = ReferenceModel([home])
    for number, one in enumerate(IDS):
        presence = Presence.GONE if one == "deleted" else Presence.THERE
        made.documents.append(reference_model.Document(one, home, Possible(number), one, Possible("a"), presence))
    made.documents[1].tag.acknowledged("b", 0)
    return made


def listed(*ids: str, **tags: str) -> Any:
    documents = [
        Document(
            id=one, filename=f"{one}.md", collection_id="c1", sha256=sha256(IDS.index(one)), revision=1,
            indexed_revision=1, state=DOCUMENT_STATE_INDEXED, tags=[tags.get(one, "a")],
        )
        for one in ids
    ]  # fmt: skip
    return Listing(documents=documents)


def categories(found: list[str]) -> list[str]:
    return [one.partition(":")[0] for one in found]


@pytest.mark.parametrize("seed", range(20))
def test_a_spoilt_log_loses_its_newest_commits_and_the_model_follows(killed: Path, seed: int) -> None:
    lost = spoil(killed, killed.parent / "aside", random.Random(seed))
    assert lost is not None
    assert lost.commits is None or 1 <= lost.commits <= len(STATEMENTS)
    shutil.rmtree(killed.parent / "aside" / "counted")
    with closing(sqlite3.connect(killed)) as connection:  # the judge
        left = dict(connection.execute("SELECT id, tag FROM documents").fetchall())
        doomed = connection.execute("SELECT count(*) FROM doomed_blobs").fetchone()[0]
    made = model()
    undo("documents", lost, made)
    by_id = {one.id: one for one in made.documents}
    assert (by_id["new"].presence is Presence.POSSIBLE) == ("new" not in left)
    assert (by_id["deleted"].presence is Presence.POSSIBLE) == ("deleted" in left)
    assert by_id["changed"].tag.allows("a") == (left["changed"] == "a")
    assert by_id["old"].presence is Presence.THERE
    assert ("k/deleted" in made.loose_files) == (not doomed or "deleted" in left)
    if lost.commits is not None:
        assert doomed == 0


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (listed("changed", "deleted", "old"), []),
        (listed("changed", "old", changed="b"), []),
        (listed("new", "changed", "old", changed="b"), []),
        (listed("changed", "deleted"), ["lost"]),
        (listed("changed", "old", changed="c"), ["differs"]),
        (listed("changed", "old", old="b"), ["differs"]),
    ],
)
async def test_what_was_not_in_the_lost_commits_is_lost(killed: Path, shown: Any, found: list[str]) -> None:
    log = killed.with_name(f"{killed.name}-wal")
    content = log.read_bytes()
    intact = damage._copied(killed, killed.parent / "intact", content)
    left = damage._copied(killed, killed.parent / "left", b"")
    made = model()
    made.collections.clear()
    undo("documents", Lost(4, 0, intact, left), made)
    assert categories(await audit.catalogue(shown, made)) == found


def test_files_of_lost_commits_alone_may_be_loose(tmp_path: Path) -> None:
    (tmp_path / "blobs" / "k").mkdir(parents=True)
    (tmp_path / "spool").mkdir()
    for name in ("new", "other"):
        (tmp_path / "blobs" / "k" / name).touch()
    made = ReferenceModel(loose_files={"k/new", "k/deleted"})
    rows = [("deleted", "k/deleted", "")]
    assert categories(storage_audit._files(tmp_path, rows, set(), made)) == ["ghost"]
    (tmp_path / "blobs" / "k" / "other").unlink()
    assert not storage_audit._files(tmp_path, rows, set(), made)
    assert categories(storage_audit._files(tmp_path, [*rows, ("old", "k/old", "")], set(), made)) == ["lost"]


async def test_messages_of_lost_commits_alone_may_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "id TEXT PRIMARY KEY, conversation_id TEXT, role INTEGER, embed_time TEXT, superseded_by TEXT, text TEXT"
    places = {one: tmp_path / one / "edge" / "edge.db" for one in ("intact", "left")}
    for name, place in places.items():
        place.parent.mkdir(parents=True)
        with closing(sqlite3.connect(place)) as connection:
            connection.execute(f"CREATE TABLE messages ({columns})")
            for one in ("old", "lost") if name == "intact" else ("old",):
                connection.execute(
                    "INSERT INTO messages VALUES (?, 'c', ?, 'now', NULL, 'a')", (one, MESSAGE_ROLE_USER)
                )
            connection.commit()
    made = ReferenceModel()

    async def remembered(_: object) -> list[dict[str, str]]:
        return [{"id": f"c:{one}"} for one in ("old", "lost", "other")]

    monkeypatch.setattr(message_audit, "memory_rows", remembered)
    running: Any = None
    tables = Tables(tmp_path / "left")
    assert categories(await message_audit.memory(running, tables, made)) == ["ghost", "ghost"]
    undo("edge", Lost(1, 0, places["intact"], places["left"]), made)
    (found,) = await message_audit.memory(running, tables, made)
    assert found.startswith("ghost: memory holds other")


REFUSED = (
    "The write-ahead log of the edge database /d/edge.db is damaged: its newest 3 commits, until 2026-11-27 19:00:00 "
    "UTC, cannot be read. Put back a copy, or start with --accept edge to go on without them."
)


@pytest.mark.parametrize(
    ("text", "commits", "found"),
    [
        (REFUSED, 3, []),
        (REFUSED.replace("newest 3 commits", "newest commit"), 1, []),
        (REFUSED.replace("newest 3 commits", "commits since the last checkpoint"), None, []),
        ("", 3, ["lost"]),
        (REFUSED, 4, ["differs"]),
        (REFUSED, None, ["differs"]),
        (REFUSED.replace("newest 3 commits", "commits since the last checkpoint"), 3, ["differs"]),
        (REFUSED.replace("--accept edge", "another database"), 3, ["differs"]),
        (REFUSED.replace("/d/edge.db", "/d/jobs.db"), 3, ["differs"]),
        (REFUSED + " Traceback (most recent call last)", 3, ["differs"]),
    ],
)
def test_a_wrong_refusal_is_found(text: str, commits: int | None, found: list[str]) -> None:
    lost = Lost(commits, 0, Path("a"), Path("b"))
    assert categories(wrong_refusal(text, "edge", Path("/d/edge.db"), lost)) == found


@pytest.mark.parametrize("state", STATES)
async def test_what_an_earlier_release_stored_and_is_missing_is_found(tmp_path: Path, state: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    made = ReferenceModel()
    earlier.begin(folder, state, made)
    shown = [
        Document(
            id=one.id, filename=one.filename, collection_id=one.collection.id, sha256=sha256(one.content.certain),
            revision=1, indexed_revision=1, state=DOCUMENT_STATE_INDEXED, tags=["water"],
        )
        for one in made.documents
    ]  # fmt: skip
    made.collections.clear()
    assert not await audit.catalogue(Listing(documents=shown), made)
    assert categories(await audit.catalogue(Listing(documents=shown[1:]), made)) == ["lost"]
    [(_, rows)] = made.rows.items()
    kept = [vector_steps.VectorRow(id=name, text=of.certain) for name, of in rows.items()]
    assert len(kept) == earlier.OWN_ROWS
    assert not await vector_steps.audit(Listing(rows=kept), made)
    assert categories(await vector_steps.audit(Listing(rows=kept[1:]), made)) == ["lost"]
    [talk, _] = made.conversations
    messages = [
        message_audit.talk.ConversationMessage(id=one, question_id=question.question_id, text=question.text, role=role)
        for question in talk.questions
        for one, role in ((question.question_id, MESSAGE_ROLE_USER), (question.answer_id, MESSAGE_ROLE_ASSISTANT))
    ]
    assert not await message_audit._messages(Listing(messages=messages), talk)
    assert categories(await message_audit._messages(Listing(messages=messages[:-1]), talk)) == ["lost"]
    talk.questions[-1].certain = False
    assert not await message_audit._messages(Listing(messages=messages[:-1]), talk)
    assert made.keys


def test_seeds_mean_damage_and_upgrades() -> None:
    for mode in (MODES["all"], MODES["separate"]):
        many = [plan(SHORT + seed, mode) for seed in range(60)]
        assert {one.damage for one in many} == {"", *damage.VICTIMS}
        begun = [upgrade(SHORT + seed, mode) for seed in range(60)]
        assert {one.state for one in begun if one is not None} == set(STATES)
        assert None in begun
    assert not any(plan(SHORT + seed, MODES["postgres"]).damage for seed in range(60))
