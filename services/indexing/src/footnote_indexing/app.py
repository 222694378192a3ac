"""Assembles the indexing service."""

from pathlib import Path

from footnote.indexing.v1 import indexing_service_pb2_grpc as pb_grpc
from footnote.internal.indexing.v1alpha1.group_service_pb2_grpc import add_GroupServiceServicer_to_server
from footnote.internal.indexing.v1alpha1.layout_service_pb2_grpc import add_LayoutServiceServicer_to_server
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2_grpc import add_UpkeepServiceServicer_to_server
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote_database import storage
from footnote_database.parts import Parts
from footnote_database.sqlite import file_of, log_keeper
from footnote_database.transactions import START_WAIT_SECONDS
from footnote_kit.app import App, Runtime
from footnote_kit.deployment_settings import deployment
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks
from footnote_providers import registry
from footnote_providers.egress.egress import Egress
from footnote_providers.settings import AUTO, DefaultSettings
from footnote_store.preload import Preload
from footnote_store.registry import chosen, open_store

from footnote_indexing.adapters.cache_sqlite import SqliteCache
from footnote_indexing.adapters.collection_table import CollectionTable
from footnote_indexing.adapters.database import FILE, SAMPLES, TRAITS, Database, Losses
from footnote_indexing.adapters.index_versions import IndexVersionTable
from footnote_indexing.adapters.inventory import InventoryTable, SearchedChunkTable
from footnote_indexing.adapters.ledger import LedgerTable
from footnote_indexing.adapters.model_moves import ModelMoveTable
from footnote_indexing.adapters.purge_list import PurgeTable
from footnote_indexing.adapters.row_ledger import RowTable
from footnote_indexing.adapters.vector_claims import VectorClaimTable
from footnote_indexing.chunking.cutting import Cutters
from footnote_indexing.collections.collections import Collections, Hiding
from footnote_indexing.collections.providers import Providers
from footnote_indexing.group_servicer import GroupServicer
from footnote_indexing.ports import EmbeddingCache
from footnote_indexing.revisions.chunk_reading import ChunkReading
from footnote_indexing.revisions.collection_contents import CollectionContents
from footnote_indexing.revisions.documents import Documents
from footnote_indexing.revisions.group_indexing import GroupIndexing
from footnote_indexing.revisions.own_row_adder import OwnRowAdder
from footnote_indexing.revisions.own_rows import OwnRows
from footnote_indexing.revisions.relabelling import Relabelling
from footnote_indexing.servicer import IndexingServicer
from footnote_indexing.settings import Settings
from footnote_indexing.upkeep.owed_vectors import OwedVectors
from footnote_indexing.upkeep.recovery import Recovery
from footnote_indexing.upkeep.sweeper import Sweeper
from footnote_indexing.writing.messages import Messages
from footnote_indexing.writing.permitted import Permitted
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter
from footnote_indexing.writing.vectorizers import Vectorizers

_log = get_logger("footnote.indexing")


async def build(runtime: Runtime) -> App:
    """Open the database, cache and store, and wire the logic to them."""
    settings = Settings()
    folder = runtime.data_dir / "indexing"
    database = Database(settings.database_url, folder)
    parts = Parts.of(runtime)
    await database.migrate(START_WAIT_SECONDS, parts)
    cache: EmbeddingCache
    if settings.cache_url:
        from footnote_indexing.adapters.cache_redis import RedisCache  # its library takes a moment to load

        cache = RedisCache(settings.cache_url, settings.cache_ttl)
    else:
        cache = SqliteCache(folder / "embeddings.db", settings.cache_ttl)
    store = open_store(runtime)
    writer = StoreWriter(store, settings)
    ledger = LedgerTable(database)
    index_versions = IndexVersionTable(database)
    inventory = InventoryTable(database)
    vectorizers = Vectorizers(cache, DefaultSettings())
    permitted = Permitted(Egress.load(), vectorizers)
    deployed = deployment("", "chunking", "embedding")
    if deployed.embedding.provider == AUTO:
        deployed.embedding.ClearField("provider")  # each collection stores its own provider
    begun = permitted.for_new(Scope(), TextBounds())
    _log.info("default_embedder", provider=begun.provider, words=begun.words)
    rows = RowTable(database)
    table = CollectionTable(database, index_versions)
    collections = Collections(table, ledger, rows, vectorizers, permitted, deployed)
    moves = ModelMoveTable(database, index_versions, settings.rollback_window)
    cutters = Cutters(settings.cutting_processes, lambda: runtime.forks)
    # A document is indexed by one call at a time. Rows are rewritten only once they are searched, when indexing writes
    # them no more: a change of labels does not wait for a new revision, which may take minutes.
    indexing_locks, rewriting_locks = DocumentLocks(), DocumentLocks()
    contents = CollectionContents(collections, ledger, vectorizers, writer, moves, database)
    documents = Documents(
        collections,
        contents,
        index_versions,
        ledger,
        vectorizers,
        writer,
        moves,
        settings,
        permitted,
        cutters,
        indexing_locks,
    )
    # Without the ledger's newest commits, rows of own vectors that it does not list may be those commits'.
    recovery = Recovery(inventory, index_versions, writer, Losses(parts, rows))
    sweeper = Sweeper(PurgeTable(database), index_versions, writer, contents, recovery, settings)
    sweeps = PeriodicTasks("sweep", sweeper.round, settings.sweep_interval, service="indexing")
    claims = VectorClaimTable(database)
    await claims.forget_claims()
    owed = OwedVectors(claims, index_versions, writer, vectorizers, rewriting_locks)
    payments = PeriodicTasks("owed_vectors", owed.round, settings.owed_interval, service="indexing")
    servicer = IndexingServicer(
        documents,
        contents,
        collections,
        OwnRowAdder(collections, contents, vectorizers, ledger, rows, writer, settings),
        OwnRows(collections, rows, writer, moves),
        Messages(store, vectorizers, permitted),
        Providers(store, chosen(runtime.settings), collections, ledger, permitted),
        vectorizers,
        inventory,
        Relabelling(collections, index_versions, ledger, inventory, writer, store, rewriting_locks),
        ChunkReading(collections, SearchedChunkTable(database), writer),
        Hiding(table, collections),
        claims,
        owed,
    )
    groups = GroupServicer(
        GroupIndexing(collections, moves, ledger, vectorizers, writer, permitted, cutters, indexing_locks, settings)
    )

    logs = log_keeper(file_of(settings.database_url) or folder / FILE, folder / "embeddings.db")

    async def spaces() -> set[tuple[int, int]]:
        return {(one.embedding.dimensions, one.variant) for one in await index_versions.searched()}

    loading = Preload(store, spaces)

    async def ready() -> str | None:
        return await loading.reason() or await database.check()

    return App(
        name="indexing",
        servicers=[
            (pb_grpc.add_IndexingServiceServicer_to_server, servicer, "footnote.indexing.v1.IndexingService"),
            (add_UpkeepServiceServicer_to_server, servicer, "footnote.internal.indexing.v1alpha1.UpkeepService"),
            (add_LayoutServiceServicer_to_server, servicer, "footnote.internal.indexing.v1alpha1.LayoutService"),
            (add_GroupServiceServicer_to_server, groups, "footnote.internal.indexing.v1alpha1.GroupService"),
        ],
        ready=ready,
        start=[sweeps.start, payments.start, logs.start],
        close=[
            logs.stop,
            sweeps.stop,
            payments.stop,
            cutters.close,
            loading.close,
            registry.close_all,
            cache.close,
            store.close,
            database.close,
        ],
    )


def stored_data(data_dir: Path) -> storage.StoredData:
    """Return what this service stores, in a data folder or where its settings say; its cache can be refilled."""
    settings, folder = Settings(), data_dir / "indexing"
    cache = (("the cache of embeddings", settings.cache_url),) if settings.cache_url else ()
    return storage.StoredData(
        databases=(
            storage.database(
                "indexing", settings.database_url, folder / FILE, TRAITS, variable="FOOTNOTE_INDEXING_DATABASE_URL"
            ),
        ),
        servers=cache,
        collections="SELECT id FROM indexing_collections",
        samples=SAMPLES,
    )
