"""Whether a provider may receive a collection's texts, and which callers may choose which provider."""

from collections.abc import Mapping
from typing import Any

from footnote.stages.v1 import scope_pb2, text_bounds_pb2
from footnote.types.v1 import collection_pb2
from footnote_kit.errors import FailedPrecondition, PermissionDenied
from footnote_providers import registry
from footnote_providers.egress import limits
from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.policy import Kind
from footnote_providers.own_vectors import brings_own
from footnote_providers.registry import Choice
from google.protobuf import json_format

from footnote_indexing.writing.vectorizers import Vectorizers

# The parts of Footnote itself. The stages that call the others know where those are, and check again.
_BUILTIN_RERANKERS = ("lexical", "mmr")
_NO_RERANKER = ("", "none")


def bounds_of(collection: collection_pb2.Collection) -> text_bounds_pb2.TextBounds:
    """Return the bounds on the texts of one collection."""
    return text_bounds_pb2.TextBounds(
        local_only=collection.settings.local_only,
        because=f"the collection '{collection.name}'",
        collections=[part for part in (collection.name, collection.id) if part],
    )


class Permitted:
    """Applies the operator's policy."""

    def __init__(self, egress: Egress, vectorizers: Vectorizers) -> None:
        self._egress = egress
        self._vectorizers = vectorizers

    def check_embedding(
        self, scope: scope_pb2.Scope, embedding: collection_pb2.EmbeddingSettings, bounds: text_bounds_pb2.TextBounds
    ) -> None:
        """Raise unless these settings may embed texts with these bounds; called before every document and message."""
        self._egress.check(registry.use_of(self._vectorizers.chosen(embedding), self._egress), scope, bounds)

    def for_new(self, scope: scope_pb2.Scope, bounds: text_bounds_pb2.TextBounds) -> Choice:
        """Return the embedding settings of a caller's new collection if the request names no embedder."""

        def allowed(provider: str) -> bool:
            embedding = collection_pb2.EmbeddingSettings(provider=provider)
            try:
                self.check_embedding(scope, embedding, bounds)
            except (PermissionDenied, FailedPrecondition):
                return False
            return True

        return self._vectorizers.for_new(allowed)

    def check_settings(
        self, scope: scope_pb2.Scope, after: collection_pb2.Collection, before: collection_pb2.Collection | None = None
    ) -> None:
        """Raise unless this caller may give a collection these settings; existing settings may stay.

        InvalidArgument for values out of range, PermissionDenied and FailedPrecondition(PROVIDER_NOT_ALLOWED) for a
        provider.
        """
        bounds = bounds_of(after)
        old = before.settings if before is not None else collection_pb2.CollectionSettings()
        new = after.settings
        allowed = self._egress.limits(scope, bounds.collections)
        if before is None or new.prompt != old.prompt:
            limits.check_prompt(new.prompt, allowed, "collection.settings.prompt")
        if before is None or new.generation != old.generation:
            limits.check_generation(new.generation, allowed, "collection.settings.generation")
            self._check_model(scope, new.generation, old.generation, bounds)
        if new.rerank != old.rerank:
            limits.check_rerank(new.rerank, "collection.settings.rerank")
            self._check_reranker(scope, new.rerank, bounds)
        if before is None or new.embedding != old.embedding or new.local_only != old.local_only:
            self._check_embedder(scope, new.embedding, None if before is None else old.embedding, bounds)

    def _check_embedder(
        self,
        scope: scope_pb2.Scope,
        new: collection_pb2.EmbeddingSettings,
        old: collection_pb2.EmbeddingSettings | None,
        bounds: text_bounds_pb2.TextBounds,
    ) -> None:
        limits.check_provider(new.provider, new.model, new.settings, "collection.settings.embedding")
        if brings_own(new):
            return  # no text is ever sent, so no policy applies
        use = registry.use_of(self._vectorizers.chosen(new), self._egress)
        self._egress.check(use, scope, bounds)
        unsaid = collection_pb2.EmbeddingSettings()
        begun = collection_pb2.EmbeddingSettings(provider=self.for_new(scope, bounds).provider)
        known = [(one.provider, one.model) for one in map(self._vectorizers.chosen, (unsaid, begun))]
        if old is not None:
            known += [(old.provider, old.model), (old.provider, "")]
        self._egress.check_choice(use, scope, known, bounds)

    def _check_model(
        self,
        scope: scope_pb2.Scope,
        new: collection_pb2.GenerationSettings,
        old: collection_pb2.GenerationSettings,
        bounds: text_bounds_pb2.TextBounds,
    ) -> None:
        if (new.provider, new.model) in (("", ""), (old.provider, old.model)):
            return
        # Only generation knows the address; it checks each time whether texts may leave.
        use = Use(Kind.MODEL, new.provider, new.model, local=True, builtin=new.provider == "builtin")
        if new.provider:
            self._egress.check(use, scope, bounds)
        self._egress.check_choice(use, scope, [], bounds)

    def _check_reranker(
        self, scope: scope_pb2.Scope, new: collection_pb2.RerankSettings, bounds: text_bounds_pb2.TextBounds
    ) -> None:
        if new.provider in _NO_RERANKER and not new.model:
            return
        use = Use(Kind.RERANKER, new.provider, new.model, local=True, builtin=new.provider in _BUILTIN_RERANKERS)
        if new.provider:
            self._egress.check(use, scope, bounds)
        self._egress.check_choice(use, scope, [], bounds)
        if new.provider == "cosine":
            named: Mapping[str, Any] = json_format.MessageToDict(new.settings)
            embedding = collection_pb2.EmbeddingSettings(provider=str(named.get("provider", "")), model=new.model)
            self._check_embedder(scope, embedding, None, bounds)
