"""What collections need of edge's store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from footnote.edge.v1.evaluations_pb2 import EvaluationRun
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.paging import Page


class KnownCollections(Protocol):
    """Collections as each user last wrote to them; see `adapters.known_collections.KnownCollectionTable`."""

    async def read(self, scope: Scope, name: str) -> Collection | None:
        """Return a user's remembered collection; None for one that is unknown or cannot be read."""

    async def keep(self, scope: Scope, name: str, collection: Collection) -> None:
        """Remember a collection for a user."""

    async def forget(self, tenant_id: str, names: Sequence[str]) -> None:
        """Forget a collection of a tenant under all of its names."""


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
