"""Reads and writes runs of golden questions."""

import json
from datetime import UTC, datetime

from footnote.edge.v1.evaluations_pb2 import EvaluatedQuestion, EvaluationCount, EvaluationRun
from footnote_database.transactions import utc
from footnote_kit.access import collection_missing
from footnote_kit.paging import Page, fitting
from footnote_kit.text_work import off_loop
from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import EvaluationRow, ForgottenRow

MOST_RUNS = 100
"""Runs of a collection that are kept."""


class EvaluationTable:
    """Reads and writes runs of golden questions."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def add(self, tenant_id: str, run: EvaluationRun) -> EvaluationRun:
        """Store a run, or return the one under its id; delete the oldest ones of its collection beyond `MOST_RUNS`.

        Raises NotFound if the collection was deleted.
        """
        row = EvaluationRow(
            id=run.id,
            tenant_id=tenant_id,
            collection_id=run.collection_id,
            user_id=run.user_id,
            create_time=run.create_time.ToDatetime(UTC),
            head=_head(run),
            questions=await off_loop(run.ByteSize(), _questions, run),
        )
        of_it = EvaluationRow.collection_id == run.collection_id
        try:
            async with self._sessions.begin() as session:
                session.add(row)
                await session.flush()
                kept = select(EvaluationRow.sequence).where(of_it).order_by(EvaluationRow.sequence.desc())
                oldest = (await session.scalars(kept.limit(MOST_RUNS))).all()[-1]
                await session.execute(delete(EvaluationRow).where(of_it, EvaluationRow.sequence < oldest))
        except IntegrityError:  # a concurrent call under the same request id stored it
            if (found := await self.get(tenant_id, run.id)) is not None:
                return found
            raise
        # A deletion notes the collection before it deletes its runs: so one of the two sees the other.
        async with self._sessions.begin() as session:
            if await session.get(ForgottenRow, run.collection_id) is not None:
                await session.execute(delete(EvaluationRow).where(of_it))
                gone = True
            else:
                gone = False
        if gone:
            raise collection_missing(run.collection_id)
        return run

    async def get(self, tenant_id: str, run_id: str) -> EvaluationRun | None:
        """Return a run of a tenant."""
        query = select(EvaluationRow).where(EvaluationRow.id == run_id, EvaluationRow.tenant_id == tenant_id)
        async with self._sessions() as session:
            row = await session.scalar(query)
        if row is None:
            return None
        run = _run(row)
        run.questions.extend(await off_loop(len(row.questions), _read_questions, row.questions))
        return run

    async def page(self, collection_id: str, page: Page) -> tuple[list[EvaluationRun], str, int]:
        """Return a page of a collection's runs without questions, newest first, the next token, and the total."""
        of_it = EvaluationRow.collection_id == collection_id
        query = select(EvaluationRow).options(defer(EvaluationRow.questions)).where(of_it)
        if page.position is not None:
            query = query.where(EvaluationRow.sequence < page.position[0])
        query = query.order_by(EvaluationRow.sequence.desc()).limit(page.size + 1)
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
            total = await session.scalar(select(func.count()).select_from(EvaluationRow).where(of_it))
        runs = [_run(row) for row in rows]
        shown = min(page.size, fitting(runs))
        token = page.token((rows[shown - 1].sequence,)) if shown < len(rows) else ""
        return runs[:shown], token, total or 0

    async def remove(self, run_id: str) -> None:
        """Delete a run, if any."""
        async with self._sessions.begin() as session:
            await session.execute(delete(EvaluationRow).where(EvaluationRow.id == run_id))

    async def sweep(self, before: datetime) -> int:
        """Delete runs older than a time; return how many there were."""
        async with self._sessions.begin() as session:
            done = await session.execute(delete(EvaluationRow).where(EvaluationRow.create_time <= before))
        return int(done.rowcount)  # type: ignore[attr-defined]


def _head(run: EvaluationRun) -> str:
    counts = [[one.grade, one.count] for one in run.counts]
    return _json({"label": run.label, "filename": run.filename, "counts": counts})


def _questions(run: EvaluationRun) -> str:
    return _json([[one.id, one.question, one.grade] for one in run.questions])


def _json(value: object) -> str:
    # Only control characters are escaped: PostgreSQL takes no NUL. ASCII escapes of all others treble Cyrillic text.
    return json.dumps(value, ensure_ascii=False)


def _read_questions(stored: str) -> list[EvaluatedQuestion]:
    return [EvaluatedQuestion(id=id, question=question, grade=grade) for id, question, grade in json.loads(stored)]


def _run(row: EvaluationRow) -> EvaluationRun:
    head = json.loads(row.head)
    run = EvaluationRun(
        id=row.id,
        collection_id=row.collection_id,
        user_id=row.user_id,
        label=head["label"],
        filename=head["filename"],
        counts=[EvaluationCount(grade=grade, count=count) for grade, count in head["counts"]],
    )
    run.create_time.FromDatetime(utc(row.create_time))
    return run
