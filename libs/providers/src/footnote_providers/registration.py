"""What a provider of embeddings is registered with: ours in `catalogue`, those of other packages by entry points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from footnote.types.v1 import provider_pb2
from google.protobuf import json_format
from pydantic import BaseModel

from footnote_providers.base import EmbeddingProvider


@dataclass(frozen=True, slots=True)
class Registration:
    """A provider as the registry knows it: what it can do, what may be set, and how to make one."""

    id: str
    display_name: str
    settings: type[BaseModel]
    make: Callable[[str, int, BaseModel], EmbeddingProvider]
    default_model: str = ""
    recommended_dense_weight: float = 0.5
    max_batch: int = 100
    capabilities: tuple[str, ...] = ("embeddings",)
    local: bool = False
    """Texts stay in this process."""
    address: Callable[[], str] | None = None
    """Where texts are sent to, for those that are no part of this process; unknown counts as another machine."""

    def descriptor(self) -> provider_pb2.Provider:
        """Return the public description."""
        provider = provider_pb2.Provider(
            kind=provider_pb2.PROVIDER_KIND_EMBEDDING,
            id=self.id,
            display_name=self.display_name,
            capabilities=self.capabilities,
            default_model=self.default_model,
            recommended_dense_weight=self.recommended_dense_weight,
            max_batch=self.max_batch,
        )
        json_format.ParseDict(self.settings.model_json_schema(), provider.settings_schema)
        return provider
