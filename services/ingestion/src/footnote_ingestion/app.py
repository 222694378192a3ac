"""Assembles the ingestion service."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.ingestion.v1.ingestion_service_pb2_grpc import add_IngestionServiceServicer_to_server
from footnote.internal.ingestion.v1alpha1.group_service_pb2_grpc import add_GroupServiceServicer_to_server
from footnote.internal.ingestion.v1alpha1.upkeep_service_pb2_grpc import add_UpkeepServiceServicer_to_server
from footnote_database import storage
from footnote_database.parts import Parts
from footnote_database.sqlite import file_of, log_keeper
from footnote_database.transactions import START_WAIT_SECONDS
from footnote_kit.app import App, Runtime
from footnote_kit.authorizer import AccessLookup, Authorizer
from footnote_kit.epochs import COLLECTIONS_FILE, EpochReader, path_of
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

from footnote_ingestion.adapters.blobs import Blobs, refuse_missing_files
from footnote_ingestion.adapters.changes import ChangeTable
from footnote_ingestion.adapters.database import FILE, TRAITS, Database
from footnote_ingestion.adapters.documents import DocumentTable
from footnote_ingestion.adapters.requests import RequestTable
from footnote_ingestion.documents import spool
from footnote_ingestion.documents.catalog import Catalog, Counting
from footnote_ingestion.documents.changes import Changes
from footnote_ingestion.documents.extraction import Extraction
from footnote_ingestion.documents.group_extraction import GroupExtraction
from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.documents.stored_files import StoredFiles, Sweeper
from footnote_ingestion.documents.tables import Tables
from footnote_ingestion.documents.uploads import Uploads
from footnote_ingestion.group_servicer import GroupServicer
from footnote_ingestion.parsers import added
from footnote_ingestion.servicer import IngestionServicer
from footnote_ingestion.settings import Settings
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Isolation, Workers
from footnote_ingestion.worker.pool import Pool

_SERVICE = "footnote.ingestion.v1.IngestionService"
_UPKEEP = "footnote.internal.ingestion.v1alpha1.UpkeepService"
_GROUPS = "footnote.internal.ingestion.v1alpha1.GroupService"
_log = get_logger("footnote.ingestion")
# Checks before storing are short and must not wait behind long parsing jobs: they have their own processes.
_INSPECTORS = 2
_KEPT = " UNION ".join(
    f"SELECT {key} FROM documents"
    for name in ("blob_key", "parsed_key", "searched_key")
    for key in (name, f"'tables/' || substr({name}, {len('uploads/') + 1})")
)
"""`Stored.blob_keys` of all documents, in SQL."""


async def build(runtime: Runtime) -> App:
    """Open the database and the file store, and wire the service."""
    settings = Settings()
    # Loaded here for the log, which reports rejected parsers of other packages: parser processes do not log.
    await asyncio.to_thread(added)
    folder = runtime.data_dir / "ingestion"
    parts = Parts.of(runtime)
    scratch = await asyncio.to_thread(spool.prepare, folder / "spool")
    files = Blobs.open(settings.blob_url, settings.blob_options, folder / "blobs", scratch)
    database = await Database.open(settings.database_url, folder, START_WAIT_SECONDS, parts)
    documents = DocumentTable(database)
    try:
        await refuse_missing_files(documents, files, settings.blob_url or str(folder / "blobs"), parts)
    except BaseException:
        await database.close()
        raise
    limits = settings.limits()

    workers = settings.worker_processes(scratch)

    starter = runtime.forks = Starter()

    def pool(size: int, seconds: float, how: Workers) -> Pool:
        return Pool(size, seconds, how, starter, settings.files_per_worker, settings.max_waiting)

    # A check before storing needs no OCR, so its workers never start a program.
    inspectors = pool(_INSPECTORS, settings.inspect_seconds, replace(workers, programs=(), work="inspect"))
    parsers = pool(settings.workers, settings.parse_seconds, workers)
    # Isolated as parsers are, without the engine of tables: 13 MB that the first file loads, in a tenth of a second.
    measured = pool(1, settings.inspect_seconds, replace(workers, work="inspect"))
    queries = pool(settings.table_queries, settings.query_seconds, settings.query_processes(workers))
    collection_epochs = EpochReader(path_of(runtime.data_dir, "indexing", COLLECTIONS_FILE))
    collections = Authorizer(AccessLookup(IndexingServiceStub(runtime.channel("indexing")), collection_epochs))
    permissions = Permissions(documents, collections)
    changes = Changes(ChangeTable(database), permissions, settings.deletions_hours * 3600)
    sweeps = PeriodicTasks(
        "sweep", Sweeper(documents, changes, files).sweep, settings.sweep_seconds, service="ingestion"
    )
    stored_files = StoredFiles(documents, files)
    catalog = Catalog(documents, permissions, files, stored_files)
    uploads = Uploads(
        documents,
        permissions,
        RequestTable(database),
        stored_files,
        inspectors,
        scratch,
        settings.max_file_bytes,
        settings.max_documents,
        limits,
    )
    extraction = Extraction(documents, permissions, files, parsers, scratch, limits)
    together = GroupExtraction(documents, files, parsers, extraction)

    # The engine ends a statement in time; otherwise the process is killed, with an allowance for opening tables.
    tables = Tables(permissions, extraction, queries, settings.query_seconds / 2)

    logs = log_keeper(file_of(settings.database_url) or folder / FILE)

    async def ready() -> str | None:
        return await database.check() or await files.check()

    isolation = Isolation(settings.isolation)

    async def warm() -> None:
        isolation.ocr_problem = await asyncio.to_thread(settings.ocr_problem)
        if isolation.ocr_problem:
            _log.warning("ocr_does_not_work", reason=isolation.ocr_problem)
        for name, processes in (("checks", inspectors), ("reading", measured)):
            isolation.note(name, await processes.measures())
        if await documents.newest_files(1):  # where there is none, nobody asks about tables soon
            await queries.measures()
        _log.info("workers_isolated", measures=isolation.text())

    warming: list[asyncio.Task[None]] = []

    async def begin_to_warm() -> None:
        # Loading takes a second; searches and answers need not wait for it, only a file that arrives now.
        task = asyncio.create_task(warm())
        warming.append(task)
        if settings.demands_isolation:
            await task
        else:
            task.add_done_callback(_say_why_not)

    async def end_warming() -> None:
        for task in warming:
            task.cancel()
        await asyncio.gather(*warming, return_exceptions=True)

    servicer = IngestionServicer(catalog, uploads, changes, extraction, isolation, Counting(documents), tables)
    return App(
        name="ingestion",
        servicers=[
            (add_IngestionServiceServicer_to_server, servicer, _SERVICE),
            (add_UpkeepServiceServicer_to_server, servicer, _UPKEEP),
            (add_GroupServiceServicer_to_server, GroupServicer(uploads, catalog, together), _GROUPS),
        ],
        ready=ready,
        start=[begin_to_warm, sweeps.start, logs.start],
        close=[
            collection_epochs.close,
            end_warming,
            logs.stop,
            sweeps.stop,
            inspectors.close,
            parsers.close,
            measured.close,
            queries.close,
            starter.close,
            database.close,
            lambda: spool.remove(scratch),
        ],
    )


def _say_why_not(warming: asyncio.Task[None]) -> None:
    """Log that no parser process could be started; the next file tries again, and its uploader gets the error."""
    if not warming.cancelled() and (error := warming.exception()) is not None:
        _log.warning("workers_did_not_start", error=str(error))


def stored_data(data_dir: Path) -> storage.StoredData:
    """Return what this service stores, in a data folder or where its settings say."""
    settings, folder = Settings(), data_dir / "ingestion"
    blobs = folder / "blobs"
    witness = None if settings.blob_url else blobs / "uploads"
    documents = storage.database(
        "documents", settings.database_url, folder / FILE, TRAITS, witness, variable="FOOTNOTE_INGESTION_DATABASE_URL"
    )
    return storage.StoredData(
        databases=(documents,),
        files=None if settings.blob_url else blobs,
        files_url=settings.blob_url,
        put_files=partial(_put_files, settings) if settings.blob_url else None,
        named="SELECT blob_key FROM documents WHERE delete_time IS NULL AND blob_key <> ''",
        kept=_KEPT,
    )


async def _put_files(settings: Settings, folder: Path) -> None:
    await Blobs.open(settings.blob_url, settings.blob_options, folder, folder).put_folder(folder)
