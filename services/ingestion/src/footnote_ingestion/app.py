"""Puts the ingestion service together."""

from __future__ import annotations

import asyncio

from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.ingestion.v1.ingestion_service_pb2_grpc import add_IngestionServiceServicer_to_server
from footnote_kit.app import App, Runtime
from footnote_kit.authorizer import Authorizer, asking

from footnote_ingestion import spool
from footnote_ingestion.adapters.blobs import Blobs
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.documents import DocumentTable
from footnote_ingestion.catalog import Catalog
from footnote_ingestion.extraction import Extraction
from footnote_ingestion.permissions import Permissions
from footnote_ingestion.servicer import IngestionServicer
from footnote_ingestion.settings import Settings
from footnote_ingestion.sweeper import Sweeper
from footnote_ingestion.worker.pool import Pool

_SERVICE = "footnote.ingestion.v1.IngestionService"
# Checks before storing are short and must not wait behind long readings: they have processes of their own.
_INSPECTORS = 2


async def build(runtime: Runtime) -> App:
    """Open the database and the file store, and wire the service."""
    settings = Settings()
    folder = runtime.data_dir / "ingestion"
    scratch = await asyncio.to_thread(spool.prepare, folder / "spool")
    files = Blobs.open(settings.blob_url, settings.blob_options, folder / "blobs", scratch)
    database = await Database.open(settings.database_url, folder)
    documents = DocumentTable(database)
    limits = settings.limits()

    def pool(size: int, seconds: float) -> Pool:
        memory, most = settings.parse_memory_bytes, settings.files_per_worker
        return Pool(size, seconds, memory, most, settings.max_waiting)

    inspectors, readers = pool(_INSPECTORS, settings.inspect_seconds), pool(settings.workers, settings.parse_seconds)
    sweeper = Sweeper(documents, files, settings.sweep_seconds)
    collections = Authorizer(asking(IndexingServiceStub(runtime.channel("indexing"))))
    permissions = Permissions(documents, collections)
    catalog = Catalog(
        documents, permissions, files, inspectors, scratch, settings.max_file_bytes, settings.max_documents, limits
    )
    extraction = Extraction(documents, permissions, files, readers, scratch, limits, settings.keep_parsed)

    async def ready() -> str | None:
        return await database.check() or await files.check()

    async def warm() -> None:
        await asyncio.gather(inspectors.warm(), readers.warm())

    return App(
        name="ingestion",
        servicers=[(add_IngestionServiceServicer_to_server, IngestionServicer(catalog, extraction), _SERVICE)],
        ready=ready,
        start=[warm, sweeper.start],
        close=[sweeper.stop, inspectors.close, readers.close, database.close, lambda: spool.remove(scratch)],
    )
