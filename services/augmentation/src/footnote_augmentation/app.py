"""Composition root of the augmentation service."""

from __future__ import annotations

import asyncio

from footnote.augmentation.v1.augmentation_service_pb2_grpc import add_AugmentationServiceServicer_to_server
from footnote_kit.app import App, Runtime
from footnote_kit.deployment_settings import deployment
from footnote_providers.egress.egress import Egress
from footnote_text import language

from footnote_augmentation.adapters.registrations import registrations
from footnote_augmentation.registry import Rerankers
from footnote_augmentation.servicer import Servicer
from footnote_augmentation.settings import Settings


async def build(runtime: Runtime) -> App:
    """Assemble the service; it is stateless and calls no other service."""
    settings = Settings()
    rerankers = Rerankers(registrations(settings))

    async def warm_up() -> None:
        # The language model takes seconds to load at first use; without this the first question would not be planned.
        await asyncio.to_thread(language.detect, "Which words are these?")

    return App(
        name="augmentation",
        servicers=[
            (
                add_AugmentationServiceServicer_to_server,
                Servicer(settings, rerankers, Egress.load(), deployment("prompt", "rerank")),
                "footnote.augmentation.v1.AugmentationService",
            )
        ],
        start=[warm_up],
        close=[rerankers.close],
    )
