"""The other stages, as their contracts' stubs; calls raise FootnoteError. Edge's packages have their own ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the stubs' asyncio types exist for the type checker only
    from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceAsyncStub
    from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceAsyncStub
    from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceAsyncStub
    from footnote.ingestion.v1.ingestion_service_pb2_grpc import IngestionServiceAsyncStub
    from footnote.internal.indexing.v1alpha1 import group_service_pb2_grpc as indexing_groups_grpc
    from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2_grpc as indexing_grpc
    from footnote.internal.ingestion.v1alpha1 import group_service_pb2_grpc as ingestion_groups_grpc
    from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2_grpc as ingestion_grpc
    from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceAsyncStub

STAGE_NAMES = ("ingestion", "indexing", "retrieval", "augmentation", "generation")


@dataclass(frozen=True, slots=True)
class Stages:
    """Stubs of the five stages."""

    ingestion: IngestionServiceAsyncStub
    ingestion_upkeep: ingestion_grpc.UpkeepServiceAsyncStub
    ingestion_groups: ingestion_groups_grpc.GroupServiceAsyncStub
    indexing: IndexingServiceAsyncStub
    indexing_upkeep: indexing_grpc.UpkeepServiceAsyncStub
    indexing_groups: indexing_groups_grpc.GroupServiceAsyncStub
    retrieval: RetrievalServiceAsyncStub
    augmentation: AugmentationServiceAsyncStub
    generation: GenerationServiceAsyncStub
