"""What can be chosen by an id: embedders, models, rerankers, verifiers and stores, ours and those of other packages.

Each is one `Registration`; a `Registry` holds those of one kind. Settings are a pydantic model, from which come the
JSON Schema that is shown, the check of what is given, and what the factory gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
    PROVIDER_KIND_STORE,
    PROVIDER_KIND_UNSPECIFIED,
    Provider,
    ProviderKind,
)
from google.protobuf import json_format
from pydantic import BaseModel, ConfigDict

from footnote_kit import plugins
from footnote_kit.errors import InvalidArgument
from footnote_kit.provider_calls import callers_own
from footnote_kit.settings_words import problems_of, read


class Kind(StrEnum):
    """What is registered."""

    EMBEDDING = "embedding"
    MODEL = "model"
    RERANKER = "reranker"
    VERIFIER = "verifier"
    STORE = "store"


_NOUNS = {
    Kind.EMBEDDING: "embedding provider",
    Kind.MODEL: "model provider",
    Kind.RERANKER: "reranker",
    Kind.VERIFIER: "verifier",
    Kind.STORE: "vector store",
}
_GROUPS = {
    Kind.EMBEDDING: "footnote.embedding_providers",
    Kind.MODEL: "footnote.models",
    Kind.RERANKER: "footnote.rerankers",
    Kind.VERIFIER: "footnote.verifiers",
    Kind.STORE: "footnote.stores",
}
_PUBLIC: dict[Kind, ProviderKind.ValueType] = {
    Kind.EMBEDDING: PROVIDER_KIND_EMBEDDING,
    Kind.MODEL: PROVIDER_KIND_MODEL,
    Kind.RERANKER: PROVIDER_KIND_RERANKER,
    Kind.STORE: PROVIDER_KIND_STORE,
}

NOTHING: Mapping[str, object] = MappingProxyType({})


class NoSettings(BaseModel):
    """There is nothing to set."""

    model_config = ConfigDict(extra="forbid")


# Both are covariant, although `make` takes the settings: it is called with what its own `settings` read, and nothing
# else, by `build`. So a registry need not know the settings of what it holds.
S = TypeVar("S", bound=BaseModel, covariant=True)
P = TypeVar("P", covariant=True)


@dataclass(frozen=True, slots=True)
class Wanted(Generic[S]):
    """What a factory is asked for: a model by its name, settings as checked."""

    model: str
    settings: S
    dimensions: int = 0
    """Length of the vectors, of embedders; 0 means the model's own."""
    address: str = ""
    """Where it is, of stores; "" means wherever the package finds it."""
    token: str = ""
    """What opens it, of stores."""


@dataclass(frozen=True, slots=True)
class Registration(Generic[S, P]):
    """One thing to choose: how it is shown, what may be set, and how one is made.

    `make` may read files and load a model, so it is called on a thread; it raises InvalidArgument(PROVIDER_INVALID) for
    a model that does not fit, FailedPrecondition(PROVIDER_UNCONFIGURED) for what the deployment has not given.
    """

    kind: Kind
    id: str
    display_name: str
    settings: type[S]
    make: Callable[[Wanted[S]], P]
    default_model: str = ""
    capabilities: tuple[str, ...] = ()
    recommended_dense_weight: float = 0.0
    """Weight of the dense channel in fusion, 0 to 1, of embedders."""
    max_batch: int = 0
    """Most texts in one call, of embedders and rerankers."""
    slow: bool = False
    """Of embedders: passages had better be searched by their words before they have vectors."""
    one_length: bool = False
    """Of embedders: a model makes vectors of its own length only, so that one asked for changes nothing in it."""
    local: bool = False
    """Texts stay in this process."""
    address: Callable[[], str] | None = None
    """Where texts are sent to, for those that are no part of this process; unknown counts as another machine."""
    builtin: bool = False
    """A part of Footnote that everybody may choose; of other packages it counts as False."""

    def build(
        self, model: str = "", values: Mapping[str, object] = NOTHING, dimensions: int = 0, address: str = "",
        token: str = "",
    ) -> P:  # fmt: skip
        """Return a new one. Raises pydantic's ValidationError for values that were not checked before."""
        wanted = Wanted(model or self.default_model, read(self.settings, values), dimensions, address, token)
        return self.make(wanted)

    def description(self) -> Provider:
        """Return the public description."""
        provider = Provider(
            kind=_PUBLIC.get(self.kind, PROVIDER_KIND_UNSPECIFIED),
            id=self.id,
            display_name=self.display_name,
            capabilities=self.capabilities,
            default_model=self.default_model,
            recommended_dense_weight=self.recommended_dense_weight,
            max_batch=self.max_batch,
        )
        json_format.ParseDict(self.settings.model_json_schema(), provider.settings_schema)
        return provider


class Registry(Mapping[str, Registration[BaseModel, P]], Generic[P]):
    """The registrations of one kind by id: ours, and those that installed packages add by entry points.

    None of ours can be replaced; what is left out is in the log (`plugin_ignored`). `taken` are further ids that nobody
    may have.
    """

    def __init__(self, kind: Kind, ours: Iterable[Registration[BaseModel, P]], taken: Iterable[str] = ()) -> None:
        self.kind = kind
        self._noun = _NOUNS[kind]
        self._all = {registration.id: registration for registration in ours}
        added = plugins.installed(
            _GROUPS[kind], Registration, lambda one: str(one.id), {*self._all, *taken}, self._misplaced
        )
        self._all |= {id: replace(one, builtin=False) for id, one in added.items()}

    def __getitem__(self, id: str) -> Registration[BaseModel, P]:
        return self._all[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def descriptions(self) -> list[Provider]:
        """Return the public descriptions of all."""
        return [registration.description() for registration in self._all.values()]

    def problems(self, id: str, values: Mapping[str, object] = NOTHING) -> list[str]:
        """Return what is wrong with an id or its settings, a sentence each; nothing is made or called."""
        registration = self._all.get(id)
        if registration is None:
            return [f"No {self._noun} {id!r} is registered; there are {', '.join(sorted(self._all))}."]
        of_deployment = callers_own(values)
        rest = {name: value for name, value in values.items() if not callers_own({name: value})}
        return of_deployment + problems_of(registration.settings, rest)

    def require(self, id: str, values: Mapping[str, object] = NOTHING) -> Registration[BaseModel, P]:
        """Return a registration; raises InvalidArgument(PROVIDER_INVALID) for an unknown id or wrong settings."""
        problems = self.problems(id, values)
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        return self._all[id]

    def _misplaced(self, one: Registration[BaseModel, P]) -> str:
        return "" if one.kind is self.kind else f"is registered as {one.kind}, not as {self.kind}"
