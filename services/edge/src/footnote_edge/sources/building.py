"""Assembles the components of sources."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from footnote_edge.collections.catalog import Catalog
from footnote_edge.collections.permissions import Permissions
from footnote_edge.documents.deleting import Deleting
from footnote_edge.documents.documents import Documents
from footnote_edge.documents.operations import Operations
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.ports import OperationBook
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings
from footnote_edge.sources import workflows
from footnote_edge.sources.documents import DocumentStore
from footnote_edge.sources.engine import Engine
from footnote_edge.sources.following import Following
from footnote_edge.sources.kinds.ours import OURS
from footnote_edge.sources.opening import Openings
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.registry import Kinds
from footnote_edge.sources.schedule import Schedule
from footnote_edge.sources.secrets import Vault
from footnote_edge.sources.service import Sources
from footnote_edge.sources.stored import ItemBook, SourceBook
from footnote_edge.sources.watching import Watching


@dataclass(frozen=True, slots=True)
class SourceParts:
    """The components of sources that the rest of edge uses."""

    service: Sources
    schedule: Schedule
    watching: Watching
    close: Callable[[], Awaitable[None]]


def build_sources(
    settings: Settings,
    folder: Path,
    book: SourceBook,
    items: ItemBook,
    bus: ProgressBus,
    stages: Stages,
    catalog: Catalog,
    documents: Documents,
    deleting: Deleting,
    permissions: Permissions,
    operation_book: OperationBook,
    operations: Operations,
    jobs: Jobs,
    request_ids: RequestIds,
) -> SourceParts:
    """Return the components, and register the engine with the workflows; ValueError for invalid settings."""
    vault = Vault.of(settings.source_key, settings.source_key_file)
    policy = Policy.of(
        settings.source_hosts, settings.source_private_hosts, settings.source_folders,
        user_agent=settings.source_user_agent, item_bytes=settings.source_item_bytes, items=settings.source_items,
        timeout=settings.source_timeout_seconds,
    )  # fmt: skip
    kinds = Kinds(OURS)
    call, ceiling, poll = settings.call_timeout_seconds, settings.retry_ceiling_seconds, settings.watch_poll_seconds
    store = DocumentStore(stages, documents, deleting, catalog, jobs, bus, call)
    following = Following(stages, items, call, ceiling, poll)
    openings = Openings(kinds, vault, policy, folder / "sources")
    engine = Engine(book, items, operation_book, store, following, openings, ceiling)
    schedule = Schedule(book, operation_book, jobs, vault)
    watching = Watching(book, operation_book, schedule, openings, settings.source_watches)
    service = Sources(
        book, items, kinds, vault, schedule, operation_book, operations, jobs, catalog, permissions, request_ids, bus,
        settings,
    )  # fmt: skip
    workflows.activate(engine)

    async def close() -> None:
        workflows.activate(None)
        await watching.close()

    return SourceParts(service, schedule, watching, close)
