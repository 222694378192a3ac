"""What binds texts about collections: whether these keep them here, and the providers that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
    ProviderChoice,
    TextBounds,
)

CONVERSATION = "this conversation, in which collections were asked that keep their texts here"


def bounds_of(collections: Sequence[Collection]) -> TextBounds:
    """Return what binds texts about these collections: the strictest of them, and the providers that they name."""
    kept = [collection.name for collection in collections if collection.settings.local_only]
    bounds = TextBounds(
        local_only=bool(kept),
        because=f"the collection {', '.join(map(repr, kept[:3]))}" if kept else "",
        collections=[name for collection in collections for name in (collection.name, collection.id)],
    )
    choices = {choice for collection in collections for choice in _choices(collection)}
    bounds.configured.extend(
        ProviderChoice(kind=kind, provider=provider, model=model)  # type: ignore[arg-type]
        for kind, provider, model in sorted(choices)
    )
    return bounds


def of_conversation(kept_here: bool) -> TextBounds:
    """Return what binds the messages of a conversation."""
    return TextBounds(local_only=kept_here, because=CONVERSATION if kept_here else "")


def _choices(collection: Collection) -> Iterator[tuple[int, str, str]]:
    settings = collection.settings
    yield PROVIDER_KIND_EMBEDDING, settings.embedding.provider, settings.embedding.model
    if settings.generation.provider or settings.generation.model:
        yield PROVIDER_KIND_MODEL, settings.generation.provider, settings.generation.model
    if settings.rerank.provider:
        yield PROVIDER_KIND_RERANKER, settings.rerank.provider, settings.rerank.model
    if settings.rerank.provider == "cosine":
        named = settings.rerank.settings.fields
        provider = named["provider"].string_value if "provider" in named else ""
        yield PROVIDER_KIND_EMBEDDING, provider, settings.rerank.model
