"""The table by which replicas exchange traces; its failures are Unavailable."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import sqlalchemy as sa
from footnote_kit.errors import Unavailable
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.replica_tables import TraceQuestionRow as Row


class TraceQuestionTable:
    """Reads and writes questions and their answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, question: str, addressees: Sequence[str], request: bytes) -> None:
        """Store a question to several replicas."""
        rows = [{"question": question, "request": request, "addressee": one} for one in addressees]
        async with self._write() as connection:
            await connection.execute(sa.insert(Row), rows)

    async def answers(self, question: str) -> list[bytes]:
        """Return the answers to a question so far."""
        query = sa.select(Row.answer).where(Row.question == question, Row.answer.is_not(None))
        async with self._read() as connection:
            return [one for one in (await connection.execute(query)).scalars() if one is not None]

    async def waiting(self, addressee: str, most: int) -> list[tuple[str, bytes]]:
        """Return a replica's questions without an answer, and their requests."""
        query = sa.select(Row.question, Row.request).where(Row.addressee == addressee, Row.answer.is_(None))
        async with self._read() as connection:
            return [(row[0], row[1]) for row in await connection.execute(query.limit(most))]

    async def answer(self, question: str, addressee: str, answer: bytes | None) -> None:
        """Store a replica's answer; None deletes its question."""
        mine = sa.and_(Row.question == question, Row.addressee == addressee)
        change = sa.delete(Row).where(mine) if answer is None else sa.update(Row).where(mine).values(answer=answer)
        async with self._write() as connection:
            await connection.execute(change)

    async def all(self) -> set[str]:
        """Return all questions."""
        async with self._read() as connection:
            return set((await connection.execute(sa.select(Row.question).distinct())).scalars())

    async def remove(self, questions: Iterable[str]) -> None:
        """Delete questions with their answers."""
        async with self._write() as connection:
            for question in questions:
                await connection.execute(sa.delete(Row).where(Row.question == question))

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._database.read() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise Unavailable("The replicas cannot exchange traces now") from error

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._database.write() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise Unavailable("The replicas cannot exchange traces now") from error
