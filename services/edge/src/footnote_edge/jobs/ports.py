"""What jobs store, and what they need of their store: operations, and the leases of replicas."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, IntEnum, auto
from typing import Any, Protocol

from footnote.edge.v1.operations_pb2 import OPERATION_STATE_QUEUED, OperationKind, OperationState
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.paging import Page

MOST_NAMED = 1000
"""Maximum documents that an operation returns by name."""


@dataclass(slots=True)
class StoredOperation:
    """A long-running operation; enums are numbers of footnote.edge.v1, `cancelling` asks it to end."""

    id: str
    tenant_id: str
    user_id: str
    kind: int
    state: int
    collection_id: str
    create_time: datetime
    end_time: datetime | None = None
    cancelling: bool = False
    source_id: str = ""
    whole: bool = False
    failed_only: bool = False
    outdated_for: str = ""
    total: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    chunks: int = 0
    error: bytes = b""
    """The reason for a failure, a serialised google.rpc.Status."""


def new_operation(
    scope: Scope, operation_id: str, kind: OperationKind.ValueType, collection_id: str
) -> StoredOperation:
    """Return a caller's new operation in state QUEUED."""
    return StoredOperation(
        id=operation_id,
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        kind=kind,
        state=OPERATION_STATE_QUEUED,
        collection_id=collection_id,
        create_time=datetime.now(UTC),
    )


class OperationJob(Enum):
    """How far an operation's job is: never enqueued, queued or running, returned, or ended by an error."""

    MISSING = auto()
    ACTIVE = auto()
    RETURNED = auto()
    FAILED = auto()


class Outcome(IntEnum):
    """The outcome of a document in an operation."""

    PENDING = 0
    DONE = 1
    FAILED = 2
    SKIPPED = 3


@dataclass(frozen=True, slots=True)
class Item:
    """A document of an operation; `revision` is the old one or, once `begun`, the new one."""

    document_id: str
    collection_id: str
    revision: int
    begun: bool = False
    outcome: Outcome = Outcome.PENDING


class OperationStore(Protocol):
    """Operations and their documents; see `adapters.operations.OperationTable`."""

    async def add(self, operation: StoredOperation, items: Sequence[Item] = ()) -> bool:
        """Record a new operation with its documents, as far as they are known.

        False if its id exists already, or its collection is being deleted already.
        """

    async def read(self, operation_id: str) -> StoredOperation | None:
        """Return an operation without an access check; None for an unknown one."""

    async def get(self, scope: Scope, operation_id: str) -> StoredOperation:
        """Return an operation that the caller may see; raises NotFound."""

    async def page(
        self, scope: Scope, page: Page, kinds: Collection[int], states: Collection[int], collection_id: str
    ) -> tuple[list[StoredOperation], str, int]:
        """Return a page of the operations that the caller may see, newest first; the next token; the total."""

    async def synchronising(self, source_id: str) -> str | None:
        """Return the id of a source's unfinished synchronisation."""

    async def unfinished(self) -> list[StoredOperation]:
        """Return every operation of all tenants that has not ended."""

    async def deleted(self, most: int) -> list[tuple[str, str]]:
        """Return the tenants and ids of the collections whose deletions ended last."""

    async def deleting(self, tenant_id: str) -> set[str]:
        """Return the ids of a tenant's collections that are being deleted.

        Every administrator's call needs this; so the answer is cached until the next write, where this process is the
        only writer.
        """

    async def deletion_of(self, collection_id: str) -> StoredOperation | None:
        """Return a collection's unfinished deletion."""

    async def begin(self, operation_id: str) -> bool:
        """Move an operation to RUNNING, unless it is cancelled; return whether it is running now, even from before."""

    async def cancel(self, operation_id: str, states: Collection[OperationState.ValueType]) -> bool:
        """Ask an operation in one of these states to end; return whether it was asked."""

    async def keep_on(self, operation_id: str) -> None:
        """Withdraw a cancel."""

    async def is_cancelled(self, operation_id: str) -> bool:
        """Return whether an operation is cancelling, has ended, or is missing."""

    async def stop(self, operation_id: str) -> None:
        """End an operation: at once while it is queued, else at its next check."""

    async def withdraw(self, operation_id: str) -> bool:
        """End a queued operation as CANCELLED; return whether it was queued."""

    async def end(self, operation_id: str, state: OperationState.ValueType, error: bytes = b"") -> None:
        """Record how an operation ended; an ended one does not change."""

    async def note(self, operation_id: str, **counts: int) -> None:
        """Record an operation's progress."""

    async def list_documents(self, operation_id: str, items: Sequence[Item]) -> None:
        """Add documents to an operation; existing ones stay as they are."""

    async def items(
        self, operation_id: str, after: str, limit: int, *, begun: bool | None = None, backwards: bool = False
    ) -> list[Item]:
        """Return an operation's open documents, by id, after (or before) one; "" from the first."""

    async def begun(self, operation_id: str, document_id: str, revision: int) -> None:
        """Record the new revision of a document."""

    async def settle(self, operation_id: str, outcomes: Mapping[str, Outcome]) -> None:
        """Record outcomes of documents, and count all of the operation's."""

    async def skip_open(self, operation_id: str) -> None:
        """Skip all documents that were not begun."""

    async def count(self, operation_id: str) -> None:
        """Count an operation's documents by outcome."""

    async def named(self, operation_id: str) -> list[str]:
        """Return the ids of an operation's first documents."""

    async def collections(self, operation_id: str) -> list[str]:
        """Return the ids of the collections of an operation's documents."""

    async def sweep(self) -> int:
        """Delete ended operations after their retention period; return how many there were."""


class ReplicaLeases(Protocol):
    """Heartbeats of replicas, in milliseconds by the database's clock; see `adapters.leases.LeaseTable`."""

    async def beat(self, name: str, owners: Collection[str]) -> dict[str, int]:
        """Write a replica's heartbeat, and a first one of unknown `owners` of jobs; return all heartbeats by name."""

    async def end(self, name: str) -> None:
        """End a replica's lease."""

    async def remove(self, beats: Mapping[str, int]) -> None:
        """Delete leases whose heartbeat is still this."""


class GroupClaims(Protocol):
    """Replicas' claims on documents in their groups; see `adapters.leases.GroupClaimTable`."""

    async def take(self, replica: str, document_ids: Collection[str]) -> set[str]:
        """Claim documents that nobody has, in one transaction; return those that the replica has now."""

    async def kept(self, replica: str, document_ids: Collection[str]) -> set[str]:
        """Return those of documents that the replica still has."""

    async def release(self, replica: str, document_ids: Collection[str]) -> None:
        """Delete a replica's claims on documents."""

    async def holder(self, document_id: str) -> str | None:
        """Return the replica that has a document."""

    async def holders(self) -> set[str]:
        """Return all replicas with claims."""

    async def oldest(self) -> datetime | None:
        """Return when the oldest claim was made."""

    async def drop(self, replica: str) -> int:
        """Delete all claims of a replica that is gone; return how many there were."""


class JobLedger(Protocol):
    """The database of dbos's ledger; see `adapters.job_ledger.JobLedger`."""

    url: str
    wait_seconds: float
    failures: tuple[type[Exception], ...]

    @property
    def alone(self) -> bool:
        """Whether one process has the ledger: that in a file has no other replica."""

    def engine_options(self) -> dict[str, Any]:
        """Return the options of dbos's engine."""

    async def prepare(self) -> None:
        """Prepare the database for dbos."""
