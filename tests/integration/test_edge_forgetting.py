"""Documents taken out of answers that others delete or change meanwhile, on SQLite and on PostgreSQL."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, PIPELINE_STAGE_EDGE, ManifestSource, Source
from footnote_edge.adapters.answers import AnswerTable
from footnote_edge.adapters.database import MIGRATIONS, Database
from footnote_edge.adapters.forgetting import ForgettingTable
from footnote_edge.adapters.origins import OriginTable, row_key
from footnote_edge.adapters.tables import ForgottenRow, MessageOriginRow, MessageRow
from footnote_edge.asking import storing
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.origins import Origin, of_sources
from footnote_edge.conversations.withholding import Withholding
from footnote_kit.degradations import degradation
from footnote_kit.errors import NotFound
from sqlalchemy import delete, event, func, make_url, select, text, update
from support import postgres

pytestmark = pytest.mark.full

SCOPE = Scope(tenant_id="t", user_id="u")


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database of edge: SQLite, then PostgreSQL."""
    url = f"sqlite:///{tmp_path / 'edge.db'}"
    if request.param == "postgres":
        url = str(await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge"))
    opened = Database(url)
    await opened.migrate()
    yield opened
    await opened.close()


async def keep(database: Database, *names: str) -> None:
    answers = Answers(AnswerTable(database), None, 30)  # type: ignore[arg-type]  # nothing is read
    for name in names:
        sources = [Source(document_id=one, collection_id="c") for one in ("a", "b")]
        message = ConversationMessage(id=name, text=f"text of {name}", sources=sources)
        await answers.keep(SCOPE, message, of_sources(sources))


def by_somebody_else(database: Database, statement: str) -> None:
    """Run a statement on a connection of its own, amid whatever is under way."""
    url = database.engine.url
    if url.get_backend_name() == "sqlite":
        other = sqlite3.connect(url.database or "", isolation_level=None)
        other.execute("PRAGMA foreign_keys=ON")
        other.execute(statement)
        other.close()
        return
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True, options="-csearch_path=edge") as connection:
        connection.execute(statement)


def amid_reading(database: Database, statement: str) -> list[str]:
    """Run a concurrent statement once, right after answers were read; return the statements so far."""
    done: list[str] = []

    def after(_connection: Any, _cursor: Any, said: str, *_more: Any) -> None:
        if "messages.payload" in said and said.startswith("SELECT") and not done:
            done.append(statement)
            by_somebody_else(database, statement)

    event.listen(database.engine.sync_engine, "after_cursor_execute", after)
    return done


async def rows(database: Database) -> dict[str, str]:
    async with database.sessions() as session:
        return {row.id: row.text for row in (await session.scalars(select(MessageRow))).all()}


async def links(database: Database, document: str) -> int:
    named = select(func.count()).where(MessageOriginRow.document_id == document)
    async with database.sessions() as session:
        return await session.scalar(named) or 0


async def test_an_answer_that_is_deleted_meanwhile_is_passed_over(database: Database) -> None:
    await keep(database, "gone", "stays")
    done = amid_reading(database, "DELETE FROM messages WHERE id = 'gone'")
    assert await ForgettingTable(database).documents(["a"]) == []
    assert done
    assert await rows(database) == {"stays": ""}
    assert (await links(database, "a"), await links(database, "b")) == (0, 1)


async def test_what_others_change_meanwhile_is_taken_out_and_kept(database: Database) -> None:
    await keep(database, "one")
    changed = ConversationMessage(id="one", text="new", question_id="q", sources=[Source(document_id="a")])
    literal = changed.SerializeToString().hex()
    value = f"decode('{literal}', 'hex')" if not database.is_sqlite else f"X'{literal}'"
    done = amid_reading(database, f"UPDATE messages SET payload = {value} WHERE id = 'one'")
    await ForgettingTable(database).documents(["a"])
    assert done
    async with database.sessions() as session:
        row = (await session.scalars(select(MessageRow))).one()
    kept = ConversationMessage.FromString(row.payload)
    assert (kept.question_id, kept.text, list(kept.sources), row.text) == ("q", "", [], "")
    assert await links(database, "a") == 0


async def test_documents_and_answers_go_at_once(database: Database) -> None:
    names = [f"n{number:03}" for number in range(120)]
    await keep(database, *names)
    forgetting = ForgettingTable(database)

    async def drop(name: str) -> None:
        async with database.sessions.begin() as session:
            await session.execute(delete(MessageRow).where(MessageRow.id == name))

    await asyncio.gather(
        forgetting.documents(["a"]), forgetting.documents(["b"]), forgetting.documents(["a", "b"]),
        *(drop(name) for name in names[::3]),
    )  # fmt: skip
    found = await rows(database)
    assert set(found) == set(names) - set(names[::3])
    assert set(found.values()) == {""}
    assert (await links(database, "a"), await links(database, "b")) == (0, 0)


async def test_an_answer_that_is_stored_after_a_deletion_is_found(database: Database) -> None:
    """A deletion that read the answers before this one existed, or a crash between the two."""
    forgetting = ForgettingTable(database)
    await forgetting.documents(["a"])
    await keep(database, "late", "whole")
    assert (await OriginTable(database).deleted(["late", "whole", "other"])) == {"late", "whole"}
    await forgetting.sweep()
    assert await rows(database) == {"late": "", "whole": ""}
    assert (await links(database, "a"), await links(database, "b")) == (0, 2)
    await forgetting.collection("c")
    assert await rows(database) == {}


async def test_a_row_that_is_deleted_ends_questions_asked_before_and_no_others(database: Database) -> None:
    """Its id may be in use again, also for a document of another collection."""
    origins, forgetting, before = OriginTable(database), ForgettingTable(database), datetime.now(UTC)
    await keep(database, "one")
    assert [await origins.page(after, 1) for after in ("", "a", "b")] == [[("c", "a")], [("c", "b")], []]
    await forgetting.rows("c", ["a"])
    assert (await rows(database), await links(database, "a")) == ({"one": ""}, 0)
    after, made_of = datetime.now(UTC), {Origin("c", "a"), Origin("d", "a"), Origin("c", "b")}
    assert await origins.gone({Origin("d", "a"), Origin("c", "b")}, before) == set()
    assert [await origins.gone(made_of, since) for since in (before, after)] == [{"a"}, set()]
    await keep(database, "two")
    assert (await origins.deleted(["two"]), await forgetting.sweep()) == (set(), [])
    await forgetting.rows("c", ["a"])
    assert await origins.gone(made_of, after) == {"a"}, "deleted once more"


async def test_a_row_deleted_amid_a_store_leaves_rows_of_the_same_id_elsewhere(database: Database) -> None:
    """Ids of rows are the callers' own: "a" of the other collection is another row."""
    origins, forgetting, asked_at = OriginTable(database), ForgettingTable(database), datetime.now(UTC)
    await forgetting.rows("c", ["a"])
    answers = Answers(AnswerTable(database), None, 30)  # type: ignore[arg-type]  # nothing is read
    for name, collections in (("mixed", ("c", "d")), ("other", ("d",))):
        sources = [Source(document_id="a", collection_id=one) for one in collections]
        message = ConversationMessage(id=name, text=f"text of {name}", sources=sources)
        await answers.keep(SCOPE, message, of_sources(sources))
    made_of, later = {Origin("c", "a"), Origin("d", "a")}, datetime.now(UTC)
    jobs = SimpleNamespace(remove_forgotten_from_memory=lambda _: None)
    withholding = Withholding(None, origins)  # type: ignore[arg-type]  # is not reached
    tools = SimpleNamespace(withholding=withholding, forgetting=forgetting, jobs=jobs)
    question: Any = SimpleNamespace(tools=tools, scope=SCOPE, asked_at=asked_at)
    draft: Any = SimpleNamespace(origins=made_of)
    with pytest.raises(NotFound):
        await storing._check_again(question, draft)
    assert await rows(database) == {"mixed": "", "other": "text of other"}
    assert await origins.gone(made_of, later) == set(), "answers asked later may use the ids again"


async def test_many_notes_are_written_and_dropped_in_short_transactions(database: Database) -> None:
    """While one is written, nothing else of edge is on SQLite: no question, no key, no quota."""
    changed: list[int] = []

    def after(_connection: Any, cursor: Any, said: str, *_more: Any) -> None:
        if said.startswith(("INSERT", "UPDATE", "DELETE")):
            changed.append(cursor.rowcount)

    forgetting = ForgettingTable(database)
    await forgetting.documents(["old", "new"])
    event.listen(database.engine.sync_engine, "after_cursor_execute", after)
    many = [f"r{number}" for number in range(1200)]
    for _ in range(2):
        await forgetting.rows("c", many)
    assert len(changed) == 6, "a statement for each 500, also where they are noted already"
    assert await OriginTable(database).noted(row_key("c", one) for one in many) == {row_key("c", one) for one in many}
    by_somebody_else(database, "UPDATE forgotten SET create_time = '2020-01-01 00:00:00.000000' WHERE id <> 'new'")
    changed.clear()
    await forgetting.sweep()
    assert sum(changed) == 1201
    assert max(changed) == 500
    assert await OriginTable(database).noted([*(row_key("c", one) for one in many), "old", "new"]) == {"new"}


async def test_notes_of_rows_are_dropped_after_a_day(database: Database) -> None:
    forgetting = ForgettingTable(database)
    await forgetting.documents(["a document"])
    await forgetting.rows("c", [f"r{number}" for number in range(600)])
    two_days = (datetime.now(UTC) - timedelta(days=2)).strftime("%Y-%m-%d %H:%M:%S.000000")
    by_somebody_else(database, f"UPDATE forgotten SET create_time = '{two_days}'")
    await forgetting.rows("c", ["young"])
    await forgetting.sweep()
    kept = await OriginTable(database).noted(["a document", row_key("c", "r1"), row_key("c", "young")])
    assert kept == {"a document", row_key("c", "young")}


def of_before(name: str, *, sources: str = "", history: str = "", deleted: bool = False) -> ConversationMessage:
    """Return an answer as it was stored before origins were noted; without a manifest where there is no history."""
    message = ConversationMessage(id=name, role=MESSAGE_ROLE_ASSISTANT, text=f"text of {name}")
    message.sources.extend(Source(document_id=one, collection_id="c", revision=2) for one in sources if not deleted)
    if history != "none":
        message.manifest.query = f"query of {name}"
        message.manifest.history_message_ids.extend(history.split())
        kept = [ManifestSource(document_id=one, collection_id="c", revision=2) for one in sources]
        message.manifest.sources.extend(kept)
    if deleted:
        message.degradations.append(degradation(PIPELINE_STAGE_EDGE, "DOCUMENT_DELETED", "gone"))
    return message


async def test_answers_of_before_get_their_origins(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    messages = [
        of_before("cited", sources="ab"),
        of_before("derived", history="cited"),
        of_before("broken", history="none"),
        of_before("small", history=""),
        of_before("emptied", sources="x", deleted=True),
        of_before("of the emptied", history="emptied"),
    ]
    now = datetime.now(UTC)
    async with database.engine.begin() as connection:
        await connection.run_sync(lambda plain: MIGRATIONS.upgrade(plain, "0015"))
        await connection.execute(
            text(
                "INSERT INTO conversations (id, tenant_id, user_id, title, collections, topic, local_only, "
                "create_time, update_time) VALUES ('talk', 't', 'u', '', '[]', '', false, :now, :now)"
            ),
            {"now": now.isoformat()},
        )
        for one in messages:
            values = {"id": one.id, "text": one.text, "payload": one.SerializeToString(), "now": now.isoformat()}
            await connection.execute(
                text(
                    "INSERT INTO messages (id, conversation_id, tenant_id, user_id, role, text, payload, create_time) "
                    "VALUES (:id, 'talk', 't', 'u', 3, :text, :payload, :now)"
                ),
                values,
            )
    await database.migrate()
    both = {Origin("c", "a", 2), Origin("c", "b", 2)}
    of_x = {Origin("c", "x", 2)}
    assert await OriginTable(database).of(one.id for one in messages) == {
        "cited": both, "derived": both, "broken": both, "emptied": of_x, "of the emptied": of_x,
    }  # fmt: skip
    # What was deleted before is taken out of what derives from it when the service starts.
    assert {one.message_id for one in await ForgettingTable(database).sweep()} == {"emptied", "of the emptied"}
    left = {name for name, said in (await rows(database)).items() if said}
    assert left == {"cited", "derived", "broken", "small"}
    await ForgettingTable(database).documents(["a"])
    assert {name for name, said in (await rows(database)).items() if said} == {"small"}
    await database.close()


async def test_a_sweep_reads_from_the_notes_on_and_not_all_answers(tmp_path: Path) -> None:
    """Ask the database how it would answer, where it can be asked without a server."""
    opened = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await opened.migrate()
    said = []
    event.listen(opened.engine.sync_engine, "before_cursor_execute", lambda *told: said.append(told[2:4]))
    table = ForgettingTable(opened)
    await table.documents(["a"])
    said.clear()
    await table.sweep()
    asked = [one for one in said if "message_origins" in one[0]]
    assert len(asked) == 2
    with sqlite3.connect(tmp_path / "edge.db") as connection:
        for statement, parameters in asked:
            plan = " | ".join(row[-1] for row in connection.execute(f"explain query plan {statement}", parameters))
            assert "SCAN message_origins" not in plan, plan
    await opened.close()


async def test_a_sweep_looks_at_new_notes_alone_and_at_all_every_hour(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old note's remainder is found at the first sweep; one that came without a check, within the hour."""
    table = ForgettingTable(database)
    await table.documents(["a"])
    async with database.sessions.begin() as session:
        await session.execute(update(ForgottenRow).values(create_time=datetime.now(UTC) - timedelta(days=2)))
    await keep(database, "first")
    assert len(await ForgettingTable(database).sweep()) == 0, "the answer stands alone, in no conversation"
    assert await origins_of(database, "first") == {"b"}
    assert await table.sweep() == []
    await keep(database, "second")
    await table.sweep()
    assert await origins_of(database, "second") == {"a", "b"}
    monkeypatch.setattr(table, "_whole_due", 0.0)
    await table.sweep()
    assert await origins_of(database, "second") == {"b"}


async def origins_of(database: Database, name: str) -> set[str]:
    async with database.sessions() as session:
        query = select(MessageOriginRow.document_id).where(MessageOriginRow.message_id == name)
        return set(await session.scalars(query)) - {""}
