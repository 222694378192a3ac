"""Runs of golden questions that a collection keeps: questions and grades, nothing made of documents."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import uuid4

from footnote.edge.v1.evaluations_pb2 import EvaluationCount, EvaluationRun
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.access import Access
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.paging import Page
from footnote_kit.text_work import off_loop
from footnote_kit.wall_clock import deletion_datetime

from footnote_edge.collections.collections import Collections
from footnote_edge.collections.permissions import Permissions


class StoredEvaluations(Protocol):
    """Runs of golden questions; see `adapters.evaluations.EvaluationTable`."""

    async def add(self, tenant_id: str, run: EvaluationRun) -> EvaluationRun:
        """Store a run, or return the one under its id; delete the oldest ones of its collection beyond the bound.

        Raises NotFound if the collection was deleted.
        """

    async def get(self, tenant_id: str, run_id: str) -> EvaluationRun | None:
        """Return a run of a tenant."""

    async def page(self, collection_id: str, page: Page) -> tuple[list[EvaluationRun], str, int]:
        """Return a page of a collection's runs without questions, newest first, the next token, and the total."""

    async def remove(self, run_id: str) -> None:
        """Delete a run, if any."""

    async def sweep(self, before: datetime) -> int:
        """Delete runs older than a time; return how many there were."""


MOST_CHARACTERS = 1_000_000
"""Maximum characters of all questions of a run."""
MOST_BYTES = 4_000_000
"""Maximum bytes of a run, so that 100 runs of a collection have some 400 MB.

Their JSON adds a few bytes to each question, one to each quote, and five to each control character.
"""


class Evaluations:
    """Keeps runs with their collection's permissions."""

    def __init__(
        self, stored: StoredEvaluations, collections: Collections, permissions: Permissions, days: float
    ) -> None:
        self._stored = stored
        self._collections = collections
        self._permissions = permissions
        self._kept = timedelta(days=days)

    async def writable(self, scope: Scope, collection: str) -> str:
        """Return the id of a collection that the caller may write to, given by name or id."""
        return (await self._collections.get(scope, collection, Access.WRITE, counted=False)).id

    async def create(self, scope: Scope, collection_id: str, wanted: EvaluationRun, run_id: str) -> EvaluationRun:
        """Keep a run and return it; one that exists under `run_id`, empty for any, stays as it is.

        Raises InvalidArgument for an id that is there twice and for too long a run, NotFound if the collection is being
        deleted.
        """
        run = await off_loop(wanted.ByteSize(), _checked_copy, wanted)
        run.MergeFrom(EvaluationRun(id=run_id or uuid4().hex, collection_id=collection_id, user_id=scope.user_id))
        run.create_time.FromDatetime(datetime.now(UTC))
        return self._dated(await self._stored.add(scope.tenant_id, run))

    async def get(self, scope: Scope, run_id: str) -> EvaluationRun:
        """Return a run; raises NotFound where the caller may not read its collection."""
        return self._dated(await self._checked(scope, run_id, Access.READ))

    async def page(self, scope: Scope, collection: str, page: Page) -> tuple[list[EvaluationRun], str, int]:
        """Return a page of a collection's runs, newest first, the next page's token, and the total."""
        collection_id = (await self._collections.get(scope, collection, counted=False)).id
        runs, token, total = await self._stored.page(collection_id, page)
        return [self._dated(one) for one in runs], token, total

    async def delete(self, scope: Scope, run_id: str) -> None:
        """Delete a run; raises NotFound where the caller may not read its collection, PermissionDenied to readers."""
        await self._checked(scope, run_id, Access.WRITE)
        await self._stored.remove(run_id)

    async def sweep(self) -> int:
        """Delete expired runs; return how many there were."""
        return await self._stored.sweep(deletion_datetime() - self._kept)

    async def _checked(self, scope: Scope, run_id: str, needs: Access) -> EvaluationRun:
        if not run_id:
            raise InvalidArgument.field("run_id", "must be given")
        found = await self._stored.get(scope.tenant_id, run_id)
        if found is None:
            raise _missing(run_id)
        try:
            # By its id alone: the caller may have a collection whose name is that id.
            await self._permissions.collection(scope, Collection(id=found.collection_id), needs)
        except NotFound:
            raise _missing(run_id) from None
        return found

    def _dated(self, run: EvaluationRun) -> EvaluationRun:
        run.expire_time.FromDatetime(run.create_time.ToDatetime(UTC) + self._kept)
        return run


def _checked_copy(wanted: EvaluationRun) -> EvaluationRun:
    """Return what a caller sets of a run, with the counts of its grades; raises InvalidArgument."""
    size = wanted.ByteSize()
    if size > MOST_BYTES:
        raise InvalidArgument.field("run", f"has {size} bytes; at most {MOST_BYTES} are kept")
    ids = Counter(one.id for one in wanted.questions)
    for index, one in enumerate(wanted.questions):
        if ids[one.id] > 1:
            raise InvalidArgument.field(f"run.questions[{index}].id", "is there twice")
    if sum(len(one.question) for one in wanted.questions) > MOST_CHARACTERS:
        raise InvalidArgument.field("run.questions", f"have more than {MOST_CHARACTERS} characters together")
    run = EvaluationRun(label=wanted.label, filename=wanted.filename, questions=wanted.questions)
    grades = Counter(one.grade for one in wanted.questions)
    run.counts.extend(EvaluationCount(grade=grade, count=count) for grade, count in sorted(grades.items()))
    return run


def _missing(run_id: str) -> NotFound:
    return NotFound(f"Run '{run_id}' of golden questions not found", reason="EVALUATION_RUN_NOT_FOUND")
