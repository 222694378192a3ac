"""A collection's settings in the other stages: validated at write, completed with effective values at read."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_providers.egress.egress import of_collection

from footnote_edge.ports import Stages

_log = get_logger(__name__)
_GROUPS = frozenset(CollectionSettings.DESCRIPTOR.fields_by_name)
_SHOWN_WITHIN = 2.0
"""Seconds that a stage has to return effective settings when a collection is read."""


def asks_stages(settings: CollectionSettings) -> bool:
    """Return whether a stage other than indexing validates part of these settings."""
    return any(settings.HasField(group) for group in ("rerank", "prompt", "generation"))


class StageSettings:
    """Asks retrieval, augmentation and generation."""

    def __init__(self, stages: Stages, timeout: float) -> None:
        self._stages = stages
        self._timeout = timeout

    async def check(self, scope: Scope, after: Collection, before: Collection | None = None) -> None:
        """Raise the errors that every question to the collection would get; unchanged settings may stay.

        InvalidArgument(INVALID_FIELD, PROVIDER_INVALID), FailedPrecondition(PROVIDER_UNCONFIGURED); Unavailable when a
        required stage is down.
        """
        new, old = after.settings, before.settings if before is not None else CollectionSettings()
        try:
            if new.prompt != old.prompt or new.rerank != old.rerank:
                await self._augmentation(scope, after)
            if new.generation != old.generation:
                await self._generation(scope, after)
        except InvalidArgument as error:
            raise _placed(error) from error

    async def fill_in(self, scope: Scope, collection: Collection) -> None:
        """Add the effective settings of other stages; a group whose stage is down is left out."""
        answers = await asyncio.gather(
            self._answer(self._retrieval(scope, collection)),
            self._answer(self._augmentation(scope, collection)),
            self._answer(self._generation(scope, collection)),
        )
        for answer in answers:
            if answer is not None:
                for field, settings in answer.ListFields():
                    if field.name in _GROUPS:  # a stage may return more than settings
                        getattr(collection.effective_settings, field.name).CopyFrom(settings)

    async def _answer(self, call: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(_SHOWN_WITHIN):
                return await call
        except (FootnoteError, TimeoutError) as error:
            _log.warning("settings_not_shown", error=type(error).__name__)
            return None

    async def _retrieval(self, scope: Scope, collection: Collection) -> Any:
        request = retrieval.ResolveSettingsRequest(scope=scope, retrieval=collection.settings.retrieval)
        return await self._stages.retrieval.ResolveSettings(request, timeout=self._timeout)

    async def _augmentation(self, scope: Scope, collection: Collection) -> Any:
        settings = collection.settings
        request = augmentation.ResolveSettingsRequest(
            scope=scope, prompt=settings.prompt, rerank=settings.rerank, bounds=of_collection(collection)
        )
        return await self._stages.augmentation.ResolveSettings(request, timeout=self._timeout)

    async def _generation(self, scope: Scope, collection: Collection) -> Any:
        request = generation.ResolveSettingsRequest(
            scope=scope, generation=collection.settings.generation, bounds=of_collection(collection)
        )
        return await self._stages.generation.ResolveSettings(request, timeout=self._timeout)


def _placed(error: InvalidArgument) -> InvalidArgument:
    """Return a stage's refusal with field names of the collection."""
    violations = [(f"collection.settings.{_path(field)}", problem) for field, problem in error.violations]
    message = "; ".join(f"{field} {problem}" for field, problem in violations) or error.message
    return InvalidArgument(message, reason=error.reason, metadata=error.metadata, violations=violations)


def _path(field: str) -> str:
    return f"generation.{field.removeprefix('settings.')}" if field.startswith("settings.") else field
