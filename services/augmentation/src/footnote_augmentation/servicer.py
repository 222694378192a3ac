"""Converts between the messages of AugmentationService and the logic."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from footnote.augmentation.v1 import augmentation_service_pb2 as pb
from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceServicer
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, PIPELINE_STAGE_AUGMENTATION, Degradation
from footnote.types.v1.collection_pb2 import CollectionSettings, PromptSettings, RerankSettings
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_RERANKER
from footnote.types.v1.reasons_pb2 import TOKEN_REASON_BELOW_RERANK_TOP, QueryStrategy
from footnote_kit import registration, telemetry
from footnote_kit.collection_settings import resolve
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.printable import enum_word
from footnote_kit.timings import Stopwatch
from footnote_providers.egress import limits
from footnote_providers.egress.egress import Egress, bounds_of
from footnote_text import locales, question_context
from footnote_text.intents import table_words
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from footnote_augmentation import plan, subject
from footnote_augmentation.build import Assembled, Assembly, build
from footnote_augmentation.permitted import Permitted
from footnote_augmentation.registry import Rerankers
from footnote_augmentation.rerank import RerankStep
from footnote_augmentation.select import DropReason
from footnote_augmentation.settings import Settings

_log = get_logger(__name__)
_MAX_QUESTION = 20_000
_MAX_IN_FULL = 2 * _MAX_QUESTION
"""Characters of a question with what it refers to."""
_NO_RERANKER = ("", "none")


class Servicer(AugmentationServiceServicer):
    """AugmentationService over the functions of this package."""

    def __init__(
        self, settings: Settings, rerankers: Rerankers, egress: Egress, deployment: CollectionSettings | None = None
    ) -> None:
        self._egress = egress
        self._deployment = deployment or CollectionSettings()
        self._permitted = Permitted(egress, rerankers, settings)
        self._settings = settings
        self._rerankers = rerankers
        self._rerank = RerankStep(rerankers, settings.rerank_timeout)

    async def BuildPrompt(self, request: pb.BuildPromptRequest, context: Call) -> pb.BuildPromptResponse:
        """Rerank, select, budget, assemble."""
        prompt, rerank = self._resolve(request.prompt, request.rerank)
        self._check(request)
        self._check_settings(prompt, rerank)
        watch = Stopwatch(PIPELINE_STAGE_AUGMENTATION)
        degradations: list[Degradation] = []
        candidates = list(request.chunks)
        dropped = []
        provider = rerank.provider
        if provider not in _NO_RERANKER and candidates and not request.without_sources:
            self._permitted.check(request.scope, provider, rerank, _bounds(request))
            with (
                watch.step("rerank"),
                telemetry.span("rerank", {"footnote.chunks": len(candidates), "footnote.strategy": provider}),
            ):
                candidates, degradation = await self._rerank.apply(
                    provider, rerank.model, _plain(rerank.settings), request.question, candidates
                )
            if degradation is not None:
                degradations.append(degradation)
                _log.warning("reranker_failed", provider=provider, detail=degradation.detail)
            elif rerank.top:
                candidates, dropped = candidates[: rerank.top], candidates[rerank.top :]
        with watch.step("assemble"), telemetry.span("assemble", {"footnote.chunks": len(candidates)}) as span:
            why = DropReason(TOKEN_REASON_BELOW_RERANK_TOP, rerank_top=rerank.top)
            left_out = [(item, why) for item in dropped]
            assembled = await asyncio.to_thread(build, self._assembly(request, prompt, candidates, left_out))
            span.set_attribute("footnote.sources", len(assembled.sources))
        self._report(assembled)
        return pb.BuildPromptResponse(
            prompt=assembled.prompt,
            sources=assembled.sources,
            token_plan=assembled.plan,
            degradations=degradations,
            timings=watch.finish(),
            prompt_settings=prompt,
            rerank_settings=rerank,
        )

    async def ResolveSettings(self, request: pb.ResolveSettingsRequest, context: Call) -> pb.ResolveSettingsResponse:
        """Fill in settings; refuse what BuildPrompt would refuse, and check that a required model exists."""
        prompt, rerank = self._resolve(request.prompt, request.rerank)
        self._check_settings(prompt, rerank)
        if rerank.provider not in _NO_RERANKER:
            bounds = bounds_of(request.HasField("bounds"), request.bounds)
            self._permitted.check(request.scope, rerank.provider, rerank, bounds, chosen=False)
            async with self._rerankers.lease(rerank.provider, rerank.model, _plain(rerank.settings)):
                pass
        return pb.ResolveSettingsResponse(prompt=prompt, rerank=rerank)

    async def PlanQuery(self, request: pb.PlanQueryRequest, context: Call) -> pb.PlanQueryResponse:
        """Decide whether to search, and with what."""
        if not request.message.strip():
            raise InvalidArgument.field("message", "must not be empty")
        if len(request.message) > _MAX_QUESTION:
            raise InvalidArgument.field("message", f"must be at most {_MAX_QUESTION} characters")
        said = [one.text for one in request.history if one.role == MESSAGE_ROLE_USER]
        made = await asyncio.to_thread(plan.plan, request.message, request.topic, said)
        full = await asyncio.to_thread(subject.in_full, request.message, said) if said and made.should_retrieve else ""
        if full:
            # The search text equals the question to answer, without doubtful additions; the topic is for callers
            # without history.
            searched = (
                question_context.parted(full) if full != request.message else question_context.QuestionInContext(full)
            )
            made = replace(made, query=str(replace(searched, before="")).strip())
        strategy = enum_word(QueryStrategy.DESCRIPTOR, made.strategy)
        _log.debug("plan_made", strategy=strategy, should_retrieve=made.should_retrieve)
        return pb.PlanQueryResponse(
            should_retrieve=made.should_retrieve,
            query=made.query,
            strategy=made.strategy,
            rewriting=made.rewriting,
            topic=made.topic,
            question="" if full == request.message else full,
            table_words=table_words(full or request.message) if made.should_retrieve else (),
        )

    async def ListProviders(self, request: pb.ListProvidersRequest, context: Call) -> pb.ListProvidersResponse:
        """List the rerankers."""
        return pb.ListProvidersResponse(providers=self._rerankers.descriptions())

    async def ValidateProvider(self, request: pb.ValidateProviderRequest, context: Call) -> pb.ValidateProviderResponse:
        """Check settings without calling anything."""
        problems = self._rerankers.problems(request.id, _plain(request.settings))
        return pb.ValidateProviderResponse(valid=not problems, problems=problems)

    async def CheckProvider(self, request: pb.CheckProviderRequest, context: Call) -> pb.CheckProviderResponse:
        """Score two passages and report the result."""

        async def score() -> dict[str, Any]:
            async with self._rerankers.lease(request.id, "", _plain(request.settings)) as reranker:
                await reranker.rerank("Is it healthy?", ["It is healthy.", "Nothing."], [0.5, 0.5])
            return {}

        wanted = RerankSettings(provider=request.id, settings=request.settings)
        self._permitted.check(request.scope, request.id, wanted, TextBounds(), chosen=False)

        seconds = self._settings.rerank_timeout
        return pb.CheckProviderResponse(
            health=await registration.health(PROVIDER_KIND_RERANKER, request.id, score, seconds)
        )

    def _check(self, request: pb.BuildPromptRequest) -> None:
        if not request.question.strip():
            raise InvalidArgument.field("question", "must not be empty")
        if len(request.question) > _MAX_IN_FULL:
            raise InvalidArgument.field("question", f"must be at most {_MAX_IN_FULL} characters")
        if len(request.chunks) > self._settings.max_candidates:
            raise InvalidArgument.field("chunks", f"must be at most {self._settings.max_candidates}")

    def _resolve(self, prompt: PromptSettings, rerank: RerankSettings) -> tuple[PromptSettings, RerankSettings]:
        return resolve(self._deployment.prompt, prompt), resolve(self._deployment.rerank, rerank)

    def _check_settings(self, prompt: PromptSettings, rerank: RerankSettings) -> None:
        limits.check_prompt(prompt, self._egress.deployment_limits)
        limits.check_rerank(rerank)
        if prompt.locale and locales.known(prompt.locale) is None:
            raise InvalidArgument.field("prompt.locale", f"must be one of {', '.join(locales.codes())}")

    def _assembly(
        self, request: pb.BuildPromptRequest, prompt: PromptSettings, candidates: list[Any], dropped: list[Any]
    ) -> Assembly:
        return Assembly(
            question=request.question,
            candidates=candidates,
            history=list(request.history),
            memory=request.memory_context,
            system_prompt=prompt.system_prompt,
            locale=prompt.locale,
            token_budget=min(
                prompt.token_budget,
                self._egress.limits(request.scope, _bounds(request).collections).token_budget,
            ),
            history_messages=prompt.history_messages,
            history_characters=prompt.history_characters,
            named_document_ids=list(request.named_document_ids),
            without_sources=request.without_sources,
            instructions=request.instructions,
            documents_unavailable=request.documents_unavailable,
            context_window=request.context_window,
            answer_tokens=request.answer_tokens,
            dropped=dropped,
        )

    def _report(self, assembled: Assembled) -> None:
        suspicious = [source for source in assembled.sources if source.suspicion >= 0.5]
        if suspicious:
            _log.warning(
                "suspicious_sources",
                document_ids=sorted({source.document_id for source in suspicious}),
                highest=max(source.suspicion for source in suspicious),
            )
        _log.info(
            "prompt_built",
            sources=len(assembled.sources),
            source_tokens=assembled.plan.used,
            prompt_tokens=assembled.plan.prompt_tokens,
            template=assembled.prompt.template_version,
        )


def _bounds(request: pb.BuildPromptRequest) -> TextBounds:
    return bounds_of(request.HasField("bounds"), request.bounds)


def _plain(settings: Struct) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(settings)
    return plain
