"""Assembles the retrieval service."""

from __future__ import annotations

import asyncio

from footnote.retrieval.v1.retrieval_service_pb2 import DESCRIPTOR
from footnote.retrieval.v1.retrieval_service_pb2_grpc import add_RetrievalServiceServicer_to_server
from footnote_kit.app import App, Runtime
from footnote_kit.deployment_settings import deployment
from footnote_kit.epochs import COLLECTIONS_FILE, FILE, EpochReader, path_of
from footnote_kit.errors import FootnoteError
from footnote_providers.egress.egress import Egress
from footnote_store.registry import open_store
from footnote_text import language

from footnote_retrieval.adapters.collections import IndexingCollections
from footnote_retrieval.adapters.embedding import ProviderEmbedder
from footnote_retrieval.memory import Memory
from footnote_retrieval.metadata import MetadataQuery
from footnote_retrieval.search import Searcher
from footnote_retrieval.servicer import RetrievalServicer
from footnote_retrieval.settings import Settings


async def build(runtime: Runtime) -> App:
    """Assemble the service; it calls nothing before the first request, so its dependencies may start later."""
    settings = Settings()
    store = open_store(runtime)
    embedder = ProviderEmbedder(Egress.load())
    indexing_epochs = [EpochReader(path_of(runtime.data_dir, "indexing", file)) for file in (FILE, COLLECTIONS_FILE)]
    collections = IndexingCollections(runtime.channel("indexing"), *indexing_epochs)
    servicer = RetrievalServicer(
        Searcher(collections, store, embedder, settings, deployment=deployment("retrieval").retrieval),
        MetadataQuery(collections, store, settings),
        Memory(store, embedder, settings),
    )

    async def warm_up() -> None:
        # Word lists and language models load at first use: half a second that should not delay the first question.
        await asyncio.to_thread(language.detect, "Which words are these?")
        await embedder.warm("Which words are these?")

    async def ready() -> str | None:
        try:
            await store.health(timeout=2.0)
        except FootnoteError as error:
            return error.message
        return await runtime.check("indexing")

    return App(
        name="retrieval",
        servicers=[
            (
                add_RetrievalServiceServicer_to_server,
                servicer,
                DESCRIPTOR.services_by_name["RetrievalService"].full_name,
            )
        ],
        ready=ready,
        start=[warm_up],
        close=[embedder.close, store.close, *(one.close for one in indexing_epochs)],
    )
