"""A registry of all stages' providers: list, validate, check."""

import asyncio
from typing import Any

from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.stages.v1.scope_pb2 import Scope
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
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger
from google.protobuf.struct_pb2 import Struct

from footnote_edge.ports import Stages

_log = get_logger(__name__)


class Providers:
    """Asks each stage about its own kinds of providers."""

    def __init__(self, stages: Stages, timeout: float) -> None:
        self._timeout = timeout
        self._homes: dict[ProviderKind.ValueType, tuple[Any, Any]] = {
            PROVIDER_KIND_EMBEDDING: (stages.indexing, indexing),
            PROVIDER_KIND_STORE: (stages.indexing, indexing),
            PROVIDER_KIND_RERANKER: (stages.augmentation, augmentation),
            PROVIDER_KIND_MODEL: (stages.generation, generation),
        }

    async def listed(self, scope: Scope, kind: ProviderKind.ValueType) -> list[Provider]:
        """Return the providers of a kind, or of all; a stage that is down is left out unless all are."""
        homes = [self._home(kind)] if kind != PROVIDER_KIND_UNSPECIFIED else self._all()
        answers = await asyncio.gather(
            *(
                stub.ListProviders(messages.ListProvidersRequest(scope=scope), timeout=self._timeout)
                for stub, messages in homes
            ),
            return_exceptions=True,
        )
        providers: list[Provider] = []
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        for failure in failures:
            if len(failures) == len(answers) or not isinstance(failure, FootnoteError):
                raise failure
            _log.warning("providers_missing", reason=failure.reason)
        for answer in answers:
            if not isinstance(answer, BaseException):
                providers.extend(one for one in answer.providers if kind in (PROVIDER_KIND_UNSPECIFIED, one.kind))
        return providers

    async def validate(
        self, scope: Scope, kind: ProviderKind.ValueType, provider_id: str, settings: Struct
    ) -> tuple[bool, list[str]]:
        """Return whether settings are valid, and their problems."""
        stub, messages = self._home(kind)
        request = messages.ValidateProviderRequest(scope=scope, kind=kind, id=provider_id, settings=settings)
        answer = await stub.ValidateProvider(request, timeout=self._timeout)
        return answer.valid, list(answer.problems)

    async def check(
        self, scope: Scope, kind: ProviderKind.ValueType, provider_id: str, settings: Struct | None
    ) -> ProviderHealth:
        """Call a provider and return its status."""
        stub, messages = self._home(kind)
        request = messages.CheckProviderRequest(scope=scope, kind=kind, id=provider_id, settings=settings)
        health: ProviderHealth = (await stub.CheckProvider(request, timeout=self._timeout)).health
        return health

    def _home(self, kind: ProviderKind.ValueType) -> tuple[Any, Any]:
        if kind not in self._homes:
            raise InvalidArgument.field("kind", "must be one of embedding, model, reranker, store")
        return self._homes[kind]

    def _all(self) -> list[tuple[Any, Any]]:
        return list({id(stub): (stub, messages) for stub, messages in self._homes.values()}.values())
