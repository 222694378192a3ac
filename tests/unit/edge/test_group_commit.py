"""Answers kept side by side share transactions; one that cannot be kept takes no other with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import Source
from footnote_edge.adapters.answers import AnswerTable
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import MessageOriginRow, MessageRow
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.origins import of_sources
from footnote_edge.conversations.ports import AlreadyStored
from sqlalchemy import event, func, select
from sqlalchemy.exc import OperationalError

SCOPE = Scope(tenant_id="t", user_id="u")
ROWS: tuple[Any, ...] = (MessageRow, MessageOriginRow)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty SQLite database of edge."""
    opened = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
def answers(database: Database) -> Answers:
    """The keeper of answers, over that database."""
    return Answers(AnswerTable(database), None, 30)  # type: ignore[arg-type]  # nothing is read


def answer(name: str) -> ConversationMessage:
    """Return an answer that came of two documents of one collection."""
    sources = [Source(document_id=one, collection_id="c") for one in ("a", "b", "a")]
    return ConversationMessage(id=name, text=f"text of {name}", sources=sources)


async def keep(answers: Answers, message: ConversationMessage) -> None:
    await answers.keep(SCOPE, message, of_sources(message.sources))


async def counts(database: Database) -> list[int]:
    async with database.sessions() as session:
        return [await session.scalar(select(func.count()).select_from(row)) or 0 for row in ROWS]


def commits(database: Database) -> list[int]:
    seen: list[int] = []
    event.listen(database.engine.sync_engine, "commit", lambda _: seen.append(1))
    return seen


async def test_answers_given_at_once_share_transactions(database: Database, answers: Answers) -> None:
    seen = commits(database)
    await asyncio.gather(*(keep(answers, answer(f"n{number}")) for number in range(50)))
    assert await counts(database) == [50, 100]
    assert len(seen) <= 2


async def test_who_is_told_of_it_finds_it(database: Database, answers: Answers) -> None:
    async def kept(name: str) -> None:
        await keep(answers, answer(name))
        async with database.sessions() as session:
            assert await session.scalar(select(MessageRow.text).where(MessageRow.id == name)) == f"text of {name}"

    await asyncio.gather(*(kept(f"n{number}") for number in range(20)))


async def test_one_that_is_there_already_fails_alone(database: Database, answers: Answers) -> None:
    await keep(answers, answer("n3"))
    done = await asyncio.gather(*(keep(answers, answer(f"n{number}")) for number in range(10)), return_exceptions=True)
    assert [number for number, one in enumerate(done) if one is not None] == [3]
    assert isinstance(done[3], AlreadyStored)
    assert await counts(database) == [10, 20]


async def test_one_whose_caller_leaves_takes_no_other_with_it(database: Database, answers: Answers) -> None:
    tasks = [asyncio.create_task(keep(answers, answer(f"n{number}"))) for number in range(10)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    for task in tasks[::2]:
        with suppress(asyncio.CancelledError):
            await task
    await asyncio.gather(*tasks[1::2])
    async with database.sessions() as session:
        stored = set(await session.scalars(select(MessageRow.id)))
    assert stored >= {f"n{number}" for number in range(1, 10, 2)}
    await keep(answers, answer("later"))


async def test_a_database_that_fails_fails_all_that_wait_and_no_later_one(database: Database, answers: Answers) -> None:
    failing = True

    def refuse(*_: Any) -> None:
        if failing:
            raise OperationalError("INSERT", {}, Exception("disk I/O error"))

    event.listen(database.engine.sync_engine, "before_cursor_execute", refuse)
    done = await asyncio.gather(*(keep(answers, answer(f"n{number}")) for number in range(5)), return_exceptions=True)
    assert all(isinstance(one, OperationalError) for one in done)
    failing = False
    await asyncio.gather(*(keep(answers, answer(f"n{number}")) for number in range(5)))
    assert await counts(database) == [5, 10]
