"""What a source's creator may do. Runs have the system's rights, but write only where their creators may."""

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.access import Access, access_of
from footnote_kit.errors import FailedPrecondition

from footnote_edge.jobs.ports import StoredOperation
from footnote_edge.sources.stored import StoredSource


def stored(scope: Scope) -> bytes:
    """Return a creator's roles and groups, as `StoredSource.creator` keeps them."""
    return scope.SerializeToString(deterministic=True)


def check(operation: StoredOperation, source: StoredSource, collection: Collection) -> None:
    """Raise FailedPrecondition if a run in its creator's name would write where the creator no longer may."""
    if source.creator is None or operation.user_id != source.user_id:  # another caller began it, after a check
        return
    if access_of(Scope.FromString(source.creator), collection) < Access.WRITE:
        raise FailedPrecondition(
            "The source's creator may no longer write to its collection. Somebody who may can create it again.",
            reason="SOURCE_REFUSED",
        )
