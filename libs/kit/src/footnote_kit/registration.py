"""Registries of parts chosen by id: embedders, models, rerankers, verifiers and stores, built in or from packages.

Each part is a `Registration`; a `Registry` holds those of one kind. A pydantic model describes the settings: it
provides the published JSON Schema, the validation, and the factory's input. Providers of every kind share the rules on
settings that callers may not set, and the health check.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
    PROVIDER_KIND_STORE,
    PROVIDER_KIND_UNSPECIFIED,
    Provider,
    ProviderHealth,
    ProviderKind,
)
from google.protobuf import json_format
from pydantic import BaseModel, ConfigDict

from footnote_kit import plugins
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument
from footnote_kit.redact import redact_all
from footnote_kit.settings_words import problems_of, read
from footnote_kit.timings import duration


class Kind(StrEnum):
    """The kinds of parts."""

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
    """The settings of a part without settings."""

    model_config = ConfigDict(extra="forbid")


# Both are covariant although `make` takes the settings: only `build` calls it, with what the registration's own
# `settings` parsed. A registry therefore need not know the settings types of its parts.
S = TypeVar("S", bound=BaseModel, covariant=True)
P = TypeVar("P", covariant=True)


@dataclass(frozen=True, slots=True)
class Wanted(Generic[S]):
    """The input of a factory: the model's name and the validated settings."""

    model: str
    settings: S
    dimensions: int = 0
    """For embedders: the length of the vectors; 0 means the model's own."""
    address: str = ""
    """For stores: the address; "" means the package's default."""
    token: str = ""
    """For stores: the credentials."""


@dataclass(frozen=True, slots=True)
class Registration(Generic[S, P]):
    """One part to choose: its description, its settings, and its factory.

    `make` may read files and load a model, so it runs on a thread. It raises InvalidArgument(PROVIDER_INVALID) for an
    unsuitable model, and FailedPrecondition(PROVIDER_UNCONFIGURED) when the deployment lacks a setting.
    """

    kind: Kind
    id: str
    display_name: str
    settings: type[S]
    make: Callable[[Wanted[S]], P]
    default_model: str = ""
    capabilities: tuple[str, ...] = ()
    recommended_dense_weight: float = 0.0
    """For embedders: the weight of the dense channel in fusion, 0 to 1."""
    max_batch: int = 0
    """For embedders and rerankers: the most texts in one call."""
    knows_cosines: bool = False
    """For embedders: its vectors' typical cosines are measured, so that likeness has a scale."""
    slow: bool = False
    """For embedders: passages should be searchable by words before they have vectors."""
    one_length: bool = False
    """For embedders: a model has a fixed vector length, so a requested length has no effect."""
    local: bool = False
    """Texts stay in this process."""
    address: Callable[[], str] | None = None
    """The address to which a remote part sends texts; an unknown address counts as another machine."""
    builtin: bool = False
    """Part of Footnote itself, so any caller may choose it; always False for parts of other packages."""

    def build(
        self, model: str = "", values: Mapping[str, object] = NOTHING, dimensions: int = 0, address: str = "",
        token: str = "",
    ) -> P:  # fmt: skip
        """Return a new part. Raises pydantic's ValidationError for values that were not validated before."""
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
    """The registrations of one kind by id: built-in ones, and those that packages add by entry points.

    Built-in parts cannot be replaced; skipped parts appear in the log (`plugin_ignored`). `taken` are further
    reserved ids.
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
        """Return the public descriptions of all parts."""
        return [registration.description() for registration in self._all.values()]

    def problems(self, id: str, values: Mapping[str, object] = NOTHING) -> list[str]:
        """Return what is wrong with an id or its settings, a sentence each, without creating or calling the part."""
        registration = self._all.get(id)
        if registration is None:
            return [f"No {self._noun} {id!r} is registered; there are {', '.join(sorted(self._all))}."]
        of_deployment = callers_own(values)
        rest = {name: value for name, value in values.items() if not callers_own({name: value})}
        return of_deployment + problems_of(registration.settings, rest)

    def require(self, id: str, values: Mapping[str, object] = NOTHING) -> Registration[BaseModel, P]:
        """Return a registration; raises InvalidArgument(PROVIDER_INVALID) for an unknown id or invalid settings."""
        problems = self.problems(id, values)
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        return self._all[id]

    def _misplaced(self, one: Registration[BaseModel, P]) -> str:
        return "" if one.kind is self.kind else f"is registered as {one.kind}, not as {self.kind}"


_DEPLOYMENTS = re.compile(
    r"(?i)(?:^|_)(?:ur[il]|endpoint|host|hostname|address|proxy|path|file|filename|folder|dir|directory|env|environment"
    r"|variable|key|apikey|secret|password|credentials?|headers?)(?:_|$)|(?:^|_)token$"
)


def callers_own(settings: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each setting that only the deployment may set: an address, path, key or variable.

    Otherwise a caller could make this service call any address on its network. By naming a variable as well, the
    caller could have a key sent there.
    """
    return [
        f"{name} is set for the deployment, by its environment, never by a caller or a collection."
        for name in settings
        if _DEPLOYMENTS.search(name)
    ]


def unconfigured(kind: str, provider: str, needs: str, message: str) -> FailedPrecondition:
    """Return the error for a provider that lacks what it `needs`: the name of a variable, or a phrase."""
    return FailedPrecondition(
        message, reason="PROVIDER_UNCONFIGURED", metadata={"kind": kind, "provider": provider, "needs": needs}
    )


async def health(
    kind: ProviderKind.ValueType, id: str, ask: Callable[[], Awaitable[Mapping[str, Any]]], seconds: float
) -> ProviderHealth:
    """Check a provider for at most `seconds`; a failure becomes part of the result and is never raised."""
    found = ProviderHealth(kind=kind, id=id)
    found.check_time.GetCurrentTime()
    started = perf_counter()
    try:
        async with asyncio.timeout(seconds):
            json_format.ParseDict(redact_all(dict(await ask())), found.details)
        found.healthy = True
    except FootnoteError as error:
        found.error = error.message
    except TimeoutError:
        found.error = f"No answer within {seconds:g} s."
    found.latency.CopyFrom(duration(perf_counter() - started))
    return found
