"""Resolves a question's settings: the request's, then the collections'; the stages apply the deployment's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote.types.v1.collection_pb2 import (
    Collection,
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
)
from footnote_kit.collection_settings import overlay, shared
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_providers.egress import limits
from footnote_providers.egress.egress import Egress, together

from footnote_edge.asking.question import Question, QuestionSettings
from footnote_edge.asking.thread import Thread
from footnote_edge.asking.timings import degrades
from footnote_edge.collections.bounds import CONVERSATION


async def settings_of(question: Question, thread: Thread) -> QuestionSettings:
    """Return the settings: the request's, completed from the collections'; a replay uses its own only."""
    of_collections, bounds = await _of_collections(question, thread)
    asked = question.request.prompt, question.request.rerank, question.request.generation
    prompt, rerank, model = asked if question.replayed else effective(*asked, of_collections)
    # Rules about collections apply whether the request, the conversation or nothing names them.
    check_limits(question.tools.egress, question.scope, question.request, bounds.collections)
    parts = [bounds, thread.past.bounds, *([CONVERSATION] if thread.local_only else [])]
    return QuestionSettings(prompt, rerank, model, together(parts))


async def _of_collections(question: Question, thread: Thread) -> tuple[CollectionSettings, TextBounds]:
    """Return the collections' settings and the bounds of texts about them; those last known while indexing is down."""
    known, timings = question.tools.bounds, question.timings
    problem: FootnoteError | None = None
    try:
        with timings.timed(PIPELINE_STAGE_EDGE, "settings"):
            async with asyncio.timeout(question.deadline.share(PIPELINE_STAGE_EDGE)):
                found, bounds = await known.find(question.scope, thread.collections)
        return shared_settings(found), bounds
    except (TimeoutError, FootnoteError) as error:
        if isinstance(error, FootnoteError):
            if not degrades(error):
                raise
            problem = error
    effect = "The deployment's settings were used."
    timings.degrade(PIPELINE_STAGE_EDGE, "SETTINGS_UNAVAILABLE", effect, problem)
    return CollectionSettings(), known.last_known(question.scope, thread.collections)


def shared_settings(collections: Sequence[Collection]) -> CollectionSettings:
    """Return the settings for a question to all of these collections; none for none."""
    return shared([collection.settings for collection in collections]) if collections else CollectionSettings()


def effective(
    prompt: PromptSettings, rerank: RerankSettings, generation: GenerationSettings, collection: CollectionSettings
) -> tuple[PromptSettings, RerankSettings, GenerationSettings]:
    """Return the request's settings filled up from the collection's; the stages add the deployment's.

    A request that names another reranker or model provider drops the collection's model and settings, which are for the
    former provider.
    """
    return (
        overlay(prompt, collection.prompt),
        overlay(rerank, collection.rerank),
        overlay(generation, collection.generation),
    )


def check_limits(egress: Egress, scope: Scope, request: AskRequest, collections: Sequence[str]) -> None:
    """Raise InvalidArgument with the range for a setting outside it; `collections` are the question's names and ids.

    Only the request's own settings are refused; those of a collection or the deployment are clamped to the limits.
    """
    allowed = egress.limits(scope, collections)
    limits.check_prompt(request.prompt, allowed)
    if len(request.instructions) > allowed.system_prompt:
        raise InvalidArgument.field("instructions", f"must have at most {allowed.system_prompt} characters")
    limits.check_rerank(request.rerank)
    limits.check_generation(request.generation, allowed)
