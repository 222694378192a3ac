"""Composition root of the generation service."""

from __future__ import annotations

import asyncio

from footnote.generation.v1.generation_service_pb2_grpc import add_GenerationServiceServicer_to_server
from footnote_kit.app import App, Runtime
from footnote_kit.deployment_settings import deployment
from footnote_kit.epochs import Epoch, path_of
from footnote_providers.egress.egress import Egress
from footnote_text import language

from footnote_generation.adapters.registrations import models, verifiers
from footnote_generation.registry import ContextWindows, Providers, shared_verifier
from footnote_generation.servicer import Servicer
from footnote_generation.settings import Settings


async def build(runtime: Runtime) -> App:
    """Assemble the service; a model that is down affects single answers, not the service's health."""
    settings = Settings()
    registered = verifiers()
    providers = Providers(settings, models(settings), registered, Egress.load())
    verifier = await asyncio.to_thread(shared_verifier, settings, registered)
    epoch = Epoch(path_of(runtime.data_dir, "generation"))
    windows = ContextWindows(providers, epoch)

    async def close_epoch() -> None:
        epoch.close()

    async def warm_up() -> None:
        # The language model loads at first use, which would delay the first answer.
        await asyncio.to_thread(language.detect, "Which words are these?")

    return App(
        name="generation",
        servicers=[
            (
                add_GenerationServiceServicer_to_server,
                Servicer(settings, providers, verifier, windows, deployment("generation").generation),
                "footnote.generation.v1.GenerationService",
            )
        ],
        start=[warm_up],
        close=[providers.close, *([verifier.close] if verifier else []), close_epoch],
    )
