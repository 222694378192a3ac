"""The stages as the edge reaches them: one stub each, whose calls raise FootnoteError."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.ingestion.v1.ingestion_service_pb2_grpc import IngestionServiceStub
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from footnote.telemetry.v1.telemetry_service_pb2_grpc import TelemetryServiceStub

STAGE_NAMES = ("ingestion", "indexing", "retrieval", "augmentation", "generation")


@dataclass(frozen=True, slots=True)
class Stages:
    """Stubs of the five stages; `telemetry` and `channels` by stage name."""

    ingestion: Any
    indexing: Any
    retrieval: Any
    augmentation: Any
    generation: Any
    telemetry: dict[str, Any] = field(default_factory=dict)
    channels: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def connect(cls, channel: Callable[[str], Any]) -> "Stages":
        """Make the stubs on the channels that `channel` returns for a stage's name."""
        channels = {name: channel(name) for name in STAGE_NAMES}
        return cls(
            ingestion=IngestionServiceStub(channels["ingestion"]),
            indexing=IndexingServiceStub(channels["indexing"]),
            retrieval=RetrievalServiceStub(channels["retrieval"]),
            augmentation=AugmentationServiceStub(channels["augmentation"]),
            generation=GenerationServiceStub(channels["generation"]),
            telemetry={name: TelemetryServiceStub(channels[name]) for name in STAGE_NAMES},
            channels=channels,
        )
