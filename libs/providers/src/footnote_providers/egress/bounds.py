"""The restrictions on texts: those of one collection, and of several together."""

from collections.abc import Iterable, Iterator

from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_EMBEDDING, PROVIDER_KIND_MODEL, PROVIDER_KIND_RERANKER

_MOST_NAMED = 3


def of_collection(collection: Collection) -> TextBounds:
    """Return the restrictions on a collection's texts: whether they are local only, and the configured providers."""
    kept = collection.settings.local_only
    choices = sorted(set(_choices(collection)))
    return TextBounds(
        local_only=kept,
        because=f"the collection {collection.name!r}" if kept else "",
        collections=[one for one in (collection.name, collection.id) if one],
        configured=[ProviderChoice(kind=kind, provider=name, model=model) for kind, name, model in choices],  # type: ignore[arg-type]
    )


def together(several: Iterable[TextBounds]) -> TextBounds:
    """Return the restrictions on texts that may come from all of these: the strictest, each collection once."""
    given = list(several)
    parts = {tuple(part.collections): part for one in given for part in one.each or [one] if part.collections}
    if len(parts) == 1 and not any(one.local_only and not one.collections for one in given):
        return next(iter(parts.values()))
    reasons = dict.fromkeys(one.because for one in (*parts.values(), *given) if one.local_only and not one.each)
    bounds = TextBounds(
        local_only=any(one.local_only for one in given),
        because=" and ".join(list(reasons)[:_MOST_NAMED]),
        collections=[name for part in parts.values() for name in part.collections],
        each=parts.values() if len(parts) > 1 else (),
    )
    for part in parts.values():
        for choice in part.configured:
            if choice not in bounds.configured and all(choice in other.configured for other in parts.values()):
                bounds.configured.append(choice)
    return bounds


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
