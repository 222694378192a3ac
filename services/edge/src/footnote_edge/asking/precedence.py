"""Precedence of a question's settings: the request, then the collections; the stages apply the deployment's."""

from collections.abc import Sequence

from footnote.types.v1.collection_pb2 import (
    Collection,
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
)
from footnote_kit.collection_settings import overlay, shared


def shared_settings(collections: Sequence[Collection]) -> CollectionSettings:
    """Return the settings for a question to all of these collections; none for none."""
    return shared([collection.settings for collection in collections]) if collections else CollectionSettings()


def effective(
    prompt: PromptSettings, rerank: RerankSettings, generation: GenerationSettings, collection: CollectionSettings
) -> tuple[PromptSettings, RerankSettings, GenerationSettings]:
    """Return the request's settings filled up from the collection's; the stages add the deployment's.

    A request that names another reranker or model provider drops the collection's model and settings of the former one:
    they belong to the provider that they were written for.
    """
    return (
        overlay(prompt, collection.prompt),
        overlay(rerank, collection.rerank),
        overlay(generation, collection.generation),
    )
