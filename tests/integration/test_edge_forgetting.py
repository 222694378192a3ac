"""Documents taken out of answers that others delete or change meanwhile, on SQLite and on PostgreSQL."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.scope_pb2 import Scope
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import MessageDocumentRow, MessageRow
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.forgetting import Forgetting
from sqlalchemy import delete, event, func, make_url, select
from support import postgres

pytestmark = pytest.mark.full

SCOPE = Scope(tenant_id="t", user_id="u")


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    url = f"sqlite:///{tmp_path / 'edge.db'}"
    if request.param == "postgres":
        url = str(await postgres.new_database(request.getfixturevalue("postgres_url")))
    opened = Database(url)
    await opened.migrate()
    yield opened
    await opened.close()


async def keep(database: Database, *names: str) -> None:
    answers = Answers(database, None, 30)  # type: ignore[arg-type]  # nothing is read
    for name in names:
        sources = [Source(document_id=one, collection_id="c") for one in ("a", "b")]
        await answers.keep(SCOPE, ConversationMessage(id=name, text=f"text of {name}", sources=sources))


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
    """Have somebody else run a statement once, right after answers were read; return what was run so far."""
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
    named = select(func.count()).where(MessageDocumentRow.document_id == document)
    async with database.sessions() as session:
        return await session.scalar(named) or 0


async def test_an_answer_that_is_deleted_meanwhile_is_passed_over(database: Database) -> None:
    await keep(database, "gone", "stays")
    done = amid_reading(database, "DELETE FROM messages WHERE id = 'gone'")
    assert await Forgetting(database).documents(["a"]) == []
    assert done
    assert await rows(database) == {"stays": ""}
    assert (await links(database, "a"), await links(database, "b")) == (0, 1)


async def test_what_others_change_meanwhile_is_taken_out_and_kept(database: Database) -> None:
    await keep(database, "one")
    changed = ConversationMessage(id="one", text="new", question_id="q", sources=[Source(document_id="a")])
    literal = changed.SerializeToString().hex()
    value = f"decode('{literal}', 'hex')" if not database.is_sqlite else f"X'{literal}'"
    done = amid_reading(database, f"UPDATE messages SET payload = {value} WHERE id = 'one'")
    await Forgetting(database).documents(["a"])
    assert done
    async with database.sessions() as session:
        row = (await session.scalars(select(MessageRow))).one()
    kept = ConversationMessage.FromString(row.payload)
    assert (kept.question_id, kept.text, list(kept.sources), row.text) == ("q", "", [], "")
    assert await links(database, "a") == 0


async def test_documents_and_answers_go_at_once(database: Database) -> None:
    names = [f"n{number:03}" for number in range(120)]
    await keep(database, *names)
    forgetting = Forgetting(database)

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
