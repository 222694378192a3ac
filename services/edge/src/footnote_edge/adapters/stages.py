"""gRPC stubs of the other stages; their calls raise FootnoteError."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.ingestion.v1.ingestion_service_pb2_grpc import IngestionServiceStub
from footnote.internal.indexing.v1alpha1 import group_service_pb2_grpc as indexing_groups_grpc
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2_grpc as indexing_grpc
from footnote.internal.ingestion.v1alpha1 import group_service_pb2_grpc as ingestion_groups_grpc
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2_grpc as ingestion_grpc
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from footnote.telemetry.v1.telemetry_service_pb2_grpc import TelemetryServiceStub
from footnote_kit import app
from footnote_kit.app import Runtime

from footnote_edge.ports import STAGE_NAMES, Stages

if TYPE_CHECKING:
    from footnote.telemetry.v1.telemetry_service_pb2_grpc import TelemetryServiceAsyncStub
    from grpc import aio


def connect(channel: Callable[[str], aio.Channel]) -> Stages:
    """Create the stubs on the channels that `channel` returns for each stage name."""
    channels = {name: channel(name) for name in STAGE_NAMES}
    return Stages(
        ingestion=IngestionServiceStub(channels["ingestion"]),
        ingestion_upkeep=ingestion_grpc.UpkeepServiceStub(channels["ingestion"]),
        ingestion_groups=ingestion_groups_grpc.GroupServiceStub(channels["ingestion"]),
        indexing=IndexingServiceStub(channels["indexing"]),
        indexing_upkeep=indexing_grpc.UpkeepServiceStub(channels["indexing"]),
        indexing_groups=indexing_groups_grpc.GroupServiceStub(channels["indexing"]),
        retrieval=RetrievalServiceStub(channels["retrieval"]),
        augmentation=AugmentationServiceStub(channels["augmentation"]),
        generation=GenerationServiceStub(channels["generation"]),
    )


@asynccontextmanager
async def telemetry_of(runtime: Runtime, stage: str) -> AsyncIterator[list[TelemetryServiceAsyncStub]]:
    """Yield telemetry stubs of all replicas of a stage; OSError where the name does not resolve."""
    async with app.replica_channels(runtime, stage) as channels:
        yield [TelemetryServiceStub(channel) for channel in channels]
