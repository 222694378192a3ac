"""The embedding provider that the cosine reranker uses; the policy of texts needs it before a call."""

from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers import registry
from pydantic import BaseModel, ConfigDict, Field


class CosineSettings(BaseModel):
    """The settings that a collection may set."""

    model_config = ConfigDict(extra="forbid")

    provider: str = Field(
        default="", max_length=100, description="The embedding provider; empty means the deployment's default."
    )


def embedding_of(model: str, settings: CosineSettings) -> EmbeddingSettings:
    """Return the embedding provider to use; the model is that provider's."""
    return registry.with_defaults(EmbeddingSettings(provider=settings.provider, model=model))
