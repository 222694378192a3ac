"""The egress check before texts go to a provider: whether policy, caller and restrictions on the texts permit it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
    ProviderKind,
)
from footnote_kit.errors import FailedPrecondition, FootnoteError, PermissionDenied
from footnote_kit.registration import Registration
from pydantic import BaseModel

from footnote_providers.egress.policy import Allowed, Kind, Limits, Policy, PolicySettings, matches, role_of, stays_here

REASON = "PROVIDER_NOT_ALLOWED"
UNBOUND = TextBounds(local_only=True, because="a request that does not say what binds its texts")
"""The bounds assumed for a request without bounds: the strictest."""

_ARTICLE = {
    Kind.EMBEDDING: "The embedding provider",
    Kind.MODEL: "The model provider",
    Kind.RERANKER: "The reranker",
    Kind.VERIFIER: "The verifier",
}
_SETTING = {
    Kind.EMBEDDING: "embedding.provider=builtin",
    Kind.MODEL: "generation.provider=builtin",
    Kind.RERANKER: "rerank.provider=lexical",
    Kind.VERIFIER: "FOOTNOTE_GENERATION_VERIFIER=nli:<folder>",
}


Meaning = Callable[[ProviderChoice], tuple[str, str] | None]
"""Returns the provider and model that a collection's setting resolves to, with defaults; None for an unknown one."""


def as_named(choice: ProviderChoice) -> tuple[str, str]:
    """Return the provider and model exactly as a choice names them."""
    return choice.provider, choice.model


@dataclass(frozen=True, slots=True)
class Use:
    """A provider about to receive texts; `local`: it runs on this machine, `builtin`: it is part of Footnote."""

    kind: Kind
    provider: str
    model: str
    local: bool
    builtin: bool = False

    @property
    def name(self) -> str:
        """Provider and model in the form of a pattern."""
        return f"{self.provider}:{self.model}" if self.model else self.provider


class Egress:
    """The policies of this process."""

    def __init__(self, policies: Sequence[Policy] = ()) -> None:
        self._policies = tuple(policies) or (Policy(),)
        self.local_hosts = tuple(host for policy in self._policies for host in policy.local_hosts)
        self.local: dict[tuple[str, str], bool] = {}
        """Whether each registered provider is local, cached by kind and id."""

    @classmethod
    def load(cls) -> Egress:
        """Return the policies of the environment; FailedPrecondition explains an invalid setting."""
        return cls(PolicySettings().policies())

    def stays_here(self, url: str) -> bool:
        """Return whether data sent to an address stays on this machine."""
        return stays_here(url, self.local_hosts)

    def checksum(self, model: str) -> str:
        """Return the SHA-256 that the policy pins for a hub model, "" for none."""
        return next((p.onnx_sha256[model] for p in self._policies if model in p.onnx_sha256), "")

    def check(self, use: Use, scope: Scope, bounds: TextBounds) -> None:
        """Raise unless texts with these bounds may go to a provider on behalf of a caller.

        Raises FailedPrecondition(PROVIDER_NOT_ALLOWED) when they must stay on this machine. Raises PermissionDenied
        with the same reason when the operator's policy does not allow the provider or model.
        """
        because = self._must_stay_local(scope, bounds)
        if because and not use.local:
            raise _refusal(
                FailedPrecondition,
                use,
                f"{_ARTICLE[use.kind]} {use.name!r} is not on this machine, where texts must stay because of "
                f"{because}. Choose one that runs here, for example {_SETTING[use.kind]}, or ask about other "
                "collections.",
            )
        for allow in self._allowed(scope, bounds.collections):
            patterns = allow.patterns(use.kind)
            if patterns is not None and not matches(patterns, use.provider, use.model):
                raise _refusal(
                    PermissionDenied,
                    use,
                    f"{_ARTICLE[use.kind]} {use.name!r} is not allowed here; allowed: {', '.join(patterns) or 'none'}. "
                    "Choose one of these, or ask the operator to allow it.",
                )

    def check_choice(
        self,
        use: Use,
        scope: Scope,
        own: Iterable[tuple[str, str]],
        bounds: TextBounds,
        meaning: Meaning = as_named,
    ) -> None:
        """Raise PermissionDenied(PROVIDER_NOT_ALLOWED) unless this caller may choose this provider and model.

        Every caller may choose the deployment's `own` providers and built-in ones; administrators may choose any. For
        each collection in `bounds`, any other provider must be allowed by the collection's settings or the policy.
        """
        if use.builtin or role_of(scope) in ("admin", "system") or (use.provider, use.model) in set(own):
            return
        for part in bounds.each or [bounds]:
            if not self._may_choose(use, scope, part, meaning):
                where = f" for the collection {part.collections[0]!r}" if part.collections else ""
                raise _refusal(
                    PermissionDenied,
                    use,
                    f"{_ARTICLE[use.kind]} {use.name!r} is for an administrator to choose{where}: leave it out to use "
                    "what the collection or the deployment is set to, ask about other collections in a new "
                    "conversation, or ask an administrator to set it on the collection.",
                )

    def _may_choose(self, use: Use, scope: Scope, bounds: TextBounds, meaning: Meaning) -> bool:
        kind = _KINDS.get(use.kind)
        if any(meaning(one) == (use.provider, use.model) for one in bounds.configured if one.kind == kind):
            return True
        return matches(self._choices(scope, bounds, use.kind), use.provider, use.model)

    @property
    def deployment_limits(self) -> Limits:
        """The limits that apply to all callers."""
        given = [policy.limits.model_dump(exclude_unset=True) for policy in self._policies]
        # An unset limit does not count with its default: a file may allow more than the default.
        return Limits(**_least(given))

    def limits(self, scope: Scope, collections: Sequence[str] = ()) -> Limits:
        """Return the limits for a caller and collections."""
        found = [self.deployment_limits.model_dump()]
        for policy in self._policies:
            found += [
                rule.limits.model_dump(exclude_none=True) for rule in policy.rules if rule.applies(scope, collections)
            ]
        return Limits(**_least(found))

    def _must_stay_local(self, scope: Scope, bounds: TextBounds) -> str:
        """Return what requires texts to stay on this machine; "" when nothing does."""
        if any(policy.local_only for policy in self._policies):
            return "FOOTNOTE_LOCAL_ONLY"
        if bounds.local_only:
            return bounds.because or "a collection"
        for policy in self._policies:
            if any(rule.local_only and rule.applies(scope, bounds.collections) for rule in policy.rules):
                return "the operator's policy"
        return ""

    def _allowed(self, scope: Scope, collections: Sequence[str]) -> Iterable[Allowed]:
        for policy in self._policies:
            yield policy.allow
            yield from (rule.allow for rule in policy.rules if rule.applies(scope, collections))

    def _choices(self, scope: Scope, bounds: TextBounds, kind: Kind) -> list[str]:
        patterns: list[str] = []
        for policy in self._policies:
            patterns += policy.choose.patterns(kind) or []
            for rule in policy.rules:
                if rule.applies(scope, bounds.collections):
                    patterns += rule.choose.patterns(kind) or []
        return patterns


_KINDS = {
    Kind.EMBEDDING: ProviderKind.PROVIDER_KIND_EMBEDDING,
    Kind.MODEL: ProviderKind.PROVIDER_KIND_MODEL,
    Kind.RERANKER: ProviderKind.PROVIDER_KIND_RERANKER,
}


def _refusal(kind: type[FootnoteError], use: Use, message: str) -> FootnoteError:
    metadata = {"kind": use.kind.value, "provider": use.provider, "model": use.model}
    return kind(message, reason=REASON, metadata=metadata)


def bounds_of(has: bool, bounds: TextBounds) -> TextBounds:
    """Return the bounds of a request; UNBOUND when it has none."""
    return bounds if has else UNBOUND


def _least(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = {name for one in found for name in one}
    return {name: min(one[name] for one in found if name in one) for name in names}


def use(kind: Kind, id: str, model: str, registration: Registration[BaseModel, object] | None, egress: Egress) -> Use:
    """Return the use of a part; an unregistered part counts as remote. The part is neither called nor created."""
    if registration is None:
        return Use(kind, id, model, local=False)
    # Cached, because an address may come from the environment.
    place = (registration.kind.value, id)
    local = egress.local.get(place)
    if local is None:
        address = registration.address
        local = registration.local or (address is not None and egress.stays_here(address()))
        egress.local[place] = local
    return Use(kind, id, model, local, builtin=registration.builtin)


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
