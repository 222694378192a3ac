"""Which setting counts: the request's, then the collection's, then the deployment's."""

from collections.abc import Sequence
from typing import TypeVar

from footnote.types.v1.collection_pb2 import (
    Collection,
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
)
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)

_WHOLE = "google.protobuf."
"""Well-known types are values: replaced, never mixed."""


def overlay(base: M, top: M) -> M:
    """Return a copy of `base` in which every field set in `top` counts; lists and well-known types as a whole."""
    result = type(base)()
    result.CopyFrom(base)
    for field, value in top.ListFields():
        if field.is_repeated:
            result.ClearField(field.name)
            getattr(result, field.name).MergeFrom(value)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            nested = getattr(result, field.name)
            mixes = result.HasField(field.name) and not value.DESCRIPTOR.full_name.startswith(_WHOLE)
            nested.CopyFrom(overlay(nested, value) if mixes else value)
        else:
            setattr(result, field.name, value)
    return result


def shared_settings(collections: Sequence[Collection]) -> CollectionSettings:
    """Return the prompt, rerank and model settings that count for a question to all of these collections.

    One collection's are its own. Of several, a group of settings counts when all have the same; else the deployment's
    do, because an answer over several collections is nobody's alone.
    """
    shared = CollectionSettings()
    for name in ("prompt", "rerank", "generation"):
        values = [getattr(collection.settings, name) for collection in collections]
        if values and all(value == values[0] for value in values):
            getattr(shared, name).CopyFrom(values[0])
    return shared


def effective(
    prompt: PromptSettings, rerank: RerankSettings, generation: GenerationSettings, collection: CollectionSettings
) -> tuple[PromptSettings, RerankSettings, GenerationSettings]:
    """Return the request's settings filled up from the collection's; the stages fill up the rest from the deployment's.

    A request that names another reranker or model provider leaves the collection's settings of that one behind: they
    belong to the provider that they were written for.
    """
    own_rerank = not rerank.provider or rerank.provider == collection.rerank.provider
    own_model = not generation.provider or generation.provider == collection.generation.provider
    return (
        overlay(collection.prompt, prompt),
        overlay(collection.rerank, rerank) if own_rerank else rerank,
        overlay(collection.generation, generation) if own_model else generation,
    )
